//! Loading whole and in part, and what damage and loss look like.

use crate::support::{Group, contents, eager};
use siltstone_core::{ErrorKind, NamespaceId};
use siltstone_metadata_client::MetadataClientExt;
use siltstone_metadata_publish::{LoadError, PublishConfig, PublishedSnapshot, load_backup};
use siltstone_store::paths::PathKind;
use siltstone_store::{CountingStore, FaultRule, FaultyStore, MemoryStore, ObjectStore, Operation, StoreMetrics};
use siltstone_store::{Effect, Fault};
use std::collections::BTreeSet;
use std::sync::Arc;

async fn published(namespaces: usize) -> Group {
    let group = Group::in_memory();
    group.create_namespaces("n", namespaces).await;
    group.metadata.put_setting("x", Some(b"y".to_vec()), None).await.expect("a setting");
    let (mut publisher, _) = group.publisher(eager());
    publisher.round().await.expect("a root");
    group
}

#[tokio::test]
async fn every_flipped_byte_is_seen_and_its_object_named() {
    let group = published(12).await;
    let objects = contents(group.store.as_ref()).await;
    let mut flipped = 0;
    for (key, bytes) in &objects {
        if !key.as_str().contains("/metadata/") {
            continue;
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 1 << (at % 8);
            group.store.put(key, damaged.into()).await.expect("put");
            let error = load_backup(group.store.as_ref(), None).await.expect_err("damaged");
            assert!(error.to_string().contains(key.as_str()), "byte {at} of {key}: {error}");
            assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "byte {at} of {key}: {error}");
            flipped += 1;
        }
        group.store.put(key, bytes.clone()).await.expect("put");
    }
    assert!(flipped > 900, "only {flipped} bytes");
    assert_eq!(load_backup(group.store.as_ref(), None).await.expect("healed"), group.manifest());
}

#[tokio::test]
async fn a_lost_or_cut_object_is_named() {
    let group = published(12).await;
    for (key, bytes) in contents(group.store.as_ref()).await {
        if !key.as_str().contains("/metadata/shards/") {
            continue;
        }
        group.store.delete(&key).await.expect("delete");
        let error = load_backup(group.store.as_ref(), None).await.expect_err("lost");
        assert!(error.to_string().contains(key.as_str()) && error.kind() == ErrorKind::NotFound, "{error}");
        group.store.put(&key, bytes.slice(..bytes.len() - 1)).await.expect("put");
        let error = load_backup(group.store.as_ref(), None).await.expect_err("cut");
        assert!(error.to_string().contains(key.as_str()) && error.kind() == ErrorKind::Corrupt, "{error}");
        group.store.put(&key, bytes).await.expect("put");
    }
}

#[tokio::test]
async fn an_empty_store_says_that_it_is_empty() {
    let store = MemoryStore::new();
    let error = load_backup(&store, None).await.expect_err("nothing");
    assert!(matches!(error, LoadError::NothingPublished { .. }), "{error}");
    let error = load_backup(&store, Some("monday")).await.expect_err("nothing");
    assert!(matches!(error, LoadError::NoBackup { .. }) && error.to_string().contains("monday"), "{error}");
}

#[tokio::test]
async fn a_part_has_some_namespaces_and_costs_few_requests() {
    // With directories, and without.
    for namespaces in [2_000, 200] {
        let group = published(namespaces).await;
        let manifest = group.manifest();
        let metrics = Arc::new(StoreMetrics::default());
        let store: Arc<dyn ObjectStore> = Arc::new(CountingStore::new(group.store.clone(), metrics.clone()));
        let snapshot = PublishedSnapshot::open(store, None).await.expect("a snapshot");
        assert_eq!(snapshot.key().version, manifest.version);
        assert_eq!(snapshot.lazy().namespaces().len(), namespaces);
        let wanted: BTreeSet<NamespaceId> = [3, 77, 190, 9_999].map(NamespaceId).into();
        let before = (metrics.of(Operation::Get), metrics.of(Operation::GetRange));
        let part = snapshot.part(wanted.clone()).await.expect("a part");
        let after = (metrics.of(Operation::Get), metrics.of(Operation::GetRange));
        assert_eq!(part.namespaces.keys().copied().collect::<Vec<_>>(), [3, 77, 190].map(NamespaceId));
        assert!(part.namespaces.iter().all(|(id, namespace)| manifest.namespace(*id) == Some(namespace)));
        assert_eq!(part.settings, manifest.settings);
        let requests = after.0.requests + after.1.requests - before.0.requests - before.1.requests;
        assert!(requests <= 4, "{requests} requests for settings and three namespaces");
    }
}

#[tokio::test]
async fn a_damaged_range_is_seen_and_its_shard_named() {
    let group = published(2_000).await;
    let faulty = Arc::new(FaultyStore::new(group.store.clone()));
    let snapshot = PublishedSnapshot::open(faulty.clone(), None).await.expect("a snapshot");
    for bit in 0..200 {
        faulty.inject(FaultRule::new(Effect::FlipBit(bit)).on(Operation::GetRange).times(1));
        let error = snapshot.part([NamespaceId(3)].into()).await.expect_err("damaged");
        assert!(error.to_string().contains("/metadata/shards/") && error.kind() == ErrorKind::Corrupt, "bit {bit}: {error}");
    }
    faulty.inject(FaultRule::new(Effect::Fail(Fault::NotFound)).on(Operation::GetRange).times(1));
    assert!(snapshot.part([NamespaceId(3)].into()).await.expect_err("gone").is_gone());
    snapshot.part([NamespaceId(3)].into()).await.expect("a part");
}

/// The root that it began with was collected under its hands: it takes the newest.
#[tokio::test(start_paused = true)]
async fn a_loader_that_was_too_slow_takes_the_newest_root() {
    let slow = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let group = Group::new(slow.clone());
    group.create_namespaces("a", 30).await;
    let (mut publisher, _) = group.publisher(PublishConfig { keep_roots: 1, keep_ms: 0, ..eager() });
    publisher.round().await.expect("a root");
    slow.inject(FaultRule::new(Effect::Delay(std::time::Duration::from_secs(5))).on(Operation::Get).on_keys_with("/shards/").times(16));
    let loader = {
        let store = slow.clone();
        tokio::spawn(async move { load_backup(store.as_ref(), None).await })
    };
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    for step in 0..3 {
        group.create_namespaces(&format!("b{step}"), 200).await;
        publisher.round().await.expect("a root");
    }
    assert_eq!(group.keys(PathKind::SnapshotRoot).await.len(), 1);
    assert_eq!(loader.await.expect("a loader").expect("a manifest"), group.manifest());
}
