//! Files behind one small blocking trait, so that the WAL and the directory store run on the machine's disk and, in tests, on a disk that
//! forgets at a crash what was not synced, or on one that is slow.
//!
//! What is deliberately not here: async (callers choose their threads), checksums, retries other than the short wait for a free descriptor.

mod delayed;
mod lock;
mod lossy;
mod real;
mod rng;

pub use delayed::{DelaySwitch, DelayedDisk, SyncDelay};
pub use lock::{DirLock, LockError, lock_dir, lock_dir_to_read};
pub use lossy::{DiskCounts, Fault, FaultKind, LossyDisk};
pub use real::RealDisk;

use rustix::io::Errno;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Whether a file could not be opened because this process, or the whole machine, has no descriptor left. Nothing was changed on the disk then.
#[must_use]
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    code == Some(Errno::MFILE.raw_os_error()) || code == Some(Errno::NFILE.raw_os_error())
}

/// A disk. All paths are absolute or relative to the process, as with `std::fs`.
///
/// To ensure correctness, an implementation and its callers agree on this:
/// - bytes written are durable only after `sync_data` or `sync_all` of their file returned `Ok`;
/// - a new name, a rename or an unlink is durable only after `sync_dir` of its directory returned `Ok`;
/// - after an `Err` from any sync the state on the medium is unknown: the caller must not sync again and go on. The exception is an error of which
///   [`is_out_of_descriptors`] is true: the directory was not opened, so no sync was tried, and one may be tried later.
pub trait Disk: Send + Sync + 'static {
    /// Creates a directory and its parents; each new name still needs `sync_dir` of its parent.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Opens a file that must exist, for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;
    /// Opens a file that must exist, for reading. A disk that makes no difference opens it as [`Disk::open`] does.
    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.open(path)
    }
    /// Creates a file that must not exist, for reading and writing.
    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;
    /// Renames, replacing what stands at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames; fails with `AlreadyExists` and changes nothing when `to` exists.
    fn rename_no_replace(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// The names in a directory, sorted.
    fn list_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>>;
    /// What stands at a path; `NotFound` when nothing does.
    fn stat(&self, path: &Path) -> io::Result<DirEntry>;
}

/// An open file. Offsets and lengths are bytes.
pub trait DiskFile: Send + Sync {
    /// Writes all of `bytes` at `offset`, growing the file.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Reads up to `buffer.len()` bytes at `offset`; 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Makes the file's bytes and length durable.
    fn sync_data(&self) -> io::Result<()>;
    /// Cuts or grows the file.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// The file's length.
    fn len(&self) -> io::Result<u64>;
    /// Whether the file has no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|len| len == 0)
    }
    /// Reads exactly `len` bytes at `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` when the file ends before.
    fn read_exact_at(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let mut filled = 0;
        while filled < len {
            match self.read_at(&mut bytes[filled..], offset + filled as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => filled += read,
            }
        }
        Ok(bytes)
    }
}

/// A name in a directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DirEntry {
    /// The name, without its directory.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Bytes of a file.
    pub len: u64,
    /// When it was last written, in milliseconds since the Unix epoch.
    pub modified_ms: i64,
}

/// Creates a directory with its parents and makes every name on the way to it durable.
///
/// A parent that stood before and that this process may not open is left alone: its name was somebody else's to sync.
///
/// # Errors
/// The first failure of `create_dir_all` or of a `sync_dir`.
pub fn create_dir_durable(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    let stood_before: Vec<bool> = path.ancestors().map(|ancestor| is_root(ancestor) || disk.stat(ancestor).is_ok()).collect();
    disk.create_dir_all(path)?;
    for (ancestor, stood) in path.ancestors().zip(stood_before) {
        // The parent of a relative path's first name is the working directory.
        let ancestor = if ancestor.as_os_str().is_empty() { Path::new(".") } else { ancestor };
        match disk.sync_dir(ancestor) {
            Err(error) if stood && error.kind() == io::ErrorKind::PermissionDenied => {}
            other => other?,
        }
    }
    Ok(())
}

fn is_root(path: &Path) -> bool {
    path.as_os_str().is_empty() || path.parent().is_none()
}
