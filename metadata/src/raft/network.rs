//! openraft's network on a [`Transport`], and the leader's half of the gate: a follower's acknowledgement counts only once this member's own disk
//! has the same entries. See `durable.rs`.

use crate::raft::contact::Contacts;
use crate::raft::durable::acknowledged;
use crate::raft::log_store::LogStore;
use crate::raft::transport::{Peer, PeerRequest, PeerResponse, SnapshotRequest, Transport, TransportError};
use crate::raft::types::RaftTypes;
use openraft::error::{Fatal, NetworkError, RPCError, RaftError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse};
use openraft::{BasicNode, OptionalSend, Snapshot, Vote};
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

type RpcError = RPCError<u64, BasicNode, RaftError<u64>>;

/// A member's ways to all others.
pub(crate) struct Network {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) log_store: LogStore,
    pub(crate) contacts: Arc<Contacts>,
    /// How long nothing is sent to a member that was not reached.
    pub(crate) backoff: Duration,
    /// How long after a request an answer to all of it is waited for, rather than to a part.
    pub(crate) patience: Duration,
}

/// The way to one member.
pub(crate) struct PeerNetwork {
    peer: Peer,
    transport: Arc<dyn Transport>,
    log_store: LogStore,
    contacts: Arc<Contacts>,
    backoff: Duration,
    patience: Duration,
}

impl RaftNetworkFactory<RaftTypes> for Network {
    type Network = PeerNetwork;

    async fn new_client(&mut self, target: u64, node: &BasicNode) -> PeerNetwork {
        PeerNetwork {
            peer: Peer::from_text(target, &node.addr),
            transport: self.transport.clone(),
            log_store: self.log_store.clone(),
            contacts: self.contacts.clone(),
            backoff: self.backoff,
            patience: self.patience,
        }
    }
}

impl PeerNetwork {
    /// This member's vote, if it is another one by now.
    #[allow(clippy::result_large_err, reason = "the error type is openraft's")]
    fn newer_vote(&self, vote: &Vote<u64>) -> Result<Option<Vote<u64>>, RpcError> {
        let now = self.log_store.vote().map_err(|error| network_error(&io::Error::other(error)))?;
        Ok(now.filter(|now| now != vote))
    }
}

impl RaftNetwork<RaftTypes> for PeerNetwork {
    async fn append_entries(&mut self, request: AppendEntriesRequest<RaftTypes>, _option: RPCOption) -> Result<AppendEntriesResponse<u64>, RpcError> {
        if self.contacts.is_silent() {
            return Err(leads_no_more().into());
        }
        // CP-1: openraft lets the replication of an earlier lead go on until somebody refuses it. The entries were read a moment ago: if the next
        // leader had cut the log by then, they follow other entries than the request says. With the same vote now, it had not.
        let vote = request.vote;
        if let Some(newer) = self.newer_vote(&vote)? {
            return Ok(AppendEntriesResponse::HigherVote(newer));
        }
        let sent = Instant::now();
        let before = request.prev_log_id;
        let last = request.entries.last().map(|entry| entry.log_id).or(before);
        let answer = match self.transport.call(&self.peer, PeerRequest::Append(request)).await.map_err(rpc_error)? {
            PeerResponse::Append(answer) => answer,
            other => return Err(network_error(&unexpected(&other)).into()),
        };
        if !matches!(answer, AppendEntriesResponse::HigherVote(_)) {
            self.contacts.heard_follower(self.peer.id, sent);
        }
        let Some(acknowledged) = acknowledged(last, &answer) else { return Ok(answer) };
        let patience = self.patience.saturating_sub(sent.elapsed());
        match self.log_store.until_durable_part(before, acknowledged, patience).await {
            Ok(durable) if durable == acknowledged => Ok(answer),
            // The part was read from the log as it is now.
            Ok(part) => Ok(match self.newer_vote(&vote)? {
                Some(newer) => AppendEntriesResponse::HigherVote(newer),
                None => AppendEntriesResponse::PartialSuccess(Some(part)),
            }),
            Err(error) => Err(network_error(&io::Error::other(error)).into()),
        }
    }

    async fn vote(&mut self, request: VoteRequest<u64>, _option: RPCOption) -> Result<VoteResponse<u64>, RpcError> {
        match self.transport.call(&self.peer, PeerRequest::Vote(request)).await.map_err(rpc_error)? {
            PeerResponse::Vote(answer) => Ok(answer),
            other => Err(network_error(&unexpected(&other)).into()),
        }
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote<u64>,
        snapshot: Snapshot<RaftTypes>,
        cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        option: RPCOption,
    ) -> Result<SnapshotResponse<u64>, StreamingError<RaftTypes, Fatal<u64>>> {
        if self.contacts.is_silent() {
            return Err(leads_no_more().into());
        }
        let request = SnapshotRequest { vote, meta: snapshot.meta, machine: *snapshot.snapshot };
        let call = self.transport.call(&self.peer, PeerRequest::Snapshot(request));
        let answer = tokio::select! {
            biased;
            closed = cancel => return Err(closed.into()),
            answer = tokio::time::timeout(option.hard_ttl(), call) => answer,
        };
        let failed = |error: &dyn std::error::Error| StreamingError::from(NetworkError::new(&io::Error::other(error.to_string())));
        match answer.map_err(|elapsed| failed(&elapsed))? {
            Ok(PeerResponse::Snapshot(answer)) => Ok(answer),
            Ok(other) => Err(failed(&unexpected(&other))),
            Err(error @ TransportError::Unreachable { .. }) => Err(Unreachable::new(&error).into()),
            Err(error) => Err(failed(&error)),
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(self.backoff))
    }
}

fn rpc_error(error: TransportError) -> RpcError {
    match error {
        TransportError::Unreachable { .. } => Unreachable::new(&error).into(),
        TransportError::Refused { .. } => NetworkError::new(&error).into(),
    }
}

fn leads_no_more() -> Unreachable {
    Unreachable::new(&io::Error::other("this member leads no more"))
}

fn network_error(error: &io::Error) -> NetworkError {
    NetworkError::new(error)
}

fn unexpected(answer: &PeerResponse) -> io::Error {
    let kind = match answer {
        PeerResponse::Append(_) => "Append",
        PeerResponse::Vote(_) => "Vote",
        PeerResponse::PreVote { .. } => "PreVote",
        PeerResponse::Campaign => "Campaign",
        PeerResponse::Snapshot(_) => "Snapshot",
        PeerResponse::Hello(_) => "Hello",
    };
    io::Error::new(io::ErrorKind::InvalidData, format!("the answer {kind} is to another question"))
}
