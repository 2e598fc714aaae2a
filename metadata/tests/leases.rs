//! Leases of epochs in groups that run: who renews lives, who stops is fenced by the log, and a new leader waits.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_core::{BatchId, ChunkId, Epoch, NamespaceId, WriterId};
use siltstone_disk::LossyDisk;
use siltstone_format::command::{CommandBody, CommitBatch, Rejection, Reply, SliceCommit};
use siltstone_format::manifest::{BatchRecord, CheckedRange};
use siltstone_metadata::raft::NoPeers;
use siltstone_metadata::{MetadataNode, NodeConfig};
use siltstone_metadata_client::{ClientError, EpochKeeper, MetadataClient, MetadataClientExt};
use std::sync::Arc;
use std::time::Duration;
use support::{Group, parts, single_config};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// Short, and longer than three elections.
const LEASE: Duration = Duration::from_secs(4);

fn short(config: NodeConfig) -> NodeConfig {
    NodeConfig { lease_ms: u64::try_from(LEASE.as_millis()).unwrap(), ..config }
}

async fn group() -> Group {
    Group::start_with(|id| short(Group::config(id))).await
}

/// Proposes to whoever leads until it is answered.
async fn apply(group: &Group, body: CommandBody) -> Reply {
    for _ in 0..1_000 {
        let leader = group.leader(None).await;
        if let Ok((_, reply)) = group.nodes[&leader].propose(body.clone()).await {
            return reply;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("no member takes it");
}

async fn register(group: &Group, name: &str) -> Epoch {
    match apply(group, CommandBody::RegisterJob { name: name.to_owned() }).await {
        Reply::Registered { epoch } => epoch,
        reply => panic!("{reply:?}"),
    }
}

/// Renews an epoch at whichever member takes it, until it is aborted.
fn renewing(group: &Group, epoch: Epoch) -> JoinHandle<()> {
    let nodes: Vec<MetadataNode> = group.nodes.values().cloned().collect();
    tokio::spawn(async move {
        loop {
            for node in &nodes {
                if let Ok(renewal) = node.renew(&[epoch]).await {
                    assert_eq!((renewal.over.len(), renewal.lease), (0, LEASE), "it lives");
                }
            }
            sleep(LEASE / 8).await;
        }
    })
}

/// Waits until all members see that an epoch is over; when that was.
async fn fenced(group: &Group, epoch: Epoch) -> Instant {
    for node in group.nodes.values() {
        let mut manifests = node.watch();
        let over = manifests.wait_for(|manifest| !manifest.epochs.contains_key(&epoch));
        assert!(tokio::time::timeout(Duration::from_secs(60), over).await.is_ok(), "{epoch} lives on");
    }
    Instant::now()
}

fn batch(epoch: Epoch, id: u64, namespace: NamespaceId, chunk: ChunkId, first_offset: u16) -> CommandBody {
    let range = CheckedRange { offset: 10, len: 10, crc32c: 1 };
    let (timestamp_min_ns, timestamp_max_ns) = (0, 1);
    let slice = SliceCommit { namespace, chunk, first_offset, rows: 3, range, timestamp_min_ns, timestamp_max_ns, body_bytes: 9, key: None };
    let batch = BatchRecord { id: BatchId(id), epoch, len_bytes: 100, footer: range };
    CommandBody::CommitBatch(CommitBatch { epoch, batch, slices: vec![slice], close: vec![] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_died_is_fenced_its_open_chunks_are_closed_and_its_late_commands_change_nothing() {
    let group = group().await;
    let living = register(&group, "living").await;
    let renewing = renewing(&group, living);
    let leader = group.nodes[&group.leader(None).await].clone();
    let registered = Instant::now();
    let epoch = leader.register_writer(WriterId(1)).await.unwrap();
    let namespace = leader.create_namespace("shop").await.unwrap();
    let (chunk, id) = (leader.allocate_chunk_ids(epoch, 8).await.unwrap(), leader.allocate_ids(epoch, 8).await.unwrap());
    assert!(matches!(apply(&group, batch(epoch, id, namespace, chunk, 0)).await, Reply::BatchCommitted { .. }));
    let open = |node: &MetadataNode| node.manifest().namespaces[&namespace].open_chunks().count();
    assert_eq!(open(&leader), 1);

    let over = fenced(&group, epoch).await;
    assert!(over - registered >= LEASE, "not before its lease has run out");
    for node in group.nodes.values() {
        assert_eq!((open(node), node.manifest().totals.rows), (0, 3), "closed at its committed length");
    }
    let reply = apply(&group, batch(epoch, id + 1, namespace, chunk, 3)).await;
    assert_eq!(reply, Reply::Rejected(Rejection::FencedEpoch { epoch }), "EP-1");
    assert_eq!(leader.manifest().totals.rows, 3);
    assert!(group.nodes.values().all(|node| node.manifest().epochs.contains_key(&living)), "who renews lives");
    assert_eq!(leader.renew(&[epoch, living]).await.unwrap().over, [epoch]);
    assert!(group.nodes.values().map(|node| node.leases().1).sum::<u64>() >= 1);
    renewing.abort();
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_leader_waits_one_lease_and_fences_nobody_who_renews() {
    let mut group = group().await;
    let (living, dead) = (register(&group, "living").await, register(&group, "dead").await);
    let first = group.leader(None).await;
    let follower = *group.nodes.keys().find(|id| **id != first).unwrap();
    assert!(matches!(group.nodes[&follower].renew(&[living]).await, Err(ClientError::Unavailable { .. })), "the leader alone keeps leases");
    let renewing = renewing(&group, living);
    // Most of the dead one's lease is over when the lead is lost.
    sleep(LEASE * 3 / 4).await;
    group.stop_member(first).await;
    let changed = Instant::now();
    let over = fenced(&group, dead).await;
    assert!(over - changed >= LEASE, "a new leader has heard nobody yet");
    assert!(group.nodes.values().all(|node| node.manifest().epochs.contains_key(&living)));
    renewing.abort();
    fenced(&group, living).await;
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_of_one_keeps_leases_too_and_a_restart_fences_nobody_early() {
    let disk = LossyDisk::new();
    let node = MetadataNode::start(short(single_config()), parts(&disk, NoPeers, 1).0).await.unwrap();
    let keeper = EpochKeeper::start(Arc::new(node.clone()));
    let (held, lost) = (keeper.hold(node.register_job("held").await.unwrap()), node.register_job("lost").await.unwrap());
    let mut manifests = node.watch();
    manifests.wait_for(|manifest| !manifest.epochs.contains_key(&lost)).await.unwrap();
    // The keeper renews to its own process, at first a third of the usual lease apart.
    let epoch = held.epoch();
    drop(keeper);
    node.shutdown().await;

    let node = MetadataNode::start(short(single_config()), parts(&disk, NoPeers, 1).0).await.unwrap();
    let begun = Instant::now();
    let lived = node.manifest().epochs.contains_key(&epoch);
    assert!(lived && !held.is_over(), "it was renewed");
    let mut manifests = node.watch();
    manifests.wait_for(|manifest| !manifest.epochs.contains_key(&epoch)).await.unwrap();
    // Its first look was a moment before `begun`.
    assert!(begun.elapsed() >= LEASE / 2, "a restart gives everybody a lease");
    node.shutdown().await;
}
