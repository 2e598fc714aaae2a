//! Views: one manifest version and what it names, pinned together. A query runs on exactly one view.
//!
//! Opening a view loads the segments and live slices of the namespaces that are asked about; rows are fetched when an answer needs them. What is
//! deliberately not here: what a query asks (`query`), and who may ask (`serve`).

mod chunks;
mod damage;
mod entry_vectors;
mod error;
mod follow;
mod live;
mod namespace;
mod packs;
mod segments;
mod vector_indexes;
mod vectors;

pub use error::ViewError;
pub use follow::Cursor;
pub use live::LiveRows;
pub use namespace::NamespaceView;

pub(crate) use packs::Packs;
pub(crate) use segments::Segments;
pub(crate) use vector_indexes::{OpenedIndex, VectorIndexes};
pub(crate) use vectors::VectorSets;

use siltstone_core::{CommitToken, ModelId};
use siltstone_format::manifest::Manifest;
use siltstone_format::vectors::PatternVectors;
use siltstone_metadata_client::{MetadataClient, MetadataClientExt};
use siltstone_store::ObjectStore;
use std::sync::Arc;
use std::time::Duration;

/// How much memory views may keep.
#[derive(Clone, Copy, Debug)]
pub struct ViewConfig {
    /// Bytes of opened segments.
    pub segment_bytes_max: u64,
    /// Bytes of decoded chunks of packs.
    pub chunk_bytes_max: u64,
    /// Bytes of opened indexes over vectors of entries.
    pub index_bytes_max: u64,
    /// Bytes of opened sets of pattern vectors.
    pub vector_bytes_max: u64,
    /// How long a query waits for the commit that it asks for.
    pub min_commit_wait_ms: u64,
}

impl Default for ViewConfig {
    fn default() -> Self {
        Self {
            segment_bytes_max: 1 << 30,
            chunk_bytes_max: 256 << 20,
            index_bytes_max: 1 << 30,
            vector_bytes_max: 256 << 20,
            min_commit_wait_ms: 10_000,
        }
    }
}

/// Opens views.
#[derive(Clone)]
pub struct Views {
    inner: Arc<Inner>,
}

struct Inner {
    config: ViewConfig,
    metadata: Arc<dyn MetadataClient>,
    segments: Arc<Segments>,
    packs: Arc<Packs>,
    vectors: Arc<VectorSets>,
    indexes: Arc<VectorIndexes>,
    live: Arc<LiveRows>,
}

/// One version of some namespaces.
pub struct View {
    /// The manifest's version.
    pub token: CommitToken,
    /// The manifest.
    pub manifest: Manifest,
    /// The namespaces that were asked for and exist, in that order.
    pub namespaces: Vec<NamespaceView>,
    /// Names that were asked for and do not exist: they are empty.
    pub unknown: Vec<String>,
}

impl Views {
    /// Views over a store.
    #[must_use]
    pub fn new(config: ViewConfig, metadata: Arc<dyn MetadataClient>, store: Arc<dyn ObjectStore>, live: Arc<LiveRows>) -> Self {
        let segments = Arc::new(Segments::new(store.clone(), config.segment_bytes_max));
        let vectors = Arc::new(VectorSets::new(store.clone(), config.vector_bytes_max));
        let indexes = Arc::new(VectorIndexes::new(store.clone(), config.index_bytes_max));
        let packs = Arc::new(Packs::new(store, config.chunk_bytes_max));
        Self { inner: Arc::new(Inner { config, metadata, segments, packs, vectors, indexes, live }) }
    }

    /// The newest view of these namespaces that covers a commit.
    ///
    /// # Errors
    /// [`ViewError`]
    pub async fn open(&self, names: &[String], min_commit: Option<CommitToken>) -> Result<View, ViewError> {
        let manifest = self.manifest(min_commit).await?;
        self.open_at(&manifest, names).await
    }

    /// The view of these namespaces at one version.
    ///
    /// # Errors
    /// [`ViewError`]
    pub async fn open_at(&self, manifest: &Manifest, names: &[String]) -> Result<View, ViewError> {
        let mut view = View { token: manifest.token(), manifest: manifest.clone(), namespaces: Vec::new(), unknown: Vec::new() };
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                continue;
            }
            match manifest.namespace_by_name(name) {
                Some(namespace) => view.namespaces.push(self.open_namespace(manifest, namespace).await?),
                None => view.unknown.push(name.clone()),
            }
        }
        Ok(view)
    }

    /// The newest manifest that covers a commit.
    ///
    /// # Errors
    /// [`ViewError::Behind`] when it does not come in time.
    pub async fn manifest(&self, min_commit: Option<CommitToken>) -> Result<Manifest, ViewError> {
        let Some(token) = min_commit else {
            return Ok(self.inner.metadata.manifest());
        };
        let waited_ms = self.inner.config.min_commit_wait_ms;
        match tokio::time::timeout(Duration::from_millis(waited_ms), self.inner.metadata.wait_for_commit(token)).await {
            Ok(manifest) => Ok(manifest?),
            Err(_) => Err(ViewError::Behind { token, newest: self.inner.metadata.manifest().token(), waited_ms }),
        }
    }

    pub(crate) fn packs(&self) -> &Arc<Packs> {
        &self.inner.packs
    }

    /// The vectors that a model gave to the patterns of one namespace of a view.
    ///
    /// # Errors
    /// [`ViewError`]
    pub async fn pattern_vectors(&self, view: &View, namespace: &NamespaceView, model: &ModelId) -> Result<Vec<Arc<PatternVectors>>, ViewError> {
        let mut sets = Vec::new();
        for record in namespace.manifest().vectors.values().filter(|record| record.model == *model) {
            sets.push(self.inner.vectors.open(&view.manifest, record).await?);
        }
        Ok(sets)
    }

    pub(crate) fn vectors(&self) -> &Arc<VectorSets> {
        &self.inner.vectors
    }

    pub(crate) fn vector_indexes(&self) -> &Arc<VectorIndexes> {
        &self.inner.indexes
    }

    pub(crate) fn segments(&self) -> &Arc<Segments> {
        &self.inner.segments
    }

    /// The metadata group behind these views.
    #[must_use]
    pub fn metadata(&self) -> &Arc<dyn MetadataClient> {
        &self.inner.metadata
    }
}
