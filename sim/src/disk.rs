//! A member's disk in one of its lives: a lossy disk whose loss of power is the end of that life, and how long the log waits for it.
//!
//! Operations take no time by themselves, as the trait blocks; latency passes between the two halves of a batch of the log. What is therefore not
//! simulated: slow snapshot files.

use crate::life::Life;
use crate::rng::Rng;
use parking_lot::Mutex;
use siltstone_disk::{DirEntry, Disk, DiskFile, LossyDisk};
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch;

/// How long syncs take.
#[derive(Debug)]
pub struct DiskPace {
    rng: Mutex<Rng>,
    latency_ms: watch::Sender<Latency>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Latency {
    Within(RangeInclusive<u64>),
    /// Operations hang until the disk is free again.
    Stuck,
}

impl DiskPace {
    /// A disk whose syncs take that long.
    #[must_use]
    pub fn new(rng: Rng, latency_ms: RangeInclusive<u64>) -> Self {
        Self { rng: Mutex::new(rng), latency_ms: watch::Sender::new(Latency::Within(latency_ms)) }
    }

    /// Syncs take that long from now on; those that hang end.
    pub fn set(&self, latency_ms: RangeInclusive<u64>) {
        self.latency_ms.send_replace(Latency::Within(latency_ms));
    }

    /// Operations hang from now on.
    pub fn stick(&self) {
        self.latency_ms.send_replace(Latency::Stuck);
    }

    /// Waits as long as one sync takes.
    pub async fn sync(&self) {
        let mut latency = self.latency_ms.subscribe();
        loop {
            let now = latency.borrow_and_update().clone();
            match now {
                Latency::Within(range) => {
                    let latency_ms = self.rng.lock().within(&range);
                    tokio::time::sleep(std::time::Duration::from_millis(latency_ms)).await;
                    if *latency.borrow() != Latency::Stuck {
                        return;
                    }
                }
                Latency::Stuck => drop(latency.changed().await),
            }
        }
    }
}

/// The disk as one life of a member has it.
#[derive(Clone)]
pub struct SimDisk {
    disk: LossyDisk,
    life: Arc<Life>,
    /// Syncs say that they are done, and do nothing: a fault of the disk that no protocol survives.
    lies: bool,
}

impl SimDisk {
    /// A disk for a life.
    #[must_use]
    pub const fn new(disk: LossyDisk, life: Arc<Life>, lies: bool) -> Self {
        Self { disk, life, lies }
    }

    /// A process does not outlive its disk.
    fn watched<T>(&self, outcome: io::Result<T>) -> io::Result<T> {
        if self.disk.is_powered_off() {
            self.life.die("its disk loses power");
        }
        outcome
    }

    fn file(&self, file: io::Result<Arc<dyn DiskFile>>) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.watched(file)?;
        Ok(Arc::new(SimFile { file, disk: self.clone() }))
    }
}

impl Disk for SimDisk {
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.watched(self.disk.create_dir_all(path))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.file(self.disk.open(path))
    }

    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.file(self.disk.create_new(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.watched(self.disk.rename(from, to))
    }

    fn rename_no_replace(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.watched(self.disk.rename_no_replace(from, to))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.watched(self.disk.remove_file(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        if self.lies {
            return Ok(());
        }
        self.watched(self.disk.sync_dir(path))
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.watched(self.disk.list_dir(path))
    }

    fn stat(&self, path: &Path) -> io::Result<DirEntry> {
        self.watched(self.disk.stat(path))
    }
}

struct SimFile {
    file: Arc<dyn DiskFile>,
    disk: SimDisk,
}

impl DiskFile for SimFile {
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.disk.watched(self.file.write_all_at(bytes, offset))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk.watched(self.file.read_at(buffer, offset))
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.disk.lies {
            return Ok(());
        }
        self.disk.watched(self.file.sync_data())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.watched(self.file.set_len(len))
    }

    fn len(&self) -> io::Result<u64> {
        self.disk.watched(self.file.len())
    }
}
