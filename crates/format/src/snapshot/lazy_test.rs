//! Parts of a snapshot are what the whole says of them, and no more is read for them than they need.

use super::*;
use crate::manifest::{
    BatchRecord, BatchState, ByteRange, CheckedRange, ChunkRecord, ChunkState, EpochOwner, EpochRecord, IdBlocks, Map, ModelRecord, ModelState,
    NamespaceManifest, ObjectRecord, ObjectState, PackChunk, PackChunks, PackRecord, SettingRecord, SliceRef, VectorSetRecord,
};
use crate::snapshot::{DIRECTORY_NAMESPACES_MIN, Encoded, Shard, assemble, encode, encode_changed};
use siltstone_core::{ChunkId, CommitIndex, Epoch, Incarnation, ModelId, PackId, VectorSetId, WriterId};
use std::sync::Arc;

const CHECKED: CheckedRange = CheckedRange { offset: 100, len: 50, crc32c: 7 };

/// Namespaces with a pack each; every 50th has an open chunk, every 75th has vectors.
fn manifest(namespaces: u32) -> Manifest {
    let mut manifest = Manifest { incarnation: Incarnation(1), version: CommitIndex(9), ..Manifest::default() };
    (manifest.counters.namespace, manifest.counters.chunk, manifest.counters.id, manifest.counters.epoch) = (1 << 20, 1 << 20, 1 << 24, 5);
    let model = ModelRecord { id: ModelId::new("m").unwrap(), dimension: 8, source: String::new(), state: ModelState::Serving, added_at_ms: 5 };
    manifest.models.insert_mut(model.id.clone(), Arc::new(model));
    let setting = SettingRecord { key: "limit".into(), value: b"5".to_vec(), changed_at: CommitIndex(2) };
    manifest.settings.insert_mut(setting.key.as_str().into(), Arc::new(setting));
    for id in 1..=namespaces {
        // Two objects' shards by id, which with fewer bits were two others.
        let object = ObjectId(5_000_000 * (1 + u64::from(id % 2)));
        let mut namespace = NamespaceManifest::new(NamespaceId(id), format!("cluster/ns-{id}").into(), 5);
        let chunk =
            |chunk: u64| PackChunk { chunk: ChunkId(chunk), rows: 3, end_offset: 3, timestamp_min_ns: 1, timestamp_max_ns: 2, body_bytes: 30 };
        let chunks = PackChunks::new(&[chunk(u64::from(id) * 10), chunk(u64::from(id) * 10 + 1)]).unwrap();
        let range = ByteRange { offset: 0, len: 200 };
        let pack = PackRecord { id: PackId(u64::from(id)), object, range, footer: CHECKED, chunks };
        namespace.packs.insert_mut(pack.id, Arc::new(pack));
        if id % 50 == 0 {
            let slice = |batch: u64, first_offset: u16| SliceRef {
                batch: BatchId(20_000 + batch),
                range: CHECKED,
                first_offset,
                rows: 2,
                timestamp_min_ns: 1,
                timestamp_max_ns: 2,
            };
            let record = ChunkRecord {
                writer: WriterId(1),
                epoch: Epoch(1),
                state: ChunkState::Open,
                next_offset: 4,
                rows: 4,
                opened_at_ms: 5,
                timestamp_min_ns: 1,
                timestamp_max_ns: 2,
                body_bytes: 40,
                slices: [slice(u64::from(id), 0), slice(1, 2)].into_iter().collect(),
            };
            namespace.chunks.insert_mut(ChunkId(u64::from(id) * 10 + 5), Arc::new(record));
        }
        if id % 75 == 0 {
            let (id, model) = (VectorSetId(u64::from(id) + 100_000), ModelId::new("m").unwrap());
            let set = VectorSetRecord { id, object, model, dimension: 8, patterns: 3, range: CHECKED };
            namespace.vectors.insert_mut(id, Arc::new(set));
        }
        manifest.namespaces.insert_mut(namespace.id, Arc::new(namespace));
    }
    counted(manifest)
}

