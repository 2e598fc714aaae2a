//! The types that the group's Raft is made of.

use bytes::Bytes;
use siltstone_format::{
    command::{COMMAND_VERSION, Command, Reply},
    envelope::EnvelopeError,
};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

openraft::declare_raft_types!(
    /// The group's Raft.
    pub RaftTypes:
        D = Proposal,
        R = Applied,
        NodeId = u64,
        Node = openraft::BasicNode,
        SnapshotData = SnapshotBytes,
);

pub(crate) type LogId = openraft::LogId<u64>;
pub(crate) type Membership = openraft::StoredMembership<u64, openraft::BasicNode>;
pub(crate) type Raft = openraft::Raft<RaftTypes>;
pub(crate) type SnapshotMeta = openraft::SnapshotMeta<u64, openraft::BasicNode>;
pub(crate) type StorageError = openraft::StorageError<u64>;

/// A command on its way into the log, beside its stored forms, so that each is made once. Clones share all of it.
#[derive(Clone, Debug)]
pub struct Proposal(Arc<ProposalParts>);

#[derive(Debug)]
struct ProposalParts {
    command: Command,
    encoded: Bytes,
    /// The whole log entry in its stored form, and its place.
    entry: OnceLock<(LogId, Bytes)>,
}

impl Proposal {
    /// A command as a log entry.
    ///
    /// # Errors
    /// [`EnvelopeError::TooLong`] past 4 GiB.
    pub fn new(command: Command) -> Result<Self, EnvelopeError> {
        let encoded = command.encode()?.into();
        Ok(Self(Arc::new(ProposalParts { command, encoded, entry: OnceLock::new() })))
    }

    /// The version of commands that brought it: who reads no newer ones must not be given it.
    pub(crate) fn version(&self) -> u16 {
        // What this program made or read has one.
        Command::version_of(self.encoded()).unwrap_or(COMMAND_VERSION)
    }

    /// A log entry's command from its stored form.
    pub(crate) fn decode(encoded: Bytes) -> Result<Self, EnvelopeError> {
        let command = Command::decode(&encoded)?;
        Ok(Self(Arc::new(ProposalParts { command, encoded, entry: OnceLock::new() })))
    }

    pub(crate) fn command(&self) -> &Command {
        &self.0.command
    }

    /// The command in its stored form.
    pub(crate) fn encoded(&self) -> &Bytes {
        &self.0.encoded
    }

    /// The stored form of the log entry at this place, where it is known.
    pub(crate) fn entry_at(&self, place: LogId) -> Option<Bytes> {
        self.0.entry.get().filter(|(known, _)| *known == place).map(|(_, bytes)| bytes.clone())
    }

    /// The stored form of the log entry at this place became known. Only the first place counts: a command has one in all that matters.
    pub(crate) fn note_entry(&self, place: LogId, bytes: &Bytes) {
        let _ = self.0.entry.set((place, bytes.clone()));
    }
}

/// What applying a log entry gave: a reply, unless the entry was Raft's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied(pub(crate) Option<Reply>);

/// What a snapshot holds beside what Raft knows of it. Clones are cheap.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SnapshotBytes {
    /// The machine in one piece.
    pub machine: Bytes,
    /// The newest version of commands that the log before it holds; 0 where it holds none.
    pub command_version: u16,
    /// The numbers of members that were removed: they are never used again.
    pub removed: Arc<BTreeSet<u64>>,
}
