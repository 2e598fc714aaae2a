//! Deletes roots that nobody needs any more, then shards that none of the others names. Why that is safe stands in the module above.

use super::term::asked;
use super::{PublishConfig, PublishError};
use crate::load::{LoadError, RootKey, read_root, roots_of, shard_path};
use crate::owner::check_owner;
use futures::stream::{StreamExt, TryStreamExt};
use siltstone_core::{ErrorKind, Incarnation};
use siltstone_format::manifest::Manifest;
use siltstone_format::snapshot::ShardMaker;
use siltstone_metadata_client::{MetadataClient, MetadataClientExt};
use siltstone_store::paths::{ObjectPath, PathKind, kind_prefix};
use siltstone_store::{ObjectKey, ObjectStore, StoreError, list_all};
use std::collections::{BTreeMap, BTreeSet};

/// What was deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Collected {
    pub(super) roots: u64,
    pub(super) shards: u64,
}

/// Collects after each root. Remembers what roots say, so that each is read once.
#[derive(Default)]
pub(super) struct Collector {
    is_expected: bool,
    told: BTreeMap<RootKey, Told>,
}

/// What a root says.
struct Told {
    state_time_ms: i64,
    shards: Vec<ObjectPath>,
}

impl Collector {
    /// A root was published: there may be something to collect.
    pub(super) fn expect(&mut self) {
        self.is_expected = true;
    }

    pub(super) const fn is_expected(&self) -> bool {
        self.is_expected
    }

    pub(super) async fn collect(
        &mut self,
        config: &PublishConfig,
        store: &dyn ObjectStore,
        client: &dyn MetadataClient,
        newest: &RootKey,
    ) -> Result<Collected, PublishError> {
        let incarnation = newest.incarnation;
        let shards = shards_of(store, incarnation).await?;
        let roots = roots_of(store, incarnation).await?;
        let manifest = client.linearizable_manifest().await?;
        if !manifest.is_live(newest.epoch) || roots.last().is_some_and(|last| last.epoch > newest.epoch) {
            return Err(PublishError::Fenced { epoch: newest.epoch });
        }
        check_owner(store, incarnation).await?;
        // A record that is not understood may name any root.
        let is_unknown = manifest.backups().any(|(_, _, record)| record.is_err());
        if roots.last() != Some(newest) || is_unknown || asked(&manifest).next().is_some() {
            return Ok(Collected::default());
        }
        self.is_expected = false;

        self.told.retain(|root, _| roots.binary_search(root).is_ok());
        let kept = self.kept(config, store, &roots, &manifest).await?;
        let mut named = BTreeSet::new();
        for root in &kept {
            named.extend(self.tell(store, root).await?.iter().flat_map(|told| &told.shards).copied());
        }
        let before = ShardMaker { epoch: newest.epoch, index: newest.version };
        let is_over = |shard: &&ObjectPath| is_made_before(shard, before) && !named.contains(*shard);
        let dead_shards: Vec<ObjectKey> = shards.iter().filter(is_over).map(ObjectPath::key).collect();
        let dead_roots: Vec<ObjectKey> = roots.iter().filter(|root| !kept.contains(root)).map(|root| root.path().key()).collect();
        let collected = Collected { roots: dead_roots.len() as u64, shards: dead_shards.len() as u64 };
        for dead in [dead_roots, dead_shards] {
            let deletes = dead.iter().map(|key| store.delete(key)).collect::<Vec<_>>();
            futures::stream::iter(deletes).buffer_unordered(config.requests_max).try_collect::<()>().await?;
        }
        Ok(collected)
    }

    async fn kept(
        &mut self,
        config: &PublishConfig,
        store: &dyn ObjectStore,
        roots: &[RootKey],
        manifest: &Manifest,
    ) -> Result<BTreeSet<RootKey>, PublishError> {
        let mut kept: BTreeSet<RootKey> = roots.iter().rev().take(config.keep_roots.max(1)).copied().collect();
        kept.extend(backup_roots(manifest).filter(|root| roots.binary_search(root).is_ok()));
        for pair in roots.windows(2) {
            // One that can't be read does not say since when the one before it is not the newest any more.
            let replaced_at_ms = match self.tell(store, &pair[1]).await {
                Ok(told) => told.map(|told| told.state_time_ms),
                Err(error) if error.kind() == ErrorKind::Corrupt => None,
                Err(error) => return Err(error.into()),
            };
            if replaced_at_ms.is_none_or(|at_ms| manifest.state_time_ms.saturating_sub(at_ms) < config.keep_ms) {
                kept.insert(pair[0]);
            }
        }
        Ok(kept)
    }

    /// What a root says; `None` where it is gone.
    async fn tell(&mut self, store: &dyn ObjectStore, root: &RootKey) -> Result<Option<&Told>, LoadError> {
        if !self.told.contains_key(root) {
            let published = match read_root(store, root).await {
                Ok(published) => published,
                Err(error) if error.is_gone() => return Ok(None),
                Err(error) => return Err(error),
            };
            let shards = published.shards().map(|(shard, maker)| shard_path(root.incarnation, shard, maker)).collect();
            self.told.insert(*root, Told { state_time_ms: published.root().state_time_ms(), shards });
        }
        Ok(self.told.get(root))
    }
}

/// Roots of this life's backups.
fn backup_roots(manifest: &Manifest) -> impl Iterator<Item = RootKey> {
    let incarnation = manifest.incarnation;
    let records = manifest.backups().filter_map(|(_, _, record)| record.ok()).filter(move |record| record.incarnation == incarnation);
    records.filter_map(|record| record.root).map(move |root| RootKey { incarnation, epoch: root.epoch, version: root.version })
}

fn is_made_before(shard: &ObjectPath, before: ShardMaker) -> bool {
    matches!(shard, ObjectPath::SnapshotShard { epoch, index, .. } if ShardMaker { epoch: *epoch, index: *index } < before)
}

async fn shards_of(store: &dyn ObjectStore, incarnation: Incarnation) -> Result<Vec<ObjectPath>, StoreError> {
    let objects = list_all(store, &kind_prefix(PathKind::SnapshotShard, incarnation)).await?;
    // What has another form is not ours to judge.
    Ok(objects.iter().filter_map(|object| ObjectPath::parse(&object.key).ok()).collect())
}
