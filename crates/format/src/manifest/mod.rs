//! The manifest: what exists. It is the state of the metadata group, in persistent structures: a clone costs a dozen reference counts, and who holds
//! one keeps its version for ever.
//!
//! Here are the records and the questions that readers, sealers and the garbage collector ask. What is deliberately not here: how commands change
//! the manifest (`siltstone-metadata`, `machine`), and its stored form ([`crate::snapshot`]).

mod backup;
mod chunk;
mod entry_vectors;
mod epoch;
mod life;
mod namespace;
mod pack;
mod producer;
mod records;
mod retired;
mod segment;
mod setting;
mod vectors;

pub use backup::{BACKUP_KEY_PREFIX, BACKUP_NAME_LEN_MAX, BackupRecord, BackupRoot, Pins, backup_key, is_backup_name};
pub use chunk::{ChunkRecord, ChunkState, SliceList, SliceRef};
pub use entry_vectors::{VECTOR_FIELD_LEN_MAX, VECTOR_FIELDS_MAX, VectorFieldRecord, VectorIndexRecord};
pub use epoch::{EpochOwner, EpochRecord, IdBlocks};
pub use life::{Counters, FormerLife, LIVES_MAX, Lane, Lives, NAMESPACES_PER_LIFE};
pub use namespace::{NAMESPACE_NAME_LEN_MAX, NamespaceManifest, Totals, is_namespace_name};
pub use pack::{PackChunk, PackChunks, PackChunksError, PackRecord};
pub use producer::{ProducerKey, ProducerState, SEQUENCE_WINDOW};
pub use records::{BatchRecord, BatchState, ByteRange, CheckedRange, Fate, ObjectRecord, ObjectState};
pub use retired::{RetiredBatch, RetiredBatches};
pub use segment::{ChunkList, ChunkListError, SegmentRecord};
pub use setting::{SETTING_KEY_LEN_MAX, SETTING_VALUE_LEN_MAX, SETTINGS_MAX, SettingRecord};
pub use vectors::{ModelRecord, ModelState, VectorSetRecord};

use siltstone_core::{BatchId, ChunkId, CommitIndex, CommitToken, Epoch, Incarnation, ModelId, NamespaceId, ObjectId, WriterId};
use std::sync::Arc;

/// A persistent ordered map: clones share structure, and iteration is by key, so that equal states have equal bytes.
pub type Map<K, V> = rpds::RedBlackTreeMapSync<K, V>;

/// A persistent ordered set.
pub type Set<T> = rpds::RedBlackTreeSetSync<T>;

/// What exists at one position of the group's log.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Manifest {
    /// The present life of the group; 0 before it is founded.
    pub incarnation: Incarnation,
    /// Its number, and the lives before it.
    pub lives: Lives,
    /// The position in the log.
    pub version: CommitIndex,
    /// State time: never runs back, and no faster than an hour a command.
    pub state_time_ms: i64,
    /// The next ids to give out.
    pub counters: Counters,
    /// Namespaces by id.
    pub namespaces: Map<NamespaceId, Arc<NamespaceManifest>>,
    /// Ids of namespaces by name.
    pub names: Map<Arc<str>, NamespaceId>,
    /// Namespaces with chunks that are not sealed: what a sealer looks at, so that idle namespaces cost it nothing.
    pub unsealed: Set<NamespaceId>,
    /// Batches that are named.
    pub batches: Map<BatchId, Arc<BatchState>>,
    /// Objects that are named, or retired and not yet deleted.
    pub objects: Map<ObjectId, ObjectState>,
    /// Batches that are retired and not yet deleted.
    pub retired_batches: RetiredBatches,
    /// Objects that are retired, among those of `objects`.
    pub retired_objects: Set<ObjectId>,
    /// Live epochs.
    pub epochs: Map<Epoch, Arc<EpochRecord>>,
    /// The live epoch of each writer.
    pub writers: Map<WriterId, Epoch>,
    /// The live epoch of each job.
    pub jobs: Map<Arc<str>, Epoch>,
    /// Embedding models.
    pub models: Map<ModelId, Arc<ModelRecord>>,
    /// Settings by key.
    pub settings: Map<Arc<str>, Arc<SettingRecord>>,
    /// Sums over all namespaces.
    pub totals: Totals,
}

impl Manifest {
    /// The commit token of this version.
    #[must_use]
    pub const fn token(&self) -> CommitToken {
        CommitToken { incarnation: self.incarnation, index: self.version }
    }

    /// The life that gave this epoch: part of the keys of what its owner put on the object store.
    #[must_use]
    pub fn incarnation_of(&self, epoch: Epoch) -> Incarnation {
        self.lives.former_of(epoch).map_or(self.incarnation, |life| life.incarnation)
    }

