//! openraft's state machine around the pure one.
//!
//! The state lives in memory; after a restart it comes from the newest snapshot and the log.

use crate::raft::blocking::Blocking;
use crate::raft::durable::Durable;
use crate::raft::feed::{Delta, Feed, FeedBounds, FeedWriter};
use crate::raft::snapshots::{Newest, SnapshotStore};
use crate::raft::types::{Applied, LogId, Membership, RaftTypes, SnapshotBytes, SnapshotMeta, StorageError};
use bytes::Bytes;
use openraft::storage::RaftStateMachine;
use openraft::{AnyError, BasicNode, Entry, EntryPayload, OptionalSend, RaftSnapshotBuilder, Snapshot, StorageIOError};
use siltstone_core::CommitIndex;
use siltstone_format::manifest::Manifest;
use siltstone_machine::Machine;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use tokio::sync::watch;

pub(crate) struct StateMachine {
    state: State,
    snapshots: SnapshotStore,
    durable: Arc<Durable>,
    blocking: Blocking,
    manifests: watch::Sender<Manifest>,
    removed: watch::Sender<Arc<BTreeSet<u64>>>,
    feed: FeedWriter,
    /// The state's, for readers.
    command_version: Arc<AtomicU16>,
}

/// Everything that a snapshot holds. Clones are cheap.
#[derive(Clone, Default)]
struct State {
    machine: Machine,
    last_applied: Option<LogId>,
    membership: Membership,
    /// The numbers of members that were removed.
    removed: Arc<BTreeSet<u64>>,
    /// The newest version of commands that were applied.
    command_version: u16,
}

/// The state at one moment, to be written.
pub(crate) struct SnapshotBuilder {
    state: State,
    snapshots: SnapshotStore,
    blocking: Blocking,
}

impl StateMachine {
    pub(crate) fn new(snapshots: SnapshotStore, newest: Option<Newest>, durable: Arc<Durable>, blocking: Blocking, feed: FeedBounds) -> Self {
        let state = newest.map_or_else(State::default, State::restored);
        durable.note_membership(&state.membership);
        let manifests = watch::Sender::new(state.machine.manifest().clone());
        let feed = FeedWriter::new(state.machine.manifest().version, feed);
        let removed = watch::Sender::new(state.removed.clone());
        let command_version = Arc::new(AtomicU16::new(state.command_version));
        Self { state, snapshots, durable, blocking, manifests, removed, feed, command_version }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Manifest> {
        self.manifests.subscribe()
    }

    /// The numbers of members that were removed, as of what is applied.
    pub(crate) fn removed(&self) -> watch::Receiver<Arc<BTreeSet<u64>>> {
        self.removed.subscribe()
    }

    /// The newest version of commands that were applied, as it rises.
    pub(crate) fn command_version(&self) -> Arc<AtomicU16> {
        self.command_version.clone()
    }

    pub(crate) fn feed(&self) -> Feed {
        self.feed.reader()
    }

    async fn install(&mut self, meta: &SnapshotMeta, snapshot: SnapshotBytes) -> io::Result<()> {
        let SnapshotBytes { machine: bytes, command_version, removed } = snapshot.clone();
        let machine = self.blocking.run(move || Machine::restore(&bytes).map_err(io::Error::other)).await??;
        self.snapshots.keep(meta, snapshot).await?;
        self.durable.note_membership(&meta.last_membership);
        self.state = State::restored(Newest { meta: meta.clone(), machine, command_version, removed });
        self.command_version.store(command_version, Ordering::Release);
        self.feed.reset(self.state.machine.manifest().version);
        self.removed.send_replace(self.state.removed.clone());
        self.manifests.send_replace(self.state.machine.manifest().clone());
        Ok(())
    }
}

impl State {
    fn restored(Newest { meta, machine, command_version, removed }: Newest) -> Self {
        Self { machine, last_applied: meta.last_log_id, membership: meta.last_membership, removed, command_version }
    }

    /// Sets the membership. Whoever stood in the one before it and does not in this was removed.
    fn set_membership(&mut self, membership: Membership) {
        let stays = |id: &u64| membership.membership().get_node(id).is_some();
        let gone: Vec<u64> = self.membership.membership().nodes().map(|(id, _)| *id).filter(|id| !stays(id)).collect();
        if !gone.is_empty() {
            Arc::make_mut(&mut self.removed).extend(gone);
        }
        self.membership = membership;
    }

