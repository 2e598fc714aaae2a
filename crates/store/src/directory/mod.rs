//! Objects as files of a directory, on a [`Disk`].
//!
//! A put writes a temporary file beside the object's place, syncs it, renames it and syncs the directory; so an object is there whole and
//! durable, or not at all. One process at a time owns the directory: opening it removes the temporary files that a crash left.
//!
//! What is deliberately not here: locks against a second process, checksums of contents, removal of empty directories.

mod places;
mod walk;

use crate::error::{Fault, Operation, StoreError};
use crate::key::{ObjectKey, check_prefix};
use crate::memory::check_range;
use crate::object_store::{ListPage, ObjectStore};
use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use places::Places;
use siltstone_disk::{Disk, DiskFile, is_out_of_descriptors};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A page of a list ends at the first directory that fills it. As S3 does.
const PAGE_OBJECTS: usize = 1_000;

/// A store in a directory.
pub struct DirectoryStore {
    inner: Arc<Inner>,
}

struct Inner {
    disk: Arc<dyn Disk>,
    places: Places,
    /// Numbers the temporary files of this process.
    temporaries: AtomicU64,
    /// How a sync failed, once one has: the state on the medium is unknown from then on, and a later sync that succeeds proves nothing.
    stopped: Mutex<Option<String>>,
}

impl DirectoryStore {
    /// Opens a directory, which is created where it is missing, and removes the temporary files of an earlier process.
    ///
    /// # Errors
    /// `AccessDenied`, `Full`, `Invalid` where a file stands in its place.
    pub async fn open(disk: Arc<dyn Disk>, root: &Path) -> Result<Self, StoreError> {
        let root = root.to_owned();
        blocking(Operation::Open, root.display().to_string(), move || {
            let place = root.display().to_string();
            let open = || -> io::Result<Places> {
                let places = Places::open(&*disk, root)?;
                walk::remove_temporaries(&*disk, &places)?;
                Ok(places)
            };
            let places = open().map_err(|error| Fault::from_io(&error, &place))?;
            Ok(Self { inner: Arc::new(Inner { disk, places, temporaries: AtomicU64::new(0), stopped: Mutex::new(None) }) })
        })
        .await
    }

    async fn on<T, F>(&self, operation: Operation, key: &str, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Inner) -> Result<T, Fault> + Send + 'static,
    {
        let inner = Arc::clone(&self.inner);
        blocking(operation, key.to_owned(), move || work(&inner)).await
    }
}

/// Runs file work on a thread that may block.
async fn blocking<T, F>(operation: Operation, key: String, work: F) -> Result<T, StoreError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, Fault> + Send + 'static,
{
    let fault = match tokio::task::spawn_blocking(work).await {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(fault)) => fault,
        Err(error) => Fault::Other { detail: format!("the file thread ended: {error}") },
    };
    Err(StoreError { operation, key, fault })
}

