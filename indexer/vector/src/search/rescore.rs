//! Scores candidates by their full vectors, the most promising first, until no other can enter.

use super::STEP_BYTES_MAX;
use super::bounds::{Candidate, Within};
use crate::codes::CodedQuery;
use crate::error::VectorError;
use crate::format::ByteRange;
use crate::full;
use crate::kernels;
use crate::request::Hit;
use crate::top::{Scored, Top};
use crate::view::{View, check_fetched};
use bytes::Bytes;

/// Candidates that are fetched at once at most: after them fewer may be left.
const STEP_ROWS_MAX: usize = 4_096;

/// Scoring that is under way.
#[derive(Clone, Debug)]
pub(super) struct Rescore {
    /// By rising lower bound.
    candidates: Vec<Candidate>,
    /// Candidates before this are done.
    done: usize,
    /// Those up to this are being fetched, of these blocks.
    until: usize,
    blocks: Vec<u32>,
    named: Vec<ByteRange>,
    within: Option<Within>,
    top: Top,
    pub(super) counted: u64,
    pub(super) rows_scored: u64,
    pub(super) bytes_fetched: u64,
}

impl Rescore {
    pub(super) fn new(mut candidates: Vec<Candidate>, within: Option<Within>, limit: usize) -> Self {
        candidates.sort_unstable_by(|a, b| a.low.total_cmp(&b.low));
        Self {
            candidates,
            done: 0,
            until: 0,
            blocks: Vec::new(),
            named: Vec::new(),
            within,
            top: Top::new(limit),
            counted: 0,
            rows_scored: 0,
            bytes_fetched: 0,
        }
    }

    /// The ranges that are needed next; none when all is scored.
    pub(super) fn advance(&mut self, view: &View<'_>, query: &CodedQuery, fetched: &[Bytes]) -> Result<Vec<ByteRange>, VectorError> {
        self.bytes_fetched += check_fetched(&self.named, fetched)?;
        if view.has_full() {
            self.until = self.candidates.len();
            self.score(query, view, |row| view.full_row(row).ok_or_else(|| VectorError::corrupt("full", "a row is missing")))?;
            return Ok(Vec::new());
        }
        let layout = view.layout()?;
        for (block, bytes) in self.blocks.iter().zip(fetched) {
            layout.check_full(*block, bytes)?;
        }
        let blocks = std::mem::take(&mut self.blocks);
        let row_bytes = full::row_bytes(view.precision, view.space.dimension());
        self.score(query, view, |row| {
            let index = blocks.binary_search(&(row / layout.full_block_rows())).ok();
            let at = (row % layout.full_block_rows()) as usize * row_bytes;
            let bytes = index.and_then(|index| fetched.get(index)).and_then(|bytes| bytes.get(at..at + row_bytes));
            bytes.ok_or_else(|| VectorError::corrupt("full", "a row is missing"))
        })?;
        self.name(view)?;
        Ok(self.named.clone())
    }

    /// Whether a candidate can matter.
    #[inline]
    fn matters(&self, candidate: &Candidate) -> bool {
        candidate.is_open || candidate.low <= self.top.bound()
    }

    fn score<'b, F>(&mut self, query: &CodedQuery, view: &View<'_>, row_of: F) -> Result<(), VectorError>
    where
        F: Fn(u32) -> Result<&'b [u8], VectorError>,
    {
        let kernels = kernels::active();
        for index in self.done..self.until {
            let candidate = self.candidates[index];
            if !self.matters(&candidate) {
                continue;
            }
            let key = full::key(kernels, view.precision, query, row_of(candidate.row)?);
            self.rows_scored += 1;
            if let Some(within) = &self.within {
                if query.metric.distance(key) >= within.distance {
                    continue;
                }
                self.counted += u64::from(candidate.is_open);
            }
            self.top.offer(Scored { key, row: candidate.row });
        }
        self.done = self.until;
        Ok(())
    }

    /// Chooses what to fetch next.
    fn name(&mut self, view: &View<'_>) -> Result<(), VectorError> {
        let layout = view.layout()?;
        let mut blocks = std::collections::BTreeSet::new();
        let mut bytes = 0;
        let mut rows = 0;
        for candidate in &self.candidates[self.done..] {
            if self.matters(candidate) {
                let block = candidate.row / layout.full_block_rows();
                let length = if blocks.contains(&block) { 0 } else { layout.full_range(block).map_or(0, |range| range.end - range.start) };
                if rows == STEP_ROWS_MAX || (bytes + length > STEP_BYTES_MAX && bytes > 0) {
                    break;
                }
                blocks.insert(block);
                bytes += length;
                rows += 1;
            }
            self.until += 1;
        }
        self.blocks = blocks.into_iter().collect();
        self.named = self
            .blocks
            .iter()
            .map(|block| layout.full_range(*block).ok_or_else(|| VectorError::corrupt("full", "a row lies past the last block")))
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The hits, best first; distances that keys tell apart and f32 does not are equal.
    pub(super) fn finish(self, query: &CodedQuery) -> Vec<Hit> {
        let distances = self.top.into_sorted().into_iter().map(|scored| Hit { row: scored.row, distance: query.metric.distance(scored.key) });
        let mut hits: Vec<Hit> = distances.collect();
        hits.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(b.row.cmp(&a.row)));
        hits
    }
}
