//! Members on simulated disks.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

pub mod leader;
pub mod stepped;
pub mod values;

use siltstone_core::{Incarnation, ManualClock, NamespaceId};
use siltstone_disk::LossyDisk;
use siltstone_format::command::{CommandBody, Reply};
use siltstone_metadata::raft::{Blocking, FatalError, InProcessNetwork, NoPeers, StartError, Transport};
use siltstone_metadata::{MetadataNode, NodeConfig, NodeParts};
use siltstone_metadata_client::{ClientError, MetadataClient};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A member's parts, with a count of fatal errors.
pub fn parts<T>(disk: &LossyDisk, transport: T, seed: u64) -> (NodeParts, Arc<AtomicUsize>)
where
    T: Transport,
{
    let fatal = Arc::new(AtomicUsize::new(0));
    let counter = fatal.clone();
    let on_fatal = Arc::new(move |_: &FatalError| {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let parts = NodeParts {
        disk: Arc::new(disk.clone()),
        dir: "/data/metadata".into(),
        clock: Arc::new(ManualClock::at_ns(1_700_000_000_000_000_000)),
        transport: Arc::new(transport),
        seed,
        blocking: Blocking::Threads,
        incarnation: Incarnation(0xabc),
        on_fatal,
    };
    (parts, fatal)
}

/// A group of one, with snapshots and purges after few entries.
pub fn single_config() -> NodeConfig {
    let mut config = NodeConfig::single();
    config.snapshot_entries = 10;
    config.log_entries_kept = 2;
    config.wal.segment_bytes_max = 2_000;
    config
}

pub async fn start_single(disk: &LossyDisk) -> Result<MetadataNode, StartError> {
    MetadataNode::start(single_config(), parts(disk, NoPeers, 1).0).await
}

pub async fn create(node: &MetadataNode, name: &str) -> Result<NamespaceId, ClientError> {
    match node.propose(CommandBody::CreateNamespace { name: name.to_owned() }).await? {
        (token, Reply::Namespace { id, .. }) => {
            assert!(node.manifest().version >= token.index, "a reply comes after its effect");
            assert_eq!(token.incarnation, node.incarnation());
            Ok(id)
        }
        (_, reply) => panic!("{reply:?}"),
    }
}

pub fn names(node: &MetadataNode) -> Vec<String> {
    let mut names: Vec<String> = node.manifest().names.keys().map(ToString::to_string).collect();
    names.sort();
    names
}

/// Three members in one process.
pub struct Group {
    pub network: InProcessNetwork,
    pub disks: BTreeMap<u64, LossyDisk>,
    pub nodes: BTreeMap<u64, MetadataNode>,
}

impl Group {
    pub async fn start() -> Self {
        Self::start_with(Self::config).await
    }

    /// A group whose members begin with other settings; those that are started later have the usual ones.
    pub async fn start_with(config: impl Fn(u64) -> NodeConfig) -> Self {
        let mut group = Self { network: InProcessNetwork::default(), disks: BTreeMap::new(), nodes: BTreeMap::new() };
        for id in 1..=3 {
            group.disks.insert(id, LossyDisk::new());
            group.start_member_with(config(id)).await;
        }
        for node in group.nodes.values() {
            node.wait_ready(Duration::from_secs(60)).await.unwrap();
        }
        group
    }

    pub fn config(id: u64) -> NodeConfig {
        let mut config = NodeConfig::member(id, (1..=3).map(|id| (id, format!("member-{id}"))).collect());
        config.snapshot_entries = 10;
        config.log_entries_kept = 2;
        config.wal.segment_bytes_max = 2_000;
        config
    }

    pub async fn start_member(&mut self, id: u64) {
        self.start_member_with(Self::config(id)).await;
    }

    pub async fn start_member_with(&mut self, config: NodeConfig) {
        let id = config.node_id;
        let (parts, _) = parts(&self.disks[&id], self.network.member(id), id);
        let node = MetadataNode::start(config, parts).await.unwrap();
        self.network.serve(id, node.clone());
        self.nodes.insert(id, node);
    }

    pub async fn stop_member(&mut self, id: u64) {
        self.network.remove(id);
        self.nodes.remove(&id).unwrap().shutdown().await;
    }

    /// A leader that answers, among members that are not excluded.
    pub async fn leader(&self, except: Option<u64>) -> u64 {
        for _ in 0..1_000 {
            for (id, node) in &self.nodes {
                if Some(*id) != except && node.is_leader() && node.read_index().await.is_ok() && node.incarnation() != Incarnation(0) {
                    return *id;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("no leader within 20 s");
    }

    /// Proposes to whoever leads until it is done.
    pub async fn create(&self, name: &str) {
        for _ in 0..100 {
            let leader = self.leader(None).await;
            if create(&self.nodes[&leader], name).await.is_ok() {
                return;
            }
        }
        panic!("no member takes {name}");
    }
}
