//! How a command ends when it does not end well.

use siltstone_core::{text_with_causes, with_causes};
use siltstone_disk::LockError;
use siltstone_metadata::LifeError;
use siltstone_metadata::raft::{DirectoryError, StartError};
use siltstone_metadata_publish::{LoadError, OwnerError};
use siltstone_metadata_serve::{ServeError, TlsError};
use siltstone_store::{ConfigError, StoreError};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use tonic::Status;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The command line was wrong.
    #[error("{0}")]
    Usage(String),
    /// The directory is in use, or not writable.
    #[error("{0}; a directory belongs to one member: stop the other process, or choose another with --data")]
    Lock(#[from] LockError),
    /// The directory can't be made.
    #[error("make data directory {}: {source}; choose another with --data", path.display())]
    Data {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The address is not there, or in use.
    #[error("listen on {addr}: {source}; choose another with --listen, or stop what uses it")]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The member does not start.
    #[error("{}", with_causes(.0))]
    Start(#[from] StartError),
    /// The store is another's, or was taken meanwhile.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// The new life can't begin.
    #[error(transparent)]
    Life(#[from] LifeError),
    /// The new member's directory is not made.
    #[error("{}", with_causes(.0))]
    Directory(#[from] DirectoryError),
    /// What would be done was told, and not agreed to.
    #[error("nothing was done: give --yes to accept what may be lost")]
    Unconfirmed,
    /// TLS is not set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Serving ended.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The object store is not named well.
    #[error("{0}")]
    StoreName(#[from] ConfigError),
    /// The object store can't be used.
    #[error("open the object store: {0}")]
    Store(#[from] StoreError),
    /// The backups in a store can't be learnt.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A backup was asked for and not made in time.
    #[error(
        "take backup {name:?}: it was asked for, and is not made after {waited_s} s{}; it will be once the object store takes it\n  help: look at \
         siltstone metadata backups, and at the leader's log",
        if reason.is_empty() { String::new() } else { format!(": {reason}") }
    )]
    BackupWaits {
        /// Its name.
        name: String,
        /// How long it was waited for.
        waited_s: u64,
        /// What the leader says, if it says anything.
        reason: String,
    },
    /// No member was reached.
    #[error("reach the metadata group at {}: {reason}\n  help: start its members, or say where they are with --group", tried.join(", "))]
    Unreachable {
        /// The addresses.
        tried: Vec<String>,
        /// What the last one said.
        reason: String,
    },
    /// The group refused.
    #[error("{}", text_with_causes(.0.message().to_owned(), std::error::Error::source(.0)))]
    Refused(#[from] Status),
    /// The answer could not be written.
    #[error("write the answer: {0}")]
    Output(#[from] io::Error),
}

impl CommandError {
    /// 1 failed, 2 usage.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        if matches!(self, Self::Usage(_) | Self::StoreName(_)) { 2 } else { 1 }
    }
}
