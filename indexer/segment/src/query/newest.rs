//! Answers by time: the newest rows, and histograms. Chunks' time bounds come first; timestamps are asked for only where they do not decide.

use super::Evaluator;
use crate::error::SegmentError;
use crate::rank::Top;
use crate::source::{HistogramSpec, Position};
use siltstone_core::RowAddress;
use siltstone_query::Expr;

impl Evaluator<'_> {
    pub(crate) fn newest(&self, expr: &Expr, limit: usize, before: Option<Position>) -> Result<Vec<Position>, SegmentError> {
        let found = self.found(expr)?;
        let mut top = Top::new(limit);
        let mut is_chosen = Vec::new();
        if found.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        for ordinal in self.reader.newest_first().iter().copied() {
            let chunk = self.reader.chunks()[ordinal as usize];
            if top.least().is_some_and(|least: &Position| chunk.last_ns < least.timestamp_ns) {
                // Every chunk after this one is as old or older.
                break;
            }
            if before.is_some_and(|before| chunk.first_ns > before.timestamp_ns) {
                continue;
            }
            let Some(block) = self.block_of(&found, ordinal, &mut is_chosen)? else { continue };
            let times = self.timestamps(ordinal)?;
            for offset in &block {
                let timestamp_ns = self.time_of(ordinal, offset, &times)?;
                let position = Position { timestamp_ns, address: RowAddress::new(chunk.id, usize::from(offset)) };
                if before.is_none_or(|before| position < before) {
                    top.push(position);
                }
            }
        }
        Ok(top.into_sorted())
    }

    pub(crate) fn histogram(&self, expr: &Expr, spec: &HistogramSpec) -> Result<Vec<u64>, SegmentError> {
        let found = self.found(expr)?;
        let mut counts = vec![0; spec.buckets];
        let mut is_chosen = Vec::new();
        for (ordinal, chunk) in (0_u32..).zip(self.reader.chunks()) {
            match (spec.bucket(chunk.first_ns), spec.bucket(chunk.last_ns)) {
                (Some(first), Some(last)) if first == last => counts[first] += self.count_in_chunk(&found, ordinal, &mut is_chosen)?,
                (None, None) if chunk.last_ns < spec.start_ns || chunk.first_ns > spec.start_ns => {
                    // Outside on one side: before the first bucket, or, as it does not begin before it, after the last. A chunk that begins
                    // before and ends after takes the next arm.
                }
                _ => {
                    let Some(block) = self.block_of(&found, ordinal, &mut is_chosen)? else { continue };
                    let times = self.timestamps(ordinal)?;
                    for offset in &block {
                        if let Some(bucket) = spec.bucket(self.time_of(ordinal, offset, &times)?) {
                            counts[bucket] += 1;
                        }
                    }
                }
            }
        }
        Ok(counts)
    }
}
