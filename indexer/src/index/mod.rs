//! Indexes over the vectors that came with entries: built from packs, put on the object store, committed as a compare-and-swap.
//!
//! Vectors are searched exactly from the moment that they are committed; an index makes it faster. It names rows by address, so packs and segments
//! may be merged below it (RA-1), and it is always built from the stored vectors, chunk by chunk in the order of their ids: the same entries give
//! the same index, however often indexes were joined on the way. What is deliberately not here: the inside of an index (`siltstone-vector`), search
//! (`query`).

mod plan;

pub use plan::{IndexConfig, IndexPlan};

use crate::job::{JobLife, repeated};
use crate::keys;
use crate::problems::Problems;
use crate::view::{Packs, VectorIndexes, ViewError};
use parking_lot::Mutex as SyncMutex;
use rustc_hash::FxHashSet;
use siltstone_core::{ChunkId, ErrorKind, NamespaceId, ObjectId, RowAddress, VectorIndexId};
use siltstone_format::addresses::encode_addresses;
use siltstone_format::command::{CommitIndexes, IndexPart};
use siltstone_format::container::{ObjectKind, ObjectWriter, SectionKind};
use siltstone_format::manifest::{ChunkList, Manifest, NamespaceManifest, ObjectRecord, VectorIndexRecord};
use siltstone_metadata_client::{ClientError, MetadataClientExt};
use siltstone_store::{ObjectStore, StoreError};
use siltstone_vector::{BuildOptions, Metric, VectorError, VectorSpace, Vectors};
use std::sync::Arc;
use tokio::sync::Mutex;

/// Why a round of indexing did nothing.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Vectors can't be read.
    #[error("index vectors: {0}")]
    View(#[from] ViewError),
    /// Stored vectors are none: damage or a bug.
    #[error("index vectors: {0}")]
    Vector(#[from] VectorError),
    /// The records of what was built contradict themselves: a bug.
    #[error("index vectors: {0}")]
    Record(String),
    /// The object store does not take the object.
    #[error("index vectors: {0}")]
    Store(#[from] StoreError),
    /// The metadata group does not take the commit.
    #[error("index vectors: {0}")]
    Metadata(#[from] ClientError),
}

impl IndexError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::View(error) => error.kind(),
            Self::Vector(_) => ErrorKind::Corrupt,
            Self::Record(_) => ErrorKind::Internal,
            Self::Store(error) => error.kind(),
            Self::Metadata(error) => error.kind(),
        }
    }
}

/// Builds what the plans say, field by field.
pub struct VectorIndexer {
    config: IndexConfig,
    job: Arc<JobLife>,
    store: Arc<dyn ObjectStore>,
    packs: Arc<Packs>,
    indexes: Arc<VectorIndexes>,
    threads: usize,
    /// Chunks that have no vector of a field: looked at once.
    barren: SyncMutex<FxHashSet<(NamespaceId, String, ChunkId)>>,
    round: Mutex<()>,
}

