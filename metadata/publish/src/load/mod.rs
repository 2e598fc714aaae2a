//! From published roots to manifests, whole or in part.
//!
//! Loading takes a while, and the group may publish and collect meanwhile. A root is kept long after another took its place (see `publisher`), so a
//! loader meets a shard that is gone only where it was very slow: where it asked for the newest root, it takes the one that is newest then.
//!
//! Every object is checked against its checksum or hash, and an error names the key. What is deliberately not here: keeping a manifest up to date,
//! and choosing another root by itself where one is damaged, which may be what an operator must not miss.

mod backups;
mod error;
mod lazy;
mod roots;

pub use backups::{BackupInfo, BackupSize, list_backups};
pub use error::LoadError;
pub use lazy::PublishedSnapshot;
pub use roots::RootKey;

pub(crate) use roots::{newest_of, read_root, roots_of, shard_path};

use bytes::Bytes;
use futures::stream::{StreamExt, TryStreamExt};
use roots::roots;
use siltstone_format::manifest::Manifest;
use siltstone_format::snapshot::{PublishedRoot, SnapshotError, assemble};
use siltstone_store::{ObjectKey, ObjectStore};

/// Requests in flight while shards are read: enough to hide the store's latency, few enough to go unnoticed.
pub(crate) const READS_IN_FLIGHT: usize = 16;

/// A loader that meets a newer root each time that a shard was gone is not slow but wrong.
const NEWEST_TRIES: usize = 4;

/// The manifest of a backup by its name, or where none is given, of the newest root that was published.
///
/// # Errors
/// [`LoadError`]; of damage and of what is missing it names the key.
pub async fn load_backup(store: &dyn ObjectStore, name: Option<&str>) -> Result<Manifest, LoadError> {
    if let Some(name) = name {
        let root = backups::find(store, name).await?;
        return load_root(store, &root).await;
    }
    let mut root = newest(store).await?;
    let mut tries = 1;
    loop {
        match load_root(store, &root).await {
            Err(error) if error.is_gone() && tries < NEWEST_TRIES => {
                let now = newest(store).await?;
                if now == root {
                    return Err(error);
                }
                (root, tries) = (now, tries + 1);
            }
            outcome => return outcome,
        }
    }
}

/// The newest root that was published, of the latest life that published any.
pub(crate) async fn newest(store: &dyn ObjectStore) -> Result<RootKey, LoadError> {
    roots(store).await?.pop().ok_or_else(|| LoadError::NothingPublished { place: store.place() })
}

/// The manifest of a root.
pub(crate) async fn load_root(store: &dyn ObjectStore, key: &RootKey) -> Result<Manifest, LoadError> {
    let published = read_root(store, key).await?;
    let shards = read_shards(store, key, &published).await?;
    // Each shard is checked before: what is wrong now is wrong between them.
    assemble(published.root(), shards.iter().map(AsRef::as_ref)).map_err(|source| LoadError::Damaged { key: key.to_string(), source })
}

/// All shards of a root, in its order.
async fn read_shards(store: &dyn ObjectStore, key: &RootKey, published: &PublishedRoot) -> Result<Vec<Bytes>, LoadError> {
    let reads = published.shards().map(|(shard, maker)| {
        let path = shard_path(key.incarnation, shard, maker).key();
        async move { read_checked(store, &path, |bytes| shard.check(bytes)).await }
    });
    futures::stream::iter(reads.collect::<Vec<_>>()).buffered(READS_IN_FLIGHT).try_collect().await
}

async fn read_checked<F>(store: &dyn ObjectStore, key: &ObjectKey, check: F) -> Result<Bytes, LoadError>
where
    F: FnOnce(&[u8]) -> Result<(), SnapshotError>,
{
    let bytes = store.get(key).await?;
    check(&bytes).map_err(|source| LoadError::Damaged { key: key.to_string(), source })?;
    Ok(bytes)
}
