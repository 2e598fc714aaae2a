//! Which rows a segment has, and which pattern each row has.
//!
//! A *cell* is the rows of one pattern in one chunk. The forward column says for each row which of its chunk's cells it is in; so a pattern's
//! rows need no postings of their own, and the count of any set of patterns is a sum over cells.

mod cells;
mod chunks;
mod forward;

pub(crate) use cells::Cells;
pub use chunks::ChunkSummary;
pub(crate) use chunks::ChunkTable;
pub(crate) use forward::{BURNED, Forward};

use crate::error::SegmentError;
use siltstone_core::bitmap::Block;

/// Chunks a segment has at most, so that a row number (chunk ordinal << 11 | offset) fits 32 bits, and the number of rows too.
pub(crate) const CHUNKS_MAX: usize = (1 << 21) - 1;

/// Chunks, cells and the forward column.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) chunks: ChunkTable,
    pub(crate) cells: Cells,
    pub(crate) forward: Forward,
}

impl Layout {
    /// Per offset of a chunk: the number of its cell, or [`BURNED`].
    pub(crate) fn cell_of_offset(&self, chunk: u32) -> Result<&[u16], SegmentError> {
        self.forward.chunk(chunk, &self.chunks, &self.cells)
    }

    /// The pattern of a row that exists.
    pub(crate) fn pattern_of(&self, chunk: u32, offset: u16) -> Result<u32, SegmentError> {
        let cell = self.cell_of_offset(chunk)?.get(usize::from(offset)).copied().unwrap_or(BURNED);
        self.cells.patterns(chunk).get(usize::from(cell)).copied().ok_or(SegmentError::corrupt("postings", "a row does not exist"))
    }

    /// As [`pattern_of`](Self::pattern_of); `None` where no row has the offset.
    pub(crate) fn pattern_at(&self, chunk: u32, offset: u16) -> Result<Option<u32>, SegmentError> {
        match self.cell_of_offset(chunk)?.get(usize::from(offset)) {
            Some(cell) if *cell != BURNED => self.pattern_of(chunk, offset).map(Some),
            _ => Ok(None),
        }
    }

    /// The rows of the chosen cells of a chunk. `is_chosen` has an element a cell.
    pub(crate) fn rows_of_cells(&self, chunk: u32, is_chosen: &[bool]) -> Result<Block, SegmentError> {
        let mut block = Block::EMPTY;
        let cells = self.cell_of_offset(chunk)?;
        // Cells number at most 2,048; burned offsets are no cell's.
        for (word, offsets) in block.0.iter_mut().zip(cells.chunks(64)) {
            let mut bits = 0;
            for (bit, cell) in offsets.iter().enumerate() {
                bits |= u64::from(is_chosen.get(usize::from(*cell)).copied().unwrap_or(false)) << bit;
            }
            *word = bits;
        }
        Ok(block)
    }

    /// The rows of one cell.
    pub(crate) fn rows_of_cell(&self, chunk: u32, cell: u16) -> Result<Block, SegmentError> {
        let mut block = Block::EMPTY;
        for (word, offsets) in block.0.iter_mut().zip(self.cell_of_offset(chunk)?.chunks(64)) {
            let mut bits = 0;
            for (bit, other) in offsets.iter().enumerate() {
                bits |= u64::from(*other == cell) << bit;
            }
            *word = bits;
        }
        Ok(block)
    }
}
