//! Lives of an indexer's roles: a writer among busy and quiet namespaces, roles whose group is gone, jobs that were fenced, a group that was
//! restored.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use siltstone_core::{CallerScope, Entry, EntryVector, ErrorKind, Incarnation, ManualClock, NamespaceSet, Principal};
use siltstone_format::command::CommandBody;
use siltstone_format::manifest::Manifest;
use siltstone_indexer::ingest::Arrival;
use siltstone_indexer::query::Question;
use siltstone_indexer::{Indexer, IndexerConfig, Patience};
use siltstone_metadata::{Fault, LocalMetadata};
use siltstone_metadata_client::{MetadataClient, MetadataClientExt};
use siltstone_metadata_publish::{Lead, PublishConfig, Publisher, ask_backup, backups_of, claim_first, claim_next, load_backup, remove_backup};
use siltstone_query::{ParseOptions, TimeRange, parse};
use siltstone_store::paths::{ObjectPath, PathKind, incarnation_prefix, kind_prefix};
use siltstone_store::{MemoryStore, ObjectStore, list_all};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// What has not happened by then does not happen.
const BOUND: Duration = Duration::from_secs(30);

struct Bed {
    clock: Arc<ManualClock>,
    group: Arc<LocalMetadata>,
    store: Arc<dyn ObjectStore>,
}

impl Bed {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at_ns(1_700_000_000_000_000_000));
        Self { group: Arc::new(LocalMetadata::new(Incarnation(7), clock.clone())), clock, store: Arc::new(MemoryStore::new()) }
    }
}

async fn start(store: &Arc<dyn ObjectStore>, group: &Arc<LocalMetadata>, clock: &Arc<ManualClock>) -> Indexer {
    let mut config = IndexerConfig::default();
    config.ingest.auto_create_namespaces = true;
    config.ingest.writer.flush_interval_ms = 1;
    config.ingest.writer.chunk_age_ms_max = 200;
    config.ingest.writer.patience = Patience { unknown_outcome_ms_max: 10, retry_ms: 1, failure_ms: 1 };
    config.patience = config.ingest.writer.patience;
    config.seal.wait_ms_max = 1;
    config.gc.keep_ms = 0;
    config.gc.round_ms = 1_000_000;
    Indexer::start(config, store.clone(), group.clone(), clock.clone()).await.unwrap()
}

async fn write(indexer: &Indexer, namespace: &str) -> Result<(), ErrorKind> {
    write_with(indexer, namespace, Vec::new()).await
}

