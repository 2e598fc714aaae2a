//! Unsigned integers in as few bytes as they need: seven bits a byte, least significant first, the top bit says that more follow (LEB128).

/// Bytes a `u64` takes at most.
const LEN_MAX: usize = 10;

/// Appends a number.
pub(crate) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes a number off the front. `None` where the bytes end early, or say more than 64 bits, or say it in more bytes than needed.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for (position, &byte) in bytes.iter().take(LEN_MAX).enumerate() {
        let bits = u64::from(byte & 0x7f);
        let shifted = bits << (7 * position);
        if shifted >> (7 * position) != bits {
            return None;
        }
        value |= shifted;
        if byte & 0x80 == 0 {
            *bytes = &bytes[position + 1..];
            return (position == 0 || byte != 0).then_some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_number_comes_back(value: u64, shift in 0_u32..64) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            let mut rest = bytes.as_slice();
            proptest::prop_assert_eq!(take(&mut rest), Some(value));
            proptest::prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_are_a_number_with_one_form_or_none(bytes: Vec<u8>) {
            let mut rest = bytes.as_slice();
            if let Some(value) = take(&mut rest) {
                let mut again = Vec::new();
                put(&mut again, value);
                proptest::prop_assert_eq!(&again[..], &bytes[..bytes.len() - rest.len()]);
            }
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_refused() {
        assert_eq!(take(&mut [0xff_u8; 10].as_slice()), None);
        assert_eq!(take(&mut [0x80_u8, 0x00].as_slice()), None, "two bytes where one would do");
    }
}
