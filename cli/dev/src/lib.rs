//! Every role in one process on a directory: a metadata group of one on the real log, an indexer, and a directory (or a bucket) as object store.
//!
//! ```text
//! DIR/LOCK        held while the process lives
//! DIR/metadata/   the group's log and snapshots
//! DIR/objects/    batches, packs and segments, unless another store is named
//! ```
//! What is deliberately not here: command lines (`siltstone`), listening (`siltstone_indexer::serve`).

mod error;
mod unknown;

pub use error::DevError;

use siltstone_core::Clock;
use siltstone_disk::{Disk, create_dir_durable};
use siltstone_indexer::{Indexer, IndexerConfig, IndexerError};
use siltstone_metadata::raft::{Blocking, NoPeers};
use siltstone_metadata::{MetadataNode, NodeConfig, NodeParts};
use siltstone_metadata_client::{MetadataClient, MetadataClientExt};
use siltstone_metadata_publish::{claim_first, fresh_incarnation};
use siltstone_store::{ObjectStore, ObjectStoreConfig, StoreOptions};
use std::path::PathBuf;
use std::sync::Arc;

/// What a process is started with.
pub struct DevConfig {
    /// Where everything is kept. The caller holds its lock.
    pub data: PathBuf,
    /// Another object store than `data/objects`.
    pub store: Option<ObjectStoreConfig>,
    /// The indexer's settings.
    pub indexer: IndexerConfig,
    /// The metadata group's settings.
    pub metadata: NodeConfig,
}

impl DevConfig {
    /// The settings of `siltstone dev` on a directory: namespaces are made by writing to them.
    #[must_use]
    pub fn new(data: PathBuf) -> Self {
        let mut indexer = IndexerConfig::default();
        indexer.ingest.auto_create_namespaces = true;
        // Nobody tunes a laptop: what was written is in packs within the hour, so that the live tier stays small.
        indexer.ingest.writer.chunk_age_ms_max = 3_600_000;
        Self { data, store: None, indexer, metadata: NodeConfig::single() }
    }
}

/// What the outside world gives: injected, so that tests choose it.
pub struct DevParts {
    /// Where `data` lies.
    pub disk: Arc<dyn Disk>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// A fresh random number, not 0: the life that a new group begins, and the seed of retries.
    pub random: u64,
    /// Told once when storage has failed and the process must end. Must not block.
    pub on_fatal: Arc<dyn Fn(String) + Send + Sync>,
}

/// A running process.
pub struct DevNode {
    metadata: MetadataNode,
    store: Arc<dyn ObjectStore>,
    indexer: Indexer,
}

impl DevNode {
    /// Starts from what the directory holds.
    ///
    /// # Errors
    /// [`DevError`]; nothing is left running then.
    pub async fn start(config: DevConfig, parts: DevParts) -> Result<Self, DevError> {
        let DevParts { disk, clock, random, on_fatal } = parts;
        let store_config = config.store.unwrap_or_else(|| ObjectStoreConfig::Directory { path: config.data.join("objects") });
        create_dir_durable(disk.as_ref(), &config.data).map_err(|source| DevError::Data { path: config.data.clone(), source })?;
        let store = store_config.open_on(disk.clone(), &StoreOptions::new(random)).await?;
        let node_parts = NodeParts {
            disk,
            dir: config.data.join("metadata"),
            clock: clock.clone(),
            transport: Arc::new(NoPeers),
            incarnation: fresh_incarnation(random),
            seed: random,
            blocking: Blocking::Threads,
            on_fatal: Arc::new(move |error: &_| on_fatal(format!("{error}"))),
        };
        let metadata = MetadataNode::start(config.metadata, node_parts).await?;
        match Self::begin(config.indexer, &metadata, store.clone(), clock).await {
            Ok(indexer) => Ok(Self { metadata, store, indexer }),
            Err(error) => {
                metadata.shutdown().await;
                Err(error)
            }
        }
    }

    async fn begin(config: IndexerConfig, metadata: &MetadataNode, store: Arc<dyn ObjectStore>, clock: Arc<dyn Clock>) -> Result<Indexer, DevError> {
        claim_first(store.as_ref(), metadata.incarnation(), clock.now_ms()).await?;
        // Before the indexer begins new epochs, which the lost ones would be taken for.
        let manifest = metadata.linearizable_manifest().await.map_err(IndexerError::from)?;
        let unknown = unknown::first_unknown(store.as_ref(), &manifest).await?;
        let indexer = Indexer::start(config, store, Arc::new(metadata.clone()), clock).await?;
        if let Some(key) = unknown {
            indexer.problems().note_lasting(&unknown::message(&key));
        }
        Ok(indexer)
    }

    /// The indexer.
    #[must_use]
    pub fn indexer(&self) -> &Indexer {
        &self.indexer
    }

    /// The metadata group.
    #[must_use]
    pub fn metadata(&self) -> &MetadataNode {
        &self.metadata
    }

    /// The object store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// Ends the process's roles. What was acknowledged is durable already.
    pub async fn shutdown(self) {
        drop(self.indexer);
        self.metadata.shutdown().await;
    }
}