/// With everything that follows from the namespaces.
fn counted(mut manifest: Manifest) -> Manifest {
    let (mut batches, mut objects, mut open) = (BTreeMap::<_, u32>::new(), BTreeMap::<_, u32>::new(), Map::new_sync());
    (manifest.totals, manifest.names, manifest.unsealed) = Default::default();
    for id in manifest.namespaces.keys().copied().collect::<Vec<_>>() {
        let namespace = Arc::make_mut(manifest.namespaces.get_mut(&id).unwrap());
        namespace.totals = namespace.count_totals();
        manifest.totals.add(&namespace.totals);
        manifest.names.insert_mut(namespace.name.clone(), id);
        for (&chunk, record) in &namespace.chunks {
            manifest.unsealed.insert_mut(id);
            open.insert_mut(chunk, id);
            record.slices.iter().for_each(|slice| *batches.entry(slice.batch).or_default() += 1);
        }
        namespace.packs.values().for_each(|pack| *objects.entry(pack.object).or_default() += 1);
        namespace.vectors.values().for_each(|set| *objects.entry(set.object).or_default() += 1);
    }
    (manifest.batches, manifest.objects) = (Map::new_sync(), Map::new_sync());
    for (id, live_slices) in batches {
        let record = BatchRecord { id, epoch: Epoch(1), len_bytes: 500, footer: CHECKED };
        manifest.batches.insert_mut(id, Arc::new(BatchState { record, live_slices, slices: 100, duplicates: Box::default() }));
    }
    for (id, parts) in objects {
        let record = ObjectRecord { id, epoch: Epoch(1), len_bytes: 500, footer: CHECKED };
        manifest.objects.insert_mut(id, ObjectState { record, parts, retired_at_ms: None });
    }
    let owner = EpochOwner::Writer(WriterId(1));
    let epoch = EpochRecord { owner, registered_at_ms: 5, chunk_ids: IdBlocks::default(), ids: IdBlocks::default(), open_chunks: open };
    manifest.epochs.insert_mut(Epoch(1), Arc::new(epoch));
    manifest.writers.insert_mut(WriterId(1), Epoch(1));
    manifest
}

/// The manifest with the wanted namespaces alone.
fn restricted(manifest: &Manifest, wanted: &BTreeSet<NamespaceId>) -> Manifest {
    let mut part = manifest.clone();
    for id in manifest.namespaces.keys().filter(|id| !wanted.contains(id)) {
        part.namespaces.remove_mut(id);
    }
    counted(part)
}

type Reads = Vec<(ShardContent, usize)>;

/// Shards in memory. Notes what is read, and changes it first if told to.
struct Source<'a> {
    encoded: &'a Encoded,
    reads: Reads,
    change: fn(&ShardRef, &mut Vec<u8>),
}

impl Source<'_> {
    fn read(&mut self, shard: &ShardRef, range: Option<Range<u64>>) -> Result<Vec<u8>, SnapshotError> {
        let mut bytes = self.encoded.shards.iter().find(|other| other.reference == *shard).expect("it is named").bytes.clone();
        (self.change)(shard, &mut bytes);
        let bytes = range.map_or(bytes.clone(), |range| bytes[range.start as usize..range.end as usize].to_vec());
        self.reads.push((shard.content, bytes.len()));
        Ok(bytes)
    }
}

fn ids(ids: impl IntoIterator<Item = u32>) -> BTreeSet<NamespaceId> {
    ids.into_iter().map(NamespaceId).collect()
}

/// The part of these namespaces, and what was read to open the snapshot, then for the part.
fn read_part(
    encoded: &Encoded,
    wanted: &BTreeSet<NamespaceId>,
    change: fn(&ShardRef, &mut Vec<u8>),
) -> Result<(Manifest, Reads, Reads), SnapshotError> {
    let mut source = Source { encoded, reads: Vec::new(), change };
    let snapshot = LazySnapshot::open(encoded.root.clone(), |shard, range| source.read(shard, range))?;
    let opened = std::mem::take(&mut source.reads);
    let part = snapshot.part(wanted, |shard, range| source.read(shard, range))?;
    Ok((part, opened, source.reads))
}

