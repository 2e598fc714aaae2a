//! Publishers that take the lead from each other, each behind the group, on a store whose requests take their time, and take effect long after they
//! were given up: whatever the order, the newest root and each backup can be loaded, and are what the group's state was (MF-1).

use crate::support::{LIFE, TestLead};
use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use siltstone_core::{Clock, CommitIndex, CommitToken, Epoch};
use siltstone_format::command::{CommandBody, Reply};
use siltstone_format::manifest::Manifest;
use siltstone_metadata::LocalMetadata;
use siltstone_metadata_client::{ClientError, MetadataClient, MetadataClientExt, Renewal};
use siltstone_metadata_publish::{LoadError, PublishConfig, Publisher, ask_backup, backups_of, list_backups, load_backup, remove_backup};
use siltstone_store::paths::{ObjectPath, PathKind};
use siltstone_store::{Fault, ListPage, MemoryStore, ObjectKey, ObjectStore, Operation, StoreError};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

struct Random(Mutex<StdRng>);

impl Random {
    fn below(&self, end: u64) -> u64 {
        self.0.lock().random_range(0..end)
    }

    async fn pause(&self, ms_max: u64) {
        sleep(Duration::from_millis(self.below(ms_max))).await;
    }
}

/// The time of day, on the runtime's clock.
struct RuntimeClock(Instant);

impl Clock for RuntimeClock {
    fn now_ns(&self) -> i64 {
        1_764_554_400_000_000_000 + i64::try_from(self.0.elapsed().as_nanos()).expect("a short test")
    }
}

/// Each request takes its time; some are given up and take effect later, or never.
struct LateStore {
    inner: Arc<MemoryStore>,
    random: Arc<Random>,
    /// What was deleted, or may be.
    deleted: Arc<Mutex<BTreeSet<ObjectKey>>>,
    /// Names that were put again after that, while no later publisher had put a root: what must never be.
    revived: Arc<Mutex<Vec<ObjectKey>>>,
}

impl LateStore {
    async fn write<F>(&self, operation: Operation, key: &ObjectKey, work: F) -> Result<(), StoreError>
    where
        F: Future<Output = Result<(), StoreError>> + Send + 'static,
    {
        self.random.pause(40).await;
        if self.random.below(20) > 0 {
            return work.await;
        }
        let (late, happens) = (self.random.below(30_000), self.random.below(4) > 0);
        tokio::spawn(async move {
            sleep(Duration::from_millis(late)).await;
            if happens {
                work.await.expect("a memory store takes everything");
            }
        });
        self.random.pause(2_000).await;
        Err(Fault::Timeout { place: "bucket".to_owned(), after: Duration::from_secs(1) }.at(operation, key))
    }
}

#[async_trait]
impl ObjectStore for LateStore {
    async fn put(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        if self.deleted.lock().contains(key) {
            // A publisher that was fenced and is behind may try again what it failed to put. Roots of a later epoch stand above it.
            let newest = crate::support::keys(self.inner.as_ref(), PathKind::SnapshotRoot).await.into_iter().filter_map(|root| epoch_of(&root)).max();
            if newest <= epoch_of(key) {
                self.revived.lock().push(key.clone());
            }
        }
        let (inner, at) = (self.inner.clone(), key.clone());
        self.write(Operation::Put, key, async move {
            if let Ok(before) = inner.get(&at).await {
                assert_eq!(before, bytes, "{at} has one content");
            }
            inner.put(&at, bytes).await
        })
        .await
    }

    async fn put_if_absent(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        self.inner.put_if_absent(key, bytes).await
    }

    async fn get(&self, key: &ObjectKey) -> Result<Bytes, StoreError> {
        self.random.pause(40).await;
        self.inner.get(key).await
    }

    async fn get_range(&self, key: &ObjectKey, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.random.pause(40).await;
        self.inner.get_range(key, range).await
    }

    async fn head(&self, key: &ObjectKey) -> Result<u64, StoreError> {
        self.inner.head(key).await
    }

    async fn list(&self, prefix: &str, after: Option<&ObjectKey>) -> Result<ListPage, StoreError> {
        self.random.pause(200).await;
        self.inner.list(prefix, after).await
    }

    async fn delete(&self, key: &ObjectKey) -> Result<(), StoreError> {
        self.deleted.lock().insert(key.clone());
        let (inner, at) = (self.inner.clone(), key.clone());
        self.write(Operation::Delete, key, async move { inner.delete(&at).await }).await
    }

    fn place(&self) -> String {
        self.inner.place()
    }
}

fn epoch_of(key: &ObjectKey) -> Option<Epoch> {
    match ObjectPath::parse(key) {
        Ok(ObjectPath::SnapshotRoot { epoch, .. } | ObjectPath::SnapshotShard { epoch, .. }) => Some(epoch),
        _ => None,
    }
}

