//! From root and shards to a manifest. Everything that follows from other parts is counted anew, and what does not fit is refused.

use super::directory::StoredDirectory;
use super::encode::namespace_shard;
use super::stored::{
    StoredBatch, StoredChunk, StoredEntryVectors, StoredEpoch, StoredNamespace, StoredObject, StoredRetired, StoredRoot, StoredShard,
};
use super::{ID_SHARD_BITS, OBJECT_SHARD_BITS, SHARD, ShardContent, ShardRef, SnapshotError, SnapshotRoot, skim};
use crate::manifest::{
    BatchState, ChunkRecord, ChunkState, EpochOwner, EpochRecord, IdBlocks, Lives, Manifest, Map, ModelRecord, ModelState, NamespaceManifest,
    ObjectState, RetiredBatch, SETTING_KEY_LEN_MAX, SETTING_VALUE_LEN_MAX, SettingRecord, VectorSetRecord, is_namespace_name,
};
use crate::vectors::DIMENSION_MAX;
use siltstone_core::{BatchId, CHUNK_ROWS_MAX, ChunkId, CommitIndex, Epoch, NamespaceId, ObjectId, address::CHUNK_ID_MAX};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The manifest of a root and its shards' bytes, given in the root's order.
///
/// # Errors
/// [`SnapshotError`] where a shard is not the one that the root names, or the parts do not fit each other; never a panic.
pub fn assemble<'a>(root: &SnapshotRoot, shards: impl IntoIterator<Item = &'a [u8]>) -> Result<Manifest, SnapshotError> {
    let mut builder = Builder::new(&root.stored)?;
    let mut shards = shards.into_iter();
    let (mut namespaces, mut vectors, mut entry_vectors) = (Vec::new(), Vec::new(), Vec::new());
    let mut before: Option<(ShardContent, u64)> = None;
    let mut described = BTreeMap::new();
    for reference in root.shards() {
        let place = (reference.content, reference.number);
        ensure(before.is_none_or(|before| before < place), || format!("shard {reference} is out of order"))?;
        before = Some(place);
        let bytes = shards.next().ok_or(SnapshotError::WrongShard { shard: *reference })?;
        reference.check(bytes)?;
        match (reference.content, SHARD.decode(bytes)?) {
            (ShardContent::Namespaces, StoredShard::Namespaces(list)) => {
                described.insert(reference.number, bytes);
                namespaces.push((reference, list));
            }
            (ShardContent::Batches, StoredShard::Batches(live, retired)) => {
                live.into_iter().try_for_each(|batch| builder.batch(reference, batch))?;
                builder.retired(reference, &retired)?;
            }
            (ShardContent::Objects, StoredShard::Objects(list)) => list.into_iter().try_for_each(|object| builder.object(reference, &object))?,
            (ShardContent::Vectors, StoredShard::Vectors(list)) => vectors.push((reference, list)),
            (ShardContent::Models, StoredShard::Models(list)) => list.into_iter().try_for_each(|model| builder.model(reference, model))?,
            (ShardContent::EntryVectors, StoredShard::EntryVectors(list)) => entry_vectors.push((reference, list)),
            (ShardContent::Settings, StoredShard::Settings(list)) => list.into_iter().try_for_each(|setting| builder.setting(reference, setting))?,
            (ShardContent::Directories, StoredShard::Directory(directory)) => {
                let described = described.get(&reference.number).map(|bytes| skim::namespaces(bytes)).transpose()?.unwrap_or_default();
                ensure(StoredDirectory::of(&described) == directory, || format!("shard {reference} does not describe its namespaces"))?;
            }
            _ => return Err(SnapshotError::WrongShard { shard: *reference }),
        }
    }
    // Namespaces name batches and objects, so these come last.
    for (reference, list) in namespaces {
        list.into_iter().try_for_each(|namespace| builder.namespace(reference, namespace))?;
    }
    for (reference, list) in vectors {
        list.into_iter().try_for_each(|(namespace, sets)| builder.vectors(reference, namespace, sets))?;
    }
    for (reference, list) in entry_vectors {
        list.into_iter().try_for_each(|stored| builder.entry_vectors(reference, stored))?;
    }
    builder.finish()
}