impl Inner {
    /// Reads an error; a missing object is told from a missing root, which is a volume that is not mounted.
    fn fault(&self, error: &io::Error) -> Fault {
        let missing = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory);
        if missing {
            return match self.disk.stat(self.places.root()) {
                Ok(root) if root.is_dir => Fault::NotFound,
                _ => Fault::Unreachable { place: self.places.name(), detail: "the directory is gone; is its volume mounted?".to_owned() },
            };
        }
        Fault::from_io(error, &self.places.name())
    }

    fn write(&self, key: &ObjectKey, bytes: &[u8], replace: bool) -> Result<(), Fault> {
        self.check_stopped()?;
        let to = self.places.file(key);
        let directory = self.places.directory(key);
        self.ensure_directory(&directory)?;
        if !replace && self.disk.stat(&to).is_ok() {
            return Err(self.taken(&directory));
        }
        let temporary = directory.join(walk::temporary_name(self.temporaries.fetch_add(1, Ordering::Relaxed)));
        let renamed = self
            .fill(&temporary, bytes)
            .and_then(|()| if replace { self.disk.rename(&temporary, &to) } else { self.disk.rename_no_replace(&temporary, &to) });
        if let Err(error) = renamed {
            // Best effort: what stays is not listed and goes away at the next open.
            let _ = self.disk.remove_file(&temporary);
            return Err(match self.fault(&error) {
                Fault::AlreadyExists if !replace => self.taken(&directory),
                // A put names nothing that could be missing but a directory that this process has seen.
                Fault::NotFound => Fault::Other { detail: format!("{}: {error}; does another process work in it?", directory.display()) },
                fault => fault,
            });
        }
        self.sync_directory(&directory)
    }

    /// The key is taken. Whoever hears so relies on it, so the name is made durable: its maker may have died before its own sync.
    fn taken(&self, directory: &Path) -> Fault {
        self.sync_directory(directory).err().unwrap_or(Fault::AlreadyExists)
    }

    /// Writes and syncs a new file. After a failed sync the file is thrown away, never synced again.
    fn fill(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let file = self.disk.create_new(path)?;
        file.write_all_at(bytes, 0)?;
        file.sync_data()
    }

    fn ensure_directory(&self, directory: &Path) -> Result<(), Fault> {
        self.places.ensure(&*self.disk, directory).map_err(|error| match error {
            places::EnsureError::Create(error) => self.fault(&error),
            places::EnsureError::Sync(error) => self.stop(&error),
        })
    }

    fn sync_directory(&self, directory: &Path) -> Result<(), Fault> {
        self.disk.sync_dir(directory).map_err(|error| self.stop(&error))
    }

    /// Takes no more writes: names in a directory may be lost, and which ones is unknown. A directory that could not even be opened was not synced:
    /// that put failed, and a repeated one syncs it.
    fn stop(&self, error: &io::Error) -> Fault {
        if was_not_opened(error) {
            return match self.fault(error) {
                Fault::NotFound => Fault::Unreachable { place: self.places.name(), detail: "a directory of it went away".to_owned() },
                fault => fault,
            };
        }
        let detail = self.stopped.lock().get_or_insert_with(|| error.to_string()).clone();
        Fault::Stopped { place: self.places.name(), detail }
    }

    fn check_stopped(&self) -> Result<(), Fault> {
        match &*self.stopped.lock() {
            Some(detail) => Err(Fault::Stopped { place: self.places.name(), detail: detail.clone() }),
            None => Ok(()),
        }
    }

    fn open_file(&self, key: &ObjectKey) -> Result<(Arc<dyn DiskFile>, u64), Fault> {
        let file = self.disk.open(&self.places.file(key)).map_err(|error| self.fault(&error))?;
        let size = file.len().map_err(|error| self.fault(&error))?;
        Ok((file, size))
    }

    /// Reads a range of the file; all of it where no range is given.
    fn read(&self, key: &ObjectKey, range: Option<&Range<u64>>) -> Result<Bytes, Fault> {
        let (file, size) = self.open_file(key)?;
        let wanted = check_range(range.unwrap_or(&(0..size)), size)?;
        match file.read_exact_at(wanted.start as u64, wanted.len()) {
            Ok(bytes) => Ok(Bytes::from(bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let got = file.len().unwrap_or(0).saturating_sub(wanted.start as u64).min(wanted.len() as u64);
                Err(Fault::ShortRead { want: wanted.len() as u64, got })
            }
            Err(error) => Err(self.fault(&error)),
        }
    }

    fn delete(&self, key: &ObjectKey) -> Result<(), Fault> {
        self.check_stopped()?;
        match self.disk.remove_file(&self.places.file(key)) {
            Ok(()) => self.sync_directory(&self.places.directory(key)),
            Err(error) => match self.fault(&error) {
                Fault::NotFound => Ok(()),
                fault => Err(fault),
            },
        }
    }
}

/// Whether a directory's sync failed before it began: none of these comes from the sync itself (`fsync(2)`), all of them from opening what is to be
/// synced.
fn was_not_opened(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory, io::ErrorKind::PermissionDenied];
    is_out_of_descriptors(error) || kinds.contains(&error.kind())
}

#[async_trait]
impl ObjectStore for DirectoryStore {
    async fn put(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        let to = key.clone();
        self.on(Operation::Put, key.as_str(), move |inner| inner.write(&to, &bytes, true)).await
    }

    async fn put_if_absent(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        let to = key.clone();
        self.on(Operation::PutIfAbsent, key.as_str(), move |inner| inner.write(&to, &bytes, false)).await
    }

    async fn get(&self, key: &ObjectKey) -> Result<Bytes, StoreError> {
        let from = key.clone();
        self.on(Operation::Get, key.as_str(), move |inner| inner.read(&from, None)).await
    }

    async fn get_range(&self, key: &ObjectKey, range: Range<u64>) -> Result<Bytes, StoreError> {
        let from = key.clone();
        self.on(Operation::GetRange, key.as_str(), move |inner| inner.read(&from, Some(&range))).await
    }

    async fn head(&self, key: &ObjectKey) -> Result<u64, StoreError> {
        let from = key.clone();
        self.on(Operation::Head, key.as_str(), move |inner| match inner.disk.stat(&inner.places.file(&from)) {
            Ok(entry) if entry.is_dir => Err(Fault::NotFound),
            Ok(entry) => Ok(entry.len),
            Err(error) => Err(inner.fault(&error)),
        })
        .await
    }

    async fn list(&self, prefix: &str, after: Option<&ObjectKey>) -> Result<ListPage, StoreError> {
        let (under, after) = (prefix.to_owned(), after.cloned());
        self.on(Operation::List, prefix, move |inner| {
            check_prefix(&under).map_err(|error| Fault::Invalid { detail: error.to_string() })?;
            let page = walk::list(&*inner.disk, &inner.places, &under, after.as_ref(), PAGE_OBJECTS);
            page.map_err(|error| inner.fault(&error))
        })
        .await
    }

    async fn delete(&self, key: &ObjectKey) -> Result<(), StoreError> {
        let gone = key.clone();
        self.on(Operation::Delete, key.as_str(), move |inner| inner.delete(&gone)).await
    }

    fn place(&self) -> String {
        self.inner.places.name()
    }
}

#[cfg(test)]
#[path = "../directory_test.rs"]
mod tests;
