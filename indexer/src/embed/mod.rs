//! Patterns get vectors: one a namespace, model and pattern, made once, put on the object store, committed.
//!
//! The job follows the manifest: of each namespace that changed it looks at the segments and slices that it has not seen, and embeds the patterns
//! that have no vector. What it knows is a memory of the manifest's vector sets, so it goes on after a crash where the last commit left it. What is
//! deliberately not here: models (`siltstone-embedder`), and which pattern is like which (`query`).

mod known;
mod models;

pub use models::{ModelError, Models, open as open_model};

use crate::job::{JobLife, repeated};
use crate::keys;
use crate::problems::Problems;
use crate::view::{LiveRows, Packs, Segments, VectorSets, ViewError};
use known::{Known, Wanted};
use siltstone_core::{Epoch, ErrorKind, ModelId, NamespaceId, ObjectId, VectorSetId};
use siltstone_embedder::{Embedder, pattern_text};
use siltstone_format::command::{CommitVectors, VectorPart};
use siltstone_format::container::{ObjectKind, ObjectWriter, SectionKind};
use siltstone_format::manifest::{CheckedRange, Manifest, ModelRecord, ModelState, NamespaceManifest, ObjectRecord, VectorSetRecord};
use siltstone_format::vectors::{PatternVectors, PatternVectorsError};
use siltstone_metadata_client::{ClientError, MetadataClientExt};
use siltstone_store::{ObjectStore, StoreError};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How patterns get vectors.
#[derive(Clone, Copy, Debug)]
pub struct EmbedConfig {
    /// Whether the job runs.
    pub is_on: bool,
    /// Patterns that go into one model call.
    pub batch_patterns: usize,
    /// Patterns of one commit at most.
    pub commit_patterns_max: usize,
    /// A commit comes at the latest after so much work: what a slow model has done is not done again after a crash.
    pub commit_ms_max: u64,
    /// Sets of one namespace and model that are joined when there are so many.
    pub sets_max: usize,
}

impl Default for EmbedConfig {
    fn default() -> Self {
        Self { is_on: true, batch_patterns: 256, commit_patterns_max: 16_384, commit_ms_max: 5_000, sets_max: 8 }
    }
}

/// Why a round gave no vectors.
#[derive(Debug, thiserror::Error)]
pub enum EmbedJobError {
    /// Patterns or vectors can't be read.
    #[error("embed patterns: {0}")]
    View(#[from] ViewError),
    /// The model.
    #[error("embed patterns: {0}")]
    Model(#[from] ModelError),
    /// The model's vectors.
    #[error("embed patterns: {0}")]
    Vectors(#[from] PatternVectorsError),
    /// The object store does not take the object.
    #[error("embed patterns: {0}")]
    Store(#[from] StoreError),
    /// The metadata group does not take the commit.
    #[error("embed patterns: {0}")]
    Metadata(#[from] ClientError),
}

impl EmbedJobError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::View(error) => error.kind(),
            Self::Model(error) => error.kind(),
            Self::Vectors(error) => error.kind(),
            Self::Store(error) => error.kind(),
            Self::Metadata(error) => error.kind(),
        }
    }
}

/// What the job reads.
pub(crate) struct EmbedSources {
    pub(crate) packs: Arc<Packs>,
    pub(crate) segments: Arc<Segments>,
    pub(crate) vectors: Arc<VectorSets>,
    pub(crate) live: Arc<LiveRows>,
}

/// Embeds what is new.
pub struct EmbedJob {
    config: EmbedConfig,
    job: Arc<JobLife>,
    store: Arc<dyn ObjectStore>,
    sources: EmbedSources,
    models: Arc<Models>,
    known: Mutex<BTreeMap<(NamespaceId, ModelId), Known>>,
    /// Patterns that wait, where it was looked.
    waiting: parking_lot::Mutex<BTreeMap<(NamespaceId, ModelId), u64>>,
}

/// How far a model's vectors are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EmbedProgress {
    /// Patterns that are known to have no vector.
    pub patterns_waiting: u64,
    /// None is, and every one of the namespaces was looked at.
    pub is_complete: bool,
}

/// A set that is to be committed.
struct NewSet {
    namespace: NamespaceId,
    vectors: PatternVectors,
    replaces: Vec<VectorSetId>,
}

impl EmbedJob {
    pub(crate) fn new(config: EmbedConfig, job: Arc<JobLife>, store: Arc<dyn ObjectStore>, sources: EmbedSources, models: Arc<Models>) -> Self {
        Self { config, job, store, sources, models, known: Mutex::default(), waiting: parking_lot::Mutex::default() }
    }

