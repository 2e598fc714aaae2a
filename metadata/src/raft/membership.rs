//! Who belongs to the group: members come as learners, get a vote once they have caught up, and go. A member that stops changes nothing here.
//!
//! What is deliberately not here: who decides it (an operator, a person), and starting processes.

use crate::raft::node::{Inner, MetadataNode};
use crate::raft::transport::Peer;
use openraft::error::{ChangeMembershipError, ClientWriteError, RaftError};
use openraft::{BasicNode, ChangeMembers};
use siltstone_core::ErrorKind;
use std::collections::{BTreeMap, BTreeSet};

/// Entries that a learner may lack when it is given a vote: a second's worth at a busy group's rate, so that commits do not wait for it to catch up.
const LAG_ENTRIES_MAX: u64 = 1_000;

/// Why the membership is not changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MembershipError {
    /// Only the leader changes it.
    #[error("change the members of the metadata group: {}", .leader.map_or_else(|| "it has no leader; try again".to_owned(), |id| format!("member {id} leads; ask it")))]
    NotLeader {
        /// The leader, where it is known.
        leader: Option<u64>,
    },
    /// The leader is not heard.
    #[error("change the members of the metadata group: its leader hears no quorum, or its disk stalls; try again")]
    NoQuorum,
    /// Another change is under way.
    #[error("change the members of the metadata group: another change is under way; try again when it is done")]
    Busy,
    /// The number names another member.
    #[error("add metadata member {id} at {address}: that number is the member's at {known}; numbers are never used again, choose a new one")]
    Taken {
        /// The number.
        id: u64,
        /// The address that was asked for.
        address: String,
        /// The address of the member that has the number.
        known: String,
    },
    /// The number was another member's.
    #[error("add metadata member {id} at {address}: a member of that number was removed; numbers are never used again, choose a new one")]
    Removed {
        /// The number.
        id: u64,
        /// The address that was asked for.
        address: String,
    },
    /// It does not answer where it is said to have moved to.
    #[error("move metadata member {id} to {address}: it does not answer there; start it there, on its own directory")]
    NotThere {
        /// The number.
        id: u64,
        /// Where it was looked for.
        address: String,
    },
    /// Another directory answers where it is said to have moved to.
    #[error(
        "move metadata member {id} to {address}: what answers there has another directory than the member; remove it and add it under a new number"
    )]
    OtherDirectory {
        /// The number.
        id: u64,
        /// Where it was looked for.
        address: String,
    },
    /// Its program is too old.
    #[error(
        "add metadata member {id} at {address}: its program reads commands up to version {version}, and the group's log holds version {needed}; start it \
         with a newer program"
    )]
    OldProgram {
        /// The number.
        id: u64,
        /// Where it was found.
        address: String,
        /// The newest version of commands that it reads.
        version: u16,
        /// The version that it must read.
        needed: u16,
    },
    /// It does not answer.
    #[error(
        "add metadata member {id} at {address}: it does not answer there; start it on an empty directory: siltstone metadata serve --join --id {id}"
    )]
    Silent {
        /// The number.
        id: u64,
        /// Where it was looked for.
        address: String,
    },
    /// No such member.
    #[error("change the members of the metadata group: there is no member {id}; add it first")]
    Unknown {
        /// The number.
        id: u64,
    },
    /// It must catch up first.
    #[error("give metadata member {id} a vote: it lacks {lag} entries; wait until it has caught up")]
    Behind {
        /// The number.
        id: u64,
        /// Entries that it is not known to have.
        lag: u64,
    },
    /// It still has a vote.
    #[error("remove metadata member {id}: it has a vote; take that first")]
    HasVote {
        /// The number.
        id: u64,
    },
    /// It leads.
    #[error("remove metadata member {id}: it leads the group; hand the lead over first: siltstone metadata transfer-lead")]
    Leads {
        /// The number.
        id: u64,
    },
    /// A group without voters would be dead.
    #[error("change the members of the metadata group: no voter would be left")]
    NoVoters,
    /// Whether it is changed is not known.
    #[error("learn the outcome of a change of the metadata group's members: {reason}; look at its status")]
    Unknowable {
        /// What is known of the cause.
        reason: String,
    },
}

impl MembershipError {
    /// What the caller should do about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::NotLeader { .. } | Self::NoQuorum | Self::Busy => ErrorKind::Unavailable,
            Self::Taken { .. }
            | Self::Removed { .. }
            | Self::NotThere { .. }
            | Self::OtherDirectory { .. }
            | Self::Silent { .. }
            | Self::OldProgram { .. }
            | Self::HasVote { .. }
            | Self::Leads { .. }
            | Self::Behind { .. } => ErrorKind::Conflict,
            Self::Unknown { .. } => ErrorKind::NotFound,
            Self::NoVoters => ErrorKind::InvalidInput,
            Self::Unknowable { .. } => ErrorKind::Unknown,
        }
    }
}

