//! Why a member does not start, or must end.

use siltstone_core::ErrorKind;
use siltstone_format::{envelope::EnvelopeError, snapshot::SnapshotError};
use siltstone_wal::WalError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Why a member does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The log does not open.
    #[error("open the log of the metadata group")]
    Log(#[from] WalError),
    /// A file operation failed.
    #[error("{verb} {}", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the disk said.
        source: Arc<io::Error>,
    },
    /// A stored record is damaged.
    #[error("read {}", path.display())]
    Record {
        /// The file, or the directory of the log.
        path: PathBuf,
        /// What is wrong.
        source: EnvelopeError,
    },
    /// The machine's part of a snapshot file is damaged.
    #[error("read the machine of snapshot file {}", path.display())]
    Machine {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: SnapshotError,
    },
    /// Stored parts contradict each other: something was lost, and starting would forget what was acknowledged.
    #[error("start the metadata member from {}: {what}", path.display())]
    Lost {
        /// The file or directory that something is missing from.
        path: PathBuf,
        /// What is missing.
        what: &'static str,
    },
    /// A newer program wrote there.
    #[error(
        "start the metadata member: {place} holds commands of version {version}, and this program reads up to version {version_max}: the group was \
         upgraded; start the newer program again"
    )]
    Newer {
        /// The version of commands.
        version: u16,
        /// The newest that this program reads.
        version_max: u16,
        /// Where it was found.
        place: String,
    },
    /// The directory is another member's.
    #[error("start metadata member {wanted} in {}: it is the directory of member {found}", path.display())]
    WrongMember {
        /// The member's directory.
        path: PathBuf,
        /// The member that was to be started.
        wanted: u64,
        /// The member that the directory belongs to.
        found: u64,
    },
    /// Whoever made the directory did not finish.
    #[error(
        "start the metadata member in {}: the restore or recovery that made this directory did not finish; remove the directory and do it again",
        path.display()
    )]
    Unfinished {
        /// The member's directory.
        path: PathBuf,
    },
    /// The settings contradict each other.
    #[error("check the settings of the metadata member: {relation}")]
    Config {
        /// The relation that does not hold.
        relation: &'static str,
    },
    /// Raft refused.
    #[error("start Raft: {reason}")]
    Raft {
        /// What it said.
        reason: String,
    },
    /// The group was not ready in time.
    #[error("wait for the metadata group: after {} ms it is not ready: {reason}", waited.as_millis())]
    NotReady {
        /// How long it was waited for.
        waited: Duration,
        /// What was missing last.
        reason: String,
    },
}

impl StartError {
    pub(crate) fn io(verb: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { verb, path: path.to_owned(), source: Arc::new(source) }
    }

    pub(crate) fn record(path: &Path) -> impl FnOnce(EnvelopeError) -> Self {
        move |source| Self::Record { path: path.to_owned(), source }
    }

    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Log(error) => error.kind(),
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Exhausted,
                io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
                _ => ErrorKind::Unavailable,
            },
            Self::Record { source, .. } => source.kind(),
            Self::Machine { .. } | Self::Lost { .. } => ErrorKind::Corrupt,
            Self::Newer { .. } => ErrorKind::Unsupported,
            Self::WrongMember { .. } | Self::Unfinished { .. } => ErrorKind::Conflict,
            Self::Config { .. } => ErrorKind::InvalidInput,
            Self::Raft { .. } => ErrorKind::Internal,
            Self::NotReady { .. } => ErrorKind::Unavailable,
        }
    }
}

/// Why a running member must end its process. What it promised is on disk; it must promise nothing more.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FatalError {
    /// The log failed.
    #[error("keep the log of the metadata group")]
    Log(#[from] WalError),
    /// A file operation of the log hangs.
    #[error("keep the log of the metadata group: the disk has not answered for {} ms", stall.as_millis())]
    Stalled {
        /// For how long so far.
        stall: Duration,
    },
    /// Its directory is empty, and its group is not new.
    #[error(
        "begin as metadata member {node_id}: its directory is empty, but the group that it names lives already, so the directory was emptied or \
         replaced; remove the member from the group, and add this one under a new number (siltstone metadata serve --join)"
    )]
    Emptied {
        /// Its number.
        node_id: u64,
    },
    /// It runs on a copy of a member's directory.
    #[error(
        "run as metadata member {node_id}: another process answers as this member at {address}, where the group reaches it, on the same directory or a \
         copy of it; only that one takes part; stop this one and remove its directory, or give it a number of its own and an empty directory \
         (siltstone metadata serve --join)"
    )]
    Copied {
        /// Its number.
        node_id: u64,
        /// Where the member is that the group means.
        address: String,
    },
    /// The group has come to use what this program does not know.
    #[error("take in what another metadata member sent: {reason}; the group was upgraded: start this member with the newer program")]
    Newer {
        /// What was sent.
        reason: String,
    },
    /// The directory does not take the member's id.
    #[error("write the id of the metadata member's directory: {reason}")]
    Directory {
        /// What the disk said.
        reason: String,
    },
    /// Raft stopped by itself.
    #[error("run Raft: {reason}")]
    Raft {
        /// What it said.
        reason: String,
    },
}
