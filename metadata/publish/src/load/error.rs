//! Why a published snapshot is not loaded.

use crate::owner::OwnerError;
use siltstone_core::ErrorKind;
use siltstone_format::snapshot::SnapshotError;
use siltstone_store::StoreError;

/// Why a published snapshot is not loaded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// The store does not answer, or an object is not there.
    #[error("load a published snapshot: {0}")]
    Store(#[from] StoreError),
    /// An object is damaged.
    #[error("load a published snapshot: {key}: {source}")]
    Damaged {
        /// The object.
        key: String,
        /// What is wrong with it.
        source: SnapshotError,
    },
    /// It was given up, since the process ends.
    #[error("load a published snapshot: {key}: {reason}")]
    Aborted {
        /// The root.
        key: String,
        /// What is known of the cause.
        reason: String,
    },
    /// It can't be learnt which lives of the group there are.
    #[error("load a published snapshot: {0}")]
    Owner(#[from] OwnerError),
    /// There is no root.
    #[error("load a published snapshot: {place} holds none")]
    NothingPublished {
        /// The store.
        place: String,
    },
    /// There is no backup of this name.
    #[error("load backup {name:?}: {place} holds none of this name")]
    NoBackup {
        /// The store.
        place: String,
        /// The name.
        name: String,
    },
}

impl LoadError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => error.kind(),
            Self::Damaged { source, .. } => source.kind(),
            Self::Aborted { .. } => ErrorKind::Unavailable,
            Self::Owner(error) => error.kind(),
            Self::NothingPublished { .. } | Self::NoBackup { .. } => ErrorKind::NotFound,
        }
    }

    /// Whether an object is not there: it was lost, or collected since a newer root took this one's place long ago.
    #[must_use]
    pub const fn is_gone(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_not_found())
    }
}
