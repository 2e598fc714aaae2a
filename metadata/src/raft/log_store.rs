//! openraft's log storage on the write-ahead log.
//!
//! Votes and truncations return when they are durable (WA-1). An append returns when its entries are readable; where this member alone is a quorum
//! it is reported when it is durable, elsewhere at once, since acknowledgements wait at the member's edge (`durable.rs`). Nobody waits for the
//! committed index and for purges: Raft finds the former again by itself after a restart, and entries that come back after a crash do no harm.

use crate::raft::durable::{Durable, LogFailed};
use crate::raft::kept::Kept;
use crate::raft::recent::Recent;
use crate::raft::sabotage::{Sabotage, is_sabotaged};
use crate::raft::stored::{
    EntryHead, decode_entry, decode_entry_head, decode_entry_log_id, decode_log_id, decode_vote, encode_entry, encode_log_id, encode_vote,
};
use crate::raft::types::{LogId, Membership, RaftTypes, StorageError};
use bytes::Bytes;
use openraft::storage::{LogFlushed, LogState, RaftLogStorage};
use openraft::{AnyError, Entry, EntryPayload, OptionalSend, RaftLogReader, StorageIOError, Vote};
use parking_lot::Mutex;
use siltstone_wal::{Done, Slot, Wal, WalError};
use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// Entries are read for replication in pieces of about this size, so that a follower that is far behind costs no more memory than this.
const READ_BYTES_MAX: usize = 4 << 20;

/// Why it is not known what is durable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DurableError {
    /// The log has failed.
    #[error("wait for the log: it has failed")]
    Failed,
    /// The log is not read.
    #[error("read the log")]
    Read(#[from] Box<StorageError>),
}

/// Raft's log. Clones share it.
#[derive(Clone)]
pub(crate) struct LogStore {
    node_id: u64,
    wal: Arc<Wal>,
    durable: Arc<Durable>,
    recent: Arc<Recent>,
    /// Told when an append became durable, and with it room in the queue.
    room: Arc<Notify>,
    /// What purges wait for; `None` where nobody takes snapshots.
    kept: Option<Arc<Kept>>,
}

impl LogStore {
    pub(crate) fn new(node_id: u64, wal: Arc<Wal>, durable: Arc<Durable>) -> Self {
        Self { node_id, wal, durable, recent: Arc::default(), room: Arc::new(Notify::new()), kept: None }
    }

    /// Purges wait for the snapshots that stand for what they give up.
    pub(crate) fn purging_after(self, kept: Arc<Kept>) -> Self {
        Self { kept: Some(kept), ..self }
    }

    /// Learns the memberships that the log holds, as after a restart. Returns the first command whose version is above `version_max`: its place and
    /// its version.
    #[allow(clippy::result_large_err, reason = "the error type is openraft's")]
    pub(crate) fn survey(&self, version_max: u16) -> Result<Option<(u64, u16)>, StorageError> {
        let mut newer = None;
        for (index, payload) in self.wal.read(0, u64::MAX, usize::MAX).map_err(read_error)? {
            match decode_entry_head(&payload).map_err(read_error)? {
                EntryHead::Membership(membership) => self.durable.note_membership(&membership),
                EntryHead::Command(version) if version > version_max => newer = newer.or(Some((index, version))),
                EntryHead::Command(_) | EntryHead::Blank => {}
            }
        }
        Ok(newer)
    }

    /// Which entries are durable.
    pub(crate) fn durable(&self) -> &Durable {
        &self.durable
    }

    /// The vote that was kept last, with all that it stands for.
    #[allow(clippy::result_large_err, reason = "the error type is openraft's")]
    pub(crate) fn vote(&self) -> Result<Option<Vote<u64>>, StorageError> {
        let vote = self.wal.get(Slot::Vote).map(|vote| decode_vote(&vote)).transpose();
        vote.map_err(|error| StorageIOError::read_vote(AnyError::new(&error)).into())
    }

    /// The end of the log.
    #[allow(clippy::result_large_err, reason = "the error type is openraft's")]
    pub(crate) fn last_log_id(&self) -> Result<Option<LogId>, StorageError> {
        let next = self.wal.span().next;
        let last = self.wal.read(next.saturating_sub(1), next, usize::MAX).map_err(read_error)?;
        let last = last.first().map(|(_, payload)| decode_entry_log_id(payload)).transpose().map_err(read_error)?;
        Ok(last.or(self.last_purged_log_id()?))
    }

