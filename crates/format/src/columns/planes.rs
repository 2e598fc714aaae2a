//! Numbers as byte planes: each number as `width` bytes, all first bytes, then all second bytes, … What varies little lies together and vanishes
//! in the compression that follows.

use crate::wire::{DecodeError, Reader};

/// How many bytes a number takes: 0 for 0.
pub(crate) const fn width_of(value: u64) -> u8 {
    (u64::BITS - value.leading_zeros()).div_ceil(8) as u8
}

/// Appends the low `width` bytes of each number, plane by plane, the low plane first.
pub(crate) fn put_planes(out: &mut Vec<u8>, values: &[u64], width: u8) {
    for plane in 0..width {
        out.extend(values.iter().map(|value| (value >> (8 * plane)) as u8));
    }
}

/// Reads `count` numbers of `width` bytes, 0..=8.
pub(crate) fn get_planes(reader: &mut Reader<'_>, count: usize, width: u8) -> Result<Vec<u64>, DecodeError> {
    if width > 8 {
        return Err(reader.corrupt("a number of more than 8 bytes"));
    }
    let bytes = reader.bytes(count.saturating_mul(usize::from(width)))?;
    let mut values = vec![0_u64; count];
    for plane in 0..usize::from(width) {
        for (value, byte) in values.iter_mut().zip(&bytes[plane * count..]) {
            *value |= u64::from(*byte) << (8 * plane);
        }
    }
    Ok(values)
}
