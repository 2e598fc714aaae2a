//! What members say to each other, and the way that it goes.
//!
//! What is deliberately not here: when something is said (`network`, `elector`), what is answered (`peers`), and bytes on a wire.

use crate::raft::admission::Phase;
use crate::raft::types::{LogId, RaftTypes, SnapshotBytes, SnapshotMeta};
use async_trait::async_trait;
use openraft::Vote;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse};

/// A way to the other members.
///
/// To ensure correctness, an implementation delivers a request at most as often as it was sent and unchanged, and gives an answer only to its own
/// request. It may lose, delay and reorder both. A call that is dropped may still be delivered. It sets no time limit of its own: callers drop calls.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Sends a request to a member and waits for its answer.
    ///
    /// # Errors
    /// [`TransportError`]; whether the request was delivered is not known then.
    async fn call(&self, to: &Peer, request: PeerRequest) -> Result<PeerResponse, TransportError>;
}

/// A member as others reach it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Its number in the group.
    pub id: u64,
    /// Where it listens, as the membership says.
    pub address: String,
    /// The id of the directory that the membership means; 0 where it does not say.
    pub directory: u64,
}

impl Peer {
    /// A member from how the membership names it: its address, and behind a number sign the id of its directory in hexadecimal digits.
    #[must_use]
    pub fn from_text(id: u64, text: &str) -> Self {
        let parts = text.rsplit_once('#').and_then(|(address, directory)| Some((address, u64::from_str_radix(directory, 16).ok()?)));
        let (address, directory) = parts.unwrap_or((text, 0));
        Self { id, address: address.to_owned(), directory }
    }

    /// How the membership names it.
    #[must_use]
    pub fn to_text(&self) -> String {
        if self.directory == 0 { self.address.clone() } else { format!("{}#{:016x}", self.address, self.directory) }
    }
}

/// Who a member says that it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello {
    /// Its number.
    pub node_id: u64,
    /// The id of its directory.
    pub directory: u64,
    /// How far it has come.
    pub phase: Phase,
    /// The newest version of commands that it reads.
    pub command_version: u16,
    /// Its process: a number that is drawn anew at each start; 0 from members of earlier versions.
    pub session: u64,
}

/// What a member asks of another.
#[derive(Clone, Debug)]
pub enum PeerRequest {
    /// A leader's entries, or that it lives.
    Append(AppendEntriesRequest<RaftTypes>),
    /// A candidate's plea for a vote.
    Vote(VoteRequest<u64>),
    /// Whether a vote would be given: nothing changes by it.
    PreVote(PreVote),
    /// A leader that leaves asks its successor to stand for election.
    Campaign,
    /// A leader's state, for a member that is too far behind for entries.
    Snapshot(SnapshotRequest),
    /// Who are you? Asked of members of a new group, and of those that are to be added.
    Hello,
}

/// A plea for a vote to come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PreVote {
    /// The end of the candidate's log.
    pub last_log_id: Option<LogId>,
    /// Who asks.
    pub candidate: Candidate,
}

/// Who asks for votes. Others find out at its address whether it is the member that the group means, or runs on a copy of that one's directory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Candidate {
    /// Its number.
    pub id: u64,
    /// Where the group reaches it, as its own log has it.
    pub address: String,
    /// The id of its directory.
    pub directory: u64,
    /// Its process; 0 from members of earlier versions, of whom nothing is found out.
    pub session: u64,
}

/// A snapshot on its way.
#[derive(Clone, Debug)]
pub struct SnapshotRequest {
    /// The leader's.
    pub vote: Vote<u64>,
    /// What Raft knows of it.
    pub meta: SnapshotMeta,
    /// The machine.
    pub machine: SnapshotBytes,
}

/// The answers, in the order of the requests.
#[derive(PartialEq, Eq, Debug)]
pub enum PeerResponse {
    /// To entries: they are durable where it says success.
    Append(AppendEntriesResponse<u64>),
    /// To a plea.
    Vote(VoteResponse<u64>),
    /// Whether a vote would be given.
    PreVote {
        /// It would.
        is_granted: bool,
        /// Another process answers at the candidate's address, on a copy of its directory.
        is_copy: bool,
    },
    /// It will stand.
    Campaign,
    /// To a snapshot: it is durable and installed unless the vote is another.
    Snapshot(SnapshotResponse<u64>),
    /// Who it is.
    Hello(Hello),
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransportError {
    /// The member is not there, or is not reached.
    #[error("reach metadata member {to} at {address}: {reason}")]
    Unreachable {
        /// Its number.
        to: u64,
        /// Where it was looked for.
        address: String,
        /// What is known of the cause.
        reason: String,
    },
    /// The member was reached and does not answer the question.
    #[error("ask metadata member {to}: {reason}")]
    Refused {
        /// Its number.
        to: u64,
        /// What it said.
        reason: String,
    },
}

/// The transport of a group of one.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPeers;

#[async_trait]
impl Transport for NoPeers {
    async fn call(&self, to: &Peer, _: PeerRequest) -> Result<PeerResponse, TransportError> {
        let (to, address) = (to.id, to.address.clone());
        Err(TransportError::Unreachable { to, address, reason: "this process is a group of one".to_owned() })
    }
}
