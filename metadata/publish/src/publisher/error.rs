//! Why the manifest is not published.

use crate::load::LoadError;
use crate::owner::OwnerError;
use siltstone_core::{Epoch, ErrorKind};
use siltstone_format::snapshot::SnapshotError;
use siltstone_metadata_client::ClientError;
use siltstone_store::StoreError;

/// Why the manifest is not published.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PublishError {
    /// The store is not this group's, or it can't be learnt whose it is.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// The store does not take or give objects.
    #[error("publish the manifest: {0}")]
    Store(#[from] StoreError),
    /// A root that is to be kept can't be read.
    #[error("publish the manifest: {0}")]
    Load(#[from] LoadError),
    /// The group does not answer.
    #[error("publish the manifest: {0}")]
    Metadata(#[from] ClientError),
    /// The manifest does not fit the format.
    #[error("publish the manifest: {0}")]
    Snapshot(#[from] SnapshotError),
    /// Another publisher took over.
    #[error("publish the manifest: epoch {epoch} of its publisher is over")]
    Fenced {
        /// The epoch.
        epoch: Epoch,
    },
    /// The store has a root of a publisher, or of a position, that this log never had.
    #[error(
        "publish the manifest: the object store holds {key}, which the log knows nothing of: the log has lost acknowledged entries, or an older copy \
         of the data directories was put back"
    )]
    LostLog {
        /// The root.
        key: String,
    },
    /// It was given up, since the process ends.
    #[error("publish the manifest: {reason}")]
    Aborted {
        /// What is known of the cause.
        reason: String,
    },
}

impl PublishError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Owner(error) => error.kind(),
            Self::Store(error) => error.kind(),
            Self::Load(error) => error.kind(),
            Self::Metadata(error) => error.kind(),
            Self::Snapshot(error) => error.kind(),
            Self::Fenced { .. } => ErrorKind::Fenced,
            Self::LostLog { .. } => ErrorKind::Corrupt,
            Self::Aborted { .. } => ErrorKind::Unavailable,
        }
    }

    /// Whether the store belongs to another group, or to a later life of this one.
    #[must_use]
    pub const fn is_of_other_owner(&self) -> bool {
        matches!(self, Self::Owner(OwnerError::OtherOwner { .. } | OwnerError::Superseded { .. }))
    }

    pub(super) const fn is_fenced(&self) -> bool {
        matches!(self, Self::Fenced { .. })
    }
}