    /// A namespace by its name.
    #[must_use]
    pub fn namespace_by_name(&self, name: &str) -> Option<&Arc<NamespaceManifest>> {
        self.namespaces.get(self.names.get(name)?)
    }

    /// A namespace by its id.
    #[must_use]
    pub fn namespace(&self, id: NamespaceId) -> Option<&Arc<NamespaceManifest>> {
        self.namespaces.get(&id)
    }

    /// The model whose vectors queries use.
    #[must_use]
    pub fn serving_model(&self) -> Option<&Arc<ModelRecord>> {
        self.models.values().find(|model| model.state == ModelState::Serving)
    }

    /// Chunks that can be sealed now, namespace by namespace. Costs nothing for namespaces whose chunks are all sealed.
    pub fn sealable(&self) -> impl Iterator<Item = (&Arc<NamespaceManifest>, ChunkId, &Arc<ChunkRecord>)> {
        self.unsealed_namespaces().flat_map(|namespace| namespace.closed_chunks().map(move |(id, chunk)| (namespace, id, chunk)))
    }

    /// Open chunks that were opened before this state time.
    pub fn open_before(&self, before_ms: i64) -> impl Iterator<Item = (&Arc<NamespaceManifest>, ChunkId, &Arc<ChunkRecord>)> {
        self.unsealed_namespaces()
            .flat_map(move |namespace| namespace.open_chunks().map(move |(id, chunk)| (namespace, id, chunk)))
            .filter(move |(_, _, chunk)| chunk.opened_at_ms < before_ms)
    }

    /// Namespaces with chunks that are not sealed.
    pub fn unsealed_namespaces(&self) -> impl Iterator<Item = &Arc<NamespaceManifest>> {
        self.unsealed.iter().filter_map(|id| self.namespaces.get(id))
    }

    /// Batches that were retired before this state time and that no backup pins: they may be deleted, then forgotten.
    pub fn batches_retired_before(&self, before_ms: i64) -> impl Iterator<Item = RetiredBatch<'_>> {
        let pins = self.pins();
        self.retired_batches.iter().filter(move |batch| batch.at_ms < before_ms && !pins.keep(batch.id.0, batch.at_ms))
    }

    /// Objects that were retired before this state time and that no backup pins: they may be deleted, then forgotten.
    pub fn objects_retired_before(&self, before_ms: i64) -> impl Iterator<Item = &ObjectRecord> {
        let pins = self.pins();
        let states = self.retired_objects.iter().filter_map(|id| self.objects.get(id));
        let is_over = move |state: &&ObjectState| state.retired_at_ms.is_some_and(|at| at < before_ms && !pins.keep(state.record.id.0, at));
        states.filter(is_over).map(|state| &state.record)
    }

    /// Whether commands of this epoch are accepted (EP-1).
    #[must_use]
    pub fn is_live(&self, epoch: Epoch) -> bool {
        self.epochs.contains_key(&epoch)
    }

    /// Whether a former life gave this epoch. What was put on the object store under it is never this life's to delete: backups may name it.
    #[must_use]
    pub fn is_of_former_life(&self, epoch: Epoch) -> bool {
        self.lives.former_of(epoch).is_some()
    }

    /// Whether this epoch was given out and is over: no command of it changes anything any more.
    #[must_use]
    pub fn is_fenced(&self, epoch: Epoch) -> bool {
        epoch.0 != 0 && epoch.0 < self.counters.epoch && !self.is_live(epoch)
    }

    /// What may be done with a stored batch, given the epoch and id in its key. Only [`Fate::Garbage`], and [`Fate::Retired`] long enough ago, may be
    /// deleted (MF-1).
    #[must_use]
    pub fn batch_fate(&self, epoch: Epoch, id: BatchId) -> Fate {
        let named = self.batches.get(&id).filter(|state| state.record.epoch == epoch).map(|_| None);
        let retired = || self.retired_batches.get(id).filter(|batch| batch.epoch == epoch).map(|batch| Some(batch.at_ms));
        self.fate(epoch, named.or_else(retired))
    }

    /// What may be done with a stored object, given the epoch and id in its key. As [`Manifest::batch_fate`].
    #[must_use]
    pub fn object_fate(&self, epoch: Epoch, id: ObjectId) -> Fate {
        let state = self.objects.get(&id).filter(|state| state.record.epoch == epoch);
        self.fate(epoch, state.map(|state| state.retired_at_ms))
    }

    fn fate(&self, epoch: Epoch, state: Option<Option<i64>>) -> Fate {
        match state {
            Some(None) => Fate::Named,
            // A backup may name it, or what became of that life after it was left.
            _ if self.is_of_former_life(epoch) => Fate::Foreign,
            Some(Some(at_ms)) => Fate::Retired { at_ms },
            None if self.is_live(epoch) => Fate::Pending,
            None if self.is_fenced(epoch) => Fate::Garbage,
            None => Fate::Foreign,
        }
    }
}
