//! Every single file operation fails once, while a member starts, takes a snapshot, gets one from a leader, and gives up its log: a clean refusal or
//! a member that ends, and a next start that finds all that was acknowledged.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use openraft::raft::AppendEntriesResponse;
use siltstone_core::{ErrorKind, Incarnation};
use siltstone_disk::{Fault, FaultKind, LossyDisk};
use siltstone_format::manifest::Manifest;
use siltstone_metadata::MetadataNode;
use siltstone_metadata::raft::{NoPeers, PeerResponse};
use siltstone_metadata_client::MetadataClient;
use std::sync::atomic::Ordering;
use std::time::Duration;
use support::create;
use support::leader::{entries, follower_config, machine, snapshot};
use support::stepped::{Files, Steps, config, disk_with, files, run, shown, start, start_one, state, text, until_snapshot};

const FAULTS: [Fault; 4] = [
    Fault { kind: FaultKind::Io, takes_effect: false },
    Fault { kind: FaultKind::Io, takes_effect: true },
    Fault { kind: FaultKind::NoSpace, takes_effect: false },
    Fault { kind: FaultKind::NoSpace, takes_effect: true },
];

/// How often the member ended, refused to start, and went on.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    ended: u64,
    refused: u64,
    went_on: u64,
}

/// A group of one with a snapshot and entries behind it.
fn directory() -> Files {
    let disk = LossyDisk::new();
    run(async {
        let node = start_one(&disk).await.unwrap();
        for name in ["a", "b", "c", "d"] {
            create(&node, name).await.unwrap();
        }
        let covered = node.manifest().version.0;
        node.take_snapshot().await;
        assert!(until_snapshot(&node, covered).await);
        for name in ["e", "f", "g", "h"] {
            create(&node, name).await.unwrap();
        }
        node.shutdown().await;
    });
    files(&disk)
}

/// What a member shows after a fault: on the same system, and after a loss of power.
fn check_restarts(disk: &LossyDisk, is_legal: impl Fn(&Manifest) -> bool, what: &str) {
    let seeds = 0..3;
    for (number, disk) in seeds.map(|seed| disk.crash_image(seed)).chain([disk.clone()]).enumerate() {
        let found = shown(&disk).unwrap_or_else(|error| panic!("{what}, restart {number}: {}", text(&error)));
        assert!(is_legal(&found), "{what}, restart {number}: {:?}", found.names);
    }
}

#[test]
fn an_error_at_any_operation_of_a_start_is_a_clean_refusal_and_the_next_start_is_as_ever() {
    let mut counts = Counts::default();
    let directory = directory();
    let expected = shown(&disk_with(&directory)).unwrap();
    for fault in FAULTS {
        for nth in 1.. {
            let disk = disk_with(&directory);
            disk.fail_operation(nth, fault);
            let what = format!("{fault:?} at operation {nth} of a start");
            let started = shown(&disk);
            if disk.counts().faults == 0 {
                break;
            }
            match started {
                Ok(found) => {
                    assert_eq!(found, expected, "{what}");
                    counts.went_on += 1;
                }
                Err(error) => {
                    assert!(!matches!(error.kind(), ErrorKind::Corrupt), "{what}: an error of the disk is no damage: {}", text(&error));
                    counts.refused += 1;
                }
            }
            check_restarts(&disk, |found| *found == expected, &what);
        }
    }
    println!("starts: {counts:?}");
    assert!(counts.refused > 60, "{counts:?}");
}

#[test]
fn an_error_at_any_operation_while_a_group_is_founded_leaves_a_directory_that_starts() {
    let mut counts = Counts::default();
    for fault in FAULTS {
        for nth in 1.. {
            let disk = LossyDisk::new();
            disk.fail_operation(nth, fault);
            let started = shown(&disk);
            if disk.counts().faults == 0 {
                break;
            }
            if started.is_ok() {
                counts.went_on += 1
            } else {
                counts.refused += 1
            }
            check_restarts(&disk, |found| found.incarnation == Incarnation(0xabc), &format!("{fault:?} at operation {nth} of a founding"));
        }
    }
    println!("foundings: {counts:?}");
    assert!(counts.refused > 30, "{counts:?}");
}

