//! Which rows can still be in the answer, from codes alone.
//!
//! Codes give a key and how far the true one can be from it. A row whose key is certainly above the n-th smallest upper bound is out; a row that
//! is certainly below the asked distance is counted without a look at its full vector. What is left is scored.

use crate::codes::{CodedQuery, Term};
use crate::space::Metric;
use crate::top::{Scored, Top};

/// A row whose full vector must be looked at.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Candidate {
    pub(super) row: u32,
    /// The true key is not below this.
    pub(super) low: f32,
    /// Whether the row counts only if its distance is below the one that was asked.
    pub(super) is_open: bool,
}

/// The distance that was asked, as a key with its margin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    pub(super) distance: f32,
    surely: f32,
    never: f32,
}

impl Within {
    pub(super) fn new(metric: Metric, distance: f32) -> Self {
        let key = metric.key(distance);
        // Rounding of the key and of the distance that decides in the end.
        let margin = 1e-6 * (1.0 + key.abs());
        Self { distance, surely: key - margin, never: key + margin }
    }

    /// Whether no key from `low` on can be of such a distance.
    #[inline]
    pub(super) fn excludes(&self, low: f32) -> bool {
        low > self.never
    }
}

/// Gathers candidates.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    within: Option<Within>,
    count: bool,
    limit: usize,
    /// The smallest upper bounds.
    highs: Top,
    candidates: Vec<Candidate>,
    /// Candidates above which the list is thinned out.
    thin_above: usize,
    /// Rows that match for certain.
    pub(super) certain: u64,
}

/// Candidates that are never thinned out.
const CANDIDATES_MIN: usize = 4_096;

impl Bounds {
    pub(super) fn new(within: Option<Within>, count: bool, limit: usize) -> Self {
        Self { within, count, limit, highs: Top::new(limit), candidates: Vec::new(), thin_above: CANDIDATES_MIN, certain: 0 }
    }

    /// Takes a row with the dot product of its codes.
    #[inline]
    pub(super) fn offer(&mut self, query: &CodedQuery, row: u32, dot: i32, term: &Term) {
        let (key, slack) = (query.estimate(dot, term), query.slack(term));
        let (low, high) = (key - slack, key + slack);
        let mut is_open = false;
        if let Some(within) = &self.within {
            if within.excludes(low) {
                return;
            }
            is_open = self.count && high >= within.surely;
            self.certain += u64::from(self.count && !is_open);
        }
        if self.limit > 0 && low <= self.highs.bound() {
            self.highs.offer(Scored { key: high, row });
        } else if !is_open {
            return;
        }
        self.candidates.push(Candidate { row, low, is_open });
        if self.candidates.len() > self.thin_above {
            self.thin();
        }
    }

    fn thin(&mut self) {
        let bound = if self.limit == 0 { f32::NEG_INFINITY } else { self.highs.bound() };
        self.candidates.retain(|candidate| candidate.is_open || candidate.low <= bound);
        self.thin_above = (2 * self.candidates.len()).max(CANDIDATES_MIN);
    }

    pub(super) fn finish(mut self) -> (Vec<Candidate>, u64) {
        self.thin();
        (self.candidates, self.certain)
    }
}
