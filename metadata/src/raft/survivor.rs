//! What one member's directory holds of its group, read without changing it: for a group whose other members are lost for good.
//!
//! All of its log is taken, not only what is known to be committed. A member learns of a commit after its leader does, so its last entries may well
//! have been acknowledged: to leave them out could lose what was promised (AK-1). An entry that was never committed is one whose proposer has not
//! learned the outcome, and must expect both. What the others acknowledged without this member is lost, and nothing here can tell how much that is.
//!
//! What is deliberately not here: the new life (`Machine::begin_life`), its directory (`directory.rs`), and who holds the lock.

use crate::raft::admission::read_identity;
use crate::raft::directory::check_finished;
use crate::raft::error::StartError;
use crate::raft::snapshots::{LOG_DIR, SNAPSHOT_DIR, read_newest};
use crate::raft::stored::{decode_entry, decode_log_id, decode_vote};
use crate::raft::transport::Peer;
use crate::raft::types::{LogId, Membership};
use openraft::EntryPayload;
use siltstone_core::CommitIndex;
use siltstone_disk::Disk;
use siltstone_format::command::COMMAND_VERSION;
use siltstone_machine::Machine;
use siltstone_wal::{ReadLog, Slot};
use std::io;
use std::path::{Path, PathBuf};

/// What a member's directory holds of its group.
#[derive(Debug)]
pub struct Survivor {
    /// The member's number.
    pub node_id: u64,
    /// The group's state after the last entry of its log.
    pub machine: Machine,
    /// The last entry's position.
    pub index: u64,
    /// The last entry's term.
    pub term: u64,
    /// The newest term that the member had heard of.
    pub term_seen: u64,
    /// Up to here entries are known to be committed; more may be.
    pub committed_index: Option<u64>,
    /// The members that the group had, by number: number, address, whether it had a vote.
    pub members: Vec<(u64, String, bool)>,
    /// A file whose torn end was left out, and how many bytes that is. Nothing of it was acknowledged.
    pub torn: Option<(PathBuf, u64)>,
}

/// Reads a member's directory. Nobody may write to it meanwhile. Blocks on the disk.
///
/// # Errors
/// [`StartError`] where a member would not start on it either.
pub fn read_survivor(disk: &dyn Disk, dir: &Path) -> Result<Survivor, StartError> {
    check_finished(disk, dir)?;
    let lost = |what| StartError::Lost { path: dir.to_owned(), what };
    let identity = read_identity(disk, dir)?.ok_or_else(|| lost("it is no member's directory, or that of a member that never took part"))?;
    let wal = dir.join(LOG_DIR);
    let is_gone = disk.stat(&wal).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let log = if is_gone { None } else { ReadLog::open(disk, &wal)? };
    let log = log.ok_or_else(|| lost("its log is gone"))?;
    let purged = log.purged().map(|(purged, _)| purged);
    let newest = read_newest(disk, &dir.join(SNAPSHOT_DIR), log.get(Slot::Snapshot), purged, COMMAND_VERSION)?;
    let (mut machine, mut last, mut membership) = match newest {
        None => (Machine::new(), None, Membership::default()),
        Some((_, newest)) => (newest.machine, newest.meta.last_log_id, newest.meta.last_membership),
    };
    if machine.manifest().version.0 > last.map_or(0, |last| last.index) {
        return Err(lost("its snapshot's state is of a later position than the snapshot"));
    }
    for (index, payload) in log.entries() {
        let entry = decode_entry(&payload).map_err(StartError::record(&wal))?;
        if last.is_some_and(|last: LogId| index <= last.index) {
            continue;
        }
        if entry.log_id.index != index || index != last.map_or(0, |last| last.index + 1) {
            return Err(lost("its log does not go on where its snapshot ends"));
        }
        match &entry.payload {
            // The machine stands at position 0 before the first entry, which is the founding membership.
            EntryPayload::Normal(_) if index == 0 => return Err(lost("its log begins with a command")),
            EntryPayload::Normal(proposal) => drop(machine.apply(CommitIndex(index), proposal.command())),
            EntryPayload::Membership(members) => membership = Membership::new(Some(entry.log_id), members.clone()),
            EntryPayload::Blank => {}
        }
        if index > 0 && !matches!(entry.payload, EntryPayload::Normal(_)) {
            machine.skip(CommitIndex(index));
        }
        last = Some(entry.log_id);
    }
    let last = last.ok_or_else(|| lost("its log is empty: this member never heard of its group"))?;
    let vote = log.get(Slot::Vote).map(|vote| decode_vote(&vote)).transpose().map_err(StartError::record(&wal))?;
    let committed = log.get(Slot::Committed).map(|committed| decode_log_id(&committed)).transpose().map_err(StartError::record(&wal))?;
    let voters: Vec<u64> = membership.voter_ids().collect();
    let members = membership.nodes().map(|(id, node)| (*id, Peer::from_text(*id, &node.addr).address, voters.contains(id)));
    Ok(Survivor {
        node_id: identity.node_id,
        index: last.index,
        term: last.leader_id.term,
        term_seen: vote.map_or(0, |vote| vote.leader_id.term).max(last.leader_id.term),
        committed_index: committed.map(|committed| committed.index),
        members: members.collect(),
        torn: log.torn().cloned(),
        machine,
    })
}
