//! What a leader would say to a follower that stands alone in a test.

use openraft::raft::AppendEntriesRequest;
use openraft::{BasicNode, CommittedLeaderId, Entry, EntryPayload, LogId, Membership, SnapshotMeta, StoredMembership, Vote};
use siltstone_core::{CommitIndex, Incarnation};
use siltstone_format::command::{Command, CommandBody};
use siltstone_metadata::raft::{PeerRequest, Proposal, RaftTypes, SnapshotBytes, SnapshotRequest};
use siltstone_metadata::{Machine, NodeConfig};
use std::collections::{BTreeMap, BTreeSet};

pub const LEADER: u64 = 1;
pub const FOLLOWER: u64 = 2;

pub fn log_id(index: u64) -> LogId<u64> {
    LogId::new(CommittedLeaderId::new(1, LEADER), index)
}

pub fn members() -> Membership<u64, BasicNode> {
    let nodes: BTreeMap<u64, BasicNode> = [1, 2, 3].map(|id| (id, BasicNode { addr: format!("member-{id}") })).into();
    Membership::new(vec![BTreeSet::from([1, 2, 3])], nodes)
}

/// The commands at the places from 1 on.
pub fn commands() -> Vec<Command> {
    let bodies = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| CommandBody::CreateNamespace { name: name.to_owned() });
    let found = CommandBody::FoundGroup { incarnation: Incarnation(0xabc) };
    [found].into_iter().chain(bodies).map(|body| Command { proposed_at_ms: 1_700_000_000_000, body }).collect()
}

/// The machine after the first so many commands.
pub fn machine(applied: usize) -> Machine {
    let mut machine = Machine::new();
    for (index, command) in (1..).zip(&commands()[..applied]) {
        machine.apply(CommitIndex(index), command);
    }
    machine
}

/// A leader's entries up to this place, all of them committed.
pub fn entries(last: u64) -> PeerRequest {
    let commands = (1..).zip(commands()).map(|(index, command)| (index, EntryPayload::Normal(Proposal::new(command).unwrap())));
    let entries = [(0, EntryPayload::Membership(members()))].into_iter().chain(commands).take_while(|(index, _)| *index <= last);
    let entries = entries.map(|(index, payload)| Entry::<RaftTypes> { log_id: log_id(index), payload }).collect();
    PeerRequest::Append(AppendEntriesRequest { vote: Vote::new_committed(1, LEADER), prev_log_id: None, entries, leader_commit: Some(log_id(last)) })
}

/// A leader's snapshot of the first so many commands.
pub fn snapshot(applied: usize) -> PeerRequest {
    let last_log_id = Some(log_id(applied as u64));
    let meta = SnapshotMeta { last_log_id, last_membership: StoredMembership::new(Some(log_id(0)), members()), snapshot_id: "x".to_owned() };
    let machine = SnapshotBytes { machine: machine(applied).snapshot().unwrap().into(), ..SnapshotBytes::default() };
    PeerRequest::Snapshot(SnapshotRequest { vote: Vote::new_committed(1, LEADER), meta, machine })
}

pub fn follower_config() -> NodeConfig {
    NodeConfig { node_id: FOLLOWER, members: BTreeMap::new(), ..super::stepped::config() }
}
