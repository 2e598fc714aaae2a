//! What one search needs beside the graph, used again by the next one.

use crate::top::Scored;

/// A row that a search has found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) key: f32,
    pub(crate) slot: u32,
    pub(crate) is_expanded: bool,
}

impl Found {
    pub(crate) const fn scored(self) -> Scored {
        Scored { key: self.key, row: self.slot }
    }
}

/// Room for a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// A bit a slot, all clear between searches; a bit and not a mark of four bytes: it stays in the nearest caches.
    seen: Vec<u64>,
    /// Words of `seen` that are not clear.
    touched: Vec<u32>,
    /// The best so far, best first.
    pub(crate) pool: Vec<Found>,
    /// Neighbours to look at.
    pub(crate) fresh: Vec<u32>,
    /// Slots that searches looked at.
    pub(crate) visited: u64,
}

impl Scratch {
    pub(super) fn begin(&mut self, slots: usize) {
        for word in self.touched.drain(..) {
            self.seen[word as usize] = 0;
        }
        if self.seen.len() * 64 < slots {
            self.seen.resize(slots.div_ceil(64), 0);
        }
        self.pool.clear();
    }

    /// Whether the slot is seen for the first time.
    #[inline]
    pub(super) fn see(&mut self, slot: u32) -> bool {
        let word = &mut self.seen[slot as usize / 64];
        let bit = 1 << (slot % 64);
        let is_new = *word & bit == 0;
        if *word == 0 {
            self.touched.push(slot / 64);
        }
        *word |= bit;
        is_new
    }

    /// Puts a row into the pool of the `limit` best; its place, if it is among them.
    #[inline]
    pub(super) fn keep(&mut self, key: f32, slot: u32, limit: usize) -> Option<usize> {
        if self.pool.len() >= limit {
            if self.pool.last().is_some_and(|worst| key >= worst.key) {
                return None;
            }
            self.pool.pop();
        }
        let at = self.pool.partition_point(|found| found.key <= key);
        self.pool.insert(at, Found { key, slot, is_expanded: false });
        Some(at)
    }
}
