//! What other services and people call.

use crate::backups;
use crate::status::{of_client_error, of_membership_error};
use crate::watch::Watchers;
use siltstone_core::Epoch;
use siltstone_format::command::CommandBody;
use siltstone_format::envelope::EnvelopeError;
use siltstone_metadata::MetadataNode;
use siltstone_metadata::raft::{GroupStatus, MemberStatus};
use siltstone_metadata_client::{ClientError, MetadataClient};
use siltstone_metadata_publish::PublishInsight;
use siltstone_proto::metadata::v1 as pb;
use siltstone_proto::metadata::v1::group_server::Group;
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use tonic::{Request, Response, Status};

pub(crate) struct GroupService {
    pub(crate) node: MetadataNode,
    pub(crate) watchers: Watchers,
    /// Where the member publishes when it leads.
    pub(crate) publishing: Option<Arc<PublishInsight>>,
}

impl GroupService {
    async fn membership(&self) -> pb::MembershipResponse {
        let status = self.node.status().await;
        pb::MembershipResponse { index: status.applied_index.unwrap_or(0), members: members(&status) }
    }
}

fn members(status: &GroupStatus) -> Vec<pb::Member> {
    let member = |member: &MemberStatus| pb::Member {
        id: member.id,
        address: member.address.clone(),
        is_voter: member.is_voter,
        matched_index: member.matched_index.unwrap_or(0),
        heard_ms: member.heard.and_then(|heard| i64::try_from(heard.as_millis()).ok()).unwrap_or(-1),
    };
    status.members.iter().map(member).collect()
}

#[tonic::async_trait]
impl Group for GroupService {
    type WatchStream = Pin<Box<dyn futures::Stream<Item = Result<pb::WatchResponse, Status>> + Send>>;

    async fn propose(&self, request: Request<pb::ProposeRequest>) -> Result<Response<pb::ProposeResponse>, Status> {
        let body = CommandBody::decode(&request.into_inner().command).map_err(|error| match error {
            // It comes from a newer program, and another member may know it.
            EnvelopeError::Version { .. } => of_client_error(&self.node, &ClientError::Unavailable { reason: error.to_string() }),
            error => Status::invalid_argument(error.to_string()),
        })?;
        let (token, reply) = self.node.propose(body).await.map_err(|error| of_client_error(&self.node, &error))?;
        let token = Some(pb::CommitToken { incarnation: token.incarnation.0, index: token.index.0 });
        let reply = reply.encode().map_err(|error| Status::aborted(error.to_string()))?;
        Ok(Response::new(pb::ProposeResponse { token, reply }))
    }

    async fn read_index(&self, _: Request<pb::ReadIndexRequest>) -> Result<Response<pb::ReadIndexResponse>, Status> {
        let index = self.node.read_index().await.map_err(|error| of_client_error(&self.node, &error))?;
        Ok(Response::new(pb::ReadIndexResponse { index: index.0 }))
    }

    async fn renew_leases(&self, request: Request<pb::RenewLeasesRequest>) -> Result<Response<pb::RenewLeasesResponse>, Status> {
        let epochs: Vec<Epoch> = request.into_inner().epochs.into_iter().map(Epoch).collect();
        let renewal = self.node.renew(&epochs).await.map_err(|error| of_client_error(&self.node, &error))?;
        let lease_ms = u64::try_from(renewal.lease.as_millis()).unwrap_or(u64::MAX);
        Ok(Response::new(pb::RenewLeasesResponse { over: renewal.over.into_iter().map(|epoch| epoch.0).collect(), lease_ms }))
    }

