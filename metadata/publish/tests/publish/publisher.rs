//! What is put, in which order, and what is collected.

use crate::support::{Group, LIFE, TestLead, contents, eager};
use siltstone_core::{ErrorKind, Incarnation};
use siltstone_format::snapshot::{PublishedRoot, ShardMaker, ShardRef};
use siltstone_metadata_client::{MetadataClient, MetadataClientExt};
use siltstone_metadata_publish::{
    OwnerError, PUBLISHER_JOB, PublishConfig, PublishError, Publisher, ask_backup, claim_first, claim_next, list_backups, load_backup, remove_backup,
};
use siltstone_store::paths::{ObjectPath, PathKind};
use siltstone_store::{Effect, Fault, FaultRule, FaultyStore, MemoryStore, ObjectKey, ObjectStore, Operation};
use std::sync::Arc;
use std::time::Duration;

fn away() -> Fault {
    Fault::Unreachable { place: "bucket".to_owned(), detail: "connection refused".to_owned() }
}

#[tokio::test]
async fn what_was_published_is_what_is_loaded_and_only_changed_shards_are_put() {
    let group = Group::in_memory();
    group.create_namespaces("first", 300).await;
    let (mut publisher, _) = group.publisher(eager());
    publisher.round().await.expect("a root");
    assert_eq!(load_backup(group.store.as_ref(), None).await.expect("a manifest"), group.manifest());
    let first = publisher.insight().state();
    assert!(first.shards >= 60, "300 namespaces lie in {} shards", first.shards);

    publisher.round().await.expect("nothing to do");
    assert_eq!(publisher.insight().state(), first, "nothing changed, so nothing was put");

    group.create_namespaces("second", 1).await;
    publisher.round().await.expect("a root");
    let second = publisher.insight().state();
    assert_eq!((second.roots, second.shards - first.shards), (2, 1));
    assert_eq!(second.newest.expect("a root").version, group.manifest().version);
    assert_eq!(load_backup(group.store.as_ref(), None).await.expect("a manifest"), group.manifest());
}

#[tokio::test]
async fn the_next_leader_goes_on_from_the_root_that_it_finds() {
    let group = Group::in_memory();
    group.create_namespaces("first", 300).await;
    let (mut former, former_lead) = group.publisher(eager());
    former.round().await.expect("a root");
    let (mut next, _) = group.publisher(eager());
    group.create_namespaces("second", 1).await;
    next.round().await.expect("a root");
    let state = next.insight().state();
    assert_eq!((state.roots, state.shards), (1, 1), "the shards of its predecessor are not put again");
    assert_eq!(load_backup(group.store.as_ref(), None).await.expect("a manifest"), group.manifest());

    // The former one does not know yet. It puts a root, which nobody takes for the newest, and deletes nothing.
    group.create_namespaces("third", 5).await;
    next.round().await.expect("a root");
    let newest = next.insight().state().newest;
    let before = contents(group.store.as_ref()).await;
    group.create_namespaces("fourth", 5).await;
    let error = former.round().await.expect_err("fenced");
    assert_eq!(error.kind(), ErrorKind::Fenced, "{error}");
    let after = contents(group.store.as_ref()).await;
    assert!(before.keys().all(|key| after.contains_key(key)), "a fenced publisher deletes nothing");
    assert_eq!(load_backup(group.store.as_ref(), None).await.expect("a manifest").version, newest.expect("a root").version);

    // Where it leads after all, it registers again.
    former.round().await.expect("a root");
    assert_eq!(load_backup(group.store.as_ref(), None).await.expect("a manifest"), group.manifest());
    former_lead.leads.store(false, std::sync::atomic::Ordering::Relaxed);
    let positions = group.manifest().version;
    former.round().await.expect("nothing to do");
    assert_eq!(group.manifest().version, positions, "who does not lead registers nothing");
}

#[tokio::test]
async fn a_root_is_put_after_all_its_shards_whichever_put_fails() {
    for lost in [false, true] {
        for nth in 1..=80 {
            let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
            let group = Group::new(store.clone());
            group.create_namespaces("first", 3).await;
            let (mut publisher, _) = group.publisher(PublishConfig { requests_max: 4, ..eager() });
            publisher.round().await.expect("a root");
            let before = group.manifest();
            group.create_namespaces("second", 90).await;
            let effect = if lost { Effect::FailAfter(away()) } else { Effect::Fail(away()) };
            store.inject(FaultRule::new(effect).on(Operation::Put).on_keys_with("metadata").nth(nth));
            let failed = publisher.round().await.is_err();
            store.heal();
            let loaded = load_backup(store.as_ref(), None).await.expect("a manifest");
            assert!(!failed || lost || loaded == before, "put {nth} failed");
            assert!(loaded == before || loaded == group.manifest(), "put {nth}");
            publisher.round().await.expect("a root");
            assert_eq!(load_backup(store.as_ref(), None).await.expect("a manifest"), group.manifest(), "put {nth}");
            if !failed {
                assert!(nth > 30, "only {nth} puts");
                break;
            }
        }
    }
}

