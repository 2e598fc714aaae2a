//! The log's contents in memory: what records say, applied in their order.

use crate::format::{NUMBER_MAX, Record, RecordKind};
use bytes::Bytes;
use std::collections::VecDeque;

/// A named value of which only the newest counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// Whom this member voted for.
    Vote,
    /// The last entry that is known to be committed. May lag.
    Committed,
    /// The snapshot that stands for the purged entries.
    Snapshot,
    /// Who this member is.
    Identity,
}

impl Slot {
    pub(crate) const ALL: [Self; 4] = [Self::Vote, Self::Committed, Self::Snapshot, Self::Identity];

    pub(crate) const fn record_kind(self) -> RecordKind {
        match self {
            Self::Vote => RecordKind::Vote,
            Self::Committed => RecordKind::Committed,
            Self::Snapshot => RecordKind::Snapshot,
            Self::Identity => RecordKind::Identity,
        }
    }
}

/// The indexes that a log holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogSpan {
    /// The first entry that the log holds; equal to `next` when it holds none.
    pub first: u64,
    /// The index that the next entry must have.
    pub next: u64,
}

/// The values of all slots, and the purge.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    values: [Option<Bytes>; 4],
    /// The last purged entry's index and the owner's note about it.
    pub(crate) purged: Option<(u64, Bytes)>,
}

impl Slots {
    pub(crate) const fn get(&self, slot: Slot) -> Option<&Bytes> {
        self.values[slot as usize].as_ref()
    }

    pub(crate) fn set(&mut self, slot: Slot, value: Bytes) {
        self.values[slot as usize] = Some(value);
    }

    /// Keeps the highest purge.
    pub(crate) fn purge(&mut self, index: u64, note: Bytes) {
        if self.purged.as_ref().is_none_or(|(purged, _)| index > *purged) {
            self.purged = Some((index, note));
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Log {
    first: u64,
    entries: VecDeque<Bytes>,
    payload_bytes: usize,
    pub(crate) slots: Slots,
}

impl Log {
    /// An empty log whose next entry has this index.
    pub(crate) fn starting_at(first: u64) -> Self {
        Self { first, ..Self::default() }
    }

    pub(crate) fn span(&self) -> LogSpan {
        LogSpan { first: self.first, next: self.first + self.entries.len() as u64 }
    }

    pub(crate) const fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// Whether an entry of this index leaves no hole. A log that holds nothing and gave nothing up may begin anywhere.
    pub(crate) fn takes(&self, index: u64) -> bool {
        index == self.span().next || (self.entries.is_empty() && self.slots.purged.is_none() && index <= NUMBER_MAX)
    }

    /// Adds an entry that the log takes.
    pub(crate) fn push(&mut self, index: u64, payload: Bytes) {
        debug_assert!(self.takes(index));
        if self.entries.is_empty() {
            self.first = index;
        }
        self.payload_bytes += payload.len();
        self.entries.push_back(payload);
    }

    /// Drops entries from `index` on.
    pub(crate) fn truncate(&mut self, index: u64) {
        while self.span().next > index {
            let Some(payload) = self.entries.pop_back() else { break };
            self.payload_bytes -= payload.len();
        }
    }

    /// Drops entries up to and with `index`. Past the end of the log it moves the end, as after the installation of a snapshot.
    pub(crate) fn purge(&mut self, index: u64, note: Bytes) {
        while self.first <= index {
            let Some(payload) = self.entries.pop_front() else {
                self.first = index + 1;
                break;
            };
            self.payload_bytes -= payload.len();
            self.first += 1;
        }
        self.slots.purge(index, note);
    }

    /// The entries of a range that the log holds, until they are more than `bytes_max`, but at least one.
    pub(crate) fn read(&self, start: u64, end: u64, bytes_max: usize) -> Vec<(u64, Bytes)> {
        let span = self.span();
        let (start, end) = (start.max(span.first), end.min(span.next));
        let mut bytes = 0;
        let mut found = Vec::new();
        for index in start..end {
            let at = usize::try_from(index - span.first).expect("an index of a deque");
            let payload = &self.entries[at];
            bytes += payload.len();
            if bytes > bytes_max && !found.is_empty() {
                break;
            }
            found.push((index, payload.clone()));
        }
        found
    }

    /// Applies a record that was read from a file, or says why it cannot follow what was applied before.
    pub(crate) fn replay(&mut self, record: &Record<'_>) -> Result<(), &'static str> {
        let payload = Bytes::copy_from_slice(record.payload);
        match record.kind {
            RecordKind::Entry => {
                if !self.takes(record.index) {
                    return Err("an entry does not follow the one before it");
                }
                self.push(record.index, payload);
            }
            RecordKind::Truncate => {
                if record.index > self.span().next || self.slots.purged.as_ref().is_some_and(|(purged, _)| record.index <= *purged) {
                    return Err("a truncation names entries that are not there");
                }
                self.truncate(record.index);
                // Entries that a later purge covers may lie in files that are gone. They count as there until then, and so can be truncated.
                self.first = self.first.min(record.index);
            }
            RecordKind::Purge => {
                if record.index > NUMBER_MAX {
                    return Err("a purge has an impossible index");
                }
                self.purge(record.index, payload);
            }
            RecordKind::Vote => self.slots.set(Slot::Vote, payload),
            RecordKind::Committed => self.slots.set(Slot::Committed, payload),
            RecordKind::Snapshot => self.slots.set(Slot::Snapshot, payload),
            RecordKind::Identity => self.slots.set(Slot::Identity, payload),
        }
        Ok(())
    }
}
