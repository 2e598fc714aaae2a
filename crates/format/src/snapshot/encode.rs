//! From a manifest to root and shards.

use super::directory::{DIRECTORY_NAMESPACES_MIN, StoredDirectory};
use super::stored::{
    StoredBatch, StoredChunk, StoredEntryVectors, StoredEpoch, StoredNamespace, StoredObject, StoredRetired, StoredRoot, StoredShard,
};
use super::{ID_SHARD_BITS, NAMESPACE_SHARDS, OBJECT_SHARD_BITS, SHARD, ShardContent, ShardRef, SnapshotError, SnapshotRoot, skim};
use crate::manifest::{BatchState, IdBlocks, Manifest, ModelRecord, NamespaceManifest, ObjectState, RetiredBatch, RetiredBatches, SettingRecord};
use siltstone_core::NamespaceId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A snapshot's root, and the bytes of shards.
#[derive(Clone, PartialEq, Debug)]
pub struct Encoded {
    /// The root; it names all shards.
    pub root: SnapshotRoot,
    /// The shards that are to be written.
    pub shards: Vec<Shard>,
}

/// A shard and its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Its place and name.
    pub reference: ShardRef,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The snapshot of a manifest, with every shard. Equal manifests have equal bytes.
///
/// # Errors
/// [`SnapshotError::Envelope`] where a part is past 4 GiB.
pub fn encode(manifest: &Manifest) -> Result<Encoded, SnapshotError> {
    encode_shards(manifest, None)
}

/// The snapshot of a manifest, given an earlier one of the same group: shards whose content is the same structure in memory are neither encoded nor
/// among the result's `shards`, only named by its root.
///
/// # Errors
/// As [`encode`].
pub fn encode_changed(manifest: &Manifest, earlier: &Manifest, earlier_root: &SnapshotRoot) -> Result<Encoded, SnapshotError> {
    encode_shards(manifest, Some((earlier, earlier_root)))
}

type Key = (ShardContent, u64);

