//! Damage of a stored index over entries' vectors, and of nothing else: each byte, each cut, another index in its place. The stored vectors are
//! sound, so every question has its right answer all the same, and an answer that an index was missing for says so (RQ-1).

#![allow(clippy::unwrap_used, clippy::result_large_err, reason = "a test that cannot go on ends")]

use bytes::Bytes;
use siltstone_core::{CallerScope, Entry, EntryVector, Incarnation, ManualClock, NamespaceSet, Principal, RowAddress};
use siltstone_format::manifest::VectorIndexRecord;
use siltstone_indexer::ingest::Arrival;
use siltstone_indexer::query::{Like, Question, VectorAsk, Way, explain_vectors, search_vectors};
use siltstone_indexer::view::{LiveRows, ViewConfig, Views};
use siltstone_indexer::{Indexer, IndexerConfig};
use siltstone_metadata::LocalMetadata;
use siltstone_metadata_client::MetadataClient;
use siltstone_query::{Expr, TimeRange};
use siltstone_store::paths::ObjectPath;
use siltstone_store::{MemoryStore, ObjectKey, ObjectStore};
use siltstone_vector::{GRAPH_ROWS_MIN, Metric};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

const DIMENSION: usize = 4;
const LIMIT: usize = 12;
/// What has not happened by then does not happen.
const BOUND: Duration = Duration::from_secs(60);

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn vector(&mut self) -> Vec<f32> {
        (0..DIMENSION).map(|_| (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0).collect()
    }
}

/// Distances and addresses, and what was said of the answer.
type Answer = (Vec<(f32, RowAddress)>, Vec<String>);

struct Bed {
    group: Arc<LocalMetadata>,
    store: Arc<MemoryStore>,
    indexer: Indexer,
}

/// An index as it is stored.
struct Stored {
    record: VectorIndexRecord,
    key: ObjectKey,
    bytes: Bytes,
}

impl Stored {
    /// The bytes that a reader of the index may read.
    fn ranges(&self) -> [Range<usize>; 2] {
        [self.record.addresses.range(), self.record.range].map(|range| range.offset as usize..range.end() as usize)
    }

    fn flipped(&self, at: usize) -> Bytes {
        let mut bytes = self.bytes.to_vec();
        bytes[at] ^= 1 << (at % 8);
        bytes.into()
    }
}

impl Bed {
    /// A group with namespaces of so many rows, sealed and indexed.
    async fn new(namespaces: &[(&str, usize)]) -> Self {
        let clock = Arc::new(ManualClock::at_ns(1_700_000_000_000_000_000));
        let group = Arc::new(LocalMetadata::new(Incarnation(7), clock.clone()));
        let store = Arc::new(MemoryStore::new());
        let mut config = IndexerConfig::default();
        config.ingest.auto_create_namespaces = true;
        config.ingest.writer.flush_interval_ms = 1;
        config.embed.is_on = false;
        let indexer = Indexer::start(config, store.clone(), group.clone(), clock).await.unwrap();
        for (seed, (name, rows)) in namespaces.iter().enumerate() {
            let mut random = Random(seed as u64);
            let entries: Vec<Entry> = (0..*rows)
                .map(|row| Entry {
                    namespace: (*name).to_owned(),
                    timestamp_ns: Some(row as i64),
                    vectors: vec![EntryVector { field: "text".into(), values: random.vector() }],
                    ..Entry::default()
                })
                .collect();
            let all = || NamespaceSet::All;
            let scope = CallerScope::from_authenticator(Principal("test".to_owned()), all(), all(), all());
            for part in entries.chunks(1_000) {
                indexer.ingest().write(&scope, None, part.iter().map(|entry| Ok(Arrival::from(entry.clone())))).await.unwrap();
            }
        }
        indexer.settle().await.unwrap();
        Self { group, store, indexer }
    }

    async fn index_of(&self, name: &str) -> Stored {
        let manifest = self.group.manifest();
        let indexes: Vec<_> = manifest.namespace_by_name(name).unwrap().vector_indexes.values().collect();
        assert_eq!(indexes.len(), 1);
        let record = indexes[0].as_ref().clone();
        let epoch = manifest.objects.get(&record.object).unwrap().record.epoch;
        let key = ObjectPath::Object { incarnation: manifest.incarnation_of(epoch), epoch, object: record.object }.key();
        Stored { bytes: self.store.get(&key).await.unwrap(), record, key }
    }

    /// Views that have read nothing yet; with little memory, full vectors are fetched for the rows that are scored.
    fn views(&self, index_bytes_max: u64) -> Views {
        let config = ViewConfig { index_bytes_max, ..ViewConfig::default() };
        Views::new(config, self.group.clone(), self.store.clone(), Arc::new(LiveRows::new(0)))
    }
}

fn ask(way: Way) -> (Question, VectorAsk) {
    let like = Like::Vector(Random(99).vector());
    (Question { expr: Expr::All, range: TimeRange::ALL }, VectorAsk { like, field: None, metric: Metric::Cosine, within: None, way })
}

