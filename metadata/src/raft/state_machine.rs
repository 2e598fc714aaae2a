//! openraft's state machine around the pure one.
//!
//! The state lives in memory; after a restart it comes from the newest snapshot and the log.

use crate::machine::Machine;
use crate::raft::snapshots::SnapshotStore;
use crate::raft::types::{Applied, LogId, Membership, RaftTypes, SnapshotBytes, SnapshotMeta, StorageError};
use openraft::storage::RaftStateMachine;
use openraft::{AnyError, BasicNode, Entry, EntryPayload, OptionalSend, RaftSnapshotBuilder, Snapshot, StorageIOError};
use siltstone_core::CommitIndex;
use siltstone_format::manifest::Manifest;
use std::io;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

pub(crate) struct StateMachine {
    state: State,
    snapshots: Arc<SnapshotStore>,
    manifests: watch::Sender<Manifest>,
}

/// Everything that a snapshot holds. Clones are cheap.
#[derive(Clone, Default)]
struct State {
    machine: Machine,
    last_applied: Option<LogId>,
    membership: Membership,
}

/// The state at one moment, to be written.
pub(crate) struct SnapshotBuilder {
    state: State,
    snapshots: Arc<SnapshotStore>,
}

impl StateMachine {
    pub(crate) fn new(snapshots: Arc<SnapshotStore>, newest: Option<(SnapshotMeta, Machine)>) -> Self {
        let state = newest.map_or_else(State::default, |(meta, machine)| State::restored(&meta, machine));
        let manifests = watch::Sender::new(state.machine.manifest().clone());
        Self { state, snapshots, manifests }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Manifest> {
        self.manifests.subscribe()
    }
}

impl State {
    fn restored(meta: &SnapshotMeta, machine: Machine) -> Self {
        Self { machine, last_applied: meta.last_log_id, membership: meta.last_membership.clone() }
    }

    fn apply(&mut self, entry: Entry<RaftTypes>) -> Applied {
        let index = CommitIndex(entry.log_id.index);
        self.last_applied = Some(entry.log_id);
        if let EntryPayload::Membership(membership) = &entry.payload {
            self.membership = Membership::new(Some(entry.log_id), membership.clone());
        }
        match entry.payload {
            EntryPayload::Normal(proposal) => Applied(Some(self.machine.apply(index, &proposal.command))),
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
        let replies = entries.into_iter().map(|entry| self.state.apply(entry)).collect();
        // Before any reply: whoever has one finds the manifest at least that new.
        self.manifests.send_replace(self.state.machine.manifest().clone());
        Ok(replies)
    }

    async fn get_snapshot_builder(&mut self) -> SnapshotBuilder {
        SnapshotBuilder { state: self.state.clone(), snapshots: self.snapshots.clone() }
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<SnapshotBytes>, StorageError> {
        Ok(Box::default())
    }

    async fn install_snapshot(&mut self, meta: &SnapshotMeta, snapshot: Box<SnapshotBytes>) -> Result<(), StorageError> {
        let (snapshots, kept, bytes) = (self.snapshots.clone(), meta.clone(), snapshot.0);
        let installed = spawn_blocking(move || {
            let machine = Machine::restore(&bytes).map_err(io::Error::other)?;
            snapshots.keep(&kept, &bytes)?;
            Ok(machine)
        });
        let machine = joined(installed.await).map_err(|error| write_error(meta, &error))?;
        self.state = State::restored(meta, machine);
        self.manifests.send_replace(self.state.machine.manifest().clone());
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<RaftTypes>>, StorageError> {
        let snapshots = self.snapshots.clone();
        let current = joined(spawn_blocking(move || snapshots.read_current()).await);
        let current = current.map_err(|error| StorageIOError::read_snapshot(None, AnyError::new(&error)))?;
        Ok(current.map(|(meta, machine)| Snapshot { meta, snapshot: Box::new(SnapshotBytes(machine)) }))
    }
}

impl RaftSnapshotBuilder<RaftTypes> for SnapshotBuilder {
    async fn build_snapshot(&mut self) -> Result<Snapshot<RaftTypes>, StorageError> {
        let (state, snapshots) = (self.state.clone(), self.snapshots.clone());
        let last = state.last_applied;
        let meta = SnapshotMeta {
            last_log_id: last,
            last_membership: state.membership.clone(),
            snapshot_id: snapshots.next_id(last.map(|log_id| log_id.index), last.map_or(0, |log_id| log_id.leader_id.term)),
        };
        let kept = meta.clone();
        let built = spawn_blocking(move || {
            let bytes = state.machine.snapshot().map_err(io::Error::other)?;
            snapshots.keep(&kept, &bytes)?;
            Ok(bytes)
        });
        let bytes = joined(built.await).map_err(|error| write_error(&meta, &error))?;
        Ok(Snapshot { meta, snapshot: Box::new(SnapshotBytes(bytes.into())) })
    }
}

fn joined<T>(outcome: Result<io::Result<T>, tokio::task::JoinError>) -> io::Result<T> {
    outcome.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn write_error(meta: &SnapshotMeta, error: &io::Error) -> StorageError {
    StorageIOError::write_snapshot(Some(meta.signature()), AnyError::new(error)).into()
}
