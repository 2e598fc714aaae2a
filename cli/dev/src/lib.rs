//! Every role in one process on a directory: a metadata group of one on the real log, an indexer, and a directory (or a bucket) as object store.
//! Or all but the metadata group, which is then followed where it is.
//!
//! ```text
//! DIR/LOCK        held while the process lives
//! DIR/metadata/   the group's log and snapshots, if it is inside
//! DIR/objects/    batches, packs and segments, unless another store is named
//! ```
//! What is deliberately not here: command lines (`siltstone`), listening (`siltstone_indexer::serve`).

mod error;
mod group;
mod unknown;

pub use error::{DevEnd, DevError};
pub use siltstone_metadata_remote::RemoteConfig;

use group::Group;
use siltstone_core::Clock;
use siltstone_disk::{Disk, create_dir_durable};
use siltstone_indexer::{Indexer, IndexerConfig};
use siltstone_metadata::raft::{Blocking, NoPeers};
use siltstone_metadata::{MetadataNode, NodeConfig, NodeParts};
use siltstone_metadata_publish::{OwnerError, claim_first, fresh_incarnation};
use siltstone_metadata_remote::RemoteMetadata;
use siltstone_store::{ObjectStore, ObjectStoreConfig, StoreOptions};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// What a process is started with.
pub struct DevConfig {
    /// Where everything is kept. The caller holds its lock.
    pub data: PathBuf,
    /// Another object store than `data/objects`.
    pub store: Option<ObjectStoreConfig>,
    /// The indexer's settings.
    pub indexer: IndexerConfig,
    /// The settings of the metadata group inside.
    pub metadata: NodeConfig,
    /// The metadata group in other processes that is followed instead.
    pub group: Option<RemoteConfig>,
    /// How long that group may take until there is something to follow: its members may be starting, too.
    pub group_ready_ms_max: u64,
}

impl DevConfig {
    /// The settings of `siltstone dev` on a directory: namespaces are made by writing to them.
    #[must_use]
    pub fn new(data: PathBuf) -> Self {
        let mut indexer = IndexerConfig::default();
        indexer.ingest.auto_create_namespaces = true;
        // Nobody tunes a laptop: what was written is in packs within the hour, so that the live tier stays small.
        indexer.ingest.writer.chunk_age_ms_max = 3_600_000;
        Self { data, store: None, indexer, metadata: NodeConfig::single(), group: None, group_ready_ms_max: 30_000 }
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
    /// Told once when the process must end. Must not block.
    pub on_fatal: Arc<dyn Fn(DevEnd) + Send + Sync>,
}

/// A running process.
pub struct DevNode {
    group: Group,
    store: Arc<dyn ObjectStore>,
    indexer: Indexer,
    watched: Option<JoinHandle<()>>,
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
        let group = match config.group {
            Some(remote) => {
                let remote = RemoteMetadata::start(remote, random)?;
                remote.wait_ready(Duration::from_millis(config.group_ready_ms_max)).await?;
                Group::Remote(Arc::new(remote))
            }
            None => {
                let on_fatal = on_fatal.clone();
                let node_parts = NodeParts {
                    disk,
                    dir: config.data.join("metadata"),
                    clock: clock.clone(),
                    transport: Arc::new(NoPeers),
                    incarnation: fresh_incarnation(random),
                    seed: random,
                    blocking: Blocking::Threads,
                    on_fatal: Arc::new(move |error: &_| on_fatal(DevEnd::Storage { cause: format!("{error}") })),
                };
                Group::Own(MetadataNode::start(config.metadata, node_parts).await?)
            }
        };
        match Self::begin(config.indexer, &group, store.clone(), clock).await {
            Ok(indexer) => {
                let watched = match &group {
                    Group::Own(_) => None,
                    Group::Remote(remote) => Some(group::watch(remote, &indexer, on_fatal)),
                };
                Ok(Self { group, store, indexer, watched })
            }
            Err(error) => {
                group.end().await;
                Err(error)
            }
        }
    }

    async fn begin(config: IndexerConfig, group: &Group, store: Arc<dyn ObjectStore>, clock: Arc<dyn Clock>) -> Result<Indexer, DevError> {
        let metadata = group.client();
        claim_first(store.as_ref(), metadata.incarnation(), clock.now_ms()).await.map_err(|error| match (group, error) {
            (Group::Remote(remote), source @ OwnerError::OtherOwner { .. }) => DevError::GroupOwner { source, members: remote.addresses().join(",") },
            (_, error) => error.into(),
        })?;
        // Before the indexer begins new epochs, which the lost ones would be taken for.
        let unknown = unknown::lost(store.as_ref(), metadata.as_ref()).await?;
        let indexer = Indexer::start(config, store, metadata, clock).await?;
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

    /// The object store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// Ends the process's roles. What was acknowledged is durable already.
    pub async fn shutdown(self) {
        if let Some(watched) = self.watched {
            watched.abort();
        }
        drop(self.indexer);
        self.group.end().await;
    }
}
