//! Snapshot files and the pointer to the newest.
//!
//! A snapshot is written under a temporary name, synced, renamed, its directory synced; then the pointer goes into the log; only then may
//! Raft purge, and older files go. So at every moment the pointer names a whole file, and a pointer to anything else is damage.

use crate::raft::blocking::Blocking;
use crate::raft::error::StartError;
use crate::raft::kept::Kept;
use crate::raft::stored::{SnapshotPointer, decode_snapshot_file, encode_snapshot_file};
use crate::raft::types::{SnapshotBytes, SnapshotMeta};
use bytes::Bytes;
use siltstone_disk::{Disk, create_dir_durable};
use siltstone_machine::Machine;
use siltstone_wal::{Slot, Wal};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Mutex, oneshot};

/// Where the member's log lies, in its directory.
pub(crate) const LOG_DIR: &str = "wal";

/// Where its snapshots lie.
pub(crate) const SNAPSHOT_DIR: &str = "snapshots";

const SUFFIX: &str = ".snapshot";
const TEMPORARY_SUFFIX: &str = ".snapshot.tmp";

/// The member's snapshots. Clones share them.
#[derive(Clone)]
pub(crate) struct SnapshotStore {
    files: Arc<Files>,
    wal: Arc<Wal>,
    blocking: Blocking,
    /// The newest snapshot. Locked while one is written: a build and an installation may meet.
    current: Arc<Mutex<Option<(SnapshotMeta, PathBuf)>>>,
    kept: Arc<Kept>,
}

/// The directory of snapshots. All methods block on the disk.
struct Files {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    /// Makes the ids of this process's snapshots differ.
    counter: AtomicU64,
}