async fn write_with(indexer: &Indexer, namespace: &str, vectors: Vec<EntryVector>) -> Result<(), ErrorKind> {
    let all = || NamespaceSet::All;
    let scope = CallerScope::from_authenticator(Principal("test".to_owned()), all(), all(), all());
    let entry = Entry { namespace: namespace.to_owned(), body: b"a line".to_vec(), timestamp_ns: Some(1), vectors, ..Entry::default() };
    indexer.ingest().write(&scope, None, [Ok(Arrival::from(entry))]).await.map(|_| ()).map_err(|error| error.kind())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chunk_is_closed_by_age_though_another_namespace_is_written_to_all_the_time() {
    let Bed { clock, group, store } = Bed::new();
    let indexer = start(&store, &group, &clock).await;
    write(&indexer, "quiet").await.unwrap();
    clock.advance_ns(1_000_000_000);
    let begun = Instant::now();
    while group.manifest().namespace_by_name("quiet").unwrap().totals.chunks_open != 0 {
        assert!(begun.elapsed() < BOUND, "the chunk is still open");
        write(&indexer, "busy").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_an_indexer_lives_on_though_its_group_does_not_answer() {
    let Bed { clock, group, store } = Bed::new();
    let handle = Arc::downgrade(&store);
    let indexer = start(&store, &group, &clock).await;
    write(&indexer, "shop").await.unwrap();
    let begins_anew = Arc::new(Notify::new());
    let told = begins_anew.clone();
    group.set_faults(move |command| {
        if matches!(command, CommandBody::RegisterWriter { .. }) {
            told.notify_one();
        }
        Fault::Refused
    });
    let sender = indexer.clone();
    let writing = tokio::spawn(async move { write(&sender, "shop").await });
    tokio::time::timeout(BOUND, begins_anew.notified()).await.expect("a writer that cannot commit begins a new life");
    writing.abort();
    drop((indexer, store));
    let begun = Instant::now();
    while handle.strong_count() != 0 {
        assert!(begun.elapsed() < BOUND, "{} handles of the store are left", handle.strong_count());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_group_an_indexer_refuses_entries_and_answers_questions_and_goes_on_when_it_is_back() {
    let Bed { clock, group, store } = Bed::new();
    let indexer = start(&store, &group, &clock).await;
    write(&indexer, "shop").await.unwrap();
    // Of what was refused for certain its sender is told at once, and of what may have been taken in when that is all there is to tell.
    for (fault, told) in [(Fault::Refused, ErrorKind::Unavailable), (Fault::RequestLost, ErrorKind::Unknown)] {
        group.set_faults(move |_| fault);
        assert_eq!(tokio::time::timeout(BOUND, write(&indexer, "shop")).await.expect("an answer"), Err(told), "{fault:?}");
        let begun = Instant::now();
        while indexer.ingest().trouble().is_none() {
            assert!(begun.elapsed() < BOUND, "the absence shows");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(write(&indexer, "shop").await.unwrap_err().is_retryable(), "{fault:?}");
        let view = indexer.views().open(&["shop".to_owned()], None).await.unwrap();
        assert_eq!(view.manifest.namespace_by_name("shop").unwrap().totals.rows, 1 + u64::from(told == ErrorKind::Unknown), "{fault:?}");
        group.set_faults(|_| Fault::None);
        let begun = Instant::now();
        while let Err(error) = write(&indexer, "shop").await {
            assert!(begun.elapsed() < BOUND && error.is_retryable(), "{error:?}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(indexer.ingest().trouble(), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_was_fenced_begins_a_new_life() {
    let Bed { clock, group, store } = Bed::new();
    let indexer = start(&store, &group, &clock).await;
    write(&indexer, "shop").await.unwrap();
    indexer.settle().await.unwrap();
    clock.advance_ns(1_000_000_000);
    write(&indexer, "shop").await.unwrap();
    assert_eq!(group.manifest().batches_retired_before(i64::MAX).count(), 1);
    group.register_job("gc").await.unwrap();
    assert_eq!(indexer.collector().collect(false).await.unwrap_err().kind(), ErrorKind::Fenced);
    assert_eq!(indexer.collector().collect(false).await.unwrap().retired, 1);
    assert_eq!(group.manifest().batches_retired_before(i64::MAX).count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_whose_process_died_between_put_and_commit_is_completed_by_the_next() {
    for fault in [Fault::RequestLost, Fault::ReplyLost, Fault::Late] {
        let Bed { clock, group, store } = Bed::new();
        let indexer = start(&store, &group, &clock).await;
        write_with(&indexer, "shop", vec![EntryVector { field: "text".into(), values: vec![0.5, 1.0] }]).await.unwrap();
        group.set_faults(move |command| if matches!(command, CommandBody::CommitIndexes(_)) { fault } else { Fault::None });
        let lost = indexer.settle().await.unwrap_err();
        assert!(lost.to_string().contains("injected"), "{fault:?}: {lost}");
        drop(indexer);
        group.set_faults(|_| Fault::None);
        // The next process fences the dead one's epoch first: what was on its way changes nothing (EP-1).
        let next = start(&store, &group, &clock).await;
        next.settle().await.unwrap();
        let manifest = group.manifest();
        let shop = manifest.namespace_by_name("shop").unwrap();
        let indexed: Vec<u32> = shop.vector_indexes.values().map(|index| index.vectors).collect();
        assert_eq!(indexed, [1], "{fault:?}");
        next.settle().await.unwrap();
        assert_eq!(group.manifest().namespace_by_name("shop").unwrap().vector_indexes.size(), 1, "{fault:?}: it is built once");
        // What was put and never committed is garbage once its epoch is fenced (MF-1); what is named stays.
        clock.advance_ns(1_000_000_000);
        write(&next, "shop").await.unwrap();
        next.collector().collect(true).await.unwrap();
        let manifest = group.manifest();
        for stored in list_all(&*store, &kind_prefix(PathKind::Object, manifest.incarnation)).await.unwrap() {
            let named = manifest.objects.values().any(|object| stored.key.as_str().ends_with(&format!("{:016x}", object.record.id.0)));
            assert!(named, "{fault:?}: {} is named by nothing", stored.key);
        }
    }
}

/// Entries of a namespace that are found by their words.
async fn count(indexer: &Indexer, namespace: &str) -> u64 {
    let view = indexer.views().open(&[namespace.to_owned()], None).await.unwrap();
    let question = Question { expr: parse("line", &ParseOptions { now_ns: 0 }).unwrap().expr, range: TimeRange::ALL };
    tokio::task::spawn_blocking(move || siltstone_indexer::query::count(&view.namespaces, &question).unwrap().total()).await.unwrap()
}

/// The keys of batches and objects of a life of the group.
async fn keys(store: &Arc<dyn ObjectStore>, incarnation: u64) -> BTreeSet<String> {
    let stored = list_all(&**store, &incarnation_prefix(Incarnation(incarnation))).await.unwrap();
    stored.into_iter().map(|object| object.key.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_group_reads_what_its_predecessor_stored_and_neither_overwrites_nor_collects_it() {
    let Bed { clock, group: old, store } = Bed::new();
    let predecessor = start(&store, &old, &clock).await;
    for _ in 0..2 {
        write(&predecessor, "shop").await.unwrap();
        predecessor.settle().await.unwrap();
    }
    write(&predecessor, "shop").await.unwrap();
    let mut backup = old.machine();
    // What comes after the backup is lost; the predecessor does not know and goes on.
    write(&predecessor, "shop").await.unwrap();
    predecessor.settle().await.unwrap();

    backup.begin_life(Incarnation(8), 1).unwrap();
    let group = Arc::new(LocalMetadata::with_machine(backup, clock.clone()));
    let before = keys(&store, 7).await;
    let indexer = start(&store, &group, &clock).await;
    assert_eq!(count(&indexer, "shop").await, 3, "two in segments, one in a batch");
    write(&indexer, "shop").await.unwrap();
    write(&predecessor, "shop").await.unwrap();
    let both: BTreeSet<String> = &before | &keys(&store, 7).await;
    indexer.settle().await.unwrap();
    clock.advance_ns(1_000_000_000);
    write(&indexer, "shop").await.unwrap();
    assert_eq!(count(&indexer, "shop").await, 5);
    assert!(
        group.manifest().batches_retired_before(i64::MAX).any(|batch| group.manifest().is_of_former_life(batch.epoch)),
        "the test meets the case"
    );
    let collected = indexer.collector().collect(true).await.unwrap();
    assert!(collected.retired > 0, "{collected:?}");
    let later = indexer.collector().collect(true).await.unwrap();
    assert_eq!(later.orphans, 0);
    assert_eq!(group.manifest().batches_retired_before(i64::MAX).count(), 0, "their records are gone");
    assert_eq!(keys(&store, 7).await, both, "all that the predecessor stored is there, and nothing new under its name");
    assert!(!keys(&store, 8).await.is_empty());
    assert_eq!(count(&indexer, "shop").await, 5);
}

struct Leads;

impl Lead for Leads {
    fn leads(&self) -> bool {
        true
    }

    fn refuse(&self, reason: &str) {
        panic!("{reason}");
    }
}

/// Everything that a manifest names and does not call retired.
async fn is_whole(store: &dyn ObjectStore, manifest: &Manifest) -> bool {
    let incarnation = manifest.incarnation;
    let batches = manifest
        .batches
        .values()
        .map(|batch| (ObjectPath::Batch { incarnation, epoch: batch.record.epoch, batch: batch.record.id }, batch.record.len_bytes));
    let objects = manifest.objects.values().filter(|object| object.retired_at_ms.is_none()).map(|object| object.record);
    let objects = objects.map(|record| (ObjectPath::Object { incarnation, epoch: record.epoch, object: record.id }, record.len_bytes));
    for (path, len) in batches.chain(objects) {
        match store.head(&path.key()).await {
            Ok(found) => assert_eq!(found, len, "{path}"),
            Err(_) => return false,
        }
    }
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_backup_names_is_not_collected_until_the_backup_is_removed() {
    let Bed { clock, group, store } = Bed::new();
    let indexer = start(&store, &group, &clock).await;
    let mut publisher = Publisher::new(PublishConfig::default(), store.clone(), group.clone(), clock.clone(), Arc::new(Leads));
    // A pack, and a batch that is not sealed.
    write(&indexer, "shop").await.unwrap();
    indexer.settle().await.unwrap();
    write(&indexer, "shop").await.unwrap();
    ask_backup(group.as_ref(), "monday").await.unwrap();
    publisher.round().await.unwrap();
    let backup = load_backup(store.as_ref(), Some("monday")).await.unwrap();
    assert!(!backup.batches.is_empty() && !backup.objects.is_empty());
    assert!(backups_of(&group.manifest())[0].1.is_some());

    // All of it retires, long ago.
    indexer.settle().await.unwrap();
    group.drop_namespace("shop").await.unwrap();
    for _ in 0..100 {
        clock.advance_ns(3_600_000_000_000);
        group.put_setting("tick", None, None).await.unwrap();
        indexer.collector().collect(true).await.unwrap();
    }
    assert!(is_whole(store.as_ref(), &backup).await, "what a backup names is kept");
    assert_eq!(load_backup(store.as_ref(), Some("monday")).await.unwrap(), backup);

    remove_backup(group.as_ref(), "monday").await.unwrap();
    let collected = indexer.collector().collect(true).await.unwrap();
    let named = backup.batches.size() + backup.objects.values().filter(|object| object.retired_at_ms.is_none()).count();
    // And some that came later: their ids are of blocks that were given out before.
    assert!(collected.retired as usize >= named, "{collected:?}: what the backup alone kept");
    assert!(!is_whole(store.as_ref(), &backup).await);
    let left = backup
        .batches
        .values()
        .map(|batch| batch.record)
        .map(|record| ObjectPath::Batch { incarnation: backup.incarnation, epoch: record.epoch, batch: record.id }.key());
    for key in left {
        assert!(store.head(&key).await.unwrap_err().is_not_found(), "{key} is left");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_superseded_group_collects_nothing() {
    let Bed { clock, group, store } = Bed::new();
    claim_first(store.as_ref(), group.incarnation(), 0).await.unwrap();
    let indexer = start(&store, &group, &clock).await;
    write(&indexer, "shop").await.unwrap();
    indexer.settle().await.unwrap();
    clock.advance_ns(1_000_000_000);
    write(&indexer, "shop").await.unwrap();
    assert_eq!(group.manifest().batches_retired_before(i64::MAX).count(), 1);
    claim_next(store.as_ref(), 0, 5).await.unwrap();
    let error = indexer.collector().collect(true).await.unwrap_err();
    assert!(error.to_string().contains("superseded") && error.kind() == ErrorKind::Fenced, "{error}");
    assert_eq!(group.manifest().batches_retired_before(i64::MAX).count(), 1);
}
