//! A disk whose syncs take longer than they need, or never end, as told while it runs: for tests of processes on slow and stuck disks.
//!
//! What is deliberately not here: slow reads and writes, virtual time (simulations let time pass themselves).

use crate::{DirEntry, Disk, DiskFile};
use parking_lot::{Condvar, Mutex};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A control file is read again so often while a sync waits.
const POLL: Duration = Duration::from_millis(20);

/// How long a sync waits before it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncDelay {
    /// So long.
    For(Duration),
    /// Until it is told otherwise.
    Hang,
}

impl SyncDelay {
    /// Reads `hang`, or a number of milliseconds. Anything else, and a file that is not there or just being written, is no delay.
    fn parse(text: &str) -> Self {
        match text.trim() {
            "hang" => Self::Hang,
            number => Self::For(Duration::from_millis(number.parse().unwrap_or(0))),
        }
    }

    /// How long one that began `waited` ago has to wait on; `None` when it may begin.
    fn rest(self, waited: Duration) -> Option<Duration> {
        match self {
            Self::Hang => Some(Duration::MAX),
            Self::For(delay) => delay.checked_sub(waited).filter(|rest| !rest.is_zero()),
        }
    }
}

/// Sets the delay of disks within this process. What waits already hears of a change at once: less of a delay lets it go, more holds it on.
#[derive(Debug)]
pub struct DelaySwitch {
    delay: Mutex<SyncDelay>,
    changed: Condvar,
}

impl Default for DelaySwitch {
    fn default() -> Self {
        Self { delay: Mutex::new(SyncDelay::For(Duration::ZERO)), changed: Condvar::new() }
    }
}

impl DelaySwitch {
    /// Sets the delay of every sync, those that wait included.
    pub fn set(&self, delay: SyncDelay) {
        *self.delay.lock() = delay;
        self.changed.notify_all();
    }
}

/// Where a disk learns its delay from.
#[derive(Clone)]
enum Source {
    Switch(Arc<DelaySwitch>),
    File(PathBuf),
}

impl Source {
    fn wait(&self) {
        let begun = Instant::now();
        match self {
            Self::Switch(switch) => {
                let mut delay = switch.delay.lock();
                while let Some(rest) = delay.rest(begun.elapsed()) {
                    // A wait that can't overflow the clock: a hanging sync looks again once an hour.
                    switch.changed.wait_for(&mut delay, rest.min(Duration::from_secs(3_600)));
                }
            }
            Self::File(path) => {
                let delay = || fs::read_to_string(path).map_or(SyncDelay::For(Duration::ZERO), |text| SyncDelay::parse(&text));
                while let Some(rest) = delay().rest(begun.elapsed()) {
                    std::thread::sleep(rest.min(POLL));
                }
            }
        }
    }
}

/// A disk on which each sync, of a file or a directory, waits before it begins.
#[derive(Clone)]
pub struct DelayedDisk {
    disk: Arc<dyn Disk>,
    source: Source,
}

impl DelayedDisk {
    /// Delays the syncs of a disk by what a switch says.
    #[must_use]
    pub const fn new(disk: Arc<dyn Disk>, switch: Arc<DelaySwitch>) -> Self {
        Self { disk, source: Source::Switch(switch) }
    }

    /// Delays the syncs of a disk by what a file says, which may be changed at any time: milliseconds, or `hang`. No file is no delay. Put a new
    /// file in place by renaming it, so that nobody reads half a number.
    #[must_use]
    pub const fn controlled_by(disk: Arc<dyn Disk>, path: PathBuf) -> Self {
        Self { disk, source: Source::File(path) }
    }

    fn file(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(DelayedFile { file, source: self.source.clone() })
    }
}

impl Disk for DelayedDisk {
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir_all(path)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.open(path).map(|file| self.file(file))
    }

    fn open_read(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.open_read(path)
    }

    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.create_new(path).map(|file| self.file(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn rename_no_replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename_no_replace(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.source.wait();
        self.disk.sync_dir(path)
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.disk.list_dir(path)
    }

    fn stat(&self, path: &Path) -> io::Result<DirEntry> {
        self.disk.stat(path)
    }
}

struct DelayedFile {
    file: Arc<dyn DiskFile>,
    source: Source,
}

impl DiskFile for DelayedFile {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.source.wait();
        self.file.sync_data()
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

#[cfg(test)]
#[path = "delayed_test.rs"]
mod tests;