impl VectorIndexer {
    /// An indexer of vectors.
    #[must_use]
    pub(crate) fn new(config: IndexConfig, job: Arc<JobLife>, store: Arc<dyn ObjectStore>, packs: Arc<Packs>, indexes: Arc<VectorIndexes>) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { config, job, store, packs, indexes, threads, barren: SyncMutex::default(), round: Mutex::new(()) }
    }

    /// Indexes as chunks are sealed, until the group stops.
    pub async fn run(self: Arc<Self>, problems: Problems) {
        let mut manifests = self.job.metadata().watch();
        loop {
            manifests.mark_unchanged();
            self.indexes.damaged().news().into_iter().for_each(|text| problems.note(&text));
            match self.index_one(false).await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    problems.note(&error);
                    tokio::time::sleep(self.job.patience().failure()).await;
                    if manifests.has_changed().is_err() {
                        return;
                    }
                    continue;
                }
            }
            tokio::select! {
                changed = manifests.changed() => if changed.is_err() { return },
                () = self.indexes.damaged().noticed() => {}
            }
        }
    }

    /// Indexes every sealed vector, and joins the indexes of each field.
    ///
    /// # Errors
    /// [`IndexError`]
    pub async fn index_all(&self) -> Result<(), IndexError> {
        while self.index_one(true).await? {}
        Ok(())
    }

    /// Carries out the first plan of the newest manifest that can be carried out. Whether there was one. One at a time: a build holds all its vectors
    /// in memory.
    async fn index_one(&self, all: bool) -> Result<bool, IndexError> {
        let _round = self.round.lock().await;
        let manifest = self.job.metadata().manifest();
        let damaged = self.indexes.damaged();
        damaged.keep_named(&manifest);
        let mut failed = Ok(false);
        for namespace in manifest.namespaces.values() {
            for field in namespace.vector_fields.values() {
                let is_barren = |chunk| self.barren.lock().contains(&(namespace.id, field.name.clone(), chunk));
                let plan = IndexPlan::rebuilt(namespace, field, &|index| damaged.must_be_rebuilt(index));
                let Some(plan) = plan.or_else(|| IndexPlan::of(namespace, field, &is_barren, &self.config, all)) else { continue };
                match self.index(&manifest, namespace, plan).await {
                    Ok(()) => return Ok(true),
                    // Vectors that can't be read stop no other field.
                    Err(error) => failed = failed.and(Err(error)),
                }
            }
        }
        failed
    }

    /// A commit that loses its compare-and-swap is no error: somebody else was first.
    async fn index(&self, manifest: &Manifest, namespace: &NamespaceManifest, plan: IndexPlan) -> Result<(), IndexError> {
        let (addresses, set) = self.gather(manifest, namespace, &plan).await?;
        if set.is_empty() {
            let chunks = plan.chunks.keys().map(|chunk| (namespace.id, plan.field.name.clone(), *chunk));
            self.barren.lock().extend(chunks);
            return Ok(());
        }
        let options = BuildOptions { threads: self.threads, ..BuildOptions::default() };
        let (bytes, vectors) = tokio::task::spawn_blocking(move || (siltstone_vector::write(&set, &options), set.len() as u32))
            .await
            .map_err(|_| ViewError::Stopping)?;
        let (epoch, ids) = self.job.ids(2).await?;
        let object = ObjectId(ids[0]);
        let mut writer = ObjectWriter::new(ObjectKind::Object);
        let stored_addresses = writer.add(SectionKind::VectorIndex, &encode_addresses(&addresses));
        let stored_index = writer.add(SectionKind::VectorIndex, &bytes);
        drop(bytes);
        let chunks: Vec<ChunkId> = plan.chunks.keys().copied().collect();
        let index = VectorIndexRecord {
            id: VectorIndexId(ids[1]),
            object,
            field: plan.field.name.clone(),
            dimension: plan.field.dimension,
            vectors,
            addresses: stored_addresses,
            range: stored_index.range(),
            chunks: ChunkList::new(&chunks).map_err(|error| IndexError::Record(error.to_string()))?,
        };
        let finished = writer.finish();
        let record = ObjectRecord { id: object, epoch, len_bytes: finished.bytes.len() as u64, footer: finished.footer };
        let key = keys::of_object(manifest, epoch, object);
        self.store.put(&key, finished.bytes.into()).await?;
        let replaced: Vec<VectorIndexId> = plan.replaced.iter().map(|index| index.id).collect();
        let part = IndexPart { namespace: namespace.id, indexes_in: replaced.clone(), indexes_out: vec![index] };
        let commit = CommitIndexes { epoch, object: record, parts: vec![part] };
        let metadata = self.job.metadata();
        match repeated(self.job.patience(), || metadata.commit_indexes(commit.clone())).await {
            Ok(_) => {
                self.indexes.forget(&replaced);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Conflict || error.kind() == ErrorKind::NotFound => {
                tracing::info!(%error, "what was to be indexed is gone meanwhile");
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Fenced => {
                self.job.renew().await?;
                Err(error.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The vectors of a plan's chunks, and their rows' addresses.
    async fn gather(&self, manifest: &Manifest, namespace: &NamespaceManifest, plan: &IndexPlan) -> Result<(Vec<RowAddress>, Vectors), IndexError> {
        let dimension = usize::from(plan.field.dimension);
        let mut set = Vectors::new(VectorSpace::new(namespace.id, &plan.field.name, dimension, Metric::Cosine)?);
        let mut addresses = Vec::new();
        for (chunk, pack) in &plan.chunks {
            let columns = self.packs.chunk_vectors_once(manifest, pack, *chunk).await?;
            let Some(column) = columns.iter().find(|column| column.field == plan.field.name) else { continue };
            if column.dimension as usize != dimension {
                return Err(ViewError::VectorDimension { chunk: *chunk, field: column.field.clone() }.into());
            }
            let offsets = self.packs.chunk_offsets(manifest, pack, *chunk).await?;
            for (index, row) in column.rows.iter().enumerate() {
                let offset = offsets.get(*row as usize).ok_or(ViewError::NoChunk { chunk: *chunk })?;
                addresses.push(RowAddress::new(*chunk, usize::from(*offset)));
                set.push(column.vector(index))?;
            }
        }
        Ok((addresses, set))
    }
}
