//! The best rows so far.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A row with its key. Greater is worse: a larger key, and of equal keys the lower row, which came earlier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scored {
    pub(crate) key: f32,
    pub(crate) row: u32,
}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.total_cmp(&other.key).then(other.row.cmp(&self.row))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scored {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Scored {}

/// The `limit` best rows that were offered.
#[derive(Clone, Debug)]
pub(crate) struct Top {
    limit: usize,
    heap: BinaryHeap<Scored>,
}

impl Top {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::new() }
    }

    #[inline]
    pub(crate) fn offer(&mut self, scored: Scored) {
        if self.heap.len() < self.limit {
            self.heap.push(scored);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && scored < *worst
        {
            *worst = scored;
        }
    }

    /// No row with a larger key can enter any more.
    #[inline]
    pub(crate) fn bound(&self) -> f32 {
        if self.heap.len() < self.limit { f32::INFINITY } else { self.heap.peek().map_or(f32::NEG_INFINITY, |worst| worst.key) }
    }

    /// Best first.
    pub(crate) fn into_sorted(self) -> Vec<Scored> {
        self.heap.into_sorted_vec()
    }
}