impl SnapshotStore {
    /// Opens the directory and reads the newest snapshot, unless it is of commands above `version_max`. Blocks on the disk.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        wal: Arc<Wal>,
        blocking: Blocking,
        version_max: u16,
    ) -> Result<(Self, Option<Newest>), StartError> {
        create_dir_durable(disk.as_ref(), &dir).map_err(|error| StartError::io("create snapshot directory", &dir, error))?;
        let files = Arc::new(Files { disk, dir: dir.clone(), counter: AtomicU64::new(0) });
        let store = |current: Option<(SnapshotMeta, PathBuf)>| {
            let last = current.as_ref().and_then(|(meta, _)| meta.last_log_id);
            let kept = Arc::new(Kept::new(last.map(|log_id| log_id.index)));
            Self { files: files.clone(), wal: wal.clone(), blocking, current: Arc::new(Mutex::new(current)), kept }
        };
        let purged = wal.purged().map(|(purged, _)| purged);
        let newest = read_newest(files.disk.as_ref(), &dir, wal.get(Slot::Snapshot), purged, version_max)?;
        files.remove_others(newest.as_ref().map(|(file, _)| file.as_str()))?;
        let current = newest.as_ref().map(|(file, newest)| (newest.meta.clone(), dir.join(file)));
        Ok((store(current), newest.map(|(_, newest)| newest)))
    }

    /// How far the snapshots reach that a restart would find.
    pub(crate) const fn kept(&self) -> &Arc<Kept> {
        &self.kept
    }

    /// An id that no other snapshot of this member has.
    pub(crate) fn next_id(&self, last_index: Option<u64>, term: u64) -> String {
        let last = last_index.map_or_else(|| "none".to_owned(), |index| format!("{index:016x}"));
        format!("{last}-{term:x}-{}", self.files.counter.fetch_add(1, Ordering::Relaxed))
    }

    /// Keeps a snapshot, durably, unless a newer one is kept already.
    pub(crate) async fn keep(&self, meta: &SnapshotMeta, content: SnapshotBytes) -> io::Result<()> {
        let mut current = self.current.lock().await;
        if current.as_ref().is_some_and(|(newest, _)| newest.last_log_id > meta.last_log_id) {
            return Ok(());
        }
        let (files, kept) = (self.files.clone(), meta.clone());
        let (path, pointer) = self.blocking.run(move || files.write(&kept, &content)).await??;
        let pointer = pointer.encode().map_err(io::Error::other)?;
        let (sender, durable) = oneshot::channel();
        // Where nobody waits any more, this member is ending.
        let done = Box::new(move |outcome| drop(sender.send(outcome)));
        self.wal.set(Slot::Snapshot, pointer, Some(done)).map_err(io::Error::other)?;
        self.kept.keep(meta.last_log_id.map(|log_id| log_id.index));
        durable.await.map_err(io::Error::other)?.map_err(io::Error::other)?;
        if let Some((_, replaced)) = current.replace((meta.clone(), path)) {
            let files = self.files.clone();
            self.blocking.run(move || files.disk.remove_file(&replaced)).await??;
        }
        Ok(())
    }

    /// The newest snapshot.
    pub(crate) async fn read_current(&self) -> io::Result<Option<(SnapshotMeta, SnapshotBytes)>> {
        let current = self.current.lock().await;
        let Some((_, path)) = current.clone() else { return Ok(None) };
        let files = self.files.clone();
        let bytes = self.blocking.run(move || read_file(files.disk.as_ref(), &path)).await??;
        decode_snapshot_file(&bytes).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

/// A snapshot as it was read.
pub(crate) struct Newest {
    pub(crate) meta: SnapshotMeta,
    pub(crate) machine: Machine,
    /// The newest version of commands that the log before it holds.
    pub(crate) command_version: u16,
    /// The numbers of members that were removed.
    pub(crate) removed: Arc<BTreeSet<u64>>,
}

/// Reads the snapshot that a log's pointer names, where a log needs one, unless it is of commands above `version_max`. Gives the file's name too.
/// Changes nothing.
pub(crate) fn read_newest(
    disk: &dyn Disk,
    dir: &Path,
    pointer: Option<Bytes>,
    purged: Option<u64>,
    version_max: u16,
) -> Result<Option<(String, Newest)>, StartError> {
    let lost = |what| StartError::Lost { path: dir.to_owned(), what };
    let Some(pointer) = pointer else {
        return if purged.is_some() { Err(lost("the log was purged, but it names no snapshot")) } else { Ok(None) };
    };
    let pointer = SnapshotPointer::decode(&pointer).map_err(StartError::record(&dir.with_file_name(LOG_DIR)))?;
    if purged.is_some_and(|purged| pointer.last_index.is_none_or(|last| last < purged)) {
        return Err(lost("the log was purged past its snapshot"));
    }
    let path = dir.join(&pointer.file);
    let bytes = read_file(disk, &path).map_err(|error| StartError::io("read snapshot file", &path, error))?;
    if bytes.len() as u64 != pointer.len {
        return Err(StartError::Lost { path, what: "the log names this snapshot with another length" });
    }
    let (meta, SnapshotBytes { machine, command_version, removed }) = decode_snapshot_file(&bytes).map_err(StartError::record(&path))?;
    if command_version > version_max {
        return Err(StartError::Newer { version: command_version, version_max, place: path.display().to_string() });
    }
    let machine = Machine::restore(&machine).map_err(|source| StartError::Machine { path: path.clone(), source })?;
    Ok(Some((pointer.file, Newest { meta, machine, command_version, removed })))
}

/// Writes the first snapshot of a new directory, durably. Gives the pointer that the log must have.
pub(crate) fn write_first(disk: Arc<dyn Disk>, dir: &Path, meta: &SnapshotMeta, content: &SnapshotBytes) -> io::Result<SnapshotPointer> {
    create_dir_durable(disk.as_ref(), dir)?;
    let files = Files { disk, dir: dir.to_owned(), counter: AtomicU64::new(0) };
    files.write(meta, content).map(|(_, pointer)| pointer)
}

impl Files {
    /// Writes a snapshot to a file of its own, durably.
    fn write(&self, meta: &SnapshotMeta, content: &SnapshotBytes) -> io::Result<(PathBuf, SnapshotPointer)> {
        let bytes = encode_snapshot_file(meta, content).map_err(io::Error::other)?;
        // The id may come from another member, so the name is our own.
        let name = self.unused_name(meta)?;
        let (temporary, path) = (self.dir.join(format!("{name}{TEMPORARY_SUFFIX}")), self.dir.join(format!("{name}{SUFFIX}")));
        let file = self.disk.create_new(&temporary)?;
        file.write_all_at(&bytes, 0)?;
        file.sync_data()?;
        self.disk.rename_no_replace(&temporary, &path)?;
        self.disk.sync_dir(&self.dir)?;
        let last_index = meta.last_log_id.map(|log_id| log_id.index);
        Ok((path, SnapshotPointer { file: format!("{name}{SUFFIX}"), len: bytes.len() as u64, last_index }))
    }

    fn unused_name(&self, meta: &SnapshotMeta) -> io::Result<String> {
        let last = meta.last_log_id.map_or_else(|| "none".to_owned(), |log_id| format!("{:016x}", log_id.index));
        loop {
            let name = format!("{last}-{}", self.counter.fetch_add(1, Ordering::Relaxed));
            match self.disk.stat(&self.dir.join(format!("{name}{SUFFIX}"))) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(name),
                Err(error) => return Err(error),
                Ok(_) => {}
            }
        }
    }

    /// Removes files that no pointer names: unfinished ones, and older ones that a crash kept alive.
    fn remove_others(&self, keep: Option<&str>) -> Result<(), StartError> {
        let entries = self.disk.list_dir(&self.dir).map_err(|error| StartError::io("list snapshot directory", &self.dir, error))?;
        for entry in entries {
            let is_ours = entry.name.ends_with(SUFFIX) || entry.name.ends_with(TEMPORARY_SUFFIX);
            if is_ours && Some(entry.name.as_str()) != keep {
                let path = self.dir.join(&entry.name);
                self.disk.remove_file(&path).map_err(|error| StartError::io("remove old snapshot file", &path, error))?;
            }
        }
        Ok(())
    }
}

/// Whether a member's directory has snapshots.
pub(crate) fn has_snapshots(disk: &dyn Disk, dir: &Path) -> Result<bool, StartError> {
    let dir = dir.join(SNAPSHOT_DIR);
    match disk.list_dir(&dir) {
        Ok(entries) => Ok(entries.iter().any(|entry| entry.name.ends_with(SUFFIX))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StartError::io("list snapshot directory", &dir, error)),
    }
}

pub(crate) fn read_file(disk: &dyn Disk, path: &Path) -> io::Result<Bytes> {
    let file = disk.open_read(path)?;
    let len = usize::try_from(file.len()?).map_err(|_| io::ErrorKind::FileTooLarge)?;
    Ok(file.read_exact_at(0, len)?.into())
}