async fn search(views: &Views, name: &str, way: Way) -> Answer {
    let view = views.open(&[name.to_owned()], None).await.unwrap();
    let (question, ask) = ask(way);
    let found = tokio::task::spawn_blocking(move || search_vectors(&view.namespaces, &question, &ask, LIMIT)).await.expect("no panic");
    let found = found.expect("the stored vectors are sound, so there is an answer");
    (found.rows.iter().map(|row| (row.distance.unwrap(), row.address)).collect(), found.degraded)
}

async fn explain(views: &Views, name: &str) -> String {
    let view = views.open(&[name.to_owned()], None).await.unwrap();
    let (question, ask) = ask(Way::Planned);
    tokio::task::spawn_blocking(move || explain_vectors(&view.namespaces, &question, &ask, LIMIT)).await.unwrap().unwrap()
}

/// Puts damaged bytes in the index's place and asks. Whether it was noticed.
async fn is_noticed(bed: &Bed, stored: &Stored, damaged: Bytes, index_bytes_max: u64, sound: &Answer, exact: &Answer, what: &str) -> bool {
    bed.store.put(&stored.key, damaged).await.unwrap();
    let (rows, degraded) = search(&bed.views(index_bytes_max), "shop", Way::Planned).await;
    if degraded.is_empty() {
        assert_eq!(rows, sound.0, "{what}: not noticed, so it must be without effect");
        return false;
    }
    assert_eq!(rows, exact.0, "{what}: the answer is that of a scan");
    assert!(degraded.len() == 1 && degraded[0].contains(stored.key.as_str()), "{what}: the object is named: {degraded:?}");
    assert!(degraded[0].contains("compared one by one"), "{what}: {degraded:?}");
    true
}