impl MetadataNode {
    /// Adds a member that learns and has no vote. It must answer, so that the group knows its directory. Repeated, it changes nothing.
    ///
    /// # Errors
    /// [`MembershipError`].
    pub async fn add_learner(&self, id: u64, address: &str) -> Result<(), MembershipError> {
        self.inner.check_leads()?;
        if let Some(Peer { address: known, .. }) = self.inner.member(id) {
            let is_same = known == address;
            return if is_same { Ok(()) } else { Err(MembershipError::Taken { id, address: address.to_owned(), known }) };
        }
        // From here on, no newer commands come into use behind the question.
        let _gate = self.inner.versions.lock().await;
        // Whoever led before may have removed members.
        self.inner.catch_up().await.map_err(|_| MembershipError::NoQuorum)?;
        if self.inner.removed.borrow().contains(&id) {
            return Err(MembershipError::Removed { id, address: address.to_owned() });
        }
        let peer = Peer { id, address: address.to_owned(), directory: 0 };
        let hello = self.inner.ask_hello(&peer).await.ok_or_else(|| MembershipError::Silent { id, address: address.to_owned() })?;
        let (version, needed) = (hello.command_version, self.inner.versions.needed());
        if version < needed {
            return Err(MembershipError::OldProgram { id, address: address.to_owned(), version, needed });
        }
        let peer = Peer { directory: hello.directory, ..peer };
        let nodes = BTreeMap::from([(id, BasicNode { addr: peer.to_text() })]);
        self.inner.change(ChangeMembers::AddNodes(nodes)).await
    }

    /// Tells the group that a member is at another address now. It must answer there, on the same directory.
    ///
    /// # Errors
    /// [`MembershipError`].
    pub async fn move_member(&self, id: u64, address: &str) -> Result<(), MembershipError> {
        let inner = &self.inner;
        inner.check_leads()?;
        let known = inner.member(id).ok_or(MembershipError::Unknown { id })?;
        if known.address == address {
            return Ok(());
        }
        let peer = Peer { id, address: address.to_owned(), directory: 0 };
        let hello = inner.ask_hello(&peer).await.ok_or_else(|| MembershipError::NotThere { id, address: address.to_owned() })?;
        if known.directory != 0 && known.directory != hello.directory {
            return Err(MembershipError::OtherDirectory { id, address: address.to_owned() });
        }
        let nodes = BTreeMap::from([(id, BasicNode { addr: Peer { directory: hello.directory, ..peer }.to_text() })]);
        inner.change(ChangeMembers::SetNodes(nodes)).await
    }

    /// Makes exactly these members the voters. Those that have no vote yet must have caught up. Others keep learning until they are removed.
    ///
    /// # Errors
    /// [`MembershipError`].
    pub async fn change_voters(&self, voters: &BTreeSet<u64>) -> Result<(), MembershipError> {
        let inner = &self.inner;
        inner.check_leads()?;
        if voters.is_empty() {
            return Err(MembershipError::NoVoters);
        }
        let metrics = inner.raft.metrics().borrow().clone();
        let membership = metrics.membership_config.membership();
        let present: BTreeSet<u64> = membership.voter_ids().collect();
        for id in voters {
            if membership.get_node(id).is_none() {
                return Err(MembershipError::Unknown { id: *id });
            }
            if present.contains(id) {
                continue;
            }
            let matched = metrics.replication.as_ref().and_then(|all| all.get(id).copied().flatten()).map(|log_id| log_id.index + 1);
            let lag = metrics.last_log_index.map_or(0, |last| last + 1).saturating_sub(matched.unwrap_or(0));
            if matched.is_none() || lag > LAG_ENTRIES_MAX {
                return Err(MembershipError::Behind { id: *id, lag });
            }
        }
        inner.change(ChangeMembers::ReplaceAllVoters(voters.clone())).await
    }

    /// Removes a member that has no vote, for good.
    ///
    /// # Errors
    /// [`MembershipError`].
    pub async fn remove_member(&self, id: u64) -> Result<(), MembershipError> {
        let inner = &self.inner;
        inner.check_leads()?;
        if inner.member(id).is_none() {
            return Err(MembershipError::Unknown { id });
        }
        if inner.raft.metrics().borrow().membership_config.membership().voter_ids().any(|voter| voter == id) {
            return Err(MembershipError::HasVote { id });
        }
        if id == inner.config.node_id {
            return Err(MembershipError::Leads { id });
        }
        inner.change(ChangeMembers::RemoveNodes(BTreeSet::from([id]))).await
    }

    /// Takes a snapshot soon. Its position shows in the status.
    pub async fn take_snapshot(&self) {
        // An error means that Raft has stopped, which the supervisor reports.
        let _ = self.inner.raft.trigger().snapshot().await;
    }
}

impl Inner {
    fn check_leads(&self) -> Result<(), MembershipError> {
        match self.is_leader() {
            false => Err(MembershipError::NotLeader { leader: self.other_leader() }),
            true if self.contacts.is_silent() => Err(MembershipError::NoQuorum),
            true => Ok(()),
        }
    }

    fn member(&self, id: u64) -> Option<Peer> {
        self.raft.metrics().borrow().membership_config.membership().get_node(&id).map(|node| Peer::from_text(id, &node.addr))
    }

    /// Changes the membership by joint consensus (Raft's dissertation, section 4.3), members that lose their vote staying as learners.
    async fn change(&self, change: ChangeMembers<u64, BasicNode>) -> Result<(), MembershipError> {
        let unknowable = |reason: String| MembershipError::Unknowable { reason };
        let changed = tokio::time::timeout(self.config.propose_timeout(), self.raft.change_membership(change, true)).await;
        match changed.map_err(|_| unknowable(format!("no outcome within {} ms", self.config.propose_ms_max)))? {
            Ok(_) => Ok(()),
            Err(RaftError::APIError(ClientWriteError::ChangeMembershipError(error))) => Err(match error {
                ChangeMembershipError::InProgress(_) => MembershipError::Busy,
                ChangeMembershipError::EmptyMembership(_) => MembershipError::NoVoters,
                ChangeMembershipError::LearnerNotFound(missing) => MembershipError::Unknown { id: missing.node_id },
            }),
            // It may have been in the log for a while, as with any proposal.
            Err(error) => Err(unknowable(error.to_string())),
        }
    }
}
