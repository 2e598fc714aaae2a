//! What a member answers to the others, and the follower's half of the gate: it acknowledges entries only once its own disk has them. See
//! `durable.rs`.

use crate::raft::candidate::Standing;
use crate::raft::durable::acknowledged;
use crate::raft::node::Inner;
use crate::raft::transport::{PeerRequest, PeerResponse, PreVote, SnapshotRequest};
use crate::raft::types::{LogId, RaftTypes};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse};
use openraft::{ServerState, Snapshot};
use std::sync::atomic::Ordering;

/// Why a member does not answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PeerError {
    /// It has ended or is ending.
    #[error("answer as a metadata member: {reason}")]
    Ended {
        /// What is known of the cause.
        reason: String,
    },
    /// Its directory is not the one that the group means.
    #[error(
        "answer as metadata member {node_id}: the group knows this member by another directory, which was emptied or replaced; remove the member, and \
         add an empty one under a new number"
    )]
    OtherDirectory {
        /// Its number.
        node_id: u64,
    },
}

impl Inner {
    /// Answers a request that means a directory of this id (0: it does not say).
    pub(crate) async fn handle(&self, meant: u64, request: PeerRequest) -> Result<PeerResponse, PeerError> {
        if !matches!(request, PeerRequest::Hello) && !self.admission.takes_part(meant) {
            let node_id = self.config.node_id;
            if self.admission.is_first_refusal() {
                let (meant, directory) = (format!("{meant:016x}"), format!("{:016x}", self.admission.directory));
                tracing::error!(node_id, meant, directory, "the group means another directory");
            }
            return Err(PeerError::OtherDirectory { node_id });
        }
        self.check_versions(&request)?;
        match request {
            PeerRequest::Hello => Ok(PeerResponse::Hello(self.hello().await)),
            PeerRequest::Append(request) => self.append_entries(request).await.map(PeerResponse::Append),
            PeerRequest::Vote(request) => {
                let _gate = self.contacts.vote_gate().await;
                let answer = self.raft.vote(request).await.map_err(ended)?;
                if answer.vote_granted {
                    self.contacts.heard_leader();
                }
                Ok(PeerResponse::Vote(answer))
            }
            PeerRequest::PreVote(request) => {
                let (standing, would_vote) = (self.look_at(&request.candidate).await, self.would_vote(&request)?);
                Ok(PeerResponse::PreVote { is_granted: would_vote && standing == Standing::Member, is_copy: standing == Standing::Copy })
            }
            PeerRequest::Campaign => {
                self.is_asked_to_campaign.store(true, Ordering::Release);
                Ok(PeerResponse::Campaign)
            }
            PeerRequest::Snapshot(SnapshotRequest { vote, meta, machine }) => {
                let last = meta.last_log_id;
                let answer = self.raft.install_full_snapshot(vote, Snapshot { meta, snapshot: Box::new(machine) }).await.map_err(ended)?;
                // Raft takes a snapshot of what it has applied for installed, and the leader takes the answer for an acknowledgement of the entries;
                // but this member may have them in memory alone (WA-1).
                if answer.vote == vote {
                    self.contacts.heard_leader();
                    if let Some(last) = last {
                        self.until_durable(last).await?;
                    }
                }
                Ok(PeerResponse::Snapshot(answer))
            }
        }
    }

    async fn append_entries(&self, request: AppendEntriesRequest<RaftTypes>) -> Result<AppendEntriesResponse<u64>, PeerError> {
        let (vote, before) = (request.vote, request.prev_log_id);
        let last = request.entries.last().map(|entry| entry.log_id).or(before);
        // The first of a new leader: this member's vote for it goes to the disk.
        let is_new = self.log_store.vote().map_err(ended)? != Some(vote);
        let gate = if is_new { Some(self.contacts.vote_gate().await) } else { None };
        let answer = self.raft.append_entries(request).await.map_err(ended)?;
        if !matches!(answer, AppendEntriesResponse::HigherVote(_)) {
            self.contacts.heard_leader();
        }
        drop(gate);
        let Some(acknowledged) = acknowledged(last, &answer) else { return Ok(answer) };
        let durable = self.log_store.until_durable_part(before, acknowledged, self.config.part_timeout_follower()).await.map_err(ended)?;
        // While it waited, this member may have given its vote to another, whose leader may have cut these entries off. The acknowledgement would
        // then count for entries that are not there. With the same vote, nobody else had a say in the log.
        match self.log_store.vote() {
            Ok(Some(now)) if now != vote => Ok(AppendEntriesResponse::HigherVote(now)),
            Ok(_) if durable == acknowledged => Ok(answer),
            Ok(_) => Ok(AppendEntriesResponse::PartialSuccess(Some(durable))),
            Err(error) => Err(ended(error)),
        }
    }

    /// Waits until this member's disk has an entry that its log holds, and all before it.
    async fn until_durable(&self, last: LogId) -> Result<(), PeerError> {
        let durable = self.log_store.durable().wait(last.index).await;
        durable.map_err(|_| PeerError::Ended { reason: "its log has failed".to_owned() })
    }

    /// Whether a vote for this candidate would be given, as far as it can be known without the vote.
    fn would_vote(&self, request: &PreVote) -> Result<bool, PeerError> {
        let leads = self.raft.metrics().borrow().state == ServerState::Leader && !self.contacts.is_silent();
        let has_leader = self.contacts.leader_silence() < self.config.election_timeout_min() || (leads && self.has_quorum());
        let own = self.log_store.last_log_id().map_err(ended)?;
        // A vote must be on the disk before it counts: while the disk stalls there is none to give, and a promise of it would let one stand who
        // cannot win, against one who can.
        let can_vote = !self.is_stalled.load(Ordering::Acquire);
        Ok(can_vote && !has_leader && request.last_log_id >= own)
    }
}

fn ended<E>(error: E) -> PeerError
where
    E: std::error::Error,
{
    PeerError::Ended { reason: error.to_string() }
}
