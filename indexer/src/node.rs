//! An indexer in one process: ingest, sealing, merging, embedding, garbage collection and views over one store and one metadata group.
//!
//! What is deliberately not here: the metadata group, the store, and listening (`serve`).

use crate::embed::{EmbedConfig, EmbedJob, EmbedJobError, EmbedProgress, EmbedSources, Models};
use crate::gc::{GarbageCollector, GcConfig};
use crate::index::{IndexConfig, IndexError, VectorIndexer};
use crate::ingest::{Ingest, IngestConfig, IngestError};
use crate::job::JobLife;
use crate::merge::{MergeConfig, Merger};
use crate::patience::Patience;
use crate::problems::Problems;
use crate::seal::{SealConfig, SealError, Sealer};
use crate::view::{LiveRows, ViewConfig, Views};
use siltstone_core::{Clock, CommitToken, ErrorKind, ModelId, NamespaceId};
use siltstone_metadata_client::{ClientError, EpochKeeper, MetadataClient};
use siltstone_store::ObjectStore;
use std::sync::Arc;
use tokio::task::JoinSet;

/// How an indexer works.
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexerConfig {
    /// Taking entries in.
    pub ingest: IngestConfig,
    /// Sealing.
    pub seal: SealConfig,
    /// Merging.
    pub merge: MergeConfig,
    /// Indexes over vectors of entries.
    pub index: IndexConfig,
    /// Vectors of patterns.
    pub embed: EmbedConfig,
    /// Garbage.
    pub gc: GcConfig,
    /// Reading.
    pub view: ViewConfig,
    /// Bytes of live rows in memory; what passes them is read back from batches.
    pub live: LiveConfig,
    /// How long background jobs try. The writer has its own.
    pub patience: Patience,
}

/// How much memory the live tier may take.
#[derive(Clone, Copy, Debug)]
pub struct LiveConfig {
    /// Bytes.
    pub bytes_max: u64,
}

impl Default for LiveConfig {
    fn default() -> Self {
        Self { bytes_max: 512 << 20 }
    }
}

/// Why an indexer does not start or settle.
#[derive(Debug, thiserror::Error)]
pub enum IndexerError {
    /// The metadata group.
    #[error("start the indexer: {0}")]
    Metadata(#[from] ClientError),
    /// The ingest role.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// Sealing or merging.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// Indexing vectors.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Embedding.
    #[error(transparent)]
    Embed(#[from] EmbedJobError),
}

impl IndexerError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Metadata(error) => error.kind(),
            Self::Ingest(error) => error.kind(),
            Self::Seal(error) => error.kind(),
            Self::Index(error) => error.kind(),
            Self::Embed(error) => error.kind(),
        }
    }
}

/// A running indexer. Cheap to clone; its work ends when the last clone is dropped.
#[derive(Clone)]
pub struct Indexer {
    inner: Arc<Inner>,
}

struct Inner {
    ingest: Ingest,
    views: Views,
    sealer: Arc<Sealer>,
    merger: Arc<Merger>,
    vector_indexer: Arc<VectorIndexer>,
    embedder: Option<Arc<EmbedJob>>,
    models: Arc<Models>,
    collector: Arc<GarbageCollector>,
    problems: Problems,
    /// Dropped last: dropping it ends the background tasks.
    _tasks: JoinSet<()>,
}

impl Indexer {
    /// Starts all roles: each registers a new life, which fences what an earlier process left behind.
    ///
    /// # Errors
    /// [`IndexerError`]
    pub async fn start(
        config: IndexerConfig,
        store: Arc<dyn ObjectStore>,
        metadata: Arc<dyn MetadataClient>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, IndexerError> {
        let live = Arc::new(LiveRows::new(config.live.bytes_max));
        let views = Views::new(config.view, metadata.clone(), store.clone(), live.clone());
        let keeper = Arc::new(EpochKeeper::start(metadata.clone()));
        let ingest = Ingest::start(config.ingest, store.clone(), metadata.clone(), keeper.clone(), live.clone(), clock).await?;
        let job = |name| JobLife::begin(metadata.clone(), keeper.clone(), name, config.patience);
        let (seal_job, merge_job, gc_job) = (Arc::new(job("seal").await?), Arc::new(job("merge").await?), Arc::new(job("gc").await?));
        let sealer = Arc::new(Sealer::new(config.seal, seal_job, store.clone(), views.packs().clone(), live.clone()));
        let merger = Arc::new(Merger::new(config.merge, merge_job, store.clone(), views.packs().clone(), views.segments().clone()));
        let index_job = Arc::new(job("index").await?);
        let (packs, indexes) = (views.packs().clone(), views.vector_indexes().clone());
        let vector_indexer = Arc::new(VectorIndexer::new(config.index, index_job, store.clone(), packs, indexes));
        let models = Arc::new(Models::default());
        let mut embedder = None;
        if config.embed.is_on {
            let sources = EmbedSources { packs: views.packs().clone(), segments: views.segments().clone(), vectors: views.vectors().clone(), live };
            let embed_job = Arc::new(job("embed").await?);
            embedder = Some(Arc::new(EmbedJob::new(config.embed, embed_job, store.clone(), sources, models.clone())));
        }
        let collector = Arc::new(GarbageCollector::new(config.gc, gc_job, store));
        let problems = Problems::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(sealer.clone().run(problems.clone()));
        tasks.spawn(merger.clone().run(problems.clone()));
        tasks.spawn(vector_indexer.clone().run(problems.clone()));
        tasks.spawn(collector.clone().run(problems.clone()));
        if let Some(embedder) = &embedder {
            tasks.spawn(embedder.clone().run(problems.clone()));
        }
        let inner = Inner { ingest, views, sealer, merger, vector_indexer, embedder, models, collector, problems, _tasks: tasks };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The ingest role.
    #[must_use]
    pub fn ingest(&self) -> &Ingest {
        &self.inner.ingest
    }

    /// Views, for queries.
    #[must_use]
    pub fn views(&self) -> &Views {
        &self.inner.views
    }

    /// How far a model's vectors of some namespaces are.
    #[must_use]
    pub fn embed_progress(&self, model: &ModelId, namespaces: &[NamespaceId]) -> EmbedProgress {
        self.inner.embedder.as_ref().map_or_else(EmbedProgress::default, |embedder| embedder.progress(model, namespaces))
    }

    /// Loaded models.
    #[must_use]
    pub fn models(&self) -> &Arc<Models> {
        &self.inner.models
    }

    /// The garbage collector.
    #[must_use]
    pub fn collector(&self) -> &GarbageCollector {
        &self.inner.collector
    }

    /// What went wrong in the background lately.
    #[must_use]
    pub fn problems(&self) -> &Problems {
        &self.inner.problems
    }

    /// Flushes, seals, merges, indexes and embeds all that is there.
    ///
    /// # Errors
    /// [`IndexerError`]
    pub async fn settle(&self) -> Result<CommitToken, IndexerError> {
        self.inner.ingest.close_all().await?;
        self.inner.sealer.seal_all().await?;
        self.inner.merger.merge_all().await?;
        self.inner.vector_indexer.index_all().await?;
        if let Some(embedder) = &self.inner.embedder {
            embedder.embed_all().await?;
        }
        Ok(self.inner.views.metadata().manifest().token())
    }
}
