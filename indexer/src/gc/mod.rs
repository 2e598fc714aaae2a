//! Deletes what nobody can read any more (MF-1): what was retired long enough ago, and what no manifest names and no command can name.
//!
//! An object's key carries the epoch of its maker. An object that no manifest names is deleted only after that epoch was fenced in the log, so that
//! no late command can name it. What a former life of the group put there is left alone, whether anything names it or not: a backup may.
//!
//! What is deliberately not here: who retires what (the metadata group).

use crate::job::JobLife;
use crate::keys;
use crate::problems::Problems;
use siltstone_core::{BatchId, ErrorKind, Incarnation, ObjectId};
use siltstone_format::manifest::{Fate, Manifest};
use siltstone_metadata_client::{ClientError, MetadataClientExt};
use siltstone_metadata_publish::{OwnerError, check_owner};
use siltstone_store::paths::{ObjectPath, PathKind, kind_prefix};
use siltstone_store::{ObjectKey, ObjectStore, StoreError};
use std::sync::Arc;
use std::time::Duration;

/// When garbage is collected.
#[derive(Clone, Copy, Debug)]
pub struct GcConfig {
    /// What was retired is kept for so long (G): views that began before may still read it.
    pub keep_ms: i64,
    /// The time between two rounds.
    pub round_ms: u64,
    /// Rounds between two lists of the whole store. A list finds what died between put and commit; it costs a request a thousand objects.
    pub rounds_per_list: u32,
}

impl Default for GcConfig {
    fn default() -> Self {
        Self { keep_ms: 24 * 3_600_000, round_ms: 60_000, rounds_per_list: 60 }
    }
}

/// Why a round did not end.
#[derive(Debug, thiserror::Error)]
pub enum GcError {
    /// The object store does not let us list or delete.
    #[error("collect garbage: {0}")]
    Store(#[from] StoreError),
    /// The metadata group does not answer.
    #[error("collect garbage: {0}")]
    Metadata(#[from] ClientError),
    /// A later life of the group owns the store, and reads what this one would delete.
    #[error("collect garbage: {0}")]
    Owner(#[from] OwnerError),
}

impl GcError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => error.kind(),
            Self::Metadata(error) => error.kind(),
            Self::Owner(error) => error.kind(),
        }
    }
}

/// What a round deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Collected {
    /// Batches and objects whose time was over.
    pub retired: u64,
    /// Objects that nothing named, of epochs that are over.
    pub orphans: u64,
}

/// Collects garbage.
pub struct GarbageCollector {
    config: GcConfig,
    job: Arc<JobLife>,
    store: Arc<dyn ObjectStore>,
}

impl GarbageCollector {
    /// A collector.
    #[must_use]
    pub fn new(config: GcConfig, job: Arc<JobLife>, store: Arc<dyn ObjectStore>) -> Self {
        Self { config, job, store }
    }

    /// Collects round by round. Never ends by itself.
    pub async fn run(self: Arc<Self>, problems: Problems) {
        for round in 0_u32.. {
            let with_list = round.is_multiple_of(self.config.rounds_per_list.max(1));
            match self.collect(with_list).await {
                Ok(collected) if collected != Collected::default() => tracing::info!(?collected, "garbage collected"),
                Ok(_) => {}
                Err(error) => problems.note(&error),
            }
            tokio::time::sleep(Duration::from_millis(self.config.round_ms)).await;
        }
    }

    /// One round.
    ///
    /// # Errors
    /// [`GcError`]; what was deleted before it stays deleted, and the next round goes on.
    pub async fn collect(&self, with_list: bool) -> Result<Collected, GcError> {
        let manifest = self.job.metadata().linearizable_manifest().await?;
        match check_owner(self.store.as_ref(), manifest.incarnation).await {
            // A group without an object store of its own claims none.
            Ok(()) | Err(OwnerError::Unclaimed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let retired = self.collect_retired(&manifest).await?;
        let mut orphans = 0;
        if with_list {
            for kind in [PathKind::Batch, PathKind::Object] {
                orphans += self.collect_orphans(kind, manifest.incarnation).await?;
            }
        }
        Ok(Collected { retired, orphans })
    }

    /// Bytes first, records after: a crash between leaves a record whose object is gone, and the next round forgets it. Of what a former life made,
    /// only the record goes.
    async fn collect_retired(&self, manifest: &Manifest) -> Result<u64, GcError> {
        let before_ms = manifest.state_time_ms - self.config.keep_ms;
        let batches: Vec<_> = manifest.batches_retired_before(before_ms).collect();
        let objects: Vec<_> = manifest.objects_retired_before(before_ms).copied().collect();
        for batch in batches.iter().filter(|batch| !manifest.is_of_former_life(batch.epoch)) {
            self.store.delete(&keys::of_batch(manifest, batch.epoch, batch.id)).await?;
        }
        for object in objects.iter().filter(|object| !manifest.is_of_former_life(object.epoch)) {
            self.store.delete(&keys::of_object(manifest, object.epoch, object.id)).await?;
        }
        let (batches, objects): (Vec<BatchId>, Vec<ObjectId>) =
            (batches.iter().map(|batch| batch.id).collect(), objects.iter().map(|object| object.id).collect());
        let count = (batches.len() + objects.len()) as u64;
        if count > 0 {
            let forgotten = self.job.metadata().forget_retired(self.job.epoch().await, batches, objects).await;
            if forgotten.as_ref().is_err_and(|error| error.kind() == ErrorKind::Fenced) {
                // Another process took the job over, and is gone or will be fenced by this: whoever asks last works.
                self.job.renew().await?;
            }
            forgotten?;
        }
        Ok(count)
    }

    async fn collect_orphans(&self, kind: PathKind, incarnation: Incarnation) -> Result<u64, GcError> {
        let prefix = kind_prefix(kind, incarnation);
        let mut after: Option<ObjectKey> = None;
        let mut deleted = 0;
        loop {
            let page = self.store.list(&prefix, after.as_ref()).await?;
            // The manifest is read after the list: what was committed meanwhile is named in it.
            let manifest = self.job.metadata().linearizable_manifest().await?;
            for object in &page.objects {
                if is_garbage(&manifest, &object.key) {
                    self.store.delete(&object.key).await?;
                    deleted += 1;
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(deleted),
            }
        }
    }
}

fn is_garbage(manifest: &Manifest, key: &ObjectKey) -> bool {
    let fate = match ObjectPath::parse(key) {
        Ok(ObjectPath::Batch { incarnation, epoch, batch }) if incarnation == manifest.incarnation => manifest.batch_fate(epoch, batch),
        Ok(ObjectPath::Object { incarnation, epoch, object }) if incarnation == manifest.incarnation => manifest.object_fate(epoch, object),
        // Not ours to judge.
        _ => return false,
    };
    fate == Fate::Garbage
}
