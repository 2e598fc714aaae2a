//! Why a process does not start.

use siltstone_core::ErrorKind;
use siltstone_indexer::IndexerError;
use siltstone_metadata::raft::StartError;
use siltstone_metadata_publish::OwnerError;
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
    /// The metadata group does not start.
    #[error("start the metadata group: {}", chain(.0))]
    Metadata(#[from] StartError),
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
            Self::Owner(error) => error.kind(),
            Self::Metadata(error) => error.kind(),
            Self::Indexer(error) => error.kind(),
        }
    }
}

fn chain(error: &StartError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
