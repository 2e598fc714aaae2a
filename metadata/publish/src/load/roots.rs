//! Which roots a store holds.

use super::LoadError;
use crate::owner::lives;
use siltstone_core::{CommitIndex, Epoch, Incarnation};
use siltstone_format::snapshot::{PublishedRoot, ShardMaker, ShardRef, SnapshotError};
use siltstone_store::paths::{ObjectPath, PathKind, kind_prefix};
use siltstone_store::{ObjectStore, StoreError, list_all};
use std::fmt;

/// What names a published root. Of two, the one of the later life is the newer; in one life, that of the later publisher: what a publisher that was
/// fenced put late never is the newest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RootKey {
    /// The life of the group.
    pub incarnation: Incarnation,
    /// The publisher's epoch.
    pub epoch: Epoch,
    /// The position of the log that it covers.
    pub version: CommitIndex,
}

impl RootKey {
    pub(crate) const fn path(&self) -> ObjectPath {
        ObjectPath::SnapshotRoot { incarnation: self.incarnation, epoch: self.epoch, index: self.version }
    }
}

impl fmt::Display for RootKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().fmt(f)
    }
}

/// Where a shard of a life's root lies.
pub(crate) const fn shard_path(incarnation: Incarnation, shard: &ShardRef, maker: ShardMaker) -> ObjectPath {
    ObjectPath::SnapshotShard { incarnation, epoch: maker.epoch, index: maker.index, hash: shard.hash }
}

/// All roots of all lives, the newest last.
pub(super) async fn roots(store: &dyn ObjectStore) -> Result<Vec<RootKey>, LoadError> {
    let mut roots = Vec::new();
    for incarnation in lives(store).await? {
        roots.extend(roots_of(store, incarnation).await?);
    }
    roots.sort_unstable();
    Ok(roots)
}

/// The roots of one life, the newest last.
pub(crate) async fn roots_of(store: &dyn ObjectStore, incarnation: Incarnation) -> Result<Vec<RootKey>, StoreError> {
    let objects = list_all(store, &kind_prefix(PathKind::SnapshotRoot, incarnation)).await?;
    let root = |key| match ObjectPath::parse(key) {
        Ok(ObjectPath::SnapshotRoot { incarnation, epoch, index }) => Some(RootKey { incarnation, epoch, version: index }),
        // Not ours to judge.
        _ => None,
    };
    let mut roots: Vec<RootKey> = objects.iter().filter_map(|object| root(&object.key)).collect();
    roots.sort_unstable();
    Ok(roots)
}

/// The newest root of one life.
pub(crate) async fn newest_of(store: &dyn ObjectStore, incarnation: Incarnation) -> Result<Option<RootKey>, StoreError> {
    Ok(roots_of(store, incarnation).await?.pop())
}

/// A root that is what its key says.
pub(crate) async fn read_root(store: &dyn ObjectStore, key: &RootKey) -> Result<PublishedRoot, LoadError> {
    let bytes = store.get(&key.path().key()).await?;
    let damaged = |source| LoadError::Damaged { key: key.to_string(), source };
    let published = PublishedRoot::decode(&bytes).map_err(damaged)?;
    let (incarnation, version) = (published.root().incarnation(), published.root().version());
    if (incarnation, version) == (key.incarnation, key.version) {
        return Ok(published);
    }
    let detail = format!("it covers position {version} of incarnation {:x}", incarnation.0);
    Err(damaged(SnapshotError::Inconsistent { detail }))
}