#[test]
fn an_error_at_any_operation_of_a_snapshot_and_the_purge_behind_it_loses_nothing() {
    let mut counts = Counts::default();
    let directory = directory();
    for fault in FAULTS {
        for nth in 1.. {
            let disk = disk_with(&directory);
            let what = format!("{fault:?} at operation {nth} of a snapshot");
            let (acknowledged, fatal, snapshot, given_up) = run(async {
                let (node, fatal) = start(&disk, config(), NoPeers, &Steps::default()).await;
                let node = node.unwrap();
                disk.fail_operation(nth, fault);
                node.take_snapshot().await;
                let snapshot = until_snapshot(&node, node.manifest().version.0).await;
                let acknowledged = create(&node, "i").await.is_ok();
                // Its end is noticed at the next look.
                tokio::time::sleep(Duration::from_secs(1)).await;
                let status = node.status().await;
                let given_up = status.purged_index.is_some()
                    && status.purged_index == status.snapshot_index
                    && node.wal_metrics().snapshot().segments_removed > 0;
                node.shutdown().await;
                (acknowledged, fatal.load(Ordering::SeqCst), snapshot, given_up)
            });
            if disk.counts().faults == 0 {
                assert!(acknowledged && snapshot && fatal == 0 && given_up, "without an error, the whole way is gone");
                break;
            }
            if fatal == 0 {
                // It was met while the member closed: then nobody waits any more.
                assert!(acknowledged && snapshot, "{what}: an error that nobody heard of");
                counts.went_on += 1;
            } else {
                assert_eq!(fatal, 1, "{what}: the process hears of it once");
                counts.ended += 1;
            }
            let is_legal = |found: &Manifest| {
                let has = |name: &str| found.names.contains_key(name);
                ["a", "b", "c", "d", "e", "f", "g", "h"].iter().all(|name| has(name)) && (has("i") || !acknowledged)
            };
            check_restarts(&disk, is_legal, &what);
        }
    }
    println!("snapshots: {counts:?}");
    assert!(counts.ended > 30, "{counts:?}");
}

/// A follower that has acknowledged the first five entries.
fn follower() -> Files {
    let disk = LossyDisk::new();
    run(async {
        let node = start(&disk, follower_config(), NoPeers, &Steps::default()).await.0.unwrap();
        assert!(matches!(node.handle(0, entries(4)).await.unwrap(), PeerResponse::Append(AppendEntriesResponse::Success)));
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(node.manifest(), *machine(4).manifest());
        node.shutdown().await;
    });
    files(&disk)
}

/// What a follower has when it starts: the end of its log, and where its snapshot ends.
async fn held(node: &MetadataNode) -> (Option<u64>, Option<u64>) {
    let status = node.status().await;
    (status.last_index, status.snapshot_index)
}

#[test]
fn an_error_at_any_operation_while_a_leaders_snapshot_is_installed_forgets_nothing() {
    let mut counts = Counts::default();
    let directory = follower();
    let (mut old, mut new) = (0, 0);
    for fault in FAULTS {
        for nth in 1.. {
            let disk = disk_with(&directory);
            let what = format!("{fault:?} at operation {nth} of an installation");
            let (acknowledged, fatal) = run(async {
                let (node, fatal) = start(&disk, follower_config(), NoPeers, &Steps::default()).await;
                let node = node.unwrap();
                disk.fail_operation(nth, fault);
                let answer = node.handle(0, snapshot(9)).await;
                // The purge behind it, and its own end, where Raft has ended.
                tokio::time::sleep(Duration::from_secs(1)).await;
                node.shutdown().await;
                (answer.is_ok(), fatal.load(Ordering::SeqCst))
            });
            if disk.counts().faults == 0 {
                assert!(acknowledged && fatal == 0);
                break;
            }
            assert!(fatal <= 1, "{what}: the process hears of it once");
            if fatal == 0 {
                counts.went_on += 1
            } else {
                counts.ended += 1
            }
            for (number, disk) in (0..3).map(|seed| disk.crash_image(seed)).chain([disk.clone()]).enumerate() {
                let what = format!("{what}, acknowledged: {acknowledged}, restart {number}");
                run(async {
                    let node = start(&disk, follower_config(), NoPeers, &Steps::default()).await.0;
                    let node = node.unwrap_or_else(|error| panic!("{what}: {}", text(&error)));
                    match held(&node).await {
                        (Some(9), Some(9)) => {
                            assert_eq!(node.manifest(), *machine(9).manifest(), "{what}");
                            new += 1;
                        }
                        (Some(4), None) => {
                            assert!(!acknowledged, "{what}: WA-1");
                            // What it acknowledged before is all there: a leader that goes on from it is not told of a conflict.
                            let PeerResponse::Append(answer) = node.handle(0, entries(9)).await.unwrap() else { panic!("{what}") };
                            assert_eq!(answer, AppendEntriesResponse::Success, "{what}");
                            tokio::time::sleep(Duration::from_millis(100)).await;
                            assert_eq!(state(&node).names, machine(9).manifest().names, "{what}");
                            old += 1;
                        }
                        other => panic!("{what}: {other:?}"),
                    }
                    node.shutdown().await;
                });
            }
        }
    }
    println!("installations: {counts:?}; {old} restarts without the snapshot, {new} with it");
    assert!(counts.ended > 30 && old > 30 && new > 30, "{counts:?}; {old} without, {new} with the snapshot");
}
