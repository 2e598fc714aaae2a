//! The stored form of what Raft itself keeps: log entries, votes, log ids, snapshot files and their pointer. `docs/formats/raft.md` is the
//! description for people.
//!
//! Own structures, not openraft's: what lies on disk must not change with a library.

use crate::raft::types::{LogId, Membership, Proposal, RaftTypes, SnapshotBytes, SnapshotMeta};
use bytes::Bytes;
use openraft::{BasicNode, CommittedLeaderId, Entry, EntryPayload, Vote};
use serde::{Deserialize, Serialize};
use siltstone_format::command::Command;
use siltstone_format::envelope::{EnvelopeError, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const ENTRY: Kind = Kind { what: "log entry", magic: *b"SLre", version: 1 };
const VOTE: Kind = Kind { what: "vote", magic: *b"SLrv", version: 1 };
const LOG_ID: Kind = Kind { what: "log id", magic: *b"SLri", version: 1 };
const SNAPSHOT: Kind = Kind { what: "snapshot file", magic: *b"SLrs", version: 3 };
/// Written where no member was ever removed.
const SNAPSHOT_V2: Kind = Kind { version: 2, ..SNAPSHOT };
/// Written where the log holds commands of version 1 alone: programs that read no newer ones can still take it in.
const SNAPSHOT_V1: Kind = Kind { version: 1, ..SNAPSHOT };
const POINTER: Kind = Kind { what: "snapshot pointer", magic: *b"SLrq", version: 1 };
const MEMBER: Kind = Kind { what: "member file", magic: *b"SLrm", version: 2 };
const MEMBER_V1: Kind = Kind { version: 1, ..MEMBER };

/// Bytes that an entry's own part takes at most beside a command: an envelope and four numbers.
pub(crate) const ENTRY_OVERHEAD_BYTES: usize = 64;

#[derive(Clone, Copy, Serialize, Deserialize)]
struct StoredLogId {
    term: u64,
    leader: u64,
    index: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredEntry {
    log_id: StoredLogId,
    payload: StoredPayload,
}

#[derive(Serialize, Deserialize)]
enum StoredPayload {
    Blank,
    /// The command's own envelope follows.
    Command,
    Membership(StoredMembers),
}

#[derive(Serialize, Deserialize)]
struct StoredMembers {
    /// One set of voters, or two during a change.
    configs: Vec<BTreeSet<u64>>,
    /// All members and their addresses, learners included.
    nodes: BTreeMap<u64, String>,
}

#[derive(Serialize, Deserialize)]
struct StoredVote {
    term: u64,
    node: u64,
    committed: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredSnapshotV1 {
    last_log_id: Option<StoredLogId>,
    membership_log_id: Option<StoredLogId>,
    members: StoredMembers,
    snapshot_id: String,
}

#[derive(Serialize, Deserialize)]
struct StoredSnapshotV2 {
    /// As in version 1.
    known: StoredSnapshotV1,
    /// The newest version of commands that the log before it holds.
    command_version: u16,
}

#[derive(Serialize, Deserialize)]
struct StoredSnapshot {
    /// As in version 2.
    known: StoredSnapshotV2,
    /// Numbers of members that were removed.
    removed: BTreeSet<u64>,
}

/// Names the snapshot that stands for the entries before it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotPointer {
    /// The file's name in the directory of snapshots.
    pub(crate) file: String,
    /// The file's length in bytes.
    pub(crate) len: u64,
    /// The index of the last entry that it covers.
    pub(crate) last_index: Option<u64>,
}

/// Who a member is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct MemberIdentity {
    pub(crate) node_id: u64,
    /// The directory's id, drawn when it was made; 0 for a directory of version 1.
    pub(crate) directory: u64,
}

#[derive(Deserialize)]
struct MemberIdentityV1 {
    node_id: u64,
}

pub(crate) fn encode_entry(entry: &Entry<RaftTypes>) -> Result<Bytes, EnvelopeError> {
    let (payload, command): (_, &[u8]) = match &entry.payload {
        EntryPayload::Blank => (StoredPayload::Blank, &[]),
        EntryPayload::Normal(proposal) => match proposal.entry_at(entry.log_id) {
            Some(bytes) => return Ok(bytes),
            None => (StoredPayload::Command, proposal.encoded()),
        },
        EntryPayload::Membership(membership) => (StoredPayload::Membership(StoredMembers::of(membership)), &[]),
    };
    let mut bytes = ENTRY.encode(&StoredEntry { log_id: entry.log_id.into(), payload })?;
    bytes.extend_from_slice(command);
    let bytes = Bytes::from(bytes);
    if let EntryPayload::Normal(proposal) = &entry.payload {
        proposal.note_entry(entry.log_id, &bytes);
    }
    Ok(bytes)
}

pub(crate) fn decode_entry(bytes: &Bytes) -> Result<Entry<RaftTypes>, EnvelopeError> {
    let (stored, rest): (StoredEntry, _) = ENTRY.decode_prefix(bytes)?;
    let payload = match stored.payload {
        StoredPayload::Command => {
            let (log_id, proposal) = (stored.log_id.into(), Proposal::decode(bytes.slice_ref(rest))?);
            proposal.note_entry(log_id, bytes);
            return Ok(Entry { log_id, payload: EntryPayload::Normal(proposal) });
        }
        StoredPayload::Blank => EntryPayload::Blank,
        StoredPayload::Membership(members) => EntryPayload::Membership(members.into()),
    };
    if !rest.is_empty() {
        return Err(EnvelopeError::Trailing { what: ENTRY.what, extra: rest.len() });
    }
    Ok(Entry { log_id: stored.log_id.into(), payload })
}

/// Only the log id of an entry: cheaper than the whole.
pub(crate) fn decode_entry_log_id(bytes: &[u8]) -> Result<LogId, EnvelopeError> {
    let (stored, _): (StoredEntry, _) = ENTRY.decode_prefix(bytes)?;
    Ok(stored.log_id.into())
}

/// What a member must know of an entry before it reads commands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum EntryHead {
    Blank,
    /// A command of this version.
    Command(u16),
    Membership(Membership),
}

