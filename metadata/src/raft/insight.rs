//! How a member and its group do, for people and metrics.

use crate::raft::node::{Inner, MetadataNode};
use crate::raft::transport::Peer;
use openraft::ServerState;
use siltstone_core::Incarnation;
use std::time::Duration;

/// How a member and its group do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupStatus {
    /// This member.
    pub node_id: u64,
    /// The life of the group.
    pub incarnation: Incarnation,
    /// The newest term that this member knows.
    pub term: u64,
    /// The leader as this member knows it.
    pub leader: Option<u64>,
    /// What this member is.
    pub role: Role,
    /// The end of its log.
    pub last_index: Option<u64>,
    /// The last place that it has applied.
    pub applied_index: Option<u64>,
    /// The last place that its newest snapshot covers.
    pub snapshot_index: Option<u64>,
    /// The last place that its log has given up.
    pub purged_index: Option<u64>,
    /// All members, by number.
    pub members: Vec<MemberStatus>,
    /// The numbers of members that were removed, as of what this member has applied.
    pub removed: Vec<u64>,
    /// A change of the membership is under way: two sets of voters decide.
    pub is_changing: bool,
    /// The newest version of commands that the group's log may hold, as far as this member has applied it.
    pub command_version: u16,
    /// The newest that this member reads.
    pub command_version_max: u16,
    /// How long the disk's operation in flight has taken.
    pub stall: Duration,
    /// Why it is not ready, if it is not.
    pub not_ready: Option<String>,
}

/// What a member is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// It leads.
    Leader,
    /// It follows, and has a vote.
    Follower,
    /// It stands for election.
    Candidate,
    /// It has no vote.
    Learner,
    /// It has ended.
    Ended,
}

/// A member of the group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberStatus {
    /// Its number.
    pub id: u64,
    /// Where it is reached.
    pub address: String,
    /// Whether it has a vote.
    pub is_voter: bool,
    /// On the leader: the last entry that it is known to have.
    pub matched_index: Option<u64>,
    /// On the leader: how long ago it was heard.
    pub heard: Option<Duration>,
}

impl Role {
    /// For tables and metric labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Leader => "leader",
            Self::Follower => "follower",
            Self::Candidate => "candidate",
            Self::Learner => "learner",
            Self::Ended => "ended",
        }
    }
}

impl MetadataNode {
    /// Where the leader is reached, as far as this member knows.
    #[must_use]
    pub fn leader_address(&self) -> Option<String> {
        let metrics = self.inner.raft.metrics().borrow().clone();
        let leader = metrics.current_leader?;
        metrics.membership_config.membership().get_node(&leader).map(|node| Peer::from_text(leader, &node.addr).address)
    }

    /// Why this member is not ready, if it is not: a group without a leader, a log that is still being applied, an end.
    pub async fn not_ready(&self) -> Option<String> {
        self.inner.not_ready().await
    }

    /// How this member and its group do.
    pub async fn status(&self) -> GroupStatus {
        let not_ready = self.inner.not_ready().await;
        self.inner.status(not_ready)
    }
}

impl Inner {
    fn status(&self, not_ready: Option<String>) -> GroupStatus {
        let metrics = self.raft.metrics().borrow().clone();
        let membership = metrics.membership_config.membership();
        let leads = metrics.state == ServerState::Leader;
        let members = membership.nodes().map(|(id, node)| MemberStatus {
            id: *id,
            address: Peer::from_text(*id, &node.addr).address,
            is_voter: membership.voter_ids().any(|voter| voter == *id),
            matched_index: metrics.replication.as_ref().and_then(|all| all.get(id).copied().flatten()).map(|log_id| log_id.index),
            heard: leads.then(|| self.contacts.follower_silence(*id)).flatten(),
        });
        GroupStatus {
            node_id: self.config.node_id,
            incarnation: self.manifests.borrow().incarnation,
            term: metrics.current_term,
            leader: metrics.current_leader,
            role: match metrics.state {
                ServerState::Leader => Role::Leader,
                ServerState::Follower => Role::Follower,
                ServerState::Candidate => Role::Candidate,
                ServerState::Learner => Role::Learner,
                ServerState::Shutdown => Role::Ended,
            },
            last_index: metrics.last_log_index,
            applied_index: metrics.last_applied.map(|log_id| log_id.index),
            snapshot_index: metrics.snapshot.map(|log_id| log_id.index),
            purged_index: metrics.purged.map(|log_id| log_id.index),
            members: members.collect(),
            removed: self.removed.borrow().iter().copied().collect(),
            is_changing: membership.get_joint_config().len() > 1,
            command_version: self.versions.group(),
            command_version_max: self.config.command_version_max,
            stall: self.wal.metrics().stall().unwrap_or_default(),
            not_ready,
        }
    }
}
