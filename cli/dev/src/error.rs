//! Why a process does not start.

use siltstone_core::{ErrorKind, with_causes};
use siltstone_indexer::IndexerError;
use siltstone_metadata::raft::StartError;
use siltstone_metadata_publish::OwnerError;
use siltstone_metadata_remote::FollowError;
use siltstone_store::StoreError;
use std::io;
use std::path::PathBuf;

/// Why a process does not start.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// The data directory can't be made.
    #[error("make data directory {}: {source}; choose another with --data, or mend its permissions", path.display())]
    Data {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The object store can't be used.
    #[error("open the object store: {0}")]
    Store(#[from] StoreError),
    /// The store belongs to another group.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// The store belongs to another group than the one that was named.
    #[error(
        "{source}\n  help: the group at {members} is not the store's: name the members of the store's group with --group, or another store with --store"
    )]
    GroupOwner {
        /// Whose it is.
        source: OwnerError,
        /// The group that was named.
        members: String,
    },
    /// The metadata group does not start.
    #[error("start the metadata group: {}", with_causes(.0))]
    Metadata(#[from] StartError),
    /// The metadata group in other processes is not followed.
    #[error("{error}{help}", error = .0, help = group_help(.0))]
    Group(#[from] FollowError),
    /// The indexer does not start.
    #[error(transparent)]
    Indexer(#[from] IndexerError),
}

impl DevError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Data { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
                io::ErrorKind::StorageFull => ErrorKind::Exhausted,
                _ => ErrorKind::Unavailable,
            },
            Self::Store(error) => error.kind(),
            Self::Owner(error) | Self::GroupOwner { source: error, .. } => error.kind(),
            Self::Metadata(error) => error.kind(),
            Self::Group(error) => error.kind(),
            Self::Indexer(error) => error.kind(),
        }
    }
}

/// Why a process that runs must end.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DevEnd {
    /// The state of the medium is unknown.
    #[error("storage failed: {cause}\n  help: what was acknowledged is safe; mend the disk and start again")]
    Storage {
        /// What failed.
        cause: String,
    },
    /// The metadata group can be followed no longer.
    #[error("{error}{help}", error = .0, help = group_help(.0))]
    Group(#[from] FollowError),
}

fn group_help(error: &FollowError) -> &'static str {
    match error {
        FollowError::NotReady { .. } => {
            "\n  help: a new group begins once all its members run (siltstone metadata serve), and one that lives goes on with more than half of them; \
             siltstone metadata status shows more"
        }
        FollowError::Address { .. } => "\n  help: say where the group's members are: --group HOST:PORT,HOST:PORT,HOST:PORT",
        FollowError::OtherIncarnation { .. } => {
            "\n  help: what was acknowledged to this process is in the life that it followed; start it again to follow the group as it is now"
        }
        _ => "",
    }
}
