//! Where keys lie on the disk, and which directories are known to be durable.

use crate::key::ObjectKey;
use parking_lot::Mutex;
use siltstone_disk::Disk;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

/// The root of a directory store and the directories below it that are durable.
pub(super) struct Places {
    root: PathBuf,
    durable: Mutex<HashSet<PathBuf>>,
}

/// Making a directory durable failed.
pub(super) enum EnsureError {
    /// It could not be created: nothing has changed.
    Create(io::Error),
    /// It could not be synced: what is on the medium is unknown.
    Sync(io::Error),
}

impl Places {
    /// Creates the root and makes its name durable, and those of the directories above it.
    pub(super) fn open(disk: &dyn Disk, root: PathBuf) -> io::Result<Self> {
        disk.create_dir_all(&root)?;
        if !disk.stat(&root)?.is_dir {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        // An earlier process may have created any of these and died before its sync, so all are synced, whoever made them. Directories
        // far above may be closed to this user; those it cannot have created.
        let mut parents = root.ancestors().skip(1).map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
        if let Some(parent) = parents.next() {
            disk.sync_dir(parent)?;
        }
        for parent in parents {
            match disk.sync_dir(parent) {
                Err(error) if !may_belong_to_others(&error) => return Err(error),
                _ => {}
            }
        }
        let durable = Mutex::new(HashSet::from([root.clone()]));
        Ok(Self { root, durable })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The root's name, for messages.
    pub(super) fn name(&self) -> String {
        self.root.display().to_string()
    }

    /// The file of a key. Keys are checked, so it lies below the root.
    pub(super) fn file(&self, key: &ObjectKey) -> PathBuf {
        self.root.join(key.as_str())
    }

    /// The directory that a key's file lies in.
    pub(super) fn directory(&self, key: &ObjectKey) -> PathBuf {
        match key.as_str().rsplit_once('/') {
            Some((directory, _)) => self.root.join(directory),
            None => self.root.clone(),
        }
    }

    /// Creates a directory below the root and makes it durable: each name on the way is synced in its parent, top down.
    pub(super) fn ensure(&self, disk: &dyn Disk, directory: &Path) -> Result<(), EnsureError> {
        if self.durable.lock().contains(directory) {
            return Ok(());
        }
        // Without its root the store is an unmounted volume, and creating directories would hide objects below the mount point.
        disk.stat(&self.root).map_err(EnsureError::Create)?;
        disk.create_dir_all(directory).map_err(EnsureError::Create)?;
        let new: Vec<&Path> = {
            let durable = self.durable.lock();
            directory.ancestors().take_while(|ancestor| !durable.contains(*ancestor)).collect()
        };
        for name in new.into_iter().rev() {
            // Several callers may sync the same name at once: each needs it before it goes on.
            disk.sync_dir(name.parent().unwrap_or(&self.root)).map_err(EnsureError::Sync)?;
            self.durable.lock().insert(name.to_owned());
        }
        Ok(())
    }
}

fn may_belong_to_others(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::NotFound
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::Unsupported
            | io::ErrorKind::ReadOnlyFilesystem
    )
}