#[tokio::test]
async fn what_no_kept_root_names_is_collected() {
    let group = Group::in_memory();
    let (mut publisher, _) = group.publisher(eager());
    for step in 0..20 {
        group.create_namespaces(&format!("step{step}"), 10).await;
        publisher.round().await.expect("a root");
    }
    assert_eq!(group.keys(PathKind::SnapshotRoot).await.len(), 1);
    let left = group.keys(PathKind::SnapshotShard).await.len();
    // The same state, published whole elsewhere.
    let other = Group { clock: group.clock.clone(), metadata: group.metadata.clone(), store: Arc::new(MemoryStore::new()) };
    let (mut whole, _) = other.publisher(eager());
    whole.round().await.expect("a root");
    assert_eq!(left, other.keys(PathKind::SnapshotShard).await.len(), "nothing but what the newest root names");
    let state = publisher.insight().state();
    assert_eq!((state.roots_deleted, state.roots), (19, 20));
    assert_eq!(state.shards - state.shards_deleted, left as u64);
}

/// Roots are deleted before the shards that they name: whichever delete fails, what is left of a root is whole.
#[tokio::test]
async fn a_root_goes_before_its_shards_whichever_delete_fails() {
    let mut failures = 0;
    for lost in [false, true] {
        for nth in 1.. {
            let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
            let group = Group::new(store.clone());
            let (mut publisher, _) = group.publisher(PublishConfig { requests_max: 4, keep_ms: 10_000, ..eager() });
            for _ in 0..4 {
                group.tick_ms(1_000).await;
                publisher.round().await.expect("a root");
            }
            group.tick_ms(60_000).await;
            let effect = if lost { Effect::FailAfter(away()) } else { Effect::Fail(away()) };
            store.inject(FaultRule::new(effect).on(Operation::Delete).nth(nth));
            let failed = publisher.round().await.is_err();
            store.heal();
            let shards = group.keys(PathKind::SnapshotShard).await;
            for root in group.keys(PathKind::SnapshotRoot).await {
                let published = PublishedRoot::decode(&store.get(&root).await.expect("a root")).expect("a root");
                let place = |(shard, maker): (&ShardRef, ShardMaker)| {
                    ObjectPath::SnapshotShard { incarnation: LIFE, epoch: maker.epoch, index: maker.index, hash: shard.hash }.key()
                };
                let missing: Vec<ObjectKey> = published.shards().map(place).filter(|shard| !shards.contains(shard)).collect();
                assert!(missing.is_empty(), "delete {nth}: {root} is left without {missing:?}");
            }
            if !failed {
                break;
            }
            failures += 1;
        }
    }
    assert!(failures >= 10, "only {failures} deletes failed");
}

#[tokio::test]
async fn roots_are_kept_by_number_and_for_their_time() {
    let group = Group::in_memory();
    let (mut publisher, _) = group.publisher(PublishConfig { keep_roots: 2, keep_ms: 10_000, ..eager() });
    let mut counts = Vec::new();
    for _ in 0..8 {
        group.tick_ms(4_000).await;
        publisher.round().await.expect("a root");
        counts.push(group.keys(PathKind::SnapshotRoot).await.len());
    }
    // The newest, and those that were replaced 0, 4 and 8 s ago.
    assert_eq!(counts, [1, 2, 3, 4, 4, 4, 4, 4]);
    group.tick_ms(60_000).await;
    publisher.round().await.expect("a root");
    assert_eq!(group.keys(PathKind::SnapshotRoot).await.len(), 2, "the newest two, whatever their age");
}

