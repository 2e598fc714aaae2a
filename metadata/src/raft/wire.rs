//! What members say to each other in plain values and stored forms, for a transport that carries bytes.
//!
//! Entries and what is known of a snapshot travel in the form in which they are stored, which has checksums. What is deliberately not here: the
//! protocol that carries these values.

use crate::raft::stored::{decode_entry, decode_snapshot_file, encode_entry, encode_snapshot_file};
use crate::raft::transport::{Candidate, Hello, PeerRequest, PeerResponse, PreVote, SnapshotRequest};
use crate::raft::types::{LogId, SnapshotBytes};
use bytes::Bytes;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse};
use openraft::{CommittedLeaderId, Vote};
use siltstone_format::envelope::EnvelopeError;

/// A place in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireLogId {
    /// The leader's term.
    pub term: u64,
    /// The leader.
    pub leader: u64,
    /// The place.
    pub index: u64,
}

/// A leader, or a candidate where it is not committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireVote {
    /// Its term.
    pub term: u64,
    /// Its number.
    pub node: u64,
    /// A quorum has granted it.
    pub committed: bool,
}

/// A [`PeerRequest`] on the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WireRequest {
    /// A leader's entries.
    Append {
        /// The leader's.
        vote: WireVote,
        /// The entry before the first.
        previous: Option<WireLogId>,
        /// The leader's committed entry.
        committed: Option<WireLogId>,
        /// Entries in their stored form.
        entries: Vec<Bytes>,
    },
    /// A plea for a vote.
    Vote {
        /// The candidate's.
        vote: WireVote,
        /// The end of its log.
        last: Option<WireLogId>,
    },
    /// A plea for a vote to come.
    PreVote {
        /// The end of the candidate's log.
        last: Option<WireLogId>,
        /// Who asks.
        candidate: Candidate,
    },
    /// Stand for election.
    Campaign,
    /// A snapshot.
    Snapshot {
        /// The leader's.
        vote: WireVote,
        /// What Raft knows of it, in its stored form.
        meta: Bytes,
        /// The machine.
        machine: Bytes,
    },
    /// Who are you?
    Hello,
}

/// A [`PeerResponse`] on the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WireResponse {
    /// All entries are durable.
    Appended,
    /// The entries up to this one are.
    AppendedPartly(Option<WireLogId>),
    /// Another leads or stands.
    AppendHigherVote(WireVote),
    /// The entry before the first is another here.
    AppendConflict,
    /// To a plea.
    Vote {
        /// The vote that holds here.
        vote: WireVote,
        /// It is the candidate's.
        is_granted: bool,
        /// The end of this member's log.
        last: Option<WireLogId>,
    },
    /// To a plea for a vote to come.
    PreVote {
        /// It would be granted.
        is_granted: bool,
        /// The candidate is a copy.
        is_copy: bool,
    },
    /// It will stand.
    Campaign,
    /// To a snapshot.
    Snapshot {
        /// The vote that holds here.
        vote: WireVote,
    },
    /// Who it is.
    Hello(Hello),
}

impl PeerRequest {
    /// The form on the wire.
    ///
    /// # Errors
    /// [`EnvelopeError::TooLong`] past 4 GiB.
    pub fn to_wire(&self) -> Result<WireRequest, EnvelopeError> {
        Ok(match self {
            Self::Append(request) => WireRequest::Append {
                vote: request.vote.into(),
                previous: request.prev_log_id.map(Into::into),
                committed: request.leader_commit.map(Into::into),
                entries: request.entries.iter().map(encode_entry).collect::<Result<_, _>>()?,
            },
            Self::Vote(request) => WireRequest::Vote { vote: request.vote.into(), last: request.last_log_id.map(Into::into) },
            Self::PreVote(request) => WireRequest::PreVote { last: request.last_log_id.map(Into::into), candidate: request.candidate.clone() },
            Self::Campaign => WireRequest::Campaign,
            Self::Hello => WireRequest::Hello,
            Self::Snapshot(request) => {
                let machine = request.machine.machine.clone();
                let meta = encode_snapshot_file(&request.meta, &SnapshotBytes { machine: Bytes::new(), ..request.machine.clone() })?.into();
                WireRequest::Snapshot { vote: request.vote.into(), meta, machine }
            }
        })
    }
}

