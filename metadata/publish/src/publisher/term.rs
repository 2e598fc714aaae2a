//! One epoch of the publisher: from root to root.

use super::collect::{Collected, Collector};
use super::{PUBLISHER_JOB, PublishConfig, PublishError, ago};
use crate::load::{RootKey, newest_of, read_root, shard_path};
use crate::owner::claim_first;
use bytes::Bytes;
use futures::stream::{StreamExt, TryStreamExt};
use siltstone_core::{Epoch, ErrorKind, Incarnation};
use siltstone_format::manifest::{BackupRecord, BackupRoot, Manifest, backup_key};
use siltstone_format::snapshot::{Encoded, PublishedRoot, ShardMaker, encode, encode_changed};
use siltstone_metadata_client::{ClientError, EpochKeeper, HeldEpoch, MetadataClient, MetadataClientExt};
use siltstone_store::{ObjectKey, ObjectStore};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::time::Instant;

/// What was published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Published {
    pub(super) key: RootKey,
    pub(super) shards_put: u64,
    pub(super) put_bytes: u64,
}

/// One epoch of the publisher.
pub(super) struct Term {
    config: PublishConfig,
    store: Arc<dyn ObjectStore>,
    client: Arc<dyn MetadataClient>,
    incarnation: Incarnation,
    epoch: Epoch,
    /// Renews the epoch's lease as long as the term lasts.
    _lease: (HeldEpoch, EpochKeeper),
    base: Option<Base>,
    /// When the base was published; `None` where it is so long ago that the clock does not reach there.
    published_at: Option<Instant>,
    collector: Collector,
}

/// The root that the next one is made from.
struct Base {
    key: RootKey,
    published: Arc<PublishedRoot>,
    /// The manifest of which it is the root; `None` where another epoch published it.
    manifest: Option<Manifest>,
}

impl Term {
    /// Claims the store where it is not this group's yet, begins an epoch, and takes the newest root that there is as its base.
    pub(super) async fn begin(
        config: PublishConfig,
        store: &Arc<dyn ObjectStore>,
        client: &Arc<dyn MetadataClient>,
        now_ms: i64,
    ) -> Result<Self, PublishError> {
        let incarnation = client.incarnation();
        claim_first(store.as_ref(), incarnation, now_ms).await?;
        let (epoch, keeper) = (client.register_job(PUBLISHER_JOB).await?, EpochKeeper::start(client.clone()));
        // Listed after the epoch began: whatever a former publisher may delete is told by this.
        let manifest = client.linearizable_manifest().await?;
        let newest = newest_of(store.as_ref(), incarnation).await?;
        if let Some(key) = newest.filter(|key| key.epoch >= epoch || key.version >= manifest.version) {
            return Err(PublishError::LostLog { key: key.to_string() });
        }
        let base = match newest {
            None => None,
            Some(key) => match read_root(store.as_ref(), &key).await {
                Ok(published) => Some(Base { key, published: Arc::new(published), manifest: None }),
                // Then nothing is taken from it: all shards are put.
                Err(error) if error.is_gone() || error.kind() == ErrorKind::Corrupt => {
                    tracing::warn!(%error, "the newest published root can't be read: the next one is published whole");
                    None
                }
                Err(error) => return Err(error.into()),
            },
        };
        let published_at = base.as_ref().and_then(|base| ago(manifest.state_time_ms, base.published.root().state_time_ms()));
        let (store, client) = (store.clone(), client.clone());
        Ok(Self {
            config,
            store,
            client,
            incarnation,
            epoch,
            _lease: (keeper.hold(epoch), keeper),
            base,
            published_at,
            collector: Collector::default(),
        })
    }

    pub(super) fn is_due(&self, manifest: &Manifest) -> bool {
        let Some(base) = &self.base else { return true };
        let passed = manifest.version.0.saturating_sub(base.key.version.0);
        let waited = |limit| self.published_at.is_none_or(|at| at.elapsed() >= limit);
        let by_size = passed >= self.config.positions_max && waited(self.config.gap);
        let by_time = passed > 0 && waited(self.config.every);
        by_size || by_time || self.waits_for_root(manifest)
    }

    /// Whether a backup was asked for that the base does not cover.
    fn waits_for_root(&self, manifest: &Manifest) -> bool {
        let covered = self.base.as_ref().filter(|base| base.manifest.is_some()).map(|base| base.key.version);
        asked(manifest).any(|(_, changed_at, record)| record.incarnation == self.incarnation && covered.is_none_or(|covered| changed_at > covered))
    }

