//! A group of one: founding, restarts, snapshots, loss of power, failing disks.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_core::{ErrorKind, Incarnation};
use siltstone_disk::{Disk, LossyDisk};
use siltstone_format::command::CommandBody;
use siltstone_metadata::raft::{NoPeers, StartError};
use siltstone_metadata::{MetadataNode, NodeConfig};
use siltstone_metadata_client::{ClientError, MetadataClient};
use siltstone_wal::{Wal, WalConfig};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use support::{create, names, parts, single_config, start_single};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_group_is_founded_and_goes_on_after_a_restart() {
    let disk = LossyDisk::new();
    let node = start_single(&disk).await.unwrap();
    assert!(node.is_leader());
    assert_eq!(node.incarnation(), Incarnation(0xabc));
    let id = create(&node, "shop").await.unwrap();
    assert_eq!(create(&node, "shop").await.unwrap(), id);
    let before = node.manifest().version;
    node.shutdown().await;
    let late = create(&node, "late").await.unwrap_err();
    assert!(matches!(late, ClientError::Ended { .. }) && late.is_final(), "{late}");

    let (mut parts, _) = parts(&disk, NoPeers, 1);
    parts.incarnation = Incarnation(0xdef);
    let node = MetadataNode::start(single_config(), parts).await.unwrap();
    assert_eq!(node.incarnation(), Incarnation(0xabc), "the group's first life goes on");
    assert!(node.manifest().version >= before, "what was served is served again");
    assert_eq!(names(&node), ["shop"]);
    assert_eq!(create(&node, "shop").await.unwrap(), id);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_sees_what_was_applied() {
    let node = start_single(&LossyDisk::new()).await.unwrap();
    let mut manifests = node.watch();
    let before = manifests.borrow_and_update().version;
    create(&node, "a").await.unwrap();
    let after = manifests.wait_for(|manifest| manifest.names.contains_key("a")).await.unwrap().version;
    assert!(after > before);
    assert!(node.read_index().await.unwrap() >= after);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn snapshots_purge_the_log_and_a_restart_begins_from_them() {
    let disk = LossyDisk::new();
    let node = start_single(&disk).await.unwrap();
    for number in 0..60 {
        create(&node, &format!("n{number:02}")).await.unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while node.wal_metrics().snapshot().segments_removed == 0 {
        assert!(Instant::now() < deadline, "nothing was purged");
        // The first snapshot may have ended after the last command, and the next is begun by a command. This one changes nothing else.
        create(&node, "n00").await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    node.shutdown().await;
    let snapshots = disk.list_dir(Path::new("/data/metadata/snapshots")).unwrap();
    // A process that ends after a snapshot and before the removal of the one before leaves both; it never gathers more.
    assert!((1..=2).contains(&snapshots.len()), "{snapshots:?}");
    for seed in 0..5 {
        let node = start_single(&disk.crash_image(seed)).await.unwrap();
        assert_eq!(names(&node).len(), 60);
        create(&node, "more").await.unwrap();
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_grows_large_is_bounded_by_snapshots() {
    let disk = LossyDisk::new();
    let (parts, _) = parts(&disk, NoPeers, 1);
    let config = NodeConfig { snapshot_entries: 1_000_000, snapshot_log_bytes: 20_000, ..single_config() };
    let node = MetadataNode::start(config, parts).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut proposed = 0;
    while node.wal_metrics().snapshot().segments_removed < 30 {
        assert!(Instant::now() < deadline, "the log is not bounded");
        let body = CommandBody::RegisterJob { name: format!("{proposed}{}", "x".repeat(500)) };
        node.propose(body).await.unwrap();
        proposed += 1;
    }
    assert!(proposed > 60, "two snapshots at least: {proposed} commands");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_commands_survive_loss_of_power_at_any_operation() {
    // The first operations are the founding; after them come commits, snapshots and purges.
    for point in (1..300).step_by(2) {
        let disk = LossyDisk::new();
        disk.arm_crash_after(point);
        let mut acknowledged = Vec::new();
        if let Ok(node) = start_single(&disk).await {
            for number in 0..45 {
                let name = format!("n{number:02}");
                match create(&node, &name).await {
                    Ok(_) => acknowledged.push(name),
                    Err(_) => break,
                }
            }
            node.shutdown().await;
        }
        for seed in 0..3 {
            let what = format!("crash at operation {point}, seed {seed}, {} acknowledged", acknowledged.len());
            let node = start_single(&disk.crash_image(seed + point)).await.unwrap_or_else(|error| panic!("{what}: {error}"));
            let found = names(&node);
            assert!(acknowledged.iter().all(|name| found.contains(name)), "{what}: found {found:?}");
            assert!(found.len() <= acknowledged.len() + 1, "{what}: found {found:?}");
            create(&node, "after").await.unwrap();
            node.shutdown().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_disk_is_told_once_and_nothing_more_is_acknowledged() {
    let disk = LossyDisk::new();
    let (parts, fatal) = parts(&disk, NoPeers, 1);
    let mut config = single_config();
    config.propose_ms_max = 2_000;
    let node = MetadataNode::start(config, parts).await.unwrap();
    create(&node, "a").await.unwrap();
    disk.fail_sync(1);
    let error = create(&node, "b").await.unwrap_err();
    assert!(matches!(error, ClientError::UnknownOutcome { .. }), "{error}");
    assert_eq!(fatal.load(Ordering::SeqCst), 1);
    assert!(create(&node, "c").await.is_err());
    node.shutdown().await;
    assert_eq!(fatal.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hanging_disk_refuses_proposals_then_ends_the_process() {
    let disk = LossyDisk::new();
    let (parts, fatal) = parts(&disk, NoPeers, 1);
    let (heartbeat_ms, election_ms_min, election_ms_max) = (20, 100, 200);
    let (stall_ms_yield, stall_ms_fatal, propose_ms_max) = (100, 700, 120_000);
    let config = NodeConfig { heartbeat_ms, election_ms_min, election_ms_max, stall_ms_yield, stall_ms_fatal, propose_ms_max, ..single_config() };
    let node = MetadataNode::start(config, parts).await.unwrap();
    disk.hold_syncs();
    let hanging = tokio::spawn({
        let node = node.clone();
        async move { create(&node, "a").await }
    });
    let refused = loop {
        // A proposal that is taken in waits for the disk, so give each a moment only.
        match tokio::time::timeout(Duration::from_millis(20), create(&node, "b")).await {
            Ok(outcome) => break outcome.unwrap_err(),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    };
    assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
    while fatal.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    disk.release_syncs();
    hanging.await.unwrap().unwrap();
    assert_eq!(fatal.load(Ordering::SeqCst), 1);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_lost_a_part_does_not_start() {
    let disk = LossyDisk::new();
    let node = start_single(&disk).await.unwrap();
    for number in 0..30 {
        create(&node, &format!("n{number}")).await.unwrap();
    }
    // It is taken beside the commands.
    let has_snapshot = |metrics: &openraft::RaftMetrics<u64, openraft::BasicNode>| metrics.snapshot.is_some();
    tokio::time::timeout(Duration::from_secs(20), node.raft().metrics().wait_for(has_snapshot)).await.unwrap().unwrap();
    node.shutdown().await;
    let dir = Path::new("/data/metadata");
    let remove_all = |disk: &LossyDisk, dir: &Path| {
        for entry in disk.list_dir(dir).unwrap() {
            disk.remove_file(&dir.join(entry.name)).unwrap();
        }
    };

    let without_log = disk.crash_image(1);
    remove_all(&without_log, &dir.join("wal"));
    // A supervisor starts it again and again: a start that fails must leave no log for the next.
    for attempt in 0..3 {
        assert!(matches!(start_single(&without_log).await.err(), Some(StartError::Lost { .. })), "WA-1: attempt {attempt}");
    }
    assert!(without_log.list_dir(&dir.join("wal")).unwrap().is_empty());
    // Nor may one that somebody made.
    drop(Wal::open(Arc::new(without_log.clone()), &dir.join("wal"), WalConfig::default(), |_| {}).unwrap());
    assert!(matches!(start_single(&without_log).await.err(), Some(StartError::Lost { .. })));
    assert!(!without_log.list_dir(&dir.join("snapshots")).unwrap().is_empty(), "they are all that is left");

    let without_snapshot = disk.crash_image(1);
    remove_all(&without_snapshot, &dir.join("snapshots"));
    let error = start_single(&without_snapshot).await.err().unwrap();
    assert!(matches!(error, StartError::Lost { .. } | StartError::Io { .. }), "{error}");

    let damaged = disk.crash_image(1);
    let snapshot = disk.list_dir(&dir.join("snapshots")).unwrap().remove(0);
    let file = damaged.open(&dir.join("snapshots").join(snapshot.name)).unwrap();
    let byte = file.read_exact_at(snapshot.len / 2, 1).unwrap()[0];
    file.write_all_at(&[byte ^ 1], snapshot.len / 2).unwrap();
    assert_eq!(start_single(&damaged).await.err().unwrap().kind(), ErrorKind::Corrupt);

    let (parts, _) = parts(&disk.crash_image(1), NoPeers, 1);
    let other = NodeConfig { node_id: 2, members: [(2, String::new())].into(), ..single_config() };
    assert!(matches!(MetadataNode::start(other, parts).await.err(), Some(StartError::WrongMember { found: 1, wanted: 2, .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_is_too_long_is_refused_and_harms_nothing() {
    let (parts, fatal) = parts(&LossyDisk::new(), NoPeers, 1);
    let mut config = single_config();
    config.wal.payload_bytes_max = 1_000;
    let node = MetadataNode::start(config, parts).await.unwrap();
    let body = CommandBody::RegisterJob { name: "x".repeat(2_000) };
    assert!(matches!(node.propose(body).await, Err(ClientError::Unavailable { .. })));
    create(&node, "a").await.unwrap();
    assert_eq!(fatal.load(Ordering::SeqCst), 0);
    node.shutdown().await;
}

#[test]
fn settings_that_contradict_each_other_are_refused_with_the_relation() {
    let refused = |change: fn(&mut NodeConfig)| {
        let mut config = NodeConfig::single();
        assert!(config.check().is_ok());
        change(&mut config);
        let error = config.check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        error.to_string()
    };
    assert!(refused(|config| config.heartbeat_ms = 400).contains("more than two heartbeats"));
    assert!(refused(|config| config.election_ms_max = 800).contains("longest election timeout"));
    assert!(refused(|config| config.stall_ms_yield = 900).contains("fall silent before"));
    assert!(refused(|config| config.stall_ms_fatal = 1_000).contains("longer than an election"));
    assert!(refused(|config| config.node_id = 7).contains("include this one"));
}
