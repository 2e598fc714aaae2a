//! Row addresses of an index's rows, in the order of the rows: `count varint`, the first address, then the distances, all LEB128.

use crate::manifest::CheckedRange;
use crate::wire::{DecodeError, Reader, check_range, put_varint};
use siltstone_core::RowAddress;

const BLOCK: &str = "a vector index's addresses";

/// The stored form of addresses, which rise.
///
/// # Panics
/// When they do not: a bug of the caller.
#[must_use]
pub fn encode_addresses(addresses: &[RowAddress]) -> Vec<u8> {
    assert!(addresses.is_sorted_by(|left, right| left < right), "the addresses of an index rise");
    let mut bytes = Vec::with_capacity(8 + addresses.len());
    put_varint(&mut bytes, addresses.len() as u64);
    let mut before = 0;
    for address in addresses {
        put_varint(&mut bytes, address.as_u64() - before);
        before = address.as_u64();
    }
    bytes
}

/// Addresses from the bytes of their range.
///
/// # Errors
/// [`DecodeError`] when the bytes are not those that were written there.
pub fn decode_addresses(bytes: &[u8], range: &CheckedRange) -> Result<Vec<RowAddress>, DecodeError> {
    check_range(BLOCK, bytes, range)?;
    let mut reader = Reader::new(BLOCK, bytes);
    let count = reader.count(1)?;
    let mut addresses = Vec::with_capacity(count);
    let mut before = 0_u64;
    for at in 0..count {
        let distance = reader.varint()?;
        before = before.checked_add(distance).filter(|_| at == 0 || distance != 0).ok_or_else(|| reader.corrupt("its addresses do not rise"))?;
        addresses.push(RowAddress::from_u64(before));
    }
    reader.end()?;
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::crc;
    use proptest::prelude::*;

    fn decode(bytes: &[u8]) -> Result<Vec<RowAddress>, DecodeError> {
        decode_addresses(bytes, &CheckedRange { offset: 0, len: bytes.len() as u32, crc32c: crc(bytes) })
    }

    proptest! {
        #[test]
        fn addresses_come_back_and_any_bytes_are_read_or_refused(numbers in prop::collection::btree_set(any::<u64>(), 0..40), bytes: Vec<u8>) {
            let addresses: Vec<_> = numbers.into_iter().map(RowAddress::from_u64).collect();
            prop_assert_eq!(decode(&encode_addresses(&addresses)), Ok(addresses));
            if let Ok(addresses) = decode(&bytes) {
                prop_assert!(addresses.is_sorted_by(|left, right| left < right));
            }
        }
    }

    #[test]
    fn a_flipped_bit_and_a_cut_are_found() {
        let addresses: Vec<_> = [3, 4, 4_000, 1 << 40, u64::MAX].map(RowAddress::from_u64).to_vec();
        let bytes = encode_addresses(&addresses);
        let range = CheckedRange { offset: 0, len: bytes.len() as u32, crc32c: crc(&bytes) };
        for place in 0..8 * bytes.len() {
            let mut broken = bytes.clone();
            broken[place / 8] ^= 1 << (place % 8);
            assert!(decode_addresses(&broken, &range).is_err(), "bit {place}");
        }
        assert!(decode_addresses(&bytes[1..], &range).is_err());
        assert!(decode(&[2, 5, 0]).is_err(), "the same address twice");
        assert!(decode(&[255, 255, 3]).is_err(), "more than it holds");
    }
}