/// What goes into one shard, by rising id.
enum Members<'a> {
    Namespaces(Vec<&'a Arc<NamespaceManifest>>),
    /// With the retired batches of this number's ids.
    Batches(Vec<&'a Arc<BatchState>>, &'a RetiredBatches, u64),
    Objects(Vec<&'a ObjectState>),
    Vectors(Vec<&'a Arc<NamespaceManifest>>),
    Models(Vec<&'a Arc<ModelRecord>>),
    EntryVectors(Vec<&'a Arc<NamespaceManifest>>),
    Settings(Vec<&'a Arc<SettingRecord>>),
}

fn encode_shards(manifest: &Manifest, earlier: Option<(&Manifest, &SnapshotRoot)>) -> Result<Encoded, SnapshotError> {
    let members_before = earlier.map(|(manifest, _)| members(manifest)).unwrap_or_default();
    let named_before: BTreeMap<Key, ShardRef> =
        earlier.iter().flat_map(|(_, root)| root.shards()).map(|shard| ((shard.content, shard.number), *shard)).collect();
    let has_directories = manifest.namespaces.size() >= DIRECTORY_NAMESPACES_MIN;
    let is_kept = |key: &Key| key.0 != ShardContent::Objects || goes_by_object_bits(&members_before, &named_before);
    let (mut references, mut shards, mut directories) = (Vec::new(), Vec::new(), Vec::new());
    let mut described = Vec::<ShardRef>::new();
    for (key, members) in members(manifest) {
        let directory_key = (ShardContent::Directories, key.1);
        let directory = (key.0 == ShardContent::Namespaces && has_directories).then(|| named_before.get(&directory_key));
        if let (Some(before), Some(&named)) = (members_before.get(&key), named_before.get(&key))
            && directory != Some(None)
            && is_kept(&key)
            && members.is_same(before)
        {
            references.push(named);
            described.extend(directory.flatten());
            continue;
        }
        let shard = shard(key, &members.stored())?;
        references.push(shard.reference);
        if directory.is_some() {
            let directory = StoredShard::Directory(StoredDirectory::of(&skim::namespaces(&shard.bytes)?));
            directories.push(self::shard(directory_key, &directory)?);
            described.extend(directories.last().map(|directory| directory.reference));
        }
        shards.push(shard);
    }
    references.extend(described);
    shards.extend(directories);
    let stored = StoredRoot {
        incarnation: manifest.incarnation,
        life: manifest.lives.number(),
        former_lives: manifest.lives.former().to_vec(),
        version: manifest.version,
        state_time_ms: manifest.state_time_ms,
        counters: manifest.counters,
        epochs: epochs(manifest),
        shards: references,
    };
    Ok(Encoded { root: SnapshotRoot { stored }, shards })
}

fn shard(key: Key, stored: &StoredShard) -> Result<Shard, SnapshotError> {
    let bytes = SHARD.encode(stored)?;
    let reference = ShardRef { content: key.0, number: key.1, hash: *blake3::hash(&bytes).as_bytes(), len: bytes.len() as u64 };
    Ok(Shard { reference, bytes })
}

/// Whether the objects' shards that an earlier root names go by [`OBJECT_SHARD_BITS`]: with fewer bits their last number is greater, unless all
/// objects lie in the first, and then it is the same shard.
fn goes_by_object_bits(members: &BTreeMap<Key, Members<'_>>, named: &BTreeMap<Key, ShardRef>) -> bool {
    let last = |keys: &mut dyn Iterator<Item = &Key>| keys.filter(|key| key.0 == ShardContent::Objects).last().copied();
    last(&mut members.keys()) == last(&mut named.keys())
}

fn members(manifest: &Manifest) -> BTreeMap<Key, Members<'_>> {
    let mut members = BTreeMap::<Key, Members<'_>>::new();
    let batches = |number| Members::Batches(Vec::new(), &manifest.retired_batches, number);
    for (&id, namespace) in &manifest.namespaces {
        let place = members.entry((ShardContent::Namespaces, namespace_shard(id)));
        if let Members::Namespaces(list) = place.or_insert_with(|| Members::Namespaces(Vec::new())) {
            list.push(namespace);
        }
        if !namespace.vectors.is_empty() {
            let place = members.entry((ShardContent::Vectors, namespace_shard(id)));
            if let Members::Vectors(list) = place.or_insert_with(|| Members::Vectors(Vec::new())) {
                list.push(namespace);
            }
        }
        if !namespace.vector_fields.is_empty() {
            let place = members.entry((ShardContent::EntryVectors, namespace_shard(id)));
            if let Members::EntryVectors(list) = place.or_insert_with(|| Members::EntryVectors(Vec::new())) {
                list.push(namespace);
            }
        }
    }
    if !manifest.models.is_empty() {
        members.insert((ShardContent::Models, 0), Members::Models(manifest.models.values().collect()));
    }
    if !manifest.settings.is_empty() {
        members.insert((ShardContent::Settings, 0), Members::Settings(manifest.settings.values().collect()));
    }
    for (id, batch) in &manifest.batches {
        let number = id.0 >> ID_SHARD_BITS;
        if let Members::Batches(list, ..) = members.entry((ShardContent::Batches, number)).or_insert_with(|| batches(number)) {
            list.push(batch);
        }
    }
    for number in manifest.retired_batches.ranges(ID_SHARD_BITS) {
        members.entry((ShardContent::Batches, number)).or_insert_with(|| batches(number));
    }
    for (id, object) in &manifest.objects {
        let place = members.entry((ShardContent::Objects, id.0 >> OBJECT_SHARD_BITS));
        if let Members::Objects(list) = place.or_insert_with(|| Members::Objects(Vec::new())) {
            list.push(object);
        }
    }
    members
}

/// The number of the shard that holds a namespace.
pub(super) fn namespace_shard(id: NamespaceId) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&id.0.to_le_bytes()) % u64::from(NAMESPACE_SHARDS)
}

impl Members<'_> {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Namespaces(left), Self::Namespaces(right))
            | (Self::Vectors(left), Self::Vectors(right))
            | (Self::EntryVectors(left), Self::EntryVectors(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| Arc::ptr_eq(left, right))
            }
            (Self::Batches(left, left_retired, left_number), Self::Batches(right, right_retired, right_number)) => {
                let same = left.len() == right.len() && left.iter().zip(right).all(|(left, right)| Arc::ptr_eq(left, right));
                same && left_number == right_number && left_retired.is_same_in_range(right_retired, ID_SHARD_BITS, *left_number)
            }
            (Self::Objects(left), Self::Objects(right)) => left == right,
            (Self::Models(left), Self::Models(right)) => left == right,
            (Self::Settings(left), Self::Settings(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| Arc::ptr_eq(left, right))
            }
            _ => false,
        }
    }

    fn stored(&self) -> StoredShard {
        match self {
            Self::Namespaces(list) => StoredShard::Namespaces(list.iter().map(|namespace| stored_namespace(namespace)).collect()),
            Self::Vectors(list) => {
                let sets = |namespace: &NamespaceManifest| namespace.vectors.values().map(|set| set.as_ref().clone()).collect();
                StoredShard::Vectors(list.iter().map(|namespace| (namespace.id, sets(namespace))).collect())
            }
            Self::EntryVectors(list) => StoredShard::EntryVectors(list.iter().map(|namespace| stored_entry_vectors(namespace)).collect()),
            Self::Models(list) => StoredShard::Models(list.iter().map(|model| model.as_ref().clone()).collect()),
            Self::Settings(list) => StoredShard::Settings(list.iter().map(|setting| setting.as_ref().clone()).collect()),
            Self::Batches(live, retired, number) => {
                let retired = stored_retired(retired.in_range(ID_SHARD_BITS, *number));
                StoredShard::Batches(live.iter().map(|batch| stored_batch(batch)).collect(), retired)
            }
            Self::Objects(list) => {
                StoredShard::Objects(list.iter().map(|object| StoredObject { record: object.record, retired_at_ms: object.retired_at_ms }).collect())
            }
        }
    }
}

