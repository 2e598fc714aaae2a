//! From a published root to a manifest.

mod error;

pub use error::LoadError;

use siltstone_core::{CommitIndex, Epoch, Incarnation};
use siltstone_format::manifest::Manifest;
use siltstone_store::ObjectStore;

/// A backup that the store holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackupInfo {
    /// Its name.
    pub name: String,
    /// The life of the group that made it.
    pub incarnation: Incarnation,
    /// The epoch of the publisher that made it.
    pub epoch: Epoch,
    /// The position of the log that it covers.
    pub version: CommitIndex,
    /// State time at that position.
    pub at_ms: i64,
    /// Bytes of the snapshot: root and shards.
    pub snapshot_bytes: u64,
    /// Batches and objects that it names.
    pub objects: u64,
    /// Their bytes.
    pub object_bytes: u64,
}

/// All backups that the store holds, of every life, by rising life and position.
///
/// # Errors
/// [`LoadError`]
pub async fn list_backups(store: &dyn ObjectStore) -> Result<Vec<BackupInfo>, LoadError> {
    Err(LoadError::NothingPublished { place: store.place() })
}

/// The manifest of a backup by its name, or where none is given, of the newest root that was published.
///
/// # Errors
/// [`LoadError`]
pub async fn load_backup(store: &dyn ObjectStore, name: Option<&str>) -> Result<Manifest, LoadError> {
    let place = store.place();
    Err(name.map_or(LoadError::NothingPublished { place: place.clone() }, |name| LoadError::NoBackup { place, name: name.to_owned() }))
}
