//! What can go wrong with the log.

use siltstone_core::ErrorKind;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An error of the log. Clones share the cause, as one failure is reported to every waiting operation.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WalError {
    /// A file operation failed. After this the log is poisoned.
    #[error("{verb} {}", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the disk said.
        source: Arc<io::Error>,
    },
    /// Stored bytes are damaged: not a torn tail, so nothing may be cut and the log does not open.
    #[error("read log file {}: {what} at byte {offset}; nothing was changed: restore the directory from a backup", file.display())]
    Corrupt {
        /// The damaged file.
        file: PathBuf,
        /// Where the damage is, in bytes from the file's start.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// An entry would leave a hole or stand twice.
    #[error("append entry {index}: the next index is {next}")]
    OutOfOrder {
        /// The entry's index.
        index: u64,
        /// The index that would be right.
        next: u64,
    },
    /// Entries to be truncated are purged already or never were.
    #[error("truncate from entry {index}: the log spans {first}..{next}")]
    OutOfSpan {
        /// The first entry to go.
        index: u64,
        /// The first entry that the log holds.
        first: u64,
        /// One past the last entry.
        next: u64,
    },
    /// Too much waits to become durable. Try again after any operation is done.
    #[error("queue a log operation: {entries} entries and {bytes} bytes wait for the disk")]
    QueueFull {
        /// Entries that wait.
        entries: usize,
        /// Bytes that wait.
        bytes: usize,
    },
    /// A payload is longer than the log takes.
    #[error("append a payload of {len} bytes: the most is {max}")]
    TooLarge {
        /// Its length.
        len: usize,
        /// The most.
        max: u32,
    },
    /// A write or sync failed before: what is on the medium is unknown, so nothing more is promised by this process.
    #[error("use the log after it failed")]
    Poisoned {
        /// The first failure.
        source: Arc<WalError>,
    },
    /// The log was closed.
    #[error("use the log after it was closed")]
    Closed,
}

impl WalError {
    pub(crate) fn io(verb: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { verb, path: path.to_owned(), source: Arc::new(source) }
    }

    pub(crate) fn corrupt(file: &Path, offset: usize, what: &'static str) -> Self {
        Self::Corrupt { file: file.to_owned(), offset: offset as u64, what }
    }

    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Exhausted,
                io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
                _ => ErrorKind::Unavailable,
            },
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::OutOfOrder { .. } | Self::OutOfSpan { .. } => ErrorKind::Internal,
            Self::QueueFull { .. } => ErrorKind::Throttled,
            Self::TooLarge { .. } => ErrorKind::InvalidInput,
            Self::Poisoned { source } => source.kind(),
            Self::Closed => ErrorKind::Unavailable,
        }
    }
}
