//! A chunk whose rows still lie in batches. Once sealed it is a [`PackChunk`] of a pack, and this record is gone.

use super::{CheckedRange, PackChunk};
use serde::{Deserialize, Serialize};
use siltstone_core::{BatchId, CHUNK_ROWS_MAX, ChunkId, Epoch, WriterId};
use std::sync::Arc;

/// Whether a chunk takes rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ChunkState {
    /// Its writer may append.
    Open,
    /// Nothing is appended any more; it waits to be sealed into a pack. It has rows: a chunk whose offsets were all burned is gone once closed.
    Closed,
}

/// A chunk that is open, or closed and not yet sealed.
#[derive(Clone, PartialEq, Debug)]
pub struct ChunkRecord {
    /// Who writes it.
    pub writer: WriterId,
    /// The life of the writer that opened it.
    pub epoch: Epoch,
    /// Open or closed.
    pub state: ChunkState,
    /// The offset that the next slice must begin at; 0..=2,048. Burned offsets count (RA-1).
    pub next_offset: u16,
    /// Rows that exist: `next_offset` less the burned ones.
    pub rows: u16,
    /// State time at which the first slice came.
    pub opened_at_ms: i64,
    /// Smallest timestamp of its rows, in nanoseconds; `i64::MAX` without rows.
    pub timestamp_min_ns: i64,
    /// Largest timestamp of its rows, in nanoseconds; `i64::MIN` without rows.
    pub timestamp_max_ns: i64,
    /// Bytes of its rows' bodies.
    pub body_bytes: u64,
    /// Where its rows lie, by rising offset.
    pub slices: SliceList,
}

impl ChunkRecord {
    /// Whether no further row fits.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.next_offset as usize >= CHUNK_ROWS_MAX
    }

    /// What a pack says of this chunk once it holds its rows: a seal must name exactly this.
    #[must_use]
    pub const fn sealed(&self, chunk: ChunkId) -> PackChunk {
        PackChunk {
            chunk,
            rows: self.rows,
            end_offset: self.next_offset,
            timestamp_min_ns: self.timestamp_min_ns,
            timestamp_max_ns: self.timestamp_max_ns,
            body_bytes: self.body_bytes,
        }
    }
}

/// Where some consecutive rows of a chunk lie in a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SliceRef {
    /// The batch.
    pub batch: BatchId,
    /// The slice's bytes in it.
    pub range: CheckedRange,
    /// The offset of the first row in the chunk.
    pub first_offset: u16,
    /// How many rows, 1..=2,048.
    pub rows: u16,
    /// Smallest timestamp, in nanoseconds.
    pub timestamp_min_ns: i64,
    /// Largest timestamp, in nanoseconds.
    pub timestamp_max_ns: i64,
}

/// Slices in one block of a [`SliceList`]: appending copies at most this many, and never the full blocks.
const BLOCK_LEN: usize = 32;

/// A list that grows at its end and is cheap to clone: full blocks are shared.
#[derive(Clone, Default)]
pub struct SliceList {
    full: Vec<Arc<[SliceRef]>>,
    tail: Vec<SliceRef>,
}

impl SliceList {
    /// Appends a slice.
    pub fn push(&mut self, slice: SliceRef) {
        self.tail.push(slice);
        if self.tail.len() == BLOCK_LEN {
            self.full.push(std::mem::take(&mut self.tail).into());
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.full.len() * BLOCK_LEN + self.tail.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All, by rising offset.
    pub fn iter(&self) -> impl Iterator<Item = &SliceRef> {
        self.full.iter().flat_map(|block| block.iter()).chain(&self.tail)
    }
}

impl FromIterator<SliceRef> for SliceList {
    fn from_iter<I>(slices: I) -> Self
    where
        I: IntoIterator<Item = SliceRef>,
    {
        let mut list = Self::default();
        slices.into_iter().for_each(|slice| list.push(slice));
        list
    }
}

impl PartialEq for SliceList {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl std::fmt::Debug for SliceList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