/// A manifest that grows. Batches, objects and models come before namespaces, and these before vectors.
pub(super) struct Builder {
    manifest: Manifest,
    epochs: BTreeMap<Epoch, EpochRecord>,
    batches: BTreeMap<BatchId, BatchState>,
    objects: BTreeMap<ObjectId, ObjectState>,
    unsealed: BTreeSet<ChunkId>,
}

fn ensure(holds: bool, detail: impl FnOnce() -> String) -> Result<(), SnapshotError> {
    if holds { Ok(()) } else { Err(SnapshotError::Inconsistent { detail: detail() }) }
}

impl Builder {
    pub(super) fn new(root: &StoredRoot) -> Result<Self, SnapshotError> {
        let manifest = Manifest {
            incarnation: root.incarnation,
            lives: lives(root)?,
            version: root.version,
            state_time_ms: root.state_time_ms,
            counters: root.counters,
            ..Manifest::default()
        };
        let mut builder = Self { manifest, epochs: BTreeMap::new(), batches: BTreeMap::new(), objects: BTreeMap::new(), unsealed: BTreeSet::new() };
        root.epochs.iter().try_for_each(|epoch| builder.epoch(epoch))?;
        Ok(builder)
    }

    fn epoch(&mut self, stored: &StoredEpoch) -> Result<(), SnapshotError> {
        let (epoch, counters) = (stored.epoch, self.manifest.counters);
        let record = EpochRecord {
            owner: stored.owner.clone(),
            registered_at_ms: stored.registered_at_ms,
            chunk_ids: blocks(&stored.chunk_ids, counters.chunk)?,
            ids: blocks(&stored.ids, counters.id)?,
            open_chunks: Map::new_sync(),
        };
        let is_new = self.epochs.insert(epoch, record).is_none();
        let owned_twice = match &stored.owner {
            EpochOwner::Writer(writer) => {
                let known = self.manifest.writers.contains_key(writer);
                self.manifest.writers.insert_mut(*writer, epoch);
                known
            }
            EpochOwner::Job(name) => {
                let known = self.manifest.jobs.contains_key(name.as_str());
                self.manifest.jobs.insert_mut(name.as_str().into(), epoch);
                known
            }
        };
        let is_given = epoch.0 != 0 && epoch.0 < counters.epoch && !self.manifest.is_of_former_life(epoch);
        ensure(is_new && !owned_twice && is_given, || format!("EP-1: epoch {epoch} cannot be alive"))
    }

    pub(super) fn batch(&mut self, shard: &ShardRef, stored: StoredBatch) -> Result<(), SnapshotError> {
        let id = stored.record.id;
        let fits = rises(&stored.duplicates) && stored.duplicates.last().is_none_or(|&last| last < stored.slices);
        let state = BatchState { record: stored.record, live_slices: 0, slices: stored.slices, duplicates: stored.duplicates.into() };
        let is_new = self.batches.insert(id, state).is_none();
        ensure(is_new && fits && self.is_in_place(shard, id), || format!("batch {id} cannot be in shard {shard}"))
    }

    fn retired(&mut self, shard: &ShardRef, stored: &StoredRetired) -> Result<(), SnapshotError> {
        let is_even = [stored.epochs.len(), stored.at_ms.len(), stored.footer_crcs.len()].iter().all(|&len| len == stored.ids.len());
        ensure(is_even, || format!("the columns of shard {shard} are not of one length"))?;
        let mut duplicates = stored.duplicates.iter().peekable();
        let (mut before, mut at_ms) = (BatchId(0), 0_i64);
        for (position, &delta) in stored.ids.iter().enumerate() {
            let (epoch, footer_crc32c) = (stored.epochs[position], stored.footer_crcs[position]);
            let id = BatchId(before.0.checked_add(delta).filter(|&id| id > before.0).unwrap_or(0));
            at_ms = at_ms.wrapping_add(stored.at_ms[position]);
            let positions = duplicates.next_if(|(other, _)| *other == id).map_or(&[][..], |(_, positions)| positions);
            let is_new = !self.batches.contains_key(&id) && id.0 != 0;
            ensure(is_new && rises(positions) && self.is_in_place(shard, id), || format!("MF-1: batch {id} cannot be retired in shard {shard}"))?;
            self.manifest.retired_batches.insert(RetiredBatch { id, epoch, at_ms, footer_crc32c, duplicates: positions });
            before = id;
        }
        ensure(duplicates.next().is_none(), || format!("shard {shard} has duplicates of batches that are not retired"))
    }

