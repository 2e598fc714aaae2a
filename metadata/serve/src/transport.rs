//! The way to the other members over gRPC.

use crate::convert::{Missing, log_id, snapshot_parts, vote, wire_append_response, wire_hello, wire_log_id, wire_vote};
use crate::tls::{TlsError, TlsFiles, hint, without_preface};
use async_trait::async_trait;
use parking_lot::Mutex;
use siltstone_core::{Incarnation, text_with_causes, with_causes};
use siltstone_metadata::raft::{Candidate, Peer, PeerRequest, PeerResponse, Transport, TransportError, WireRequest, WireResponse};
use siltstone_proto::metadata::v1 as pb;
use siltstone_proto::metadata::v1::peers_client::PeersClient;
use siltstone_proto::metadata::{KEEPALIVE_S, MESSAGE_BYTES_MAX};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Status};

/// A snapshot travels in pieces of this size.
const SNAPSHOT_PIECE_BYTES: usize = 1 << 20;
/// A connection that was not made by then is not made: half the shortest election timeout.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(400);
const KEEPALIVE: Duration = Duration::from_secs(KEEPALIVE_S);

/// The way to the other members over gRPC. To each member there are several connections, so that no heartbeat waits behind a snapshot.
pub struct GrpcTransport {
    node_id: u64,
    tls: Option<ClientTlsConfig>,
    /// The group's life, once it is known; 0 before.
    incarnation: AtomicU64,
    channels: Mutex<BTreeMap<(u64, Lane), Lanes>>,
    /// Why members were not reached the last time: each reason is told once.
    told: Mutex<BTreeMap<u64, String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    Short,
    Snapshots,
    /// Candidates are looked for where they say that they are, which may not be where the membership has them.
    Hellos,
}

struct Lanes {
    address: String,
    client: PeersClient<Channel>,
}

impl GrpcTransport {
    /// A member's end.
    ///
    /// # Errors
    /// [`TlsError`] where a file is not read.
    pub fn new(node_id: u64, tls: Option<&TlsFiles>) -> Result<Arc<Self>, TlsError> {
        let tls = tls.map(TlsFiles::client).transpose()?;
        Ok(Arc::new(Self { node_id, tls, incarnation: AtomicU64::new(0), channels: Mutex::default(), told: Mutex::default() }))
    }

    /// The group's life became known. From now on, members of another group refuse what this one says.
    pub fn set_incarnation(&self, incarnation: Incarnation) {
        self.incarnation.store(incarnation.0, Ordering::Relaxed);
    }

    fn header(&self, to: &Peer) -> pb::Header {
        pb::Header { from: self.node_id, to: to.id, incarnation: self.incarnation.load(Ordering::Relaxed), directory: to.directory }
    }

    /// Says in the log why a member is not reached, unless that was said the last time: calls are made many times a second.
    fn tell(&self, to: &Peer, reason: &str) {
        let before = self.told.lock().insert(to.id, reason.to_owned());
        if before.is_none_or(|before| before != reason) {
            tracing::warn!(to = to.id, address = to.address, reason, "a metadata member is not reached");
        }
    }

    fn client(&self, peer: &Peer, lane: Lane) -> Result<PeersClient<Channel>, tonic::transport::Error> {
        let mut channels = self.channels.lock();
        if let Some(known) = channels.get(&(peer.id, lane)).filter(|known| known.address == peer.address) {
            return Ok(known.client.clone());
        }
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let mut endpoint = Endpoint::from_shared(format!("{scheme}://{}", peer.address))?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEPALIVE)
            .keep_alive_timeout(KEEPALIVE)
            .keep_alive_while_idle(true);
        if let Some(tls) = &self.tls {
            endpoint = endpoint.tls_config(tls.clone())?;
        }
        let client =
            PeersClient::new(endpoint.connect_lazy()).max_decoding_message_size(MESSAGE_BYTES_MAX).max_encoding_message_size(MESSAGE_BYTES_MAX);
        channels.insert((peer.id, lane), Lanes { address: peer.address.clone(), client: client.clone() });
        Ok(client)
    }

    async fn send(&self, peer: &Peer, request: WireRequest) -> Result<WireResponse, CallError> {
        let header = Some(self.header(peer));
        let lane = match request {
            WireRequest::Snapshot { .. } => Lane::Snapshots,
            WireRequest::Hello => Lane::Hellos,
            _ => Lane::Short,
        };
        let mut client = self.client(peer, lane)?;
        Ok(match request {
            WireRequest::Append { vote: leader, previous, committed, entries } => {
                let (previous, committed) = (previous.map(log_id), committed.map(log_id));
                let request = pb::AppendRequest { header, vote: Some(vote(leader)), previous, committed, entries };
                wire_append_response(client.append(request).await?.into_inner())?
            }
            WireRequest::Vote { vote: candidate, last } => {
                let request = pb::VoteRequest { header, vote: Some(vote(candidate)), last: last.map(log_id) };
                let answer = client.vote(request).await?.into_inner();
                WireResponse::Vote { vote: wire_vote(answer.vote)?, is_granted: answer.granted, last: answer.last.map(wire_log_id) }
            }
            WireRequest::PreVote { last, candidate: Candidate { address, directory, session, .. } } => {
                let request = pb::PreVoteRequest { header, last: last.map(log_id), address, directory, session };
                let answer = client.pre_vote(request).await?.into_inner();
                WireResponse::PreVote { is_granted: answer.granted, is_copy: answer.copy }
            }
            WireRequest::Hello => WireResponse::Hello(wire_hello(&client.hello(pb::HelloRequest {}).await?.into_inner())?),
            WireRequest::Campaign => {
                client.campaign(pb::CampaignRequest { header }).await?;
                WireResponse::Campaign
            }
            WireRequest::Snapshot { vote: leader, meta, machine } => {
                let parts = snapshot_parts(self.header(peer), leader, meta, machine, SNAPSHOT_PIECE_BYTES);
                let answer = client.snapshot(futures::stream::iter(parts)).await?.into_inner();
                WireResponse::Snapshot { vote: wire_vote(answer.vote)? }
            }
        })
    }
}

#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error(transparent)]
    Address(#[from] tonic::transport::Error),
    #[error(transparent)]
    Status(#[from] Status),
    #[error(transparent)]
    Missing(#[from] Missing),
}

#[async_trait]
impl Transport for GrpcTransport {
    async fn call(&self, to: &Peer, request: PeerRequest) -> Result<PeerResponse, TransportError> {
        let refused = |reason: String| TransportError::Refused { to: to.id, reason };
        let request = request.to_wire().map_err(|error| refused(error.to_string()))?;
        match self.send(to, request).await {
            Ok(answer) => {
                self.told.lock().remove(&to.id);
                Ok(answer.into())
            }
            // A status with a cause was not sent by the member: it was not reached.
            Err(CallError::Status(status)) if status.code() != Code::Unavailable && status.source().is_none() => {
                Err(refused(status.message().to_owned()))
            }
            Err(CallError::Missing(missing)) => Err(refused(missing.to_string())),
            Err(error) => {
                let reason = match &error {
                    CallError::Status(status) => text_with_causes(status.message().to_owned(), status.source()),
                    other => with_causes(other),
                };
                let mut reason = without_preface(&reason);
                reason.push_str(hint(&reason, self.tls.is_some()));
                self.tell(to, &reason);
                Err(TransportError::Unreachable { to: to.id, address: to.address.clone(), reason })
            }
        }
    }
}
