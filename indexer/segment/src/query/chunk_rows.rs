//! What was found, chunk by chunk: for answers that stop early, or that go by time.

use super::{Evaluator, Found};
use crate::error::SegmentError;
use siltstone_core::bitmap::Block;

impl Evaluator<'_> {
    /// Marks the cells of a chunk whose patterns were found whole; whether there are any.
    pub(crate) fn chosen_cells(&self, found: &Found, chunk: u32, is_chosen: &mut Vec<bool>) -> bool {
        super::found::choose(chunk, &found.patterns, self.reader, is_chosen) != super::found::Share::None
    }

    /// The rows that were found in a chunk; `None` if there are none.
    pub(crate) fn block_of(&self, found: &Found, chunk: u32, is_chosen: &mut Vec<bool>) -> Result<Option<Block>, SegmentError> {
        let offsets = found.rows.offsets(chunk);
        if !self.chosen_cells(found, chunk, is_chosen) {
            return Ok(offsets.map(|offsets| offsets.to_block()));
        }
        let mut block = self.reader.layout.rows_of_cells(chunk, is_chosen)?;
        if let Some(offsets) = offsets {
            offsets.or_into(&mut block);
        }
        Ok(Some(block))
    }

    /// How many rows were found in a chunk.
    pub(crate) fn count_in_chunk(&self, found: &Found, chunk: u32, is_chosen: &mut Vec<bool>) -> Result<u64, SegmentError> {
        if found.rows.offsets(chunk).is_some() {
            return Ok(self.block_of(found, chunk, is_chosen)?.map_or(0, |block| u64::from(block.count())));
        }
        if !self.chosen_cells(found, chunk, is_chosen) {
            return Ok(0);
        }
        let counts = self.reader.layout.cells.counts(chunk).iter();
        Ok(counts.zip(is_chosen).filter(|(_, is_chosen)| **is_chosen).map(|(count, _)| u64::from(*count)).sum())
    }

    /// The time of the row at `offset`, of the times of its chunk.
    pub(crate) fn time_of(&self, chunk: u32, offset: u16, times: &[i64]) -> Result<i64, SegmentError> {
        let rank = self.reader.layout.chunks.rank_of_offset(chunk, offset);
        times.get(rank).copied().ok_or(SegmentError::corrupt("postings", "a row does not exist"))
    }
}