    fn apply(&mut self, entry: Entry<RaftTypes>) -> Applied {
        let index = CommitIndex(entry.log_id.index);
        self.last_applied = Some(entry.log_id);
        if let EntryPayload::Membership(membership) = &entry.payload {
            self.set_membership(Membership::new(Some(entry.log_id), membership.clone()));
        }
        match entry.payload {
            EntryPayload::Normal(proposal) => {
                self.command_version = self.command_version.max(proposal.version());
                Applied(Some(self.machine.apply(index, proposal.command())))
            }
            EntryPayload::Blank | EntryPayload::Membership(_) => {
                // The machine starts at position 0, which in every log is the founding membership.
                if index > CommitIndex(0) {
                    self.machine.skip(index);
                }
                Applied(None)
            }
        }
    }
}

/// What followers of this member get for an entry. The machine starts at position 0, so nobody asks for that place.
fn delta(entry: &Entry<RaftTypes>) -> Option<Delta> {
    let command = match &entry.payload {
        EntryPayload::Normal(proposal) => Some(proposal.encoded().clone()),
        EntryPayload::Blank | EntryPayload::Membership(_) => None,
    };
    (entry.log_id.index > 0).then_some(Delta { index: CommitIndex(entry.log_id.index), command })
}

impl RaftStateMachine<RaftTypes> for StateMachine {
    type SnapshotBuilder = SnapshotBuilder;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, openraft::StoredMembership<u64, BasicNode>), StorageError> {
        Ok((self.state.last_applied, self.state.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Applied>, StorageError>
    where
        I: IntoIterator<Item = Entry<RaftTypes>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let (mut replies, mut places) = (Vec::new(), Vec::new());
        for entry in entries {
            places.extend(delta(&entry));
            replies.push(self.state.apply(entry));
        }
        self.feed.push(places);
        self.removed.send_if_modified(|removed| {
            let is_new = !Arc::ptr_eq(removed, &self.state.removed);
            *removed = self.state.removed.clone();
            is_new
        });
        self.command_version.store(self.state.command_version, Ordering::Release);
        // Before any reply: whoever has one finds the manifest at least that new.
        self.manifests.send_replace(self.state.machine.manifest().clone());
        Ok(replies)
    }

    async fn get_snapshot_builder(&mut self) -> SnapshotBuilder {
        SnapshotBuilder { state: self.state.clone(), snapshots: self.snapshots.clone(), blocking: self.blocking.clone() }
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<SnapshotBytes>, StorageError> {
        Ok(Box::default())
    }

    async fn install_snapshot(&mut self, meta: &SnapshotMeta, snapshot: Box<SnapshotBytes>) -> Result<(), StorageError> {
        let installed = self.install(meta, *snapshot).await;
        if installed.is_err() {
            self.snapshots.kept().fail();
        }
        installed.map_err(|error| write_error(meta, &error))
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<RaftTypes>>, StorageError> {
        let current = self.snapshots.read_current().await;
        let current = current.map_err(|error| StorageIOError::read_snapshot(None, AnyError::new(&error)))?;
        Ok(current.map(|(meta, content)| Snapshot { meta, snapshot: Box::new(content) }))
    }
}

impl RaftSnapshotBuilder<RaftTypes> for SnapshotBuilder {
    async fn build_snapshot(&mut self) -> Result<Snapshot<RaftTypes>, StorageError> {
        let (state, snapshots) = (self.state.clone(), self.snapshots.clone());
        let (last, command_version) = (state.last_applied, state.command_version);
        let meta = SnapshotMeta {
            last_log_id: last,
            last_membership: state.membership.clone(),
            snapshot_id: snapshots.next_id(last.map(|log_id| log_id.index), last.map_or(0, |log_id| log_id.leader_id.term)),
        };
        let removed = state.removed.clone();
        let bytes = self.blocking.run(move || state.machine.snapshot().map(Bytes::from).map_err(io::Error::other)).await.flatten();
        let content = SnapshotBytes { machine: bytes.map_err(|error| write_error(&meta, &error))?, command_version, removed };
        snapshots.keep(&meta, content.clone()).await.map_err(|error| write_error(&meta, &error))?;
        Ok(Snapshot { meta, snapshot: Box::new(content) })
    }
}

fn write_error(meta: &SnapshotMeta, error: &io::Error) -> StorageError {
    StorageIOError::write_snapshot(Some(meta.signature()), AnyError::new(error)).into()
}
