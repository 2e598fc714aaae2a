//! Which rows lie in a time range: chunk by chunk, then the timestamps of those chunks alone that the range cuts.

use super::{Evaluator, PatternSet};
use crate::error::SegmentError;
use crate::reader::ChunkSummary;
use siltstone_core::bitmap::{Block, RowSet, RowSetBuilder};
use siltstone_query::TimeRange;
use std::sync::Arc;

/// How a chunk's times lie to a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Overlap {
    None,
    Part,
    All,
}

/// What rows are asked for at most: a chunk without any needs no timestamps.
#[derive(Clone, Copy)]
pub(crate) enum Within<'a> {
    All,
    Rows(&'a RowSet),
    Patterns(&'a PatternSet),
}

pub(crate) fn overlap(chunk: &ChunkSummary, range: &TimeRange) -> Overlap {
    match (range.contains(chunk.first_ns), range.contains(chunk.last_ns)) {
        (true, true) => Overlap::All,
        (false, false) if chunk.last_ns < range.start_ns || range.end_ns <= chunk.first_ns || range.end_ns <= range.start_ns => Overlap::None,
        _ => Overlap::Part,
    }
}

impl Evaluator<'_> {
    /// How many rows chunks have that overlap the range, and whether all of them lie in it.
    pub(super) fn count_time(&self, range: &TimeRange) -> (u64, bool) {
        let mut rows = 0;
        let mut is_exact = true;
        for chunk in self.reader.chunks() {
            match overlap(chunk, range) {
                Overlap::None => {}
                part => {
                    rows += u64::from(chunk.rows);
                    is_exact &= part == Overlap::All;
                }
            }
        }
        (rows, is_exact)
    }

    /// The rows in the range. What lies outside `within` may be missing.
    pub(super) fn eval_time(&self, range: &TimeRange, within: Within<'_>) -> Result<RowSet, SegmentError> {
        let mut out = RowSetBuilder::new();
        for (ordinal, chunk) in (0_u32..).zip(self.reader.chunks()) {
            let overlap = overlap(chunk, range);
            if overlap == Overlap::None || !self.is_wanted(ordinal, within) {
                continue;
            }
            let block = if overlap == Overlap::All { self.reader.layout.chunks.block(ordinal) } else { self.block_in(ordinal, range)? };
            out.push_block(ordinal, &block).map_err(|_| SegmentError::corrupt("chunks", "chunks do not ascend"))?;
        }
        Ok(out.finish())
    }

    /// Whether a chunk may have rows in `within`.
    pub(super) fn is_wanted(&self, chunk: u32, within: Within<'_>) -> bool {
        match within {
            Within::All => true,
            Within::Rows(rows) => rows.offsets(chunk).is_some(),
            Within::Patterns(patterns) => self.reader.layout.cells.patterns(chunk).iter().any(|pattern| patterns.contains(*pattern)),
        }
    }

    fn block_in(&self, chunk: u32, range: &TimeRange) -> Result<Block, SegmentError> {
        let mut block = Block::EMPTY;
        let chunks = &self.reader.layout.chunks;
        for (rank, time) in self.timestamps(chunk)?.iter().enumerate() {
            if range.contains(*time) {
                block.insert(chunks.offset_of_rank(chunk, rank));
            }
        }
        Ok(block)
    }

    /// The timestamps of a chunk's rows, in the order of their offsets.
    pub(crate) fn timestamps(&self, ordinal: u32) -> Result<Arc<[i64]>, SegmentError> {
        let missing = SegmentError::corrupt("postings", "a chunk does not exist");
        let chunk = self.reader.chunks().get(ordinal as usize).copied().ok_or(missing)?;
        let times = self.fetcher.timestamps(chunk.id).map_err(|source| SegmentError::Fetch { what: "timestamps", chunk: chunk.id, source })?;
        if times.len() == chunk.rows as usize {
            return Ok(times);
        }
        Err(SegmentError::Mismatch { chunk: chunk.id, what: "timestamps" })
    }
}