/// The group as one of its members knows it: what was applied is seen a while later, and what is proposed takes its time.
struct Member {
    group: Arc<LocalMetadata>,
    random: Arc<Random>,
    seen: watch::Sender<Manifest>,
}

impl Member {
    async fn follow(&self) {
        let mut manifests = self.group.watch();
        loop {
            let manifest = manifests.borrow_and_update().clone();
            self.random.pause(if self.random.below(20) == 0 { 4_000 } else { 40 }).await;
            self.seen.send_replace(manifest);
            manifests.changed().await.expect("the group lives");
        }
    }
}

#[async_trait]
impl MetadataClient for Member {
    async fn propose(&self, body: CommandBody) -> Result<(CommitToken, Reply), ClientError> {
        self.random.pause(if self.random.below(10) == 0 { 8_000 } else { 40 }).await;
        let outcome = self.group.propose(body).await;
        self.random.pause(40).await;
        if self.random.below(20) == 0 {
            return Err(ClientError::UnknownOutcome { reason: "the reply is lost".to_owned() });
        }
        outcome
    }

    fn manifest(&self) -> Manifest {
        self.seen.borrow().clone()
    }

    fn watch(&self) -> watch::Receiver<Manifest> {
        self.seen.subscribe()
    }

    async fn read_index(&self) -> Result<CommitIndex, ClientError> {
        self.random.pause(40).await;
        self.group.read_index().await
    }

    async fn renew(&self, epochs: &[Epoch]) -> Result<Renewal, ClientError> {
        self.group.renew(epochs).await
    }
}

struct World {
    random: Arc<Random>,
    metadata: Arc<LocalMetadata>,
    store: Arc<LateStore>,
    /// What the group's state was, by position.
    states: Mutex<BTreeMap<CommitIndex, Manifest>>,
    loads: Mutex<u64>,
}

impl World {
    fn check(&self, loaded: &Manifest, seed: u64) {
        let states = self.states.lock();
        assert_eq!(Some(loaded), states.get(&loaded.version), "seed {seed}: position {}", loaded.version);
        *self.loads.lock() += 1;
    }

    /// Remembers each state that the group passes. Woken at each change, before anything else can change it.
    async fn remember(&self) {
        let mut manifests = self.metadata.watch();
        loop {
            let manifest = manifests.borrow_and_update().clone();
            self.states.lock().insert(manifest.version, manifest);
            manifests.changed().await.expect("the group lives");
        }
    }

    async fn change(&self) {
        for number in 0_u64.. {
            self.random.pause(600).await;
            let name = format!("n{}", self.random.below(40));
            if self.random.below(3) == 0 {
                // One that is not there is refused.
                let _ = self.metadata.drop_namespace(&name).await;
            } else {
                self.metadata.create_namespace(&name).await.expect("a namespace");
            }
            self.metadata.put_setting("turn", Some(vec![(number % 3) as u8]), None).await.expect("a setting");
        }
    }

