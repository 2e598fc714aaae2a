//! Reads a block's bytes in order; what is missing or cannot be is an error that names the block.

use crate::error::SegmentError;

/// A place in the bytes of a block.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    block: &'static str,
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(block: &'static str, bytes: &'a [u8]) -> Self {
        Self { rest: bytes, block }
    }

    pub(crate) const fn corrupt(&self, reason: &'static str) -> SegmentError {
        SegmentError::corrupt(self.block, reason)
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn u8(&mut self) -> Result<u8, SegmentError> {
        let (first, rest) = self.rest.split_first().ok_or_else(|| self.corrupt("its bytes end early"))?;
        self.rest = rest;
        Ok(*first)
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, SegmentError> {
        if let [first, rest @ ..] = self.rest
            && *first < 0x80
        {
            self.rest = rest;
            return Ok(u64::from(*first));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64, SegmentError> {
        let mut value = 0;
        for (index, byte) in self.rest.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if *byte < 0x80 {
                if index == 9 && *byte > 1 {
                    break;
                }
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(self.corrupt("a number does not end"))
    }

    /// A number that must be at most `max`.
    #[inline]
    pub(crate) fn bounded(&mut self, max: u64, reason: &'static str) -> Result<u64, SegmentError> {
        let value = self.varint()?;
        if value > max { Err(self.corrupt(reason)) } else { Ok(value) }
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, SegmentError> {
        u32::try_from(self.varint()?).map_err(|_| self.corrupt("a number does not fit"))
    }

    /// A count of things of which each takes a byte or more of what is left: so that a wrong count reserves no memory.
    pub(crate) fn count(&mut self) -> Result<usize, SegmentError> {
        let count = self.varint()?;
        if count > self.rest.len() as u64 { Err(self.corrupt("a count is larger than its bytes")) } else { Ok(count as usize) }
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], SegmentError> {
        if length > self.rest.len() {
            return Err(self.corrupt("its bytes end early"));
        }
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(taken)
    }

    /// Bytes after their number.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], SegmentError> {
        let length = self.count()?;
        self.take(length)
    }

    pub(crate) fn finish(&self) -> Result<(), SegmentError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.corrupt("bytes are left over")) }
    }
}
