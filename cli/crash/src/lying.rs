//! A disk that says of objects that they are synced, and has done nothing. A run over it must fail: that is the test of the tests.

use siltstone_disk::{DirEntry, Disk, DiskFile, LossyDisk};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The lying disk.
pub(crate) struct LyingDisk(pub(crate) LossyDisk);

struct LyingFile(Arc<dyn DiskFile>);

impl LyingDisk {
    fn file(path: &Path, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        if path.components().any(|part| part.as_os_str() == "objects") { Arc::new(LyingFile(file)) } else { file }
    }
}

impl Disk for LyingDisk {
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir_all(path)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Self::file(path, self.0.open(path)?))
    }

    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Self::file(path, self.0.create_new(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn rename_no_replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename_no_replace(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.0.remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.0.list_dir(path)
    }

    fn stat(&self, path: &Path) -> io::Result<DirEntry> {
        self.0.stat(path)
    }
}

impl DiskFile for LyingFile {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        // The power may be gone by now: that much is not hidden.
        self.0.len().map(|_| ())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}