/// What a member must know of an entry before it reads commands. The command need not be one that this program reads.
pub(crate) fn decode_entry_head(bytes: &[u8]) -> Result<EntryHead, EnvelopeError> {
    let (stored, rest): (StoredEntry, _) = ENTRY.decode_prefix(bytes)?;
    Ok(match stored.payload {
        StoredPayload::Blank => EntryHead::Blank,
        StoredPayload::Command => EntryHead::Command(Command::version_of(rest).ok_or(EnvelopeError::Magic { what: "command" })?),
        StoredPayload::Membership(members) => EntryHead::Membership(Membership::new(Some(stored.log_id.into()), members.into())),
    })
}

pub(crate) fn encode_vote(vote: &Vote<u64>) -> Result<Bytes, EnvelopeError> {
    let stored = StoredVote { term: vote.leader_id.term, node: vote.leader_id.node_id, committed: vote.committed };
    Ok(VOTE.encode(&stored)?.into())
}

pub(crate) fn decode_vote(bytes: &[u8]) -> Result<Vote<u64>, EnvelopeError> {
    let stored: StoredVote = VOTE.decode(bytes)?;
    let vote = if stored.committed { Vote::new_committed } else { Vote::new };
    Ok(vote(stored.term, stored.node))
}

pub(crate) fn encode_log_id(log_id: LogId) -> Result<Bytes, EnvelopeError> {
    Ok(LOG_ID.encode(&StoredLogId::from(log_id))?.into())
}

pub(crate) fn decode_log_id(bytes: &[u8]) -> Result<LogId, EnvelopeError> {
    LOG_ID.decode::<StoredLogId>(bytes).map(Into::into)
}