#[test]
fn a_part_is_what_the_whole_says_of_its_namespaces() {
    for namespaces in [200, 2_000] {
        let manifest = manifest(namespaces);
        let encoded = encode(&manifest).unwrap();
        assert_eq!(encoded.root.shard(ShardContent::Directories, 0).is_some(), namespaces as usize >= DIRECTORY_NAMESPACES_MIN);
        assert_eq!(assemble(&encoded.root, encoded.shards.iter().map(|shard| shard.bytes.as_slice())).unwrap(), manifest);
        for wanted in [ids([]), ids([7]), ids([50, 75, 100, 150, 199]), ids(1..=namespaces), ids([3, 1 << 19])] {
            let (part, ..) = read_part(&encoded, &wanted, |_, _| {}).unwrap();
            assert_eq!(part, restricted(&manifest, &wanted), "{} of {namespaces} namespaces", wanted.len());
        }
    }
}

#[test]
fn all_names_are_known_whatever_was_read() {
    let manifest = manifest(1_500);
    let encoded = encode(&manifest).unwrap();
    let mut source = Source { encoded: &encoded, reads: Vec::new(), change: |_, _| {} };
    let snapshot = LazySnapshot::open(encoded.root.clone(), |shard, range| source.read(shard, range)).unwrap();
    assert!(
        snapshot
            .namespaces()
            .map(|(id, name)| (id, name.to_owned()))
            .eq(manifest.namespaces.values().map(|space| (space.id, space.name.to_string())))
    );
    assert!(source.reads.iter().all(|(content, _)| *content == ShardContent::Directories), "{:?}", source.reads);
}

#[test]
fn a_part_reads_its_namespaces_bytes_and_what_they_name() {
    let encoded = encode(&manifest(2_000)).unwrap();
    let (_, opened, reads) = read_part(&encoded, &ids([7]), |_, _| {}).unwrap();
    assert_eq!(opened.len(), 64);
    let mut contents: Vec<_> = reads.iter().map(|(content, _)| *content).collect();
    contents.retain(|content| *content != ShardContent::Vectors);
    let expected = [ShardContent::Namespaces, ShardContent::Objects, ShardContent::Models, ShardContent::Settings];
    assert_eq!(contents, expected, "it names no batch, and one of two objects");
    let shard = encoded.root.shards().iter().find(|shard| shard.content == ShardContent::Namespaces).unwrap();
    assert!(reads[0].1 * 20 < shard.len as usize, "{} of {} bytes are read", reads[0].1, shard.len);
    let (_, _, reads) = read_part(&encoded, &ids([50, 51]), |_, _| {}).unwrap();
    let of = |content| reads.iter().filter(|(other, _)| *other == content).count();
    assert_eq!((of(ShardContent::Namespaces), of(ShardContent::Batches), of(ShardContent::Objects)), (2, 1, 2));
}

#[test]
fn a_part_of_other_bytes_is_refused() {
    let (encoded, wanted) = (encode(&manifest(2_000)).unwrap(), ids([50, 75]));
    let changes: [fn(&ShardRef, &mut Vec<u8>); 7] = [
        |shard, bytes| flip(shard, ShardContent::Namespaces, bytes),
        |shard, bytes| flip(shard, ShardContent::Directories, bytes),
        |shard, bytes| flip(shard, ShardContent::Objects, bytes),
        |shard, bytes| flip(shard, ShardContent::Batches, bytes),
        |shard, bytes| flip(shard, ShardContent::Models, bytes),
        |shard, bytes| flip(shard, ShardContent::Vectors, bytes),
        |shard, bytes| {
            if shard.content == ShardContent::Directories {
                bytes.push(0)
            }
        },
    ];
    for (position, change) in changes.into_iter().enumerate() {
        let error = read_part(&encoded, &wanted, change).expect_err("its bytes are others");
        assert!(matches!(error, SnapshotError::WrongShard { .. }), "{position}: {error}");
    }
}

fn flip(shard: &ShardRef, content: ShardContent, bytes: &mut [u8]) {
    if shard.content == content {
        bytes.iter_mut().for_each(|byte| *byte ^= 1);
    }
}

