//! Backups of a group that lives: asked for, listed and removed by settings. The publisher does the rest.

use crate::load::BackupInfo;
use siltstone_core::CommitIndex;
use siltstone_core::ErrorKind;
use siltstone_format::command::Rejection;
use siltstone_format::manifest::{BACKUP_NAME_LEN_MAX, BackupRecord, Manifest, backup_key, is_backup_name};
use siltstone_metadata_client::{ClientError, MetadataClient, MetadataClientExt};

/// Why a backup is not taken or removed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BackupError {
    /// It can't have this name.
    #[error("take backup {name:?}: a name has 1 to {BACKUP_NAME_LEN_MAX} of A-Z a-z 0-9 . _ -")]
    Name {
        /// The name.
        name: String,
    },
    /// There is one of this name.
    #[error("take backup {name:?}: there is one of this name; choose another, or remove it first")]
    Exists {
        /// The name.
        name: String,
    },
    /// There is none of this name.
    #[error("find backup {name:?}: the group has none of this name")]
    Missing {
        /// The name.
        name: String,
    },
    /// The group does not answer.
    #[error(transparent)]
    Metadata(#[from] ClientError),
}

impl BackupError {
    /// What the caller should do about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Name { .. } => ErrorKind::InvalidInput,
            Self::Exists { .. } => ErrorKind::Conflict,
            Self::Missing { .. } => ErrorKind::NotFound,
            Self::Metadata(error) => error.kind(),
        }
    }
}

/// Asks for a backup: from here on nothing is deleted that it may name. The publisher makes its root; [`backups_of`] tells when.
///
/// # Errors
/// [`BackupError`]
pub async fn ask_backup(client: &dyn MetadataClient, name: &str) -> Result<CommitIndex, BackupError> {
    if !is_backup_name(name) {
        return Err(BackupError::Name { name: name.to_owned() });
    }
    let manifest = client.linearizable_manifest().await?;
    let record = BackupRecord { incarnation: manifest.incarnation, asked_at_ms: manifest.state_time_ms, root: None };
    match client.put_setting(&backup_key(name), Some(record.encode()), Some(CommitIndex(0))).await {
        Err(ClientError::Rejected(Rejection::SettingConflict { .. })) => Err(BackupError::Exists { name: name.to_owned() }),
        outcome => Ok(outcome?),
    }
}

/// Removes a backup: what it alone kept is deleted from now on.
///
/// # Errors
/// [`BackupError`]
pub async fn remove_backup(client: &dyn MetadataClient, name: &str) -> Result<(), BackupError> {
    let manifest = client.linearizable_manifest().await?;
    let found = manifest.backups().find(|(other, ..)| *other == name).map(|(_, changed_at, _)| changed_at);
    let changed_at = found.ok_or_else(|| BackupError::Missing { name: name.to_owned() })?;
    client.put_setting(&backup_key(name), None, Some(changed_at)).await?;
    Ok(())
}

/// The backups that a manifest knows, by name: with `None` where the root is still to be made, or the record is not understood.
#[must_use]
pub fn backups_of(manifest: &Manifest) -> Vec<(String, Option<BackupInfo>)> {
    let backups = manifest.backups().map(|(name, _, record)| {
        let made = record.ok().and_then(|record| Some((record.incarnation, record.root?)));
        (name.to_owned(), made.map(|(incarnation, root)| BackupInfo::new(name, incarnation, &root)))
    });
    backups.collect()
}
