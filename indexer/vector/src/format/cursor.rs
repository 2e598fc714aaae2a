//! Reads a block's bytes in order; what is missing or cannot be is an error that names the block.

use crate::error::VectorError;

/// A place in the bytes of a block.
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    block: &'a str,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(block: &'a str, bytes: &'a [u8]) -> Self {
        Self { rest: bytes, block }
    }

    pub(super) fn corrupt(&self, reason: &'static str) -> VectorError {
        VectorError::corrupt(self.block, reason)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], VectorError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.corrupt("its bytes end early"))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, VectorError> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn u32(&mut self) -> Result<u32, VectorError> {
        let mut word = [0; 4];
        word.copy_from_slice(self.take(4)?);
        Ok(u32::from_le_bytes(word))
    }

    /// A number of up to 32 bits.
    #[inline]
    pub(super) fn varint(&mut self) -> Result<u32, VectorError> {
        let mut value = 0_u64;
        for index in 0..5 {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                return u32::try_from(value).map_err(|_| self.corrupt("a number does not fit"));
            }
        }
        Err(self.corrupt("a number does not end"))
    }

    pub(super) fn finish(&self) -> Result<(), VectorError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.corrupt("bytes are left over")) }
    }
}

/// Appends a number as seven bits a byte, low bits first.
pub(super) fn push_varint(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
