//! One process a data directory.
//!
//! The lock is advisory (`flock`) and goes with the process, however it dies. Always on the machine's own disk: simulated disks are
//! not shared between processes.

use siltstone_core::ErrorKind;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The file that carries the lock and, as text, the number of the process that holds it.
const LOCK_FILE: &str = "LOCK";

/// A held lock. Dropping it lets the directory go; the file stays, as removing it would race with the next holder.
#[derive(Debug)]
pub struct DirLock {
    _file: File,
}

/// Why a directory could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("data directory {} is in use by process {process}", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The holder's process number as it wrote it, or `unknown`.
        process: String,
    },
    /// The lock file could not be opened, locked or written.
    #[error("lock data directory {}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl LockError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InUse { .. } => ErrorKind::Conflict,
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Exhausted,
                _ => ErrorKind::Unavailable,
            },
        }
    }
}

/// Takes the exclusive lock of a directory that exists.
///
/// # Errors
/// [`LockError::InUse`] when another process (or another lock of this one) holds it.
pub fn lock_dir(path: &Path) -> Result<DirLock, LockError> {
    let io_error = |source| LockError::Io { path: path.to_owned(), source };
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path.join(LOCK_FILE)).map_err(io_error)?;
    try_lock(path, &mut file)?;
    let write_number = |file: &mut File| {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())
    };
    write_number(&mut file).map_err(io_error)?;
    Ok(DirLock { _file: file })
}

/// Takes the exclusive lock of a directory and changes nothing there: for whoever only reads. `None` where there is no lock to take, as nobody ever
/// held one.
///
/// # Errors
/// As [`lock_dir`].
pub fn lock_dir_to_read(path: &Path) -> Result<Option<DirLock>, LockError> {
    let mut file = match File::open(path.join(LOCK_FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|source| LockError::Io { path: path.to_owned(), source })?,
    };
    try_lock(path, &mut file)?;
    Ok(Some(DirLock { _file: file }))
}

fn try_lock(path: &Path, file: &mut File) -> Result<(), LockError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            // The holder may be about to write its number: a best effort for the message only. A number is short, the file may not be.
            let mut text = String::new();
            let process = match file.take(20).read_to_string(&mut text) {
                Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
                _ => "unknown".to_owned(),
            };
            Err(LockError::InUse { path: path.to_owned(), process })
        }
        Err(TryLockError::Error(source)) => Err(LockError::Io { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lock_is_refused_and_names_the_holder() {
        let dir = tempfile::tempdir().unwrap();
        let held = lock_dir(dir.path()).unwrap();
        let error = lock_dir(dir.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert_eq!(error.to_string(), format!("data directory {} is in use by process {}", dir.path().display(), std::process::id()));
        drop(held);
        assert!(lock_dir(dir.path()).is_ok());
    }

    #[test]
    fn who_only_reads_is_kept_out_by_a_holder_and_leaves_no_trace() {
        let dir = tempfile::tempdir().unwrap();
        assert!(lock_dir_to_read(dir.path()).unwrap().is_none());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let held = lock_dir(dir.path()).unwrap();
        assert_eq!(lock_dir_to_read(dir.path()).unwrap_err().kind(), ErrorKind::Conflict);
        drop(held);
        std::fs::write(dir.path().join(LOCK_FILE), "12345\n").unwrap();
        let reading = lock_dir_to_read(dir.path()).unwrap();
        assert!(reading.is_some() && lock_dir(dir.path()).is_err());
        assert_eq!(std::fs::read_to_string(dir.path().join(LOCK_FILE)).unwrap(), "12345\n");
    }

    #[test]
    fn a_missing_directory_is_not_found() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(lock_dir(&dir.path().join("absent")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