    /// Embeds as patterns come, until the group stops.
    pub async fn run(self: Arc<Self>, problems: Problems) {
        let mut manifests = self.job.metadata().watch();
        loop {
            manifests.borrow_and_update();
            match self.embed_all().await {
                Ok(()) => {
                    if manifests.changed().await.is_err() {
                        return;
                    }
                }
                Err(error) => {
                    problems.note(&error);
                    tokio::time::sleep(self.job.patience().failure()).await;
                    if manifests.has_changed().is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// How far a model's vectors of some namespaces are, as of the last look at each.
    #[must_use]
    pub fn progress(&self, model: &ModelId, namespaces: &[NamespaceId]) -> EmbedProgress {
        let waiting = self.waiting.lock();
        let of_namespaces: Vec<_> = namespaces.iter().map(|namespace| waiting.get(&(*namespace, model.clone())).copied()).collect();
        EmbedProgress { patterns_waiting: of_namespaces.iter().flatten().sum(), is_complete: of_namespaces.iter().all(|waiting| *waiting == Some(0)) }
    }

    /// Embeds until every pattern of the newest manifest has a vector of each model.
    ///
    /// # Errors
    /// [`EmbedJobError`]
    pub async fn embed_all(&self) -> Result<(), EmbedJobError> {
        self.ensure_built_in().await?;
        while self.round().await? {}
        Ok(())
    }

    /// The built-in model is there from the start, and serves until another does.
    async fn ensure_built_in(&self) -> Result<(), EmbedJobError> {
        let metadata = self.job.metadata();
        let manifest = metadata.manifest();
        let serves = manifest.serving_model().is_some();
        if serves {
            return Ok(());
        }
        let model = tokio::task::spawn_blocking(|| (Models::built_in().id().clone(), Models::built_in().dimension()));
        let (id, dimension) = model.await.map_err(|_| ViewError::Stopping)?;
        metadata.add_model(&id, u16::try_from(dimension).unwrap_or(u16::MAX), "").await?;
        metadata.use_model(&id).await?;
        Ok(())
    }

    /// Embeds for at most one commit. Whether there was anything to do. What fails for one namespace or model stops no other: the rest is committed
    /// first.
    async fn round(&self) -> Result<bool, EmbedJobError> {
        let manifest = self.job.metadata().manifest();
        let mut known = self.known.lock().await;
        self.waiting.lock().retain(|(namespace, model), _| manifest.namespaces.contains_key(namespace) && manifest.models.contains_key(model));
        known.retain(|(namespace, model), _| manifest.namespaces.contains_key(namespace) && manifest.models.contains_key(model));
        self.models.retain(|model| manifest.models.contains_key(model));
        // The model that serves comes first: queries wait for it.
        let mut models: Vec<_> = manifest.models.values().collect();
        models.sort_by_key(|model| model.state != ModelState::Serving);
        let started = Instant::now();
        let (mut new, mut failed) = (Vec::new(), None);
        let mut room = self.config.commit_patterns_max;
        'all: for model in models {
            for namespace in manifest.namespaces.values() {
                let known = known.entry((namespace.id, model.id.clone())).or_default();
                if known.is_up_to_date(namespace) {
                    continue;
                }
                let sets_before = new.len();
                match self.embed_namespace(&manifest, namespace, model, known, (started, &mut room), &mut new).await {
                    Ok(true) if new.len() == sets_before => known.note_up_to_date(namespace),
                    Ok(_) => {}
                    Err(error) => failed = Some(error),
                }
                if room == 0 || started.elapsed() >= Duration::from_millis(self.config.commit_ms_max) {
                    break 'all;
                }
            }
        }
        match (new.is_empty(), failed) {
            (false, _) => self.commit(&manifest, new).await.map(|()| true),
            (true, Some(error)) => Err(error),
            (true, None) => Ok(false),
        }
    }

    /// Embeds the patterns of a namespace that have no vector, as many as there is room and time for, and joins sets where there are many. Whether
    /// none is left.
    async fn embed_namespace(
        &self,
        manifest: &Manifest,
        namespace: &Arc<NamespaceManifest>,
        model: &Arc<ModelRecord>,
        known: &mut Known,
        (started, room): (Instant, &mut usize),
        new: &mut Vec<NewSet>,
    ) -> Result<bool, EmbedJobError> {
        known.learn_sets(&self.sources, manifest, namespace, &model.id).await?;
        let wanted = known.wanted(&self.sources, manifest, namespace).await?;
        self.waiting.lock().insert((namespace.id, model.id.clone()), wanted.len() as u64);
        let sets: Vec<_> = namespace.vectors.values().filter(|set| set.model == model.id).collect();
        if wanted.is_empty() {
            if sets.len() >= self.config.sets_max {
                let mut vectors = Vec::with_capacity(sets.len());
                for set in &sets {
                    vectors.push(self.sources.vectors.open_once(manifest, set).await?);
                }
                let joined = PatternVectors::join(&vectors.iter().map(Arc::as_ref).collect::<Vec<_>>())?;
                new.push(NewSet { namespace: namespace.id, vectors: joined, replaces: sets.iter().map(|set| set.id).collect() });
            }
            return Ok(true);
        }
        let models = self.models.clone();
        let record = model.clone();
        let embedder = tokio::task::spawn_blocking(move || models.get(&record)).await.map_err(|_| ViewError::Stopping)??;
        let mut done: Vec<(siltstone_core::pattern::PatternHash, Vec<f32>)> = Vec::new();
        let mut is_done = true;
        for batch in wanted.chunks(self.config.batch_patterns.max(1)) {
            if *room == 0 || (!done.is_empty() && started.elapsed() >= Duration::from_millis(self.config.commit_ms_max)) {
                is_done = false;
                break;
            }
            let batch = &batch[..batch.len().min(*room)];
            done.extend(embed(embedder.clone(), batch).await?);
            *room -= batch.len();
        }
        is_done &= done.len() == wanted.len();
        if done.is_empty() {
            return Ok(is_done);
        }
        let vectors: Vec<_> = done.iter().map(|(hash, vector)| (*hash, vector.as_slice())).collect();
        new.push(NewSet {
            namespace: namespace.id,
            vectors: PatternVectors::new(&model.id, usize::from(model.dimension), &vectors)?,
            replaces: Vec::new(),
        });
        Ok(is_done)
    }

    async fn commit(&self, manifest: &Manifest, new: Vec<NewSet>) -> Result<(), EmbedJobError> {
        let (epoch, ids) = self.job.ids(new.len() + 1).await?;
        let object = ObjectId(ids[0]);
        let mut writer = ObjectWriter::new(ObjectKind::Object);
        let mut parts = BTreeMap::<NamespaceId, VectorPart>::new();
        for (set, id) in new.into_iter().zip(&ids[1..]) {
            let range = writer.add(SectionKind::Vectors, &set.vectors.encode()?);
            let part = parts.entry(set.namespace);
            let part = part.or_insert_with(|| VectorPart { namespace: set.namespace, sets_in: Vec::new(), sets_out: Vec::new() });
            part.sets_in.extend(set.replaces);
            part.sets_out.push(record_of(&set.vectors, VectorSetId(*id), object, range));
        }
        let finished = writer.finish();
        let record = ObjectRecord { id: object, epoch, len_bytes: finished.bytes.len() as u64, footer: finished.footer };
        let key = keys::of_object(manifest, epoch, object);
        self.store.put(&key, finished.bytes.into()).await?;
        let gone: Vec<VectorSetId> = parts.values().flat_map(|part| part.sets_in.iter().copied()).collect();
        let commit = CommitVectors { epoch, object: record, parts: parts.into_values().collect() };
        self.propose(epoch, commit).await?;
        self.sources.vectors.forget(&gone);
        Ok(())
    }

    async fn propose(&self, epoch: Epoch, commit: CommitVectors) -> Result<(), EmbedJobError> {
        let metadata = self.job.metadata();
        match repeated(self.job.patience(), || metadata.commit_vectors(commit.clone())).await {
            Ok(_) => Ok(()),
            // A namespace or a model was dropped meanwhile: the next round sees it.
            Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {
                tracing::info!(%error, "what was embedded is gone meanwhile");
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Fenced => {
                tracing::info!(%epoch, "another embedder took over");
                self.job.renew().await?;
                Err(error.into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn record_of(vectors: &PatternVectors, id: VectorSetId, object: ObjectId, range: CheckedRange) -> VectorSetRecord {
    VectorSetRecord {
        id,
        object,
        model: vectors.model().clone(),
        dimension: u16::try_from(vectors.dimension()).unwrap_or(u16::MAX),
        patterns: u32::try_from(vectors.hashes().len()).unwrap_or(u32::MAX),
        range,
    }
}

/// The vectors of a batch, on a thread that may be busy.
async fn embed(embedder: Arc<dyn Embedder>, batch: &[Wanted]) -> Result<Vec<(siltstone_core::pattern::PatternHash, Vec<f32>)>, EmbedJobError> {
    let texts: Vec<String> = batch.iter().map(|(_, bytes)| pattern_text(bytes)).collect();
    let dimension = embedder.dimension();
    let work = tokio::task::spawn_blocking(move || embedder.embed(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
    let vectors = work.await.map_err(|_| ViewError::Stopping)?.map_err(ModelError::from)?;
    Ok(batch.iter().zip(vectors.chunks(dimension)).map(|((hash, _), vector)| (*hash, vector.to_vec())).collect())
}
