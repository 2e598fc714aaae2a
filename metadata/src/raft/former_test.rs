//! A leader of the past, and the log under it.

use crate::raft::contact::Contacts;
use crate::raft::durable::Durable;
use crate::raft::log_store::LogStore;
use crate::raft::network::Network;
use crate::raft::transport::{Peer, PeerRequest, PeerResponse, Transport, TransportError};
use crate::raft::types::{LogId, RaftTypes};
use async_trait::async_trait;
use openraft::network::{RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse};
use openraft::storage::{RaftLogStorage, RaftLogStorageExt};
use openraft::{BasicNode, CommittedLeaderId, Entry, EntryPayload, RaftLogReader, Vote};
use siltstone_disk::LossyDisk;
use siltstone_wal::{Wal, WalConfig};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A follower that takes everything.
#[derive(Default)]
struct Follower {
    asked: AtomicUsize,
}

#[async_trait]
impl Transport for Follower {
    async fn call(&self, _: &Peer, _: PeerRequest) -> Result<PeerResponse, TransportError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(PeerResponse::Append(AppendEntriesResponse::Success))
    }
}

fn log_store() -> LogStore {
    let wal = Wal::open(Arc::new(LossyDisk::new()), Path::new("/wal"), WalConfig::default(), |_| {}).unwrap().0;
    LogStore::new(1, Arc::new(wal), Arc::new(Durable::default()))
}

fn log_id(term: u64, index: u64) -> LogId {
    LogId::new(CommittedLeaderId::new(term, 1), index)
}

fn entry(term: u64, index: u64) -> Entry<RaftTypes> {
    Entry { log_id: log_id(term, index), payload: EntryPayload::Blank }
}

#[tokio::test]
async fn a_former_leader_sends_nothing_more() {
    let (mut log_store, follower) = (log_store(), Arc::new(Follower::default()));
    let contacts = Arc::new(Contacts::new());
    let backoff = Duration::from_millis(1);
    let mut network = Network { transport: follower.clone(), log_store: log_store.clone(), contacts, backoff, patience: backoff };
    let mut peer = network.new_client(2, &BasicNode::default()).await;
    let request = || AppendEntriesRequest { vote: Vote::new_committed(5, 1), prev_log_id: None, leader_commit: None, entries: vec![entry(5, 0)] };
    let option = || RPCOption::new(Duration::from_secs(1));

    log_store.save_vote(&Vote::new_committed(5, 1)).await.unwrap();
    assert_eq!(peer.append_entries(request(), option()).await.unwrap(), AppendEntriesResponse::Success);
    // Its replication is not told that another leads, and would send what that other's log holds.
    log_store.save_vote(&Vote::new(6, 3)).await.unwrap();
    assert_eq!(peer.append_entries(request(), option()).await.unwrap(), AppendEntriesResponse::HigherVote(Vote::new(6, 3)));
    assert_eq!(follower.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn replication_reads_nothing_rather_than_entries_after_a_hole() {
    let mut log_store = log_store();
    log_store.blocking_append((0..10).map(|index| entry(1, index))).await.unwrap();
    log_store.purge(log_id(1, 4)).await.unwrap();
    assert_eq!(log_store.limited_get_log_entries(5, 8).await.unwrap().len(), 3);
    assert!(log_store.limited_get_log_entries(3, 8).await.unwrap().is_empty());
}