#[tokio::test]
async fn nothing_is_put_before_it_is_due() {
    let group = Group::in_memory();
    let config = PublishConfig { positions_max: 5, every: Duration::from_secs(3_600), gap: Duration::ZERO, ..eager() };
    let (mut publisher, _) = group.publisher(config);
    publisher.round().await.expect("the first root");
    group.create_namespaces("a", 4).await;
    publisher.round().await.expect("nothing is due");
    assert_eq!(publisher.insight().state().roots, 1);
    group.create_namespaces("b", 1).await;
    publisher.round().await.expect("a root");
    assert_eq!(publisher.insight().state().roots, 2);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_is_noted_and_tried_again() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let group = Group::new(store.clone());
    store.inject(FaultRule::new(Effect::Fail(away())));
    let (publisher, lead) = group.publisher(eager());
    let insight = publisher.insight();
    let running = tokio::spawn(publisher.run());
    tokio::time::sleep(Duration::from_secs(300)).await;
    let state = insight.state();
    assert!((5..30).contains(&state.failures), "{} failures in five minutes", state.failures);
    assert!(state.failure.expect("a failure").contains("connection refused"));
    group.create_namespaces("the-group-goes-on", 1).await;
    assert_eq!(*lead.refused.lock(), None);
    store.heal();
    tokio::time::sleep(Duration::from_secs(130)).await;
    assert_eq!(insight.state().failure, None);
    assert_eq!(load_backup(store.as_ref(), None).await.expect("a manifest"), group.manifest());
    running.abort();
}

/// A round finds that another life owns the store, and the member takes in nothing more.
async fn superseded(publisher: &mut Publisher, lead: &TestLead) {
    let error = publisher.round().await.expect_err("superseded");
    assert!(matches!(error, PublishError::Owner(OwnerError::Superseded { by: Incarnation(701), .. })), "{error}");
    assert!(lead.refused.lock().clone().expect("a reason").contains("superseded"));
}

#[tokio::test]
async fn a_superseded_group_takes_in_nothing_more_and_deletes_nothing() {
    let group = Group::in_memory();
    let (mut publisher, lead) = group.publisher(eager());
    group.create_namespaces("a", 5).await;
    publisher.round().await.expect("a root");
    claim_next(group.store.as_ref(), 0, 9).await.expect("a restore elsewhere");
    let before = contents(group.store.as_ref()).await;
    group.create_namespaces("b", 5).await;
    superseded(&mut publisher, &lead).await;
    assert!(publisher.insight().state().refused.is_some());
    assert_eq!(contents(group.store.as_ref()).await, before);
}

/// Between two looks at the owner it may put a root, which nobody takes for the newest of all lives; it deletes nothing.
#[tokio::test]
async fn a_group_that_does_not_know_yet_that_it_is_superseded_deletes_nothing() {
    let group = Group::in_memory();
    let (mut publisher, lead) = group.publisher(PublishConfig { owner_check_every: Duration::from_secs(3_600), ..eager() });
    for step in 0..2 {
        group.create_namespaces(&format!("a{step}"), 5).await;
        publisher.round().await.expect("a root");
    }
    claim_next(group.store.as_ref(), 0, 9).await.expect("a restore elsewhere");
    let before = contents(group.store.as_ref()).await;
    group.create_namespaces("b", 5).await;
    superseded(&mut publisher, &lead).await;
    let after = contents(group.store.as_ref()).await;
    assert!(before.keys().all(|key| after.contains_key(key)), "it deletes nothing");
}

/// Two groups of one incarnation, as when a data directory was copied: the one whose epoch is lower says so, and deletes nothing.
#[tokio::test]
async fn a_root_of_an_epoch_that_the_log_never_had_is_noticed_while_publishing() {
    let group = Group::in_memory();
    let (mut publisher, _) = group.publisher(eager());
    publisher.round().await.expect("a root");
    let copy = Group::new(Arc::new(MemoryStore::new()));
    for _ in 0..5 {
        copy.metadata.register_job(PUBLISHER_JOB).await.expect("another leader");
    }
    copy.create_namespaces("a", 50).await;
    let copy = Group { store: group.store.clone(), ..copy };
    let (mut other, _) = copy.publisher(eager());
    other.round().await.expect("a root");
    let before = contents(group.store.as_ref()).await;
    group.create_namespaces("b", 5).await;
    let error = publisher.round().await.expect_err("a later epoch's root");
    assert!(matches!(error, PublishError::Fenced { .. }), "{error}");
    let error = publisher.round().await.expect_err("the store has what the log has not");
    assert!(matches!(error, PublishError::LostLog { .. }), "{error}");
    let after = contents(group.store.as_ref()).await;
    assert!(before.keys().all(|key| after.contains_key(key)), "it deletes nothing");
}