    async fn read(&self, seed: u64) {
        // By epoch, then position. A position may go back where a publisher that was fenced put a root before its successor put its first.
        let mut newest: Option<ObjectKey> = None;
        loop {
            self.random.pause(2_000).await;
            let now = crate::support::keys(self.store.inner.as_ref(), PathKind::SnapshotRoot).await.pop();
            assert!(now >= newest, "seed {seed}: the newest root {newest:?} is gone, and there is {now:?}");
            newest = now;
            match load_backup(self.store.as_ref(), None).await {
                Ok(loaded) => self.check(&loaded, seed),
                Err(LoadError::NothingPublished { .. }) if newest.is_none() => {}
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
    }

    async fn back_up(&self, seed: u64) {
        let mut asked_at = BTreeMap::new();
        for number in 0_u64.. {
            self.random.pause(8_000).await;
            let backups = backups_of(&self.metadata.manifest());
            for (name, info) in &backups {
                let asked_at = asked_at.get(name).unwrap_or_else(|| panic!("seed {seed}: backup {name} was removed, and is back"));
                let Some(info) = info else { continue };
                assert!(info.version >= *asked_at, "seed {seed}: backup {name} is of position {}, asked for at {asked_at}", info.version);
                let loaded = load_backup(self.store.as_ref(), Some(name)).await;
                // The store tells of backups by its newest root, which may be older than the record.
                match loaded {
                    Ok(loaded) => self.check(&loaded, seed),
                    Err(LoadError::NoBackup { .. }) => {}
                    Err(error) => panic!("seed {seed}: backup {name}: {error}"),
                }
            }
            // One that has no root yet may go as well.
            let chosen = usize::try_from(self.random.below(12)).expect("a small number");
            if let Some((name, _)) = backups.get(chosen) {
                // Recorded in the meantime: it goes another time.
                if remove_backup(self.metadata.as_ref(), name).await.is_ok() {
                    asked_at.remove(name);
                }
            } else {
                let name = format!("b{number}");
                let position = ask_backup(self.metadata.as_ref(), &name).await.expect("asked");
                asked_at.insert(name.clone(), position);
                if self.random.below(4) == 0 {
                    self.random.pause(300).await;
                    if remove_backup(self.metadata.as_ref(), &name).await.is_ok() {
                        asked_at.remove(&name);
                    }
                }
            }
        }
    }
}

async fn run(seed: u64) -> (u64, u64, u64) {
    let random = Arc::new(Random(Mutex::new(StdRng::seed_from_u64(seed))));
    let clock = Arc::new(RuntimeClock(Instant::now()));
    let store = Arc::new(LateStore { inner: Arc::new(MemoryStore::new()), random: random.clone(), deleted: Arc::default(), revived: Arc::default() });
    let metadata = Arc::new(LocalMetadata::new(LIFE, clock.clone()));
    let world = Arc::new(World {
        random: random.clone(),
        metadata: metadata.clone(),
        store: store.clone(),
        states: Mutex::default(),
        loads: Mutex::default(),
    });
    // The slowest load of some seventy shards, sixteen at a time, with the lists before it, takes less than a second.
    let config = PublishConfig {
        positions_max: 2,
        every: Duration::from_secs(1),
        gap: Duration::from_millis(200),
        keep_roots: 1,
        keep_ms: 3_000,
        owner_check_every: Duration::from_secs(5),
        tick: Duration::from_millis(50),
        backoff_max: Duration::from_millis(500),
        ..PublishConfig::default()
    };
    let mut leads = Vec::new();
    let mut insights = Vec::new();
    let mut tasks = tokio::task::JoinSet::new();
    let remembering = world.clone();
    tasks.spawn(async move { remembering.remember().await });
    for _ in 0..3 {
        let lead = Arc::new(TestLead::default());
        let member = Arc::new(Member { group: metadata.clone(), random: random.clone(), seen: watch::Sender::new(metadata.manifest()) });
        let publisher = Publisher::new(config, store.clone(), member.clone(), clock.clone(), lead.clone());
        tasks.spawn(async move { member.follow().await });
        insights.push(publisher.insight());
        leads.push(lead);
        tasks.spawn(publisher.run());
    }
    let (changing, backing_up) = (world.clone(), world.clone());
    tasks.spawn(async move { changing.change().await });
    tasks.spawn(async move { backing_up.back_up(seed).await });
    for _ in 0..2 {
        let reading = world.clone();
        tasks.spawn(async move { reading.read(seed).await });
    }
    let end = Instant::now() + Duration::from_secs(120);
    while Instant::now() < end {
        // For a while two may think that they lead.
        let next = random.below(3) as usize;
        leads[next].leads.store(true, Ordering::Relaxed);
        random.pause(1_000).await;
        leads.iter().enumerate().for_each(|(at, lead)| lead.leads.store(at == next, Ordering::Relaxed));
        random.pause(15_000).await;
        if let Some(ended) = tasks.try_join_next() {
            ended.expect("no task fails");
            panic!("seed {seed}: no task ends by itself");
        }
    }
    assert_eq!(*store.revived.lock(), Vec::new(), "seed {seed}: a key that was deleted is never used again by who is not fenced");
    assert!(leads.iter().all(|lead| lead.refused.lock().is_none()), "seed {seed}: the owner is one");
    tasks.shutdown().await;
    list_backups(store.as_ref()).await.expect("a list");
    let roots = crate::support::keys(store.inner.as_ref(), PathKind::SnapshotRoot).await.len();
    let deleted: u64 = insights.iter().map(|insight| insight.state().roots_deleted + insight.state().shards_deleted).sum();
    assert!(roots < 60, "seed {seed}: {roots} roots are left");
    let loads = *world.loads.lock();
    (insights.iter().map(|insight| insight.state().roots).sum(), deleted, loads)
}

#[tokio::test(start_paused = true)]
async fn whoever_publishes_and_collects_when_what_is_read_is_whole() {
    let (mut roots, mut deleted, mut loads) = (0, 0, 0);
    for seed in 0..40 {
        let done = run(seed).await;
        (roots, deleted, loads) = (roots + done.0, deleted + done.1, loads + done.2);
    }
    println!("{roots} roots were published, {deleted} objects deleted, {loads} manifests loaded");
    assert!(roots > 400 && deleted > 1_000 && loads > 1_000, "{roots} roots, {deleted} deleted, {loads} loads");
}
