//! A member that is in touch with its group and applies nothing any more, as one whose disk hangs.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use futures::StreamExt;
use futures::stream::BoxStream;
use siltstone_core::CommitToken;
use siltstone_format::snapshot::encode_blob;
use siltstone_metadata_client::{MetadataClient, MetadataClientExt};
use siltstone_metadata_remote::{RemoteConfig, RemoteMetadata};
use siltstone_proto::metadata::v1 as pb;
use siltstone_proto::metadata::v1::group_server::{Group, GroupServer};
use siltstone_proto::metadata::v1::watch_response::Event;
use siltstone_proto::metadata::{LEADER_TRAILER, OUTCOME_REFUSED, OUTCOME_TRAILER};
use std::time::Duration;
use support::{PATIENCE, never_back};
use tokio::net::TcpListener;
use tonic::metadata::MetadataValue;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, async_trait};

/// It stands where it stands, and knows who leads.
struct Lagging {
    token: CommitToken,
    state: Vec<u8>,
    leader: String,
}

impl Lagging {
    fn refuse<T>(&self) -> Result<T, Status> {
        let mut status = Status::unavailable("reach the metadata group: member 1 leads the group");
        status.metadata_mut().insert(OUTCOME_TRAILER, MetadataValue::from_static(OUTCOME_REFUSED));
        status.metadata_mut().insert(LEADER_TRAILER, self.leader.parse().unwrap());
        Err(status)
    }
}

#[async_trait]
impl Group for Lagging {
    type WatchStream = BoxStream<'static, Result<pb::WatchResponse, Status>>;

    async fn watch(&self, _: Request<pb::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let token = pb::CommitToken { incarnation: self.token.incarnation.0, index: self.token.index.0 };
        let state = Event::Snapshot(pb::SnapshotPiece { token: Some(token), bytes: self.state.clone().into(), is_last: true });
        let beats = futures::stream::unfold((), move |()| async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Some((Event::Deltas(pb::Deltas { deltas: Vec::new(), applied_index: token.index }), ()))
        });
        let events = futures::stream::once(async { state }).chain(beats);
        Ok(Response::new(events.map(|event| Ok(pb::WatchResponse { event: Some(event) })).boxed()))
    }

    async fn propose(&self, _: Request<pb::ProposeRequest>) -> Result<Response<pb::ProposeResponse>, Status> {
        self.refuse()
    }

    async fn read_index(&self, _: Request<pb::ReadIndexRequest>) -> Result<Response<pb::ReadIndexResponse>, Status> {
        self.refuse()
    }

    async fn renew_leases(&self, _: Request<pb::RenewLeasesRequest>) -> Result<Response<pb::RenewLeasesResponse>, Status> {
        self.refuse()
    }

    async fn status(&self, _: Request<pb::StatusRequest>) -> Result<Response<pb::StatusResponse>, Status> {
        self.refuse()
    }

    async fn add_learner(&self, _: Request<pb::AddLearnerRequest>) -> Result<Response<pb::MembershipResponse>, Status> {
        self.refuse()
    }

    async fn change_voters(&self, _: Request<pb::ChangeVotersRequest>) -> Result<Response<pb::MembershipResponse>, Status> {
        self.refuse()
    }

    async fn remove_member(&self, _: Request<pb::RemoveMemberRequest>) -> Result<Response<pb::MembershipResponse>, Status> {
        self.refuse()
    }

    async fn move_member(&self, _: Request<pb::MoveMemberRequest>) -> Result<Response<pb::MembershipResponse>, Status> {
        self.refuse()
    }

    async fn take_backup(&self, _: Request<pb::TakeBackupRequest>) -> Result<Response<pb::TakeBackupResponse>, Status> {
        self.refuse()
    }

    async fn list_backups(&self, _: Request<pb::ListBackupsRequest>) -> Result<Response<pb::ListBackupsResponse>, Status> {
        self.refuse()
    }

    async fn remove_backup(&self, _: Request<pb::RemoveBackupRequest>) -> Result<Response<pb::RemoveBackupResponse>, Status> {
        self.refuse()
    }

    async fn transfer_lead(&self, _: Request<pb::TransferLeadRequest>) -> Result<Response<pb::TransferLeadResponse>, Status> {
        self.refuse()
    }

    async fn take_snapshot(&self, _: Request<pb::TakeSnapshotRequest>) -> Result<Response<pb::TakeSnapshotResponse>, Status> {
        self.refuse()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_lags_is_left_for_the_leader_whom_it_names() {
    let group = support::Group::start(1, 16_384).await;
    let leader = group.addresses[&1].clone();
    let manifest = group.members[&1].node.manifest();
    let lagging = Lagging { token: manifest.token(), state: encode_blob(&manifest).unwrap(), leader: leader.clone() };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = tonic::transport::Server::builder().add_service(GroupServer::new(lagging));
    let served = tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));

    let remote = RemoteMetadata::start(RemoteConfig::new(vec![address.clone()]), 1).unwrap();
    remote.wait_ready(PATIENCE).await.unwrap();
    let check = never_back(&remote);
    assert_eq!((remote.manifest().version, remote.metrics().address), (manifest.version, address));
    remote.create_namespace("shop").await.unwrap();
    assert!(remote.manifest().names.contains_key("shop"), "what is answered is shown");
    assert_eq!(remote.metrics().address, leader);
    assert!(remote.metrics().last_error.is_some_and(|error| error.contains("lacks")));
    // The leader needs no second state.
    assert_eq!(remote.metrics().states, 1);
    drop(remote);
    assert!(check.await.unwrap() > 0);
    served.abort();
    group.end().await;
}