    fn is_in_place(&self, shard: &ShardRef, id: BatchId) -> bool {
        id.0 >> ID_SHARD_BITS == shard.number && id.0 < self.manifest.counters.id
    }

    pub(super) fn object(&mut self, shard: &ShardRef, stored: &StoredObject) -> Result<(), SnapshotError> {
        let id = stored.record.id;
        let state = ObjectState { record: stored.record, parts: 0, retired_at_ms: stored.retired_at_ms };
        if state.retired_at_ms.is_some() {
            self.manifest.retired_objects.insert_mut(id);
        }
        let is_new = self.objects.insert(id, state).is_none();
        let in_place = [OBJECT_SHARD_BITS, ID_SHARD_BITS].iter().any(|bits| id.0 >> bits == shard.number) && id.0 < self.manifest.counters.id;
        ensure(is_new && in_place, || format!("object {id} cannot be in shard {shard}"))
    }

    pub(super) fn namespace(&mut self, shard: &ShardRef, stored: StoredNamespace) -> Result<(), SnapshotError> {
        let (id, name) = (stored.id, Arc::<str>::from(stored.name));
        let in_place = namespace_shard(id) == shard.number && id.0 != 0 && id.0 < self.manifest.counters.namespace;
        let is_new = !self.manifest.namespaces.contains_key(&id) && !self.manifest.names.contains_key(&name);
        ensure(in_place && is_new && is_namespace_name(&name), || format!("namespace {id} ({name:?}) cannot be in shard {shard}"))?;
        let mut namespace = NamespaceManifest::new(id, name.clone(), stored.created_at_ms);
        for chunk in stored.chunks {
            let (chunk_id, record) = (chunk.id, self.chunk(&namespace, chunk)?);
            namespace.chunks.insert_mut(chunk_id, Arc::new(record));
        }
        for pack in stored.packs {
            self.part(pack.object, pack.id.0)?;
            namespace.packs.insert_mut(pack.id, Arc::new(pack));
        }
        for segment in stored.segments {
            self.part(segment.object, segment.id.0)?;
            namespace.segments.insert_mut(segment.id, Arc::new(segment));
        }
        for (key, state) in stored.producers {
            ensure(state.window & 1 == 1, || format!("AK-2: a producer of namespace {id} has accepted nothing"))?;
            namespace.producers.insert_mut(key, state);
        }
        namespace.totals = namespace.count_totals();
        self.manifest.totals.add(&namespace.totals);
        if !namespace.chunks.is_empty() {
            self.manifest.unsealed.insert_mut(id);
        }
        self.manifest.names.insert_mut(name, id);
        self.manifest.namespaces.insert_mut(id, Arc::new(namespace));
        Ok(())
    }

    pub(super) fn model(&mut self, shard: &ShardRef, model: ModelRecord) -> Result<(), SnapshotError> {
        let serves_twice = model.state == ModelState::Serving && self.manifest.serving_model().is_some();
        let is_new = !self.manifest.models.contains_key(&model.id) && shard.number == 0;
        let is_sound = (1..=DIMENSION_MAX).contains(&usize::from(model.dimension));
        ensure(is_new && is_sound && !serves_twice, || format!("model {} cannot be in shard {shard}", model.id))?;
        self.manifest.models.insert_mut(model.id.clone(), Arc::new(model));
        Ok(())
    }

    pub(super) fn setting(&mut self, shard: &ShardRef, setting: SettingRecord) -> Result<(), SnapshotError> {
        let is_new = !self.manifest.settings.contains_key(setting.key.as_str()) && shard.number == 0;
        let is_sound = (1..=SETTING_KEY_LEN_MAX).contains(&setting.key.len()) && setting.value.len() <= SETTING_VALUE_LEN_MAX;
        let is_past = setting.changed_at != CommitIndex(0) && setting.changed_at <= self.manifest.version;
        ensure(is_new && is_sound && is_past, || format!("setting {:?} cannot be in shard {shard}", setting.key))?;
        self.manifest.settings.insert_mut(setting.key.as_str().into(), Arc::new(setting));
        Ok(())
    }