    /// Waits until the entries up to `last` are durable. Where that takes longer than `patience`, a part of them behind `before` is enough, if there
    /// is one by then: while new entries keep coming, and a sync takes longer than Raft waits for an answer, the end of what is asked for would move
    /// on each time before it is reached. Gives the last entry that is durable.
    pub(crate) async fn until_durable_part(&self, before: Option<LogId>, last: LogId, patience: Duration) -> Result<LogId, DurableError> {
        let mut whole = pin!(self.durable.wait(last.index));
        if let Ok(outcome) = tokio::time::timeout(patience, &mut whole).await {
            return outcome.map(|()| last).map_err(|LogFailed| DurableError::Failed);
        }
        if let Some(end) = self.durable.oldest_in_flight().and_then(|next| next.checked_sub(1))
            && before.is_none_or(|before| end > before.index)
            && end < last.index
            && let Some(part) = self.log_id_at(end).map_err(Box::new)?
        {
            return Ok(part);
        }
        whole.await.map(|()| last).map_err(|LogFailed| DurableError::Failed)
    }

    #[allow(clippy::result_large_err, reason = "the error type is openraft's")]
    fn log_id_at(&self, index: u64) -> Result<Option<LogId>, StorageError> {
        let read = self.wal.read(index, index + 1, usize::MAX).map_err(read_error)?;
        read.first().map(|(_, payload)| decode_entry_log_id(payload)).transpose().map_err(read_error)
    }

    #[allow(clippy::result_large_err, reason = "the error type is openraft's")]
    fn last_purged_log_id(&self) -> Result<Option<LogId>, StorageError> {
        self.wal.purged().map(|(_, note)| decode_log_id(&note)).transpose().map_err(read_error)
    }

    async fn until_durable<F>(&self, change: F) -> Result<(), WalError>
    where
        F: FnOnce(&Wal, Done) -> Result<(), WalError>,
    {
        let (sender, receiver) = oneshot::channel();
        // A failed change drops `done` and with it the sender; nobody waits any more when the receiver is gone.
        change(&self.wal, Box::new(move |outcome| drop(sender.send(outcome))))?;
        receiver.await.unwrap_or(Err(WalError::Closed))
    }

    /// Hands entries to the log, waiting for room in its queue.
    async fn enqueue(
        &self,
        first_index: u64,
        payloads: Vec<Bytes>,
        entries: Vec<(Entry<RaftTypes>, usize)>,
        callback: LogFlushed<RaftTypes>,
    ) -> Result<(), WalError> {
        let callback = Arc::new(Mutex::new(Some(callback)));
        let sequence = self.durable.begin(first_index);
        loop {
            let room = self.room.notified();
            let (callback, durable, waker) = (callback.clone(), self.durable.clone(), self.room.clone());
            let done = Box::new(move |outcome: Result<(), WalError>| {
                durable.complete(sequence, outcome.is_ok());
                if let Some(callback) = callback.lock().take() {
                    callback.log_io_completed(outcome.map_err(io::Error::other));
                }
                waker.notify_waiters();
            });
            match self.wal.append(first_index, payloads.clone(), done) {
                Err(WalError::QueueFull { .. }) => room.await,
                other => {
                    other?;
                    break;
                }
            }
        }
        self.recent.push(entries);
        let counts_early = self.durable.needs_others() || is_sabotaged(Sabotage::CountEarly);
        let early = counts_early.then(|| callback.lock().take()).flatten();
        if let Some(callback) = early {
            callback.log_io_completed(Ok(()));
        }
        Ok(())
    }

    #[allow(clippy::result_large_err, reason = "the error type is openraft's")]
    fn read(&self, start: u64, end: u64, bytes_max: usize) -> Result<Vec<Entry<RaftTypes>>, StorageError> {
        if self.wal.failure().is_none()
            && let Some(entries) = self.recent.read(start, end.min(self.wal.span().next), bytes_max)
        {
            return Ok(entries);
        }
        let entries = self.wal.read(start, end, bytes_max).map_err(read_error)?;
        entries.iter().map(|(_, payload)| decode_entry(payload).map_err(read_error)).collect()
    }
}

