//! A published root of which some namespaces are read.
//!
//! Whole shards that are needed at any rate come many at once; the rest by one ranged request a namespace. What is not here: keeping them.

use super::{LoadError, READS_IN_FLIGHT, RootKey, backups, newest, read_checked, read_root, shard_path};
use bytes::Bytes;
use futures::stream::{StreamExt, TryStreamExt};
use siltstone_core::NamespaceId;
use siltstone_format::manifest::Manifest;
use siltstone_format::snapshot::{LazySnapshot, PublishedRoot, ShardContent, ShardRef, SnapshotError};
use siltstone_store::ObjectStore;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;
use tokio::runtime::Handle;

/// A published root, and where each namespace lies. Cloning is cheap.
#[derive(Clone)]
pub struct PublishedSnapshot {
    store: Arc<dyn ObjectStore>,
    key: RootKey,
    published: Arc<PublishedRoot>,
    lazy: Arc<LazySnapshot>,
}

type Shards = HashMap<ShardRef, Bytes>;

impl PublishedSnapshot {
    /// Opens a backup by its name, or where none is given, the newest root that was published: reads the names of its namespaces, and no more.
    ///
    /// # Errors
    /// As [`load_backup`](crate::load_backup).
    pub async fn open(store: Arc<dyn ObjectStore>, name: Option<&str>) -> Result<Self, LoadError> {
        let key = match name {
            Some(name) => backups::find(store.as_ref(), name).await?,
            None => newest(store.as_ref()).await?,
        };
        let published = Arc::new(read_root(store.as_ref(), &key).await?);
        let is_described = |shard: &ShardRef| published.root().shard(ShardContent::Directories, shard.number).is_some();
        let is_wanted = |shard: &ShardRef| match shard.content {
            ShardContent::Directories => true,
            ShardContent::Namespaces => !is_described(shard),
            _ => false,
        };
        let shards = fetch(store.as_ref(), &key, &published, is_wanted).await?;
        let reader = Reader { store: store.clone(), key, published: published.clone(), shards };
        let lazy = reader.run(|reader| LazySnapshot::open(reader.published.root().clone(), |shard, range| reader.read(shard, range))).await?;
        Ok(Self { store, key, published, lazy: Arc::new(lazy) })
    }

    /// What names the root.
    #[must_use]
    pub const fn key(&self) -> RootKey {
        self.key
    }

    /// The names of all namespaces, and the root.
    #[must_use]
    pub fn lazy(&self) -> &LazySnapshot {
        &self.lazy
    }

    /// The manifest of these namespaces alone, as [`LazySnapshot::part`]. Those that do not exist are not in it.
    ///
    /// # Errors
    /// [`LoadError`]; where it is [gone](LoadError::is_gone), a newer root took this one's place long ago: open it.
    pub async fn part(&self, wanted: BTreeSet<NamespaceId>) -> Result<Manifest, LoadError> {
        let is_wanted = |shard: &ShardRef| matches!(shard.content, ShardContent::Models | ShardContent::Settings);
        let shards = fetch(self.store.as_ref(), &self.key, &self.published, is_wanted).await?;
        let reader = Reader { store: self.store.clone(), key: self.key, published: self.published.clone(), shards };
        let lazy = self.lazy.clone();
        reader.run(move |reader| lazy.part(&wanted, |shard, range| reader.read(shard, range))).await
    }

    /// A manifest of a root's settings alone.
    pub(super) async fn settings(store: &dyn ObjectStore, key: &RootKey) -> Result<Manifest, LoadError> {
        let published = read_root(store, key).await?;
        let shards = fetch(store, key, &published, |shard| shard.content == ShardContent::Settings).await?;
        let bytes = shards.values().next().map(AsRef::as_ref);
        published.root().settings(bytes).map_err(|source| LoadError::Damaged { key: key.to_string(), source })
    }
}

/// Some shards of a root, whole.
async fn fetch<F>(store: &dyn ObjectStore, key: &RootKey, published: &PublishedRoot, is_wanted: F) -> Result<Shards, LoadError>
where
    F: Fn(&ShardRef) -> bool,
{
    let reads = published.shards().filter(|(shard, _)| is_wanted(shard)).map(|(shard, maker)| {
        let (shard, path) = (*shard, shard_path(key.incarnation, shard, maker).key());
        async move { Ok::<_, LoadError>((shard, read_checked(store, &path, |bytes| shard.check(bytes)).await?)) }
    });
    futures::stream::iter(reads.collect::<Vec<_>>()).buffered(READS_IN_FLIGHT).try_collect().await
}

/// Gives a lazy snapshot, which asks one thing at a time and waits, what it asks for.
struct Reader {
    store: Arc<dyn ObjectStore>,
    key: RootKey,
    published: Arc<PublishedRoot>,
    shards: Shards,
}

/// What stops a lazy snapshot: damage has a key only where one object is damaged.
enum Stop {
    Snapshot(SnapshotError),
    Load(LoadError),
}

impl From<SnapshotError> for Stop {
    fn from(error: SnapshotError) -> Self {
        Self::Snapshot(error)
    }
}

impl Reader {
    /// On a thread that may wait.
    async fn run<T, F>(self, work: F) -> Result<T, LoadError>
    where
        T: Send + 'static,
        F: FnOnce(&Self) -> Result<T, Stop> + Send + 'static,
    {
        let root = self.key;
        let worked = tokio::task::spawn_blocking(move || work(&self).map_err(|stop| self.name(stop))).await;
        worked.map_err(|error| LoadError::Aborted { key: root.to_string(), reason: error.to_string() })?
    }

    fn read(&self, shard: &ShardRef, range: Option<Range<u64>>) -> Result<Vec<u8>, Stop> {
        let range = range.unwrap_or(0..shard.len);
        if let Some(bytes) = self.shards.get(shard) {
            let bytes = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok()).and_then(|(start, end)| bytes.get(start..end));
            return bytes.map(<[u8]>::to_vec).ok_or(Stop::Snapshot(SnapshotError::WrongShard { shard: *shard }));
        }
        let maker = self.published.maker(shard).ok_or(SnapshotError::WrongShard { shard: *shard })?;
        let path = shard_path(self.key.incarnation, shard, maker).key();
        let bytes = Handle::current().block_on(self.store.get_range(&path, range));
        Ok(bytes.map_err(|error| Stop::Load(error.into()))?.into())
    }

    /// The error with the key of the object that it is about.
    fn name(&self, stop: Stop) -> LoadError {
        match stop {
            Stop::Load(error) => error,
            Stop::Snapshot(source) => {
                let shard = if let SnapshotError::WrongShard { shard } = &source { Some(*shard) } else { None };
                let path = shard.and_then(|shard| Some(shard_path(self.key.incarnation, &shard, self.published.maker(&shard)?)));
                LoadError::Damaged { key: path.unwrap_or(self.key.path()).to_string(), source }
            }
        }
    }
}