    /// Puts the shards that changed, then the root.
    pub(super) async fn publish(&mut self, manifest: Manifest) -> Result<Published, PublishError> {
        let key = RootKey { incarnation: self.incarnation, epoch: self.epoch, version: manifest.version };
        let prepared = {
            let (manifest, base) = (manifest.clone(), self.base.as_ref().map(|base| (base.published.clone(), base.manifest.clone())));
            let prepared = tokio::task::spawn_blocking(move || prepare(&key, &manifest, base)).await;
            prepared.map_err(|error| PublishError::Aborted { reason: error.to_string() })??
        };
        let Prepared { shards, published, root } = prepared;
        let (shards_put, put_bytes) = (shards.len() as u64, root.len() as u64 + shards.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>());
        let puts = shards.into_iter().map(|(path, bytes)| {
            let store = self.store.clone();
            async move { store.put(&path, bytes).await }
        });
        futures::stream::iter(puts.collect::<Vec<_>>()).buffer_unordered(self.config.requests_max).try_collect::<()>().await?;
        self.store.put(&key.path().key(), root).await?;
        self.base = Some(Base { key, published: Arc::new(published), manifest: Some(manifest) });
        self.published_at = Some(Instant::now());
        self.collector.expect();
        Ok(Published { key, shards_put, put_bytes })
    }

    /// Records the base as the root of those backups that it covers.
    pub(super) async fn complete_backups(&mut self, manifest: Manifest) -> Result<(), PublishError> {
        let Some(Base { key, published, manifest: Some(of_base) }) = &self.base else { return Ok(()) };
        if asked(&manifest).next().is_none() {
            return Ok(());
        }
        // A later publisher may have deleted what this root names, before the backup was asked for. While this one's epoch is alive, nobody has.
        if !self.client.linearizable_manifest().await?.is_live(self.epoch) {
            return Err(PublishError::Fenced { epoch: self.epoch });
        }
        for (name, changed_at, record) in asked(&manifest) {
            let value = if record.incarnation != self.incarnation {
                // Asked of a life that this one was restored from: that life's own root tells of it.
                None
            } else if changed_at <= key.version {
                let root = Some(backup_root(key, published, of_base)?);
                Some(BackupRecord { root, ..record }.encode())
            } else {
                continue;
            };
            match self.client.put_setting(&backup_key(name), value, Some(changed_at)).await {
                // It was removed, or recorded already.
                Ok(_) | Err(ClientError::Rejected(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    pub(super) fn may_collect(&self) -> bool {
        self.collector.is_expected()
    }

    pub(super) async fn collect(&mut self) -> Result<Collected, PublishError> {
        let Some(Base { key, .. }) = &self.base else { return Ok(Collected::default()) };
        self.collector.collect(&self.config, self.store.as_ref(), self.client.as_ref(), key).await
    }
}

/// Backups that were asked for and have no root yet.
pub(super) fn asked(manifest: &Manifest) -> impl Iterator<Item = (&str, siltstone_core::CommitIndex, BackupRecord)> {
    manifest.backups().filter_map(|(name, changed_at, record)| Some((name, changed_at, record.ok().filter(|record| record.root.is_none())?)))
}

fn backup_root(key: &RootKey, published: &PublishedRoot, manifest: &Manifest) -> Result<BackupRoot, PublishError> {
    let shard_bytes: u64 = published.shards().map(|(shard, _)| shard.len).sum();
    let batches = manifest.batches.values().map(|batch| batch.record.len_bytes);
    let objects = manifest.objects.values().filter(|object| object.retired_at_ms.is_none()).map(|object| object.record.len_bytes);
    let (objects, object_bytes) = batches.chain(objects).fold((0, 0_u64), |(count, sum), bytes| (count + 1, sum.saturating_add(bytes)));
    Ok(BackupRoot {
        epoch: key.epoch,
        version: key.version,
        at_ms: manifest.state_time_ms,
        id_end: manifest.counters.id,
        snapshot_bytes: shard_bytes.saturating_add(published.encode()?.len() as u64),
        objects,
        object_bytes,
    })
}

/// What is to be put.
struct Prepared {
    shards: Vec<(ObjectKey, Bytes)>,
    published: PublishedRoot,
    root: Bytes,
}

/// Encodes what changed. The same manifest on the same base gives the same keys and bytes, so that a put may be repeated.
fn prepare(key: &RootKey, manifest: &Manifest, base: Option<(Arc<PublishedRoot>, Option<Manifest>)>) -> Result<Prepared, PublishError> {
    let Encoded { root, shards } = match &base {
        Some((published, Some(earlier))) => encode_changed(manifest, earlier, published.root())?,
        _ => encode(manifest)?,
    };
    let own = ShardMaker { epoch: key.epoch, index: key.version };
    let known = |shard| base.as_ref().and_then(|(published, _)| published.maker(shard));
    let makers: Vec<ShardMaker> = root.shards().iter().map(|shard| known(shard).unwrap_or(own)).collect();
    let published = PublishedRoot::new(root, makers)?;
    // By key: two shards of the same bytes are one object.
    let mut new = BTreeMap::new();
    for shard in shards {
        if published.maker(&shard.reference) == Some(own) {
            new.insert(shard_path(key.incarnation, &shard.reference, own).key(), Bytes::from(shard.bytes));
        }
    }
    let root = Bytes::from(published.encode()?);
    Ok(Prepared { shards: new.into_iter().collect(), published, root })
}