impl RaftLogReader<RaftTypes> for LogStore {
    async fn try_get_log_entries<R>(&mut self, range: R) -> Result<Vec<Entry<RaftTypes>>, StorageError>
    where
        R: RangeBounds<u64> + Clone + Debug + OptionalSend,
    {
        let start = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => u64::MAX,
        };
        self.read(start, end, usize::MAX)
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> Result<Vec<Entry<RaftTypes>>, StorageError> {
        // Entries that do not begin where they should would be sent as if they did. openraft takes none for a heartbeat.
        let entries = self.read(start, end, READ_BYTES_MAX)?;
        Ok(if entries.first().is_some_and(|entry| entry.log_id.index == start) { entries } else { Vec::new() })
    }
}

impl RaftLogStorage<RaftTypes> for LogStore {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<RaftTypes>, StorageError> {
        Ok(LogState { last_purged_log_id: self.last_purged_log_id()?, last_log_id: self.last_log_id()? })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote<u64>) -> Result<(), StorageError> {
        let vote = encode_vote(vote).map_err(|error| StorageIOError::write_vote(AnyError::new(&error)))?;
        if is_sabotaged(Sabotage::ForgetVote) {
            return self.wal.set(Slot::Vote, vote, Some(Box::new(|_| {}))).map_err(write_error);
        }
        let saved = self.until_durable(|wal, done| wal.set(Slot::Vote, vote, Some(done))).await;
        saved.map_err(|error| StorageIOError::write_vote(AnyError::new(&error)).into())
    }

    /// LD-1: a member that led does not lead again in the same term after a restart. Others may hold entries of that term that it has lost, and it
    /// would give their places to new ones. So its own vote comes back as that of a candidate.
    async fn read_vote(&mut self) -> Result<Option<Vote<u64>>, StorageError> {
        let vote = self.vote()?;
        if is_sabotaged(Sabotage::ResumeLeadership) {
            return Ok(vote);
        }
        Ok(vote.map(|vote| if vote.leader_id.node_id == self.node_id { Vote::new(vote.leader_id.term, self.node_id) } else { vote }))
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError> {
        let Some(committed) = committed else { return Ok(()) };
        let committed = encode_log_id(committed).map_err(write_error)?;
        self.wal.set(Slot::Committed, committed, None).map_err(write_error)
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, StorageError> {
        self.wal.get(Slot::Committed).map(|committed| decode_log_id(&committed)).transpose().map_err(read_error)
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<RaftTypes>) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = Entry<RaftTypes>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut first_index = None;
        let (mut payloads, mut recent) = (Vec::new(), Vec::new());
        // What is purged stands in a snapshot and is not taken back into the log.
        let purged = self.wal.purged().map(|(purged, _)| purged);
        for entry in entries.into_iter().filter(|entry| Some(entry.log_id.index) > purged) {
            first_index.get_or_insert(entry.log_id.index);
            if let EntryPayload::Membership(membership) = &entry.payload {
                self.durable.note_membership(&Membership::new(Some(entry.log_id), membership.clone()));
            }
            let payload = encode_entry(&entry).map_err(write_error)?;
            recent.push((entry, payload.len()));
            payloads.push(payload);
        }
        let Some(first_index) = first_index else {
            callback.log_io_completed(Ok(()));
            return Ok(());
        };
        self.enqueue(first_index, payloads, recent, callback).await.map_err(write_error)
    }

    async fn truncate(&mut self, log_id: LogId) -> Result<(), StorageError> {
        self.durable.truncate(log_id.index);
        self.recent.truncate(log_id.index);
        self.until_durable(|wal, done| wal.truncate_from(log_id.index, done)).await.map_err(write_error)
    }

    async fn purge(&mut self, log_id: LogId) -> Result<(), StorageError> {
        if let Some(kept) = &self.kept {
            kept.reach(log_id.index).await.map_err(write_error)?;
        }
        let note = encode_log_id(log_id).map_err(write_error)?;
        self.recent.purge(log_id.index);
        self.wal.purge_to(log_id.index, note, Some(Box::new(|_| {}))).map_err(write_error)
    }
}

fn read_error<E>(error: E) -> StorageError
where
    E: std::error::Error + 'static,
{
    StorageIOError::read_logs(AnyError::new(&error)).into()
}

fn write_error<E>(error: E) -> StorageError
where
    E: std::error::Error + 'static,
{
    StorageIOError::write_logs(AnyError::new(&error)).into()
}

#[cfg(test)]
#[path = "log_store_test.rs"]
mod tests;
