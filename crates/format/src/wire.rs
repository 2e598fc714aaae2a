//! The alphabet of batches, packs and objects: little-endian numbers, varints, zigzag, length-prefixed bytes; and a reader that cannot run past the
//! end, nor be made to allocate more than the bytes it holds could fill.
//!
//! What is not here: compression (`compress`) and the meaning of any block.

use crate::manifest::CheckedRange;
use crate::varint;
use siltstone_core::ErrorKind;

/// Why stored bytes could not be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are not those that were written.
    #[error("decode {block}: the checksum is {found:08x} instead of {expected:08x}")]
    Checksum {
        /// Which part.
        block: &'static str,
        /// What was written.
        expected: u32,
        /// What the bytes give.
        found: u32,
    },
    /// The bytes contradict the format.
    #[error("decode {block}: {what}")]
    Corrupt {
        /// Which part.
        block: &'static str,
        /// What does not hold.
        what: &'static str,
    },
    /// The bytes are of a version that this program does not know.
    #[error("decode {block}: version {found} is not known here")]
    Version {
        /// Which part.
        block: &'static str,
        /// The version it states.
        found: u32,
    },
}

impl DecodeError {
    /// What the caller should do.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Checksum { .. } | Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::Version { .. } => ErrorKind::Unsupported,
        }
    }
}

/// CRC-32C of `bytes`.
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// Checks that `bytes` are those of the range.
pub(crate) fn check_range(block: &'static str, bytes: &[u8], range: &CheckedRange) -> Result<(), DecodeError> {
    if bytes.len() != range.len as usize {
        return Err(DecodeError::Corrupt { block, what: "it has another length than its range" });
    }
    check_crc(block, bytes, range.crc32c)
}

/// Checks the checksum of a block.
pub(crate) fn check_crc(block: &'static str, bytes: &[u8], expected: u32) -> Result<(), DecodeError> {
    let found = crc(bytes);
    if found == expected { Ok(()) } else { Err(DecodeError::Checksum { block, expected, found }) }
}

pub(crate) use crate::varint::put as put_varint;

/// Small numbers of either sign become small numbers without one.
pub(crate) const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads a block from its beginning.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    block: &'static str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(block: &'static str, bytes: &'a [u8]) -> Self {
        Self { rest: bytes, block }
    }

    pub(crate) fn corrupt(&self, what: &'static str) -> DecodeError {
        DecodeError::Corrupt { block: self.block, what }
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.corrupt("it ends too early"))?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(|| self.corrupt("it ends too early"))?;
        self.rest = rest;
        Ok(*bytes)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn varint(&mut self) -> Result<u64, DecodeError> {
        varint::take(&mut self.rest).ok_or_else(|| self.corrupt("a number is cut off or has more than 64 bits"))
    }

    /// A varint that is at most `max`.
    pub(crate) fn varint_max(&mut self, max: usize) -> Result<usize, DecodeError> {
        let value = self.varint()?;
        if value <= max as u64 { Ok(value as usize) } else { Err(self.corrupt("a number is beyond its bound")) }
    }

    pub(crate) fn varint_u32(&mut self) -> Result<u32, DecodeError> {
        self.varint()?.try_into().map_err(|_| self.corrupt("a number is beyond its bound"))
    }

    /// A count of things that take `each` bytes or more: what the rest cannot hold is refused before anything is allocated for it.
    pub(crate) fn count(&mut self, each: usize) -> Result<usize, DecodeError> {
        let most = self.rest.len() / each.max(1);
        self.varint_max(most).map_err(|_| self.corrupt("it counts more than it holds"))
    }

    /// Bytes with their length before them.
    pub(crate) fn prefixed(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.count(1)?;
        self.bytes(length)
    }

    /// UTF-8 text with its length before it.
    pub(crate) fn text(&mut self) -> Result<&'a str, DecodeError> {
        let bytes = self.prefixed()?;
        str::from_utf8(bytes).map_err(|_| self.corrupt("a text is not UTF-8"))
    }

    /// Nothing may be left.
    pub(crate) fn end(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.corrupt("something follows its end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(unsigned in any::<u64>(), signed in any::<i64>()) {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, unsigned);
            put_varint(&mut bytes, zigzag(signed));
            let mut reader = Reader::new("test", &bytes);
            prop_assert_eq!(reader.varint(), Ok(unsigned));
            prop_assert_eq!(reader.varint().map(unzigzag), Ok(signed));
            prop_assert_eq!(reader.end(), Ok(()));
        }
    }

    #[test]
    fn numbers_too_large_are_refused() {
        let mut eleven = vec![0x80; 10];
        eleven.push(1);
        assert!(Reader::new("test", &eleven).varint().is_err());
        let mut beyond = vec![0xff; 9];
        beyond.push(2);
        assert!(Reader::new("test", &beyond).varint().is_err());
        assert!(Reader::new("test", &[0xff, 0xff, 3]).count(1).is_err());
        assert!(Reader::new("test", &[0x80]).varint().is_err());
    }
}