/// A snapshot file: what Raft knows of it, then the machine's snapshot, which carries checksums of its own. It is of the oldest version that holds
/// what there is to say. While the log holds commands of version 1 alone, that is version 1, without the numbers of removed members: until a group is
/// upgraded, its members may go back to programs that neither read the later versions nor knew those numbers.
pub(crate) fn encode_snapshot_file(meta: &SnapshotMeta, content: &SnapshotBytes) -> Result<Vec<u8>, EnvelopeError> {
    let known = StoredSnapshotV1 {
        last_log_id: meta.last_log_id.map(Into::into),
        membership_log_id: meta.last_membership.log_id().map(Into::into),
        members: StoredMembers::of(meta.last_membership.membership()),
        snapshot_id: meta.snapshot_id.clone(),
    };
    let SnapshotBytes { machine, command_version, removed } = content;
    let mut bytes = match (*command_version, removed.is_empty()) {
        (0..2, _) => SNAPSHOT_V1.encode(&known)?,
        (command_version, true) => SNAPSHOT_V2.encode(&StoredSnapshotV2 { known, command_version })?,
        (command_version, false) => {
            let known = StoredSnapshotV2 { known, command_version };
            SNAPSHOT.encode(&StoredSnapshot { known, removed: removed.as_ref().clone() })?
        }
    };
    bytes.extend_from_slice(machine);
    Ok(bytes)
}

/// What Raft knows of a snapshot file, and what it holds.
pub(crate) fn decode_snapshot_file(bytes: &Bytes) -> Result<(SnapshotMeta, SnapshotBytes), EnvelopeError> {
    let of_v2 = |known| StoredSnapshot { known, removed: BTreeSet::new() };
    let of_v1 = |known| of_v2(StoredSnapshotV2 { known, command_version: 1 });
    let (stored, machine) = match SNAPSHOT.version_of(bytes) {
        Some(1) => SNAPSHOT_V1.decode_prefix(bytes).map(|(known, machine)| (of_v1(known), machine)),
        Some(2) => SNAPSHOT_V2.decode_prefix(bytes).map(|(known, machine)| (of_v2(known), machine)),
        // Of this version, of a newer one, or none: it says so itself.
        _ => SNAPSHOT.decode_prefix(bytes),
    }?;
    let StoredSnapshot { known: StoredSnapshotV2 { known, command_version }, removed } = stored;
    let meta = SnapshotMeta {
        last_log_id: known.last_log_id.map(Into::into),
        last_membership: Membership::new(known.membership_log_id.map(Into::into), known.members.into()),
        snapshot_id: known.snapshot_id,
    };
    Ok((meta, SnapshotBytes { machine: bytes.slice_ref(machine), command_version, removed: Arc::new(removed) }))
}

impl SnapshotPointer {
    pub(crate) fn encode(&self) -> Result<Bytes, EnvelopeError> {
        Ok(POINTER.encode(self)?.into())
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        POINTER.decode(bytes)
    }
}

impl MemberIdentity {
    pub(crate) fn encode(self) -> Result<Bytes, EnvelopeError> {
        Ok(MEMBER.encode(&self)?.into())
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        match MEMBER_V1.decode::<MemberIdentityV1>(bytes) {
            Ok(MemberIdentityV1 { node_id }) => Ok(Self { node_id, directory: 0 }),
            Err(EnvelopeError::Version { .. }) => MEMBER.decode(bytes),
            Err(error) => Err(error),
        }
    }
}

impl From<LogId> for StoredLogId {
    fn from(log_id: LogId) -> Self {
        Self { term: log_id.leader_id.term, leader: log_id.leader_id.node_id, index: log_id.index }
    }
}

impl From<StoredLogId> for LogId {
    fn from(stored: StoredLogId) -> Self {
        Self::new(CommittedLeaderId::new(stored.term, stored.leader), stored.index)
    }
}

impl StoredMembers {
    fn of(membership: &openraft::Membership<u64, BasicNode>) -> Self {
        Self { configs: membership.get_joint_config().clone(), nodes: membership.nodes().map(|(id, node)| (*id, node.addr.clone())).collect() }
    }
}

impl From<StoredMembers> for openraft::Membership<u64, BasicNode> {
    fn from(stored: StoredMembers) -> Self {
        let nodes: BTreeMap<u64, BasicNode> = stored.nodes.into_iter().map(|(id, addr)| (id, BasicNode { addr })).collect();
        Self::new(stored.configs, nodes)
    }
}

#[cfg(test)]
#[path = "stored_test.rs"]
mod tests;
