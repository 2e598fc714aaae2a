//! What other members call.

use crate::convert::{Missing, append, append_response, hello_response, log_id, vote, wire_log_id, wire_vote};
use bytes::BytesMut;
use siltstone_metadata::MetadataNode;
use siltstone_metadata::raft::{Candidate, PeerError, PeerRequest, WireRequest, WireResponse};
use siltstone_metadata_client::MetadataClient;
use siltstone_proto::metadata::v1 as pb;
use siltstone_proto::metadata::v1::peers_server::Peers;
use tonic::{Request, Response, Status, Streaming};

/// A machine's bytes at most: a manifest of ten billion entries has some hundred megabytes.
const MACHINE_BYTES_MAX: u64 = 16 << 30;

pub(crate) struct PeersService {
    pub(crate) node: MetadataNode,
    pub(crate) node_id: u64,
}

impl PeersService {
    /// Refuses what is meant for another member, or comes from another group.
    fn check(&self, header: Option<&pb::Header>) -> Result<u64, Status> {
        let header = header.ok_or_else(|| missing(Missing("header")))?;
        let own = self.node.incarnation().0;
        if header.to != self.node_id {
            let message = format!("this is metadata member {}, not {}: check the addresses of the members", self.node_id, header.to);
            return Err(Status::failed_precondition(message));
        }
        if header.incarnation != 0 && own != 0 && header.incarnation != own {
            let message = format!(
                "this is a member of the metadata group that lives as incarnation {own:x}, and the caller is of {:x}: check the addresses of the members",
                header.incarnation
            );
            return Err(Status::failed_precondition(message));
        }
        Ok(header.directory)
    }

    /// `meant` is the id of the directory that the other side means.
    async fn answer(&self, meant: u64, request: WireRequest) -> Result<WireResponse, Status> {
        let request = PeerRequest::try_from(request).map_err(|error| {
            self.node.report_unreadable(&error);
            Status::invalid_argument(error.to_string())
        })?;
        let answer = self.node.handle(meant, request).await.map_err(|error| match error {
            PeerError::Ended { .. } => Status::unavailable(error.to_string()),
            PeerError::OtherDirectory { .. } => Status::failed_precondition(error.to_string()),
        })?;
        Ok(answer.into())
    }
}

fn missing(missing: Missing) -> Status {
    Status::invalid_argument(missing.to_string())
}

fn other_answer() -> Status {
    Status::internal("the answer is to another question")
}

#[tonic::async_trait]
impl Peers for PeersService {
    async fn append(&self, request: Request<pb::AppendRequest>) -> Result<Response<pb::AppendResponse>, Status> {
        let request = request.into_inner();
        let meant = self.check(request.header.as_ref())?;
        let answer = self.answer(meant, append(request).map_err(missing)?).await?;
        Ok(Response::new(append_response(answer).ok_or_else(other_answer)?))
    }

    async fn vote(&self, request: Request<pb::VoteRequest>) -> Result<Response<pb::VoteResponse>, Status> {
        let request = request.into_inner();
        let meant = self.check(request.header.as_ref())?;
        let (candidate, last) = (wire_vote(request.vote).map_err(missing)?, request.last.map(wire_log_id));
        match self.answer(meant, WireRequest::Vote { vote: candidate, last }).await? {
            WireResponse::Vote { vote: holds, is_granted, last } => {
                Ok(Response::new(pb::VoteResponse { vote: Some(vote(holds)), granted: is_granted, last: last.map(log_id) }))
            }
            _ => Err(other_answer()),
        }
    }

    async fn pre_vote(&self, request: Request<pb::PreVoteRequest>) -> Result<Response<pb::PreVoteResponse>, Status> {
        let request = request.into_inner();
        let meant = self.check(request.header.as_ref())?;
        let id = request.header.as_ref().map_or(0, |header| header.from);
        let candidate = Candidate { id, address: request.address, directory: request.directory, session: request.session };
        match self.answer(meant, WireRequest::PreVote { last: request.last.map(wire_log_id), candidate }).await? {
            WireResponse::PreVote { is_granted, is_copy } => Ok(Response::new(pb::PreVoteResponse { granted: is_granted, copy: is_copy })),
            _ => Err(other_answer()),
        }
    }

    async fn campaign(&self, request: Request<pb::CampaignRequest>) -> Result<Response<pb::CampaignResponse>, Status> {
        let meant = self.check(request.get_ref().header.as_ref())?;
        self.answer(meant, WireRequest::Campaign).await?;
        Ok(Response::new(pb::CampaignResponse {}))
    }

    async fn hello(&self, _: Request<pb::HelloRequest>) -> Result<Response<pb::HelloResponse>, Status> {
        match self.answer(0, WireRequest::Hello).await? {
            WireResponse::Hello(hello) => Ok(Response::new(hello_response(hello))),
            _ => Err(other_answer()),
        }
    }

    async fn snapshot(&self, request: Request<Streaming<pb::SnapshotPart>>) -> Result<Response<pb::SnapshotResponse>, Status> {
        let mut parts = request.into_inner();
        let first = parts.message().await?.ok_or_else(|| missing(Missing("part")))?;
        let meant = self.check(first.header.as_ref())?;
        let leader = wire_vote(first.vote).map_err(missing)?;
        if first.machine_len > MACHINE_BYTES_MAX {
            return Err(Status::invalid_argument(format!("a machine of {} bytes is not taken", first.machine_len)));
        }
        // What was announced is not yet there: room grows with what comes.
        let mut machine = BytesMut::new();
        while let Some(part) = parts.message().await? {
            if (machine.len() + part.machine.len()) as u64 > first.machine_len {
                return Err(Status::invalid_argument("the pieces of the machine are longer than was announced"));
            }
            machine.extend_from_slice(&part.machine);
        }
        if machine.len() as u64 != first.machine_len {
            return Err(Status::invalid_argument("the pieces of the machine end too early"));
        }
        match self.answer(meant, WireRequest::Snapshot { vote: leader, meta: first.meta.into(), machine: machine.freeze() }).await? {
            WireResponse::Snapshot { vote: holds } => Ok(Response::new(pb::SnapshotResponse { vote: Some(vote(holds)) })),
            _ => Err(other_answer()),
        }
    }
}