    async fn watch(&self, request: Request<pb::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(Box::pin(self.watchers.watch(request.into_inner()))))
    }

    async fn status(&self, _: Request<pb::StatusRequest>) -> Result<Response<pb::StatusResponse>, Status> {
        let status = self.node.status().await;
        let wal = self.node.wal_metrics().snapshot();
        let publishing = self.publishing.as_ref().map(|insight| insight.state()).unwrap_or_default();
        Ok(Response::new(pb::StatusResponse {
            node_id: status.node_id,
            incarnation: status.incarnation.0,
            term: status.term,
            leader: status.leader.unwrap_or(0),
            role: status.role.as_str().to_owned(),
            last_index: status.last_index.unwrap_or(0),
            applied_index: status.applied_index.unwrap_or(0),
            snapshot_index: status.snapshot_index.unwrap_or(0),
            purged_index: status.purged_index.unwrap_or(0),
            members: members(&status),
            is_changing: status.is_changing,
            stall_ms: u64::try_from(status.stall.as_millis()).unwrap_or(u64::MAX),
            slow_syncs: wal.syncs_longer_than_ms(100),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            not_ready: status.not_ready.unwrap_or_default(),
            published_index: publishing.newest.map_or(0, |root| root.version.0),
            publish_failure: publishing.failure.unwrap_or_default(),
            command_version: u32::from(status.command_version),
            command_version_max: u32::from(status.command_version_max),
        }))
    }

    async fn add_learner(&self, request: Request<pb::AddLearnerRequest>) -> Result<Response<pb::MembershipResponse>, Status> {
        let pb::AddLearnerRequest { id, address } = request.into_inner();
        if id == 0 || address.is_empty() {
            return Err(Status::invalid_argument("a member has a number above 0 and an address, host:port"));
        }
        self.node.add_learner(id, &address).await.map_err(|error| of_membership_error(&self.node, &error))?;
        Ok(Response::new(self.membership().await))
    }

    async fn change_voters(&self, request: Request<pb::ChangeVotersRequest>) -> Result<Response<pb::MembershipResponse>, Status> {
        let voters: BTreeSet<u64> = request.into_inner().voters.into_iter().collect();
        self.node.change_voters(&voters).await.map_err(|error| of_membership_error(&self.node, &error))?;
        Ok(Response::new(self.membership().await))
    }

    async fn move_member(&self, request: Request<pb::MoveMemberRequest>) -> Result<Response<pb::MembershipResponse>, Status> {
        let pb::MoveMemberRequest { id, address } = request.into_inner();
        if address.is_empty() {
            return Err(Status::invalid_argument("a member has an address, host:port"));
        }
        self.node.move_member(id, &address).await.map_err(|error| of_membership_error(&self.node, &error))?;
        Ok(Response::new(self.membership().await))
    }

    async fn remove_member(&self, request: Request<pb::RemoveMemberRequest>) -> Result<Response<pb::MembershipResponse>, Status> {
        self.node.remove_member(request.into_inner().id).await.map_err(|error| of_membership_error(&self.node, &error))?;
        Ok(Response::new(self.membership().await))
    }

    async fn transfer_lead(&self, _: Request<pb::TransferLeadRequest>) -> Result<Response<pb::TransferLeadResponse>, Status> {
        let has_left = self.node.leave().await;
        self.node.stay();
        let leader = self.node.status().await.leader.unwrap_or(0);
        if has_left {
            return Ok(Response::new(pb::TransferLeadResponse { leader }));
        }
        Err(Status::unavailable("no other member took the lead: none that has a vote has caught up, or none answers"))
    }

    async fn take_snapshot(&self, _: Request<pb::TakeSnapshotRequest>) -> Result<Response<pb::TakeSnapshotResponse>, Status> {
        self.node.take_snapshot().await;
        let index = self.node.status().await.snapshot_index.unwrap_or(0);
        Ok(Response::new(pb::TakeSnapshotResponse { index }))
    }

    async fn take_backup(&self, request: Request<pb::TakeBackupRequest>) -> Result<Response<pb::TakeBackupResponse>, Status> {
        backups::take(&self.node, self.publishing.is_some(), &request.into_inner().name).await.map(Response::new)
    }

    async fn list_backups(&self, _: Request<pb::ListBackupsRequest>) -> Result<Response<pb::ListBackupsResponse>, Status> {
        backups::list(&self.node).await.map(Response::new)
    }

    async fn remove_backup(&self, request: Request<pb::RemoveBackupRequest>) -> Result<Response<pb::RemoveBackupResponse>, Status> {
        backups::remove(&self.node, &request.into_inner().name).await.map(Response::new)
    }
}
