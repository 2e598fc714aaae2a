//! Members of one process, each behind a gRPC server of its own.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

use siltstone_core::{Incarnation, ManualClock};
use siltstone_disk::LossyDisk;
use siltstone_metadata::raft::Blocking;
use siltstone_metadata::{MetadataNode, NodeConfig, NodeParts};
use siltstone_metadata_client::{MetadataClient, MetadataClientExt};
use siltstone_metadata_remote::{RemoteConfig, RemoteMetadata};
use siltstone_metadata_serve::{GrpcTransport, ServeConfig, serve};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Member {
    pub node: MetadataNode,
    server: JoinHandle<()>,
    _stop: watch::Sender<bool>,
}

pub struct Group {
    pub addresses: BTreeMap<u64, String>,
    pub disks: BTreeMap<u64, LossyDisk>,
    pub members: BTreeMap<u64, Member>,
    feed_entries_max: usize,
}

impl Group {
    pub async fn start(size: u64, feed_entries_max: usize) -> Self {
        let mut listeners = BTreeMap::new();
        for id in 1..=size {
            listeners.insert(id, TcpListener::bind("127.0.0.1:0").await.unwrap());
        }
        let addresses = listeners.iter().map(|(id, listener)| (*id, listener.local_addr().unwrap().to_string())).collect();
        let disks = (1..=size).map(|id| (id, LossyDisk::new())).collect();
        let mut group = Self { addresses, disks, members: BTreeMap::new(), feed_entries_max };
        for (id, listener) in listeners {
            group.start_at(id, listener, 0).await;
        }
        for member in group.members.values() {
            member.node.wait_ready(PATIENCE).await.unwrap();
        }
        group
    }

    /// Starts a member anew, with what its disk holds.
    pub async fn restart(&mut self, id: u64) {
        let listener = TcpListener::bind(&self.addresses[&id]).await.unwrap();
        self.start_at(id, listener, 0).await;
    }

    /// As [`Group::restart`], for a group of one that takes some commands before anybody can reach it.
    pub async fn restart_later(&mut self, id: u64, commands: usize) {
        let listener = TcpListener::bind(&self.addresses[&id]).await.unwrap();
        self.start_at(id, listener, commands).await;
    }

    async fn start_at(&mut self, id: u64, listener: TcpListener, commands: usize) {
        let transport = GrpcTransport::new(id, None).unwrap();
        let parts = NodeParts {
            disk: Arc::new(self.disks[&id].clone()),
            dir: "/metadata".into(),
            clock: Arc::new(ManualClock::at_ns(1_700_000_000_000_000_000)),
            transport: transport.clone(),
            incarnation: Incarnation(0xabc),
            seed: id,
            blocking: Blocking::Threads,
            on_fatal: Arc::new(|_: &_| {}),
        };
        let config = NodeConfig { feed_entries_max: self.feed_entries_max, ..NodeConfig::member(id, self.addresses.clone()) };
        let (stop, stopped) = watch::channel(false);
        let node = MetadataNode::start(config, parts).await.unwrap();
        for number in 0..commands {
            node.create_namespace(&format!("before-{number}")).await.unwrap();
        }
        let served = serve(ServeConfig { listener, node_id: id, tls: None, transport, publishing: None }, node.clone(), stopped);
        let server = tokio::spawn(async move {
            served.await.unwrap();
        });
        self.members.insert(id, Member { node, server, _stop: stop });
    }

    /// Ends a member as a crash does: connections break, nothing is handed over.
    pub async fn kill(&mut self, id: u64) {
        let member = self.members.remove(&id).unwrap();
        member.server.abort();
        let _ = member.server.await;
        member.node.shutdown().await;
    }

    pub async fn leader(&self) -> u64 {
        for _ in 0..3_000 {
            for (id, member) in &self.members {
                if member.node.is_leader() && member.node.read_index().await.is_ok() {
                    return *id;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("no leader");
    }

    pub async fn follow(&self, addresses: Vec<String>, seed: u64) -> RemoteMetadata {
        let remote = RemoteMetadata::start(RemoteConfig::new(addresses), seed).unwrap();
        remote.wait_ready(PATIENCE).await.unwrap();
        remote
    }

    pub async fn follow_all(&self, seed: u64) -> RemoteMetadata {
        self.follow(self.addresses.values().cloned().collect(), seed).await
    }

    pub async fn end(mut self) {
        for id in self.members.keys().copied().collect::<Vec<_>>() {
            self.kill(id).await;
        }
    }
}

/// Fails the test when a manifest is older than one before it; ends when the group is no longer followed.
pub fn never_back(remote: &RemoteMetadata) -> JoinHandle<u64> {
    let mut manifests = remote.watch();
    tokio::spawn(async move {
        let (mut last, mut seen) = (manifests.borrow_and_update().version, 0);
        while manifests.changed().await.is_ok() {
            let version = manifests.borrow_and_update().version;
            assert!(version > last, "{version} after {last}");
            last = version;
            seen += 1;
        }
        seen
    })
}