/// What a root that failed has put may still be named by it, and the publisher's base may still be what the next root is made from.
#[tokio::test]
async fn what_a_failed_root_has_put_and_what_its_base_names_is_left() {
    for effect in [Effect::Fail(away()), Effect::FailAfter(away())] {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let group = Group::new(store.clone());
        let unasked = PublishConfig { positions_max: 6, every: Duration::from_secs(3_600), ..eager() };
        let (mut publisher, _) = group.publisher(unasked);
        group.create_namespaces("a", 10).await;
        publisher.round().await.expect("a root");
        // A root of which only some shards are new. It is not looked what may go.
        group.create_namespaces("b", 6).await;
        store.inject(FaultRule::new(Effect::Fail(away())).on(Operation::List).on_keys_with("/metadata/shards/"));
        publisher.round().await.expect_err("no list");
        store.heal();
        let base = group.manifest();
        // The next root has other shards, and does not name all that the base names.
        group.metadata.drop_namespace("a-0").await.expect("dropped");
        ask_backup(group.metadata.as_ref(), "monday").await.expect("asked");
        store.inject(FaultRule::new(effect.clone()).on(Operation::Put).on_keys_with("/metadata/snapshots/"));
        publisher.round().await.expect_err("no root");
        store.heal();
        remove_backup(group.metadata.as_ref(), "monday").await.expect("removed");

        let before = contents(store.as_ref()).await;
        publisher.round().await.expect("no root is due");
        assert_eq!(publisher.insight().state().newest.expect("a root").version, base.version);
        let after = contents(store.as_ref()).await;
        let newest = group.keys(PathKind::SnapshotRoot).await.pop().expect("a root");
        assert_eq!(newest.as_str().contains(&format!("{:016x}", base.version.0)), matches!(effect, Effect::Fail(_)), "{newest}");
        let is_older = |key: &&ObjectKey| match ObjectPath::parse(key).expect("a key") {
            ObjectPath::SnapshotShard { index, .. } | ObjectPath::SnapshotRoot { index, .. } => index < base.version,
            _ => false,
        };
        let gone: Vec<&ObjectKey> = before.keys().filter(|key| !after.contains_key(*key)).collect();
        assert!(gone.iter().all(is_older), "{effect:?}: {gone:?}");
        assert_eq!(gone.is_empty(), matches!(effect, Effect::FailAfter(_)), "{effect:?}: {gone:?}");
    }
}

#[tokio::test]
async fn a_group_does_not_publish_to_the_store_of_another() {
    let group = Group::in_memory();
    claim_first(group.store.as_ref(), Incarnation(5), 0).await.expect("another group");
    let before = contents(group.store.as_ref()).await;
    let (mut publisher, lead) = group.publisher(eager());
    let error = publisher.round().await.expect_err("another owner");
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(lead.refused.lock().clone().expect("a reason").contains("another group"));
    assert_eq!(contents(group.store.as_ref()).await, before);
}

#[tokio::test]
async fn a_log_that_lost_its_end_is_noticed() {
    let group = Group::in_memory();
    group.create_namespaces("a", 50).await;
    let (mut publisher, _) = group.publisher(eager());
    publisher.round().await.expect("a root");
    let older = Group::new(group.store.clone());
    let (mut publisher, lead) = older.publisher(eager());
    let error = publisher.round().await.expect_err("the store has what the log has not");
    assert!(matches!(error, PublishError::LostLog { .. }), "{error}");
    assert_eq!(*lead.refused.lock(), None, "the owner is the same");
}

#[tokio::test]
async fn the_publisher_is_a_job_with_an_epoch() {
    let group = Group::in_memory();
    let (mut publisher, _) = group.publisher(eager());
    publisher.round().await.expect("a root");
    let manifest = group.manifest();
    let epoch = *manifest.jobs.get(PUBLISHER_JOB).expect("a job");
    let newest = publisher.insight().state().newest.expect("a root");
    assert_eq!((newest.incarnation, newest.epoch), (LIFE, epoch));
    group.metadata.register_job(PUBLISHER_JOB).await.expect("another leader");
    group.create_namespaces("a", 1).await;
    assert_eq!(publisher.round().await.expect_err("fenced"), PublishError::Fenced { epoch });
    assert_eq!(list_backups(group.store.as_ref()).await, Ok(Vec::new()));
    assert_eq!(group.metadata.incarnation(), LIFE);
}

/// The newest root is damaged: the next leader says so in its log, and publishes whole.
#[tokio::test]
async fn a_damaged_newest_root_is_replaced_by_the_next_leader() {
    let group = Group::in_memory();
    group.create_namespaces("a", 20).await;
    let (mut publisher, _) = group.publisher(eager());
    publisher.round().await.expect("a root");
    let root = group.keys(PathKind::SnapshotRoot).await.remove(0);
    group.store.put(&root, bytes::Bytes::from_static(b"damaged")).await.expect("put");
    assert_eq!(load_backup(group.store.as_ref(), None).await.expect_err("damaged").kind(), ErrorKind::Corrupt);
    let (mut next, _) = group.publisher(PublishConfig { keep_roots: 2, ..eager() });
    assert!(next.round().await.is_err(), "a root that is kept and can't be read is not passed over in silence");
    assert_eq!(load_backup(group.store.as_ref(), None).await.expect("a manifest"), group.manifest());
}