    /// After all namespaces, objects and models.
    pub(super) fn vectors(&mut self, shard: &ShardRef, id: NamespaceId, sets: Vec<VectorSetRecord>) -> Result<(), SnapshotError> {
        let bad = || SnapshotError::Inconsistent { detail: format!("the vectors of namespace {id} cannot be in shard {shard}") };
        let namespace = self.manifest.namespaces.get(&id).filter(|_| namespace_shard(id) == shard.number && !sets.is_empty());
        let mut namespace = NamespaceManifest::clone(namespace.filter(|namespace| namespace.vectors.is_empty()).ok_or_else(bad)?);
        for set in sets {
            self.part(set.object, set.id.0)?;
            let fits = self.manifest.models.get(&set.model).is_some_and(|model| model.dimension == set.dimension);
            let is_new = set.id.0 < self.manifest.counters.id && !namespace.vectors.contains_key(&set.id);
            ensure(is_new && fits && set.patterns != 0, || format!("VE-1: vector set {} cannot be in namespace {id}", set.id))?;
            namespace.totals.add_vectors(&set);
            self.manifest.totals.add_vectors(&set);
            namespace.vectors.insert_mut(set.id, Arc::new(set));
        }
        self.manifest.namespaces.insert_mut(id, Arc::new(namespace));
        Ok(())
    }

    /// After all namespaces and objects.
    pub(super) fn entry_vectors(&mut self, shard: &ShardRef, stored: StoredEntryVectors) -> Result<(), SnapshotError> {
        let id = stored.namespace;
        let bad = || format!("the vector fields or indexes of namespace {id} cannot be in shard {shard}");
        let namespace = self.manifest.namespaces.get(&id).filter(|_| namespace_shard(id) == shard.number && !stored.fields.is_empty());
        let namespace = namespace.filter(|namespace| namespace.vector_fields.is_empty());
        let mut namespace = NamespaceManifest::clone(namespace.ok_or_else(|| SnapshotError::Inconsistent { detail: bad() })?);
        for field in stored.fields {
            let is_sound = (1..=DIMENSION_MAX).contains(&usize::from(field.dimension)) && !field.name.is_empty();
            ensure(is_sound && !namespace.vector_fields.contains_key(field.name.as_str()), bad)?;
            namespace.vector_fields.insert_mut(field.name.as_str().into(), Arc::new(field));
        }
        let mut covered = BTreeSet::new();
        for index in stored.indexes {
            self.part(index.object, index.id.0)?;
            let is_of_field = namespace.vector_fields.get(index.field.as_str()).is_some_and(|field| field.dimension == index.dimension);
            let is_new = index.id.0 < self.manifest.counters.id && !namespace.vector_indexes.contains_key(&index.id);
            let is_first = index.chunks.iter().all(|chunk| covered.insert((index.field.clone(), chunk)));
            ensure(is_new && is_of_field && is_first && index.vectors != 0, bad)?;
            namespace.vector_indexes.insert_mut(index.id, Arc::new(index));
        }
        self.manifest.namespaces.insert_mut(id, Arc::new(namespace));
        Ok(())
    }

