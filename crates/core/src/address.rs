//! The row address: `chunk << 11 | offset`. Given at arrival, never changed, never reused (RA-1).

use crate::ids::ChunkId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bits of a row address that hold the offset within the chunk.
pub const CHUNK_ROWS_BITS: u32 = 11;

/// Entries a chunk holds at most: 2,048, so that one chunk's rows are four AVX-512 registers.
pub const CHUNK_ROWS_MAX: usize = 1 << CHUNK_ROWS_BITS;

/// The largest chunk id that still fits a row address.
pub const CHUNK_ID_MAX: u64 = u64::MAX >> CHUNK_ROWS_BITS;

/// Where an entry lives, for ever. Its text form is 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RowAddress(u64);

impl RowAddress {
    /// The address of the entry at `offset` of `chunk`.
    ///
    /// # Panics
    /// When `offset` is [`CHUNK_ROWS_MAX`] or more, or the chunk id has more than 53 bits: both are bugs of the caller.
    #[must_use]
    pub fn new(chunk: ChunkId, offset: usize) -> Self {
        assert!(offset < CHUNK_ROWS_MAX, "RA-1: offset {offset} is outside a chunk");
        assert!(chunk.0 <= CHUNK_ID_MAX, "RA-1: chunk id {chunk} does not fit a row address");
        Self(chunk.0 << CHUNK_ROWS_BITS | offset as u64)
    }

    /// An address from its stored or printed number.
    #[must_use]
    pub const fn from_u64(raw: u64) -> Self {
        Self(raw)
    }

    /// The number that is stored and printed.
    #[must_use]
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The chunk that holds the entry.
    #[must_use]
    pub const fn chunk(self) -> ChunkId {
        ChunkId(self.0 >> CHUNK_ROWS_BITS)
    }

    /// The entry's offset within its chunk, below [`CHUNK_ROWS_MAX`].
    #[must_use]
    pub const fn offset(self) -> usize {
        (self.0 & (CHUNK_ROWS_MAX as u64 - 1)) as usize
    }
}

impl fmt::Display for RowAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_and_offset_come_back() {
        for (chunk, offset) in [(0, 0), (1, 2047), (CHUNK_ID_MAX, 17)] {
            let address = RowAddress::new(ChunkId(chunk), offset);
            assert_eq!((address.chunk(), address.offset()), (ChunkId(chunk), offset));
        }
    }

    #[test]
    #[should_panic(expected = "RA-1")]
    fn an_offset_outside_the_chunk_is_refused() {
        let _ = RowAddress::new(ChunkId(0), CHUNK_ROWS_MAX);
    }
}