impl TryFrom<WireRequest> for PeerRequest {
    type Error = EnvelopeError;

    fn try_from(wire: WireRequest) -> Result<Self, EnvelopeError> {
        Ok(match wire {
            WireRequest::Append { vote, previous, committed, entries } => Self::Append(AppendEntriesRequest {
                vote: vote.into(),
                prev_log_id: previous.map(Into::into),
                leader_commit: committed.map(Into::into),
                entries: entries.iter().map(decode_entry).collect::<Result<_, _>>()?,
            }),
            WireRequest::Vote { vote, last } => Self::Vote(VoteRequest { vote: vote.into(), last_log_id: last.map(Into::into) }),
            WireRequest::PreVote { last, candidate } => Self::PreVote(PreVote { last_log_id: last.map(Into::into), candidate }),
            WireRequest::Campaign => Self::Campaign,
            WireRequest::Hello => Self::Hello,
            WireRequest::Snapshot { vote, meta, machine } => {
                let (meta, known) = decode_snapshot_file(&meta)?;
                Self::Snapshot(SnapshotRequest { vote: vote.into(), meta, machine: SnapshotBytes { machine, ..known } })
            }
        })
    }
}

impl From<PeerResponse> for WireResponse {
    fn from(response: PeerResponse) -> Self {
        match response {
            PeerResponse::Append(AppendEntriesResponse::Success) => Self::Appended,
            PeerResponse::Append(AppendEntriesResponse::PartialSuccess(matching)) => Self::AppendedPartly(matching.map(Into::into)),
            PeerResponse::Append(AppendEntriesResponse::HigherVote(vote)) => Self::AppendHigherVote(vote.into()),
            PeerResponse::Append(AppendEntriesResponse::Conflict) => Self::AppendConflict,
            PeerResponse::Vote(answer) => {
                Self::Vote { vote: answer.vote.into(), is_granted: answer.vote_granted, last: answer.last_log_id.map(Into::into) }
            }
            PeerResponse::PreVote { is_granted, is_copy } => Self::PreVote { is_granted, is_copy },
            PeerResponse::Campaign => Self::Campaign,
            PeerResponse::Hello(hello) => Self::Hello(hello),
            PeerResponse::Snapshot(answer) => Self::Snapshot { vote: answer.vote.into() },
        }
    }
}

impl From<WireResponse> for PeerResponse {
    fn from(wire: WireResponse) -> Self {
        match wire {
            WireResponse::Appended => Self::Append(AppendEntriesResponse::Success),
            WireResponse::AppendedPartly(matching) => Self::Append(AppendEntriesResponse::PartialSuccess(matching.map(Into::into))),
            WireResponse::AppendHigherVote(vote) => Self::Append(AppendEntriesResponse::HigherVote(vote.into())),
            WireResponse::AppendConflict => Self::Append(AppendEntriesResponse::Conflict),
            WireResponse::Vote { vote, is_granted, last } => Self::Vote(VoteResponse::new(Vote::from(vote), last.map(Into::into), is_granted)),
            WireResponse::PreVote { is_granted, is_copy } => Self::PreVote { is_granted, is_copy },
            WireResponse::Campaign => Self::Campaign,
            WireResponse::Hello(hello) => Self::Hello(hello),
            WireResponse::Snapshot { vote } => Self::Snapshot(SnapshotResponse::new(vote.into())),
        }
    }
}

impl From<LogId> for WireLogId {
    fn from(log_id: LogId) -> Self {
        Self { term: log_id.leader_id.term, leader: log_id.leader_id.node_id, index: log_id.index }
    }
}

impl From<WireLogId> for LogId {
    fn from(wire: WireLogId) -> Self {
        Self::new(CommittedLeaderId::new(wire.term, wire.leader), wire.index)
    }
}

impl From<Vote<u64>> for WireVote {
    fn from(vote: Vote<u64>) -> Self {
        Self { term: vote.leader_id.term, node: vote.leader_id.node_id, committed: vote.committed }
    }
}

impl From<WireVote> for Vote<u64> {
    fn from(wire: WireVote) -> Self {
        let vote = if wire.committed { Self::new_committed } else { Self::new };
        vote(wire.term, wire.node)
    }
}