const WHOLE: u64 = 1 << 30;
const LITTLE: u64 = 1;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_byte_and_every_cut_of_an_index_is_found_or_without_effect() {
    let bed = Bed::new(&[("shop", 60)]).await;
    let stored = bed.index_of("shop").await;
    let (sound, exact) = (search(&bed.views(WHOLE), "shop", Way::Planned).await, search(&bed.views(WHOLE), "shop", Way::Exact).await);
    assert_eq!((sound.0.len(), &sound), (LIMIT, &exact), "an index without a graph is exact");
    let is_read = |at: usize| stored.ranges().iter().any(|range| range.contains(&at));
    let (mut noticed, mut harmless) = (0, 0);
    for at in 0..stored.bytes.len() {
        for memory in [WHOLE, LITTLE] {
            let is = is_noticed(&bed, &stored, stored.flipped(at), memory, &sound, &exact, &format!("byte {at}")).await;
            assert_eq!(is, is_read(at), "byte {at} of the object: all that is read is covered by a checksum");
            *(if is { &mut noticed } else { &mut harmless }) += 1;
        }
    }
    let end = stored.ranges().map(|range| range.end).into_iter().max().unwrap();
    for length in 0..stored.bytes.len() {
        let is = is_noticed(&bed, &stored, stored.bytes.slice(..length), WHOLE, &sound, &exact, &format!("cut to {length}")).await;
        assert_eq!(is, length < end, "cut to {length} of {} bytes", stored.bytes.len());
    }
    println!("{} bytes; flips: {noticed} noticed, {harmless} of bytes that no search reads", stored.bytes.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_of_a_graph_is_found_or_without_effect() {
    let bed = Bed::new(&[("shop", GRAPH_ROWS_MIN + 100)]).await;
    let stored = bed.index_of("shop").await;
    let (sound, exact) = (search(&bed.views(WHOLE), "shop", Way::Planned).await, search(&bed.views(WHOLE), "shop", Way::Exact).await);
    let plan = explain(&bed.views(WHOLE), "shop").await;
    assert!(plan.contains("a graph") && sound.0.len() == LIMIT && sound.1.is_empty(), "{plan}");
    let [addresses, index] = stored.ranges();
    // The head and the ends of everything byte by byte; of the rest, two thousand bytes.
    let head = u32::from_le_bytes(stored.bytes[index.start + 12..index.start + 16].try_into().unwrap()) as usize;
    let mut places: Vec<usize> = (index.start..index.start + head).collect();
    places.extend([addresses.start, addresses.end - 1, index.start + head, index.end - 1]);
    let mut random = Random(5);
    places.extend((0..2_000).map(|_| addresses.start + random.next() as usize % (index.end - addresses.start)));
    let (mut noticed, mut harmless) = (0, 0);
    for (turn, at) in places.into_iter().enumerate() {
        let memory = if turn % 4 == 0 { LITTLE } else { WHOLE };
        let is = is_noticed(&bed, &stored, stored.flipped(at), memory, &sound, &exact, &format!("byte {at}")).await;
        assert!(is || memory == LITTLE, "byte {at}: an index that is read whole is checked whole");
        *(if is { &mut noticed } else { &mut harmless }) += 1;
    }
    for _ in 0..100 {
        let length = random.next() as usize % index.end;
        assert!(is_noticed(&bed, &stored, stored.bytes.slice(..length), WHOLE, &sound, &exact, &format!("cut to {length}")).await);
    }
    println!("{} bytes, {head} of the head; flips: {noticed} noticed, {harmless} of blocks that the search did not read", stored.bytes.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_index_or_none_in_its_place_is_no_answer_ns_1() {
    let bed = Bed::new(&[("shop", 60), ("bank", 60)]).await;
    let (stored, other) = (bed.index_of("shop").await, bed.index_of("bank").await);
    let (sound, exact) = (search(&bed.views(WHOLE), "shop", Way::Planned).await, search(&bed.views(WHOLE), "shop", Way::Exact).await);
    assert!(is_noticed(&bed, &stored, other.bytes.clone(), WHOLE, &sound, &exact, "the other namespace's object").await);
    // NS-1: the same rows, field and dimension, sound in itself: only the namespace in its head tells.
    let ([_, own], [_, foreign]) = (stored.ranges(), other.ranges());
    assert_eq!(own.len(), foreign.len());
    let mut mixed = stored.bytes.to_vec();
    mixed[own].copy_from_slice(&other.bytes[foreign]);
    assert!(is_noticed(&bed, &stored, mixed.into(), WHOLE, &sound, &exact, "the other namespace's index").await);
    bed.store.delete(&stored.key).await.unwrap();
    let (rows, degraded) = search(&bed.views(WHOLE), "shop", Way::Planned).await;
    assert!(rows == exact.0 && degraded[0].contains(stored.key.as_str()), "an object that is gone: {degraded:?}");
    let plan = explain(&bed.views(WHOLE), "shop").await;
    assert!(plan.contains("damaged: ") && plan.contains("60 rows that no index has"), "{plan}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_that_comes_while_an_index_is_open_is_found_when_it_is_read() {
    let bed = Bed::new(&[("shop", 60)]).await;
    let stored = bed.index_of("shop").await;
    let views = bed.views(LITTLE);
    let exact = search(&views, "shop", Way::Exact).await;
    assert_eq!(search(&views, "shop", Way::Planned).await, exact);
    // The last bytes are those of full vectors, which are fetched anew.
    bed.store.put(&stored.key, stored.flipped(stored.ranges()[1].end - 1)).await.unwrap();
    for _ in 0..2 {
        let (rows, degraded) = search(&views, "shop", Way::Planned).await;
        assert!(rows == exact.0 && degraded.len() == 1 && degraded[0].contains(stored.key.as_str()), "{degraded:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_index_is_told_of_and_built_anew_by_itself() {
    let bed = Bed::new(&[("shop", 60)]).await;
    let stored = bed.index_of("shop").await;
    let views = bed.indexer.views();
    let exact = search(views, "shop", Way::Exact).await;
    bed.store.put(&stored.key, stored.flipped(stored.ranges()[1].start + 40)).await.unwrap();
    let (rows, degraded) = search(views, "shop", Way::Planned).await;
    assert!(rows == exact.0 && degraded.len() == 1, "{degraded:?}");
    let begun = Instant::now();
    while bed.group.manifest().namespace_by_name("shop").unwrap().vector_indexes.contains_key(&stored.record.id) {
        assert!(begun.elapsed() < BOUND, "the damaged index is still there");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let rebuilt = bed.index_of("shop").await;
    let content = |stored: &Stored| stored.ranges().map(|range| stored.bytes.slice(range));
    assert_eq!(content(&rebuilt), content(&stored), "the same entries give the same index");
    assert_eq!(search(views, "shop", Way::Planned).await, exact, "and nothing more is said of answers");
    while !bed.indexer.problems().latest().iter().any(|problem| problem.contains(stored.key.as_str())) {
        assert!(begun.elapsed() < BOUND, "the status does not tell of it");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_of_a_later_version_is_passed_over_and_left_alone() {
    let bed = Bed::new(&[("shop", 60)]).await;
    let stored = bed.index_of("shop").await;
    let views = bed.indexer.views();
    let exact = search(views, "shop", Way::Exact).await;
    // The version stands behind the magic.
    let mut later = stored.bytes.to_vec();
    later[stored.ranges()[1].start + 8] = 2;
    bed.store.put(&stored.key, later.into()).await.unwrap();
    for _ in 0..2 {
        let (rows, degraded) = search(views, "shop", Way::Planned).await;
        assert!(rows == exact.0 && degraded.len() == 1, "{degraded:?}");
        assert!(degraded[0].contains("of version 2: this program reads up to 1") && !degraded[0].contains("built anew"), "{degraded:?}");
        bed.indexer.settle().await.unwrap();
    }
    assert_eq!(bed.index_of("shop").await.record.id, stored.record.id);
}
