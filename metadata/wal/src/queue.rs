//! What waits for the log's thread.

use crate::log::Slot;
use crate::{WalConfig, WalError};
use bytes::Bytes;
use std::collections::VecDeque;

/// Told once, by the log's driver and in the order of the operations, whether an operation is durable. It must return quickly: the log
/// writes nothing meanwhile.
pub type Done = Box<dyn FnOnce(Result<(), WalError>) + Send>;

/// Operations that nobody waits for are written at the latest when so many have gathered: without this they could fill the queue, and nothing would
/// ever empty it.
const UNAWAITED_MAX: usize = 256;

pub(crate) enum Change {
    Append { first_index: u64, payloads: Vec<Bytes> },
    Truncate { index: u64 },
    Purge { index: u64, note: Bytes },
    Set { slot: Slot, value: Bytes },
}

impl Change {
    pub(crate) fn payload_bytes(&self) -> usize {
        match self {
            Self::Append { payloads, .. } => payloads.iter().map(Bytes::len).sum(),
            Self::Purge { note: payload, .. } | Self::Set { value: payload, .. } => payload.len(),
            Self::Truncate { .. } => 0,
        }
    }

    pub(crate) fn records(&self) -> usize {
        if let Self::Append { payloads, .. } = self { payloads.len() } else { 1 }
    }
}

pub(crate) struct Operation {
    pub(crate) change: Change,
    /// `None`: nobody waits for it, so it may go with the next operation that somebody waits for.
    pub(crate) done: Option<Done>,
}

#[derive(Default)]
pub(crate) struct Queue {
    operations: VecDeque<Operation>,
    /// Operations of `operations` that somebody waits for.
    awaited: usize,
    /// Entries and bytes that are not durable yet, those in flight included.
    entries: usize,
    bytes: usize,
}

impl Queue {
    /// Refuses when the bounds are reached; an empty queue takes anything, so that no operation is refused for ever.
    pub(crate) fn check_room(&self, entries: usize, bytes: usize, config: &WalConfig) -> Result<(), WalError> {
        let full = self.entries + entries > config.queue_entries_max || self.bytes + bytes > config.queue_bytes_max;
        if full && self.entries > 0 { Err(WalError::QueueFull { entries: self.entries, bytes: self.bytes }) } else { Ok(()) }
    }

    pub(crate) fn push(&mut self, operation: Operation) {
        self.entries += operation.change.records();
        self.bytes += operation.change.payload_bytes();
        self.awaited += usize::from(operation.done.is_some());
        self.operations.push_back(operation);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Whether something is to be written now: somebody waits for it, or so much has gathered that nobody waits for.
    pub(crate) fn is_due(&self) -> bool {
        self.awaited > 0 || self.operations.len() >= UNAWAITED_MAX
    }

    /// All operations, in order.
    pub(crate) fn take_all(&mut self) -> Vec<Operation> {
        self.awaited = 0;
        self.operations.drain(..).collect()
    }

    /// The next operations, in order, of about one batch's bytes, at least one if there is any.
    pub(crate) fn take(&mut self, config: &WalConfig) -> Vec<Operation> {
        let mut taken = Vec::new();
        let mut bytes = 0;
        while let Some(operation) = self.operations.front() {
            bytes += operation.change.payload_bytes();
            let is_full = bytes > config.batch_bytes_max || taken.len() >= config.batch_operations_max;
            if is_full && !taken.is_empty() {
                break;
            }
            let operation = self.operations.pop_front().expect("there is a front");
            self.awaited -= usize::from(operation.done.is_some());
            taken.push(operation);
        }
        taken
    }

    /// Operations that were taken are durable: their room is free again.
    pub(crate) fn settle(&mut self, entries: usize, bytes: usize) {
        self.entries -= entries;
        self.bytes -= bytes;
    }
}
