//! Checked reading of stored bytes, and variable-length integers: 7 bits a byte, the lowest first, the top bit set on all but the last.

use crate::bitmap::BitmapError;

pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A cursor that never reads past the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) const fn corrupt(&self, what: &'static str) -> BitmapError {
        BitmapError::Corrupt { at: self.at, what }
    }

    /// The bytes not yet read.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    pub(super) fn byte(&mut self) -> Result<u8, BitmapError> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.corrupt("the bytes end too early"))?;
        self.at += 1;
        Ok(byte)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], BitmapError> {
        let taken = self.rest().get(..length).ok_or_else(|| self.corrupt("the bytes end too early"))?;
        self.at += length;
        Ok(taken)
    }

    /// A number in its shortest form: a longer one, which ends in a zero byte, is refused.
    pub(super) fn varint(&mut self) -> Result<u64, BitmapError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return if byte == 0 && shift > 0 { Err(self.corrupt("a number is longer than it need be")) } else { Ok(value) };
            }
        }
        Err(self.corrupt("a number has more than 64 bits"))
    }
}
