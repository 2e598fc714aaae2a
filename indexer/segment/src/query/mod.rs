//! Answers expressions on a segment: plan (look the keys up, order by cardinality), then evaluate (patterns first, rows only where needed).

mod alignment;
mod chunk_rows;
mod eval;
mod field;
mod found;
mod newest;
mod pattern_set;
mod patterns;
mod phrase;
mod plan;
mod ranker;
mod time;
mod top_k;

pub(crate) use found::Found;
pub(crate) use pattern_set::PatternSet;
use time::Within;

use crate::error::SegmentError;
use crate::fetch::{ChunkFetcher, ChunkRows};
use crate::reader::SegmentReader;

/// Evaluates expressions on one segment.
#[derive(Clone, Copy)]
pub(crate) struct Evaluator<'a> {
    pub(crate) reader: &'a SegmentReader,
    pub(crate) fetcher: &'a dyn ChunkFetcher,
}

impl Evaluator<'_> {
    /// All rows of a chunk.
    pub(crate) fn rows_of_chunk(&self, ordinal: u32) -> Result<ChunkRows, SegmentError> {
        let missing = SegmentError::corrupt("postings", "a chunk does not exist");
        let chunk = self.reader.chunks().get(ordinal as usize).copied().ok_or(missing)?;
        let rows = self.fetcher.rows(chunk.id).map_err(|source| SegmentError::Fetch { what: "rows", chunk: chunk.id, source })?;
        if rows.rows.len() == chunk.rows as usize && rows.offsets.len() == rows.rows.len() {
            return Ok(rows);
        }
        Err(SegmentError::Mismatch { chunk: chunk.id, what: "rows" })
    }
}
