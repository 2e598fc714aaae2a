//! The machine's disk.

use crate::{DirEntry, Disk, DiskFile, is_out_of_descriptors};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

/// A process without a free descriptor has one again as soon as a file or a connection is closed: what opens a file waits so often...
const OPEN_TRIES: u32 = 50;

/// ...and so long each time, a second in all. Nothing was changed on the disk by an open that failed, so to try again is always right.
const OPEN_PAUSE: Duration = Duration::from_millis(20);

/// Opens something, waiting a moment for a free descriptor.
fn patiently<T>(mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..OPEN_TRIES {
        match open() {
            Err(error) if is_out_of_descriptors(&error) => std::thread::sleep(OPEN_PAUSE),
            outcome => return outcome,
        }
    }
    open()
}

/// The machine's disk, through `std::fs`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        patiently(|| OpenOptions::new().read(true).write(true).open(path)).map(RealFile::shared)
    }

    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        patiently(|| File::open(path)).map(RealFile::shared)
    }

    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        patiently(|| OpenOptions::new().read(true).write(true).create_new(true).open(path)).map(RealFile::shared)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn rename_no_replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Some file systems (NFS, older FUSE ones) lack the flag. A hard link refuses to replace as well; a crash between the two calls
            // leaves both names, of which the old one is a temporary file's.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                fs::hard_link(from, to)?;
                fs::remove_file(from)
            }
            other => other.map_err(io::Error::from),
        }
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        patiently(|| File::open(path))?.sync_all()
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in patiently(|| fs::read_dir(path))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            match entry.metadata() {
                Ok(metadata) => entries.push(dir_entry(name, &metadata)),
                // Removed since it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn stat(&self, path: &Path) -> io::Result<DirEntry> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(dir_entry(name, &fs::metadata(path)?))
    }
}

fn dir_entry(name: String, metadata: &fs::Metadata) -> DirEntry {
    let modified_ms = metadata
        .modified()
        .ok()
        .and_then(|modified| modified.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    DirEntry { name, is_dir: metadata.is_dir(), len: metadata.len(), modified_ms }
}

struct RealFile {
    file: File,
    /// `fdatasync` need not make a *shorter* length durable, so the sync after a `set_len` is a full one.
    resized: AtomicBool,
}

impl RealFile {
    fn shared(file: File) -> Arc<dyn DiskFile> {
        Arc::new(Self { file, resized: AtomicBool::new(false) })
    }
}

impl DiskFile for RealFile {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match self.file.read_at(buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.resized.swap(false, Ordering::AcqRel) { self.file.sync_all() } else { self.file.sync_data() }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)?;
        self.resized.store(true, Ordering::Release);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}
