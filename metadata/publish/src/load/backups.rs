//! Which backups a store holds, by what the newest roots say. A root that was asked for as a backup says so in its own settings.

use super::roots::roots;
use super::{LoadError, PublishedSnapshot, RootKey};
use siltstone_core::{CommitIndex, Epoch, Incarnation};
use siltstone_format::manifest::BackupRoot;
use siltstone_store::ObjectStore;
use std::collections::BTreeSet;

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
    /// What it names; `None` where no later root tells.
    pub size: Option<BackupSize>,
}

/// How much a backup names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BackupSize {
    /// Bytes of the snapshot: root and shards.
    pub snapshot_bytes: u64,
    /// Batches and objects.
    pub objects: u64,
    /// Their bytes.
    pub object_bytes: u64,
}

impl BackupInfo {
    /// A backup of a manifest.
    #[must_use]
    pub fn new(name: &str, incarnation: Incarnation, root: &BackupRoot) -> Self {
        let BackupRoot { epoch, version, at_ms, snapshot_bytes, objects, object_bytes, .. } = *root;
        let size = Some(BackupSize { snapshot_bytes, objects, object_bytes });
        Self { name: name.to_owned(), incarnation, epoch, version, at_ms, size }
    }

    pub(crate) const fn root(&self) -> RootKey {
        RootKey { incarnation: self.incarnation, epoch: self.epoch, version: self.version }
    }
}

/// All backups that the store holds, of every life, by rising life and position. Those that were removed since the newest root was published are
/// still among them.
///
/// # Errors
/// [`LoadError`]; not for a damaged root where an older one tells of its backups.
pub async fn list_backups(store: &dyn ObjectStore) -> Result<Vec<BackupInfo>, LoadError> {
    let roots = roots(store).await?;
    let lives: BTreeSet<Incarnation> = roots.iter().map(|root| root.incarnation).collect();
    let mut backups = Vec::<BackupInfo>::new();
    for life in lives {
        let newest_first: Vec<&RootKey> = roots.iter().rev().filter(|root| root.incarnation == life).collect();
        let told = readable(store, &newest_first).await?;
        // A restored group knows the backups that its predecessor had at the restored position, and the predecessor's own root tells of all.
        backups.extend(told.into_iter().filter(|backup| backup.incarnation == life));
    }
    backups.sort_by_key(BackupInfo::root);
    Ok(backups)
}

/// The root of a backup: of several with this name, as lives may have, that of the latest life.
pub(super) async fn find(store: &dyn ObjectStore, name: &str) -> Result<RootKey, LoadError> {
    let backups = list_backups(store).await?;
    let found = backups.iter().rev().find(|backup| backup.name == name);
    found.map(BackupInfo::root).ok_or_else(|| LoadError::NoBackup { place: store.place(), name: name.to_owned() })
}

/// What the first of these roots that can be read tells.
async fn readable(store: &dyn ObjectStore, newest_first: &[&RootKey]) -> Result<Vec<BackupInfo>, LoadError> {
    let mut first = None;
    for &root in newest_first {
        match told_by(store, root).await {
            Ok(backups) => return Ok(backups),
            Err(error @ LoadError::Damaged { .. }) => first = first.or(Some(error)),
            Err(error) if error.is_gone() => first = first.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    first.map_or(Ok(Vec::new()), Err)
}

async fn told_by(store: &dyn ObjectStore, key: &RootKey) -> Result<Vec<BackupInfo>, LoadError> {
    let settings = PublishedSnapshot::settings(store, key).await?;
    let backups = settings.backups().filter_map(|(name, _, record)| {
        // A record that is not understood pins, but names no root.
        let record = record.ok()?;
        match record.root {
            Some(root) => Some(BackupInfo::new(name, record.incarnation, &root)),
            None if record.incarnation != key.incarnation => None,
            None => Some(BackupInfo {
                name: name.to_owned(),
                incarnation: key.incarnation,
                epoch: key.epoch,
                version: key.version,
                at_ms: settings.state_time_ms,
                size: None,
            }),
        }
    });
    Ok(backups.collect())
}
