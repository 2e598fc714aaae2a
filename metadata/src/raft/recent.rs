//! The end of the log as Raft's own values: replication to each follower and the machine read every entry soon after it was appended, and need not
//! read it from its stored form each time.
//!
//! What is deliberately not here: the log itself. What is missing here is read there.

use crate::raft::types::RaftTypes;
use openraft::Entry;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// Entries that are kept at most. Followers that keep up are some hundred behind.
const ENTRIES_MAX: usize = 4_096;

/// Bytes of stored entries that are kept at most; the log holds the same bytes anyway, so only what was decoded comes on top.
const BYTES_MAX: usize = 16 << 20;

/// The newest entries, without gaps.
#[derive(Default)]
pub(crate) struct Recent(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    first: u64,
    /// Each with the length of its stored form.
    entries: VecDeque<(Entry<RaftTypes>, usize)>,
    bytes: usize,
}

impl Recent {
    /// Entries were appended to the log, where they can be read by now.
    pub(crate) fn push(&self, appended: Vec<(Entry<RaftTypes>, usize)>) {
        let mut kept = self.0.lock();
        for (entry, bytes) in appended {
            if entry.log_id.index != kept.next() {
                *kept = Entries { first: entry.log_id.index, ..Entries::default() };
            }
            kept.bytes += bytes;
            kept.entries.push_back((entry, bytes));
        }
        while kept.entries.len() > ENTRIES_MAX || kept.bytes > BYTES_MAX {
            kept.pop_front();
        }
    }

    /// The entries from `index` on are about to be cut off.
    pub(crate) fn truncate(&self, index: u64) {
        let mut kept = self.0.lock();
        while kept.next() > index
            && let Some((_, bytes)) = kept.entries.pop_back()
        {
            kept.bytes -= bytes;
        }
    }

    /// The entries up to and with `index` are about to be given up.
    pub(crate) fn purge(&self, index: u64) {
        let mut kept = self.0.lock();
        while kept.first <= index && !kept.entries.is_empty() {
            kept.pop_front();
        }
    }

    /// The entries `start..end`, or the first of them that fit `bytes_max` (at least one); `None` where any of them is not kept.
    pub(crate) fn read(&self, start: u64, end: u64, bytes_max: usize) -> Option<Vec<Entry<RaftTypes>>> {
        let kept = self.0.lock();
        if start < kept.first || end > kept.next() || start >= end {
            return None;
        }
        let range = usize::try_from(start - kept.first).ok()?..usize::try_from(end - kept.first).ok()?;
        let mut read = Vec::with_capacity(range.len());
        let mut bytes = 0_usize;
        for (entry, len) in kept.entries.range(range) {
            bytes = bytes.saturating_add(*len);
            if !read.is_empty() && bytes > bytes_max {
                break;
            }
            read.push(entry.clone());
        }
        Some(read)
    }
}

impl Entries {
    fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    fn pop_front(&mut self) {
        if let Some((_, bytes)) = self.entries.pop_front() {
            self.bytes -= bytes;
            self.first += 1;
        }
    }
}

#[cfg(test)]
#[path = "recent_test.rs"]
mod tests;
