//! What a group of processes keeps on its object store: the claim, published roots, backups, and the end when another life took the store over.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_disk::RealDisk;
use siltstone_metadata_publish::{claim_next, load_backup};
use siltstone_store::DirectoryStore;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::Group;

async fn published(group: &Group, member: u64, index: u64) {
    let begun = Instant::now();
    while group.status(member).await.is_none_or(|status| status.published_index < index) {
        assert!(begun.elapsed() < support::PATIENCE, "member {member} does not publish: {}", group.log(member));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_publishes_and_keeps_backups_whoever_leads_until_it_is_superseded() {
    let objects = tempfile::tempdir().unwrap();
    let place = objects.path().to_str().unwrap();
    let mut group = Group::start(&[1, 2, 3], &["--store", place, "--publish-every-s", "1"]).await;
    let index = group.put_at_leader("before", b"v").await;
    let leader = group.leader(None).await;
    published(&group, leader, index).await;

    let (done, text) = group.cli(&["backup", "--name", "monday"]);
    assert!(done && text.contains("backup monday stands at log position"), "{text}");
    let (done, text) = group.cli(&["backup", "--name", "monday"]);
    assert!(!done && text.contains("there is one of this name"), "{text}");
    let (done, table) = group.cli(&["backups"]);
    assert!(done && table.lines().any(|line| line.starts_with("monday") && line.ends_with("0 B")), "{table}");

    group.kill(leader);
    let next = group.leader(Some(leader)).await;
    let index = group.put_at_leader("after", b"v").await;
    published(&group, next, index).await;
    let (done, status) = group.cli(&["status"]);
    assert!(done && status.contains(&format!("member {next} has published log position")), "{status}");
    let (done, table) = support::cli(&["backups", "--store", place], &[]);
    assert!(done && table.contains("monday"), "the store tells of its backups without the group: {table}");

    let store = DirectoryStore::open(Arc::new(RealDisk), objects.path()).await.unwrap();
    let backup = load_backup(&store, Some("monday")).await.unwrap();
    assert!(backup.settings.contains_key("before") && !backup.settings.contains_key("after"));
    assert!(load_backup(&store, None).await.unwrap().settings.contains_key("after"));
    let (done, text) = group.cli(&["backups", "remove", "monday"]);
    assert!(done && text.contains("removed"), "{text}");
    let (done, json) = group.cli(&["backups", "--json"]);
    assert!(done && json.is_empty(), "{json}");

    claim_next(&store, 0, 4_711).await.unwrap();
    let begun = Instant::now();
    let reason = loop {
        match group.put(next, "too late", b"v").await {
            Ok(_) => {}
            Err(refused) if refused.message().contains("superseded") => break refused.message().to_owned(),
            Err(_) => {}
        }
        assert!(begun.elapsed() < support::PATIENCE, "it goes on: {}", group.log(next));
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(reason.contains("owns"), "{reason}");
    let (_, status) = group.cli(&["status"]);
    assert!(status.contains("superseded"), "{status}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_without_a_store_goes_on_and_says_that_it_takes_no_backups() {
    let objects = tempfile::tempdir().unwrap();
    let group = Group::start(&[1], &[]).await;
    let (done, text) = group.cli(&["backup"]);
    assert!(!done && text.contains("--store"), "{text}");
    drop(group);

    // A store that can't be used: a file stands where the directory should be.
    let file = objects.path().join("file");
    std::fs::write(&file, "").unwrap();
    let group = Group::start(&[1], &["--store", file.to_str().unwrap()]).await;
    let begun = Instant::now();
    while group.status(1).await.is_none_or(|status| status.publish_failure.is_empty()) {
        assert!(begun.elapsed() < support::PATIENCE, "it says nothing: {}", group.log(1));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    group.put_at_leader("still", b"v").await;
    let (done, status) = group.cli(&["status"]);
    assert!(done && status.contains("can't publish"), "{status}");
}