fn stored_namespace(namespace: &NamespaceManifest) -> StoredNamespace {
    let chunks = namespace.chunks.iter().map(|(&id, chunk)| StoredChunk {
        id,
        writer: chunk.writer,
        epoch: chunk.epoch,
        state: chunk.state,
        next_offset: chunk.next_offset,
        opened_at_ms: chunk.opened_at_ms,
        body_bytes: chunk.body_bytes,
        slices: chunk.slices.iter().copied().collect(),
    });
    StoredNamespace {
        id: namespace.id,
        name: namespace.name.to_string(),
        created_at_ms: namespace.created_at_ms,
        chunks: chunks.collect(),
        packs: namespace.packs.values().map(|pack| pack.as_ref().clone()).collect(),
        segments: namespace.segments.values().map(|segment| segment.as_ref().clone()).collect(),
        producers: namespace.producers.iter().map(|(key, state)| (key.clone(), *state)).collect(),
    }
}

fn stored_entry_vectors(namespace: &NamespaceManifest) -> StoredEntryVectors {
    StoredEntryVectors {
        namespace: namespace.id,
        fields: namespace.vector_fields.values().map(|field| field.as_ref().clone()).collect(),
        indexes: namespace.vector_indexes.values().map(|index| index.as_ref().clone()).collect(),
    }
}

fn stored_batch(batch: &BatchState) -> StoredBatch {
    StoredBatch { record: batch.record, slices: batch.slices, duplicates: batch.duplicates.to_vec() }
}

fn stored_retired<'a>(retired: impl Iterator<Item = RetiredBatch<'a>>) -> StoredRetired {
    let mut stored = StoredRetired::default();
    let (mut id_before, mut at_before) = (0, 0);
    for batch in retired {
        stored.ids.push(batch.id.0 - id_before);
        stored.epochs.push(batch.epoch);
        stored.at_ms.push(batch.at_ms.wrapping_sub(at_before));
        stored.footer_crcs.push(batch.footer_crc32c);
        if !batch.duplicates.is_empty() {
            stored.duplicates.push((batch.id, batch.duplicates.to_vec()));
        }
        (id_before, at_before) = (batch.id.0, batch.at_ms);
    }
    stored
}

fn epochs(manifest: &Manifest) -> Vec<StoredEpoch> {
    let blocks = |ids: &IdBlocks| ids.iter().collect();
    let stored = manifest.epochs.iter().map(|(&epoch, record)| StoredEpoch {
        epoch,
        owner: record.owner.clone(),
        registered_at_ms: record.registered_at_ms,
        chunk_ids: blocks(&record.chunk_ids),
        ids: blocks(&record.ids),
    });
    stored.collect()
}