#[test]
fn a_directory_that_does_not_describe_its_shard_is_refused() {
    let mut encoded = encode(&manifest(2_000)).unwrap();
    let position = encoded.shards.iter().position(|shard| shard.reference.content == ShardContent::Directories).unwrap();
    let StoredShard::Directory(mut directory) = SHARD.decode(&encoded.shards[position].bytes).unwrap() else { panic!("it is one") };
    directory.places.swap(0, 1);
    let bytes = SHARD.encode(&StoredShard::Directory(directory)).unwrap();
    let reference = ShardRef { hash: *blake3::hash(&bytes).as_bytes(), len: bytes.len() as u64, ..encoded.shards[position].reference };
    encoded.root.stored.shards.iter_mut().filter(|shard| **shard == encoded.shards[position].reference).for_each(|shard| *shard = reference);
    encoded.shards[position] = Shard { reference, bytes };
    let error = assemble(&encoded.root, encoded.shards.iter().map(|shard| shard.bytes.as_slice())).unwrap_err();
    assert!(matches!(error, SnapshotError::Inconsistent { .. }), "{error}");
    let number = reference.number;
    let wanted = ids((1..=2_000).filter(|&id| namespace_shard(NamespaceId(id)) == number));
    let error = read_part(&encoded, &wanted, |_, _| {}).unwrap_err();
    assert!(matches!(error, SnapshotError::WrongShard { .. }), "{error}");
}

#[test]
fn a_directory_is_written_again_with_its_shard_alone() {
    let earlier = manifest(2_000);
    let first = encode(&earlier).unwrap();
    assert_eq!(encode_changed(&earlier.clone(), &earlier, &first.root).unwrap(), Encoded { root: first.root.clone(), shards: vec![] });
    let mut later = earlier.clone();
    Arc::make_mut(later.namespaces.get_mut(&NamespaceId(7)).unwrap()).created_at_ms = 6;
    let changed = encode_changed(&later, &earlier, &first.root).unwrap();
    assert_eq!(changed.root, encode(&later).unwrap().root);
    let contents: Vec<_> = changed.shards.iter().map(|shard| shard.reference.content).collect();
    assert_eq!(contents, [ShardContent::Namespaces, ShardContent::Directories]);

    // The first directories, and the last ones.
    let (few, many) = (manifest(DIRECTORY_NAMESPACES_MIN as u32 - 1), manifest(DIRECTORY_NAMESPACES_MIN as u32));
    for (earlier, later) in [(&few, &many), (&many, &few)] {
        let changed = encode_changed(later, earlier, &encode(earlier).unwrap().root).unwrap();
        assert_eq!(changed.root, encode(later).unwrap().root);
    }
}

/// As a program before [`OBJECT_SHARD_BITS`] wrote it.
fn with_fewer_object_bits(manifest: &Manifest) -> Encoded {
    let mut encoded = encode(manifest).unwrap();
    let (mut references, mut shards) = (Vec::new(), Vec::new());
    for shard in encoded.shards {
        let StoredShard::Objects(list) = SHARD.decode(&shard.bytes).unwrap() else {
            references.push(shard.reference);
            shards.push(shard);
            continue;
        };
        for object in list {
            let number = object.record.id.0 >> ID_SHARD_BITS;
            let bytes = SHARD.encode(&StoredShard::Objects(vec![object])).unwrap();
            let reference = ShardRef { content: ShardContent::Objects, number, hash: *blake3::hash(&bytes).as_bytes(), len: bytes.len() as u64 };
            references.push(reference);
            shards.push(Shard { reference, bytes });
        }
    }
    encoded.root.stored.shards = references;
    Encoded { root: encoded.root, shards }
}

#[test]
fn objects_in_shards_of_fewer_ids_are_still_read() {
    let manifest = manifest(200);
    let old = with_fewer_object_bits(&manifest);
    assert_eq!(assemble(&old.root, old.shards.iter().map(|shard| shard.bytes.as_slice())).unwrap(), manifest);
    let wanted = ids([50, 75, 80]);
    assert_eq!(read_part(&old, &wanted, |_, _| {}).unwrap().0, restricted(&manifest, &wanted));
    let changed = encode_changed(&manifest.clone(), &manifest, &old.root).unwrap();
    assert_eq!(changed.root, encode(&manifest).unwrap().root);
    assert!(changed.shards.iter().all(|shard| shard.reference.content == ShardContent::Objects) && !changed.shards.is_empty());
}
