//! Signed numbers as differences from the one before, and numbers below a bound.

use crate::wire::{DecodeError, Reader, put_varint, unzigzag, zigzag};

/// Appends each number's difference from the one before (from 0 for the first), zigzag, as a varint. Differences wrap.
pub(crate) fn put_deltas(out: &mut Vec<u8>, values: &[i64]) {
    let mut before = 0_i64;
    for value in values {
        put_varint(out, zigzag(value.wrapping_sub(before)));
        before = *value;
    }
}

/// Reads `count` numbers.
pub(crate) fn get_deltas(reader: &mut Reader<'_>, count: usize) -> Result<Vec<i64>, DecodeError> {
    if count > reader.remaining() {
        return Err(reader.corrupt("it counts more than it holds"));
    }
    let mut before = 0_i64;
    let mut next = || {
        before = before.wrapping_add(unzigzag(reader.varint()?));
        Ok(before)
    };
    (0..count).map(|_| next()).collect()
}