    fn chunk(&mut self, namespace: &NamespaceManifest, stored: StoredChunk) -> Result<ChunkRecord, SnapshotError> {
        let id = stored.id;
        let bad = || format!("RA-1: chunk {id} of namespace {} has slices, an id or an end that cannot be", namespace.id);
        let is_new = self.unsealed.insert(id) && id.0 <= CHUNK_ID_MAX && id.0 < self.manifest.counters.chunk;
        ensure(is_new && usize::from(stored.next_offset) <= CHUNK_ROWS_MAX, bad)?;
        let mut record = ChunkRecord {
            writer: stored.writer,
            epoch: stored.epoch,
            state: stored.state,
            next_offset: stored.next_offset,
            rows: 0,
            opened_at_ms: stored.opened_at_ms,
            timestamp_min_ns: i64::MAX,
            timestamp_max_ns: i64::MIN,
            body_bytes: stored.body_bytes,
            slices: stored.slices.iter().copied().collect(),
        };
        let mut end = 0;
        for slice in &stored.slices {
            let slice_end = slice.first_offset.checked_add(slice.rows).filter(|&end| end <= stored.next_offset);
            ensure(slice.first_offset >= end && slice.rows != 0 && slice.timestamp_min_ns <= slice.timestamp_max_ns, bad)?;
            end = slice_end.ok_or_else(|| SnapshotError::Inconsistent { detail: bad() })?;
            record.rows += slice.rows;
            record.timestamp_min_ns = record.timestamp_min_ns.min(slice.timestamp_min_ns);
            record.timestamp_max_ns = record.timestamp_max_ns.max(slice.timestamp_max_ns);
            let batch = self.batches.get_mut(&slice.batch);
            let missing = || SnapshotError::Inconsistent { detail: format!("MF-1: chunk {id} names batch {}, which is not there", slice.batch) };
            batch.ok_or_else(missing)?.live_slices += 1;
        }
        ensure(record.rows != 0 || record.state == ChunkState::Open, bad)?;
        if record.state == ChunkState::Open {
            let owner = self.epochs.get_mut(&record.epoch).filter(|owner| owner.owner == EpochOwner::Writer(record.writer));
            let owner = owner.filter(|owner| !owner.chunk_ids.contains(id.0));
            let owner = owner.ok_or_else(|| SnapshotError::Inconsistent { detail: format!("EP-1: chunk {id} is open to no live epoch") })?;
            owner.open_chunks.insert_mut(id, namespace.id);
        }
        Ok(record)
    }

    fn part(&mut self, object: ObjectId, part: u64) -> Result<(), SnapshotError> {
        let missing =
            || SnapshotError::Inconsistent { detail: format!("MF-1: pack, segment or vector set {part} names object {object}, which is not there") };
        self.objects.get_mut(&object).ok_or_else(missing)?.parts += 1;
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Manifest, SnapshotError> {
        let mut manifest = self.manifest;
        for (id, batch) in self.batches {
            let live_max = batch.slices - batch.duplicates.len() as u32;
            ensure(batch.live_slices != 0 && batch.live_slices <= live_max, || format!("MF-1: batch {id} is named by no slice, or by too many"))?;
            manifest.batches.insert_mut(id, Arc::new(batch));
        }
        for (id, object) in self.objects {
            ensure((object.parts == 0) == object.retired_at_ms.is_some(), || format!("MF-1: object {id} is retired and named, or neither"))?;
            manifest.objects.insert_mut(id, object);
        }
        for (epoch, record) in self.epochs {
            manifest.epochs.insert_mut(epoch, Arc::new(record));
        }
        Ok(manifest)
    }
}

/// The lives of a group whose counters are those of the last, and whose incarnations rise as their numbers do.
fn lives(root: &StoredRoot) -> Result<Lives, SnapshotError> {
    let bad = || SnapshotError::Inconsistent {
        detail: format!("RA-1: life {} of the group cannot have these lives before it, or these counters", root.life),
    };
    let lives = Lives::new(root.life, &root.former_lives).ok_or_else(bad)?;
    let incarnations = lives.former().iter().map(|life| life.incarnation).chain([root.incarnation]);
    let until = lives.former().iter().map(|life| life.until).chain([root.version]);
    let rises = incarnations.is_sorted_by(|earlier, later| earlier < later) && until.is_sorted();
    if rises && root.counters.are_in(lives.lane()) { Ok(lives) } else { Err(bad()) }
}

fn rises(positions: &[u32]) -> bool {
    positions.windows(2).all(|pair| pair[0] < pair[1])
}

/// The set of these blocks, all of whose ids were given out.
fn blocks(stored: &[(u64, u64)], next: u64) -> Result<IdBlocks, SnapshotError> {
    let mut set = IdBlocks::default();
    let mut end_before = 0;
    for &(first, count) in stored {
        let end = first.checked_add(count).filter(|&end| end <= next && count != 0 && first != 0 && first >= end_before);
        end_before =
            end.ok_or_else(|| SnapshotError::Inconsistent { detail: format!("{count} ids from {first} on were never given out, or twice") })?;
        set.add(first, count);
    }
    Ok(set)
}
