//! Members whose clock stands still until nothing is left to do, and whose logs have no thread: sweeps start many thousands of them.

use super::parts;
use siltstone_core::{CommitIndex, with_causes};
use siltstone_disk::{Disk, LossyDisk, create_dir_durable};
use siltstone_format::manifest::Manifest;
use siltstone_metadata::raft::{Blocking, NoPeers, StartError, SteppedLog, Transport};
use siltstone_metadata::{MetadataNode, NodeConfig};
use siltstone_metadata_client::MetadataClient;
use siltstone_wal::Stepper;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::Notify;

pub const DIR: &str = "/data/metadata";

/// Files by their paths.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Who writes a member's log, and when. Clones share it.
#[derive(Clone, Default)]
pub struct Steps {
    is_held: Arc<AtomicBool>,
    panics: Arc<AtomicBool>,
    work: Arc<Notify>,
}

impl Steps {
    pub fn blocking(&self) -> Blocking {
        let (steps, told) = (self.clone(), self.clone());
        let on_open = move |stepper: Stepper| {
            let steps = steps.clone();
            drop(tokio::spawn(async move {
                loop {
                    if !stepper.begin() {
                        steps.work.notified().await;
                        continue;
                    }
                    while steps.is_held.load(Ordering::SeqCst) {
                        steps.work.notified().await;
                    }
                    stepper.finish();
                }
            }));
        };
        let on_work = move || {
            assert!(!told.panics.swap(false, Ordering::SeqCst), "a panic that the test wants");
            told.work.notify_one();
        };
        Blocking::Inline(SteppedLog { on_open: Arc::new(on_open), on_work: Arc::new(on_work) })
    }

    /// From now on the disk hangs in whatever it begins.
    pub fn hold(&self) {
        self.is_held.store(true, Ordering::SeqCst);
    }

    pub fn release(&self) {
        self.is_held.store(false, Ordering::SeqCst);
        self.work.notify_one();
    }

    /// Whoever writes to the log next panics.
    pub fn panic_at_next_write(&self) {
        self.panics.store(true, Ordering::SeqCst);
    }
}

/// Runs a test in a time of its own.
pub fn run<F>(test: F) -> F::Output
where
    F: Future,
{
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(test)
}

/// Starts a member, with a count of its fatal errors.
pub async fn start<T>(disk: &LossyDisk, config: NodeConfig, transport: T, steps: &Steps) -> (Result<MetadataNode, StartError>, Arc<AtomicUsize>)
where
    T: Transport,
{
    let (mut parts, fatal) = parts(disk, transport, 1);
    parts.blocking = steps.blocking();
    (MetadataNode::start(config, parts).await, fatal)
}

/// A group of one with small segments, that takes snapshots only when it is told to.
pub fn config() -> NodeConfig {
    let mut config = NodeConfig::single();
    config.wal.segment_bytes_max = 700;
    config.wal.grow_bytes = 256;
    config.wal.spare_segments_max = 1;
    config
}

pub async fn start_one(disk: &LossyDisk) -> Result<MetadataNode, StartError> {
    start(disk, config(), NoPeers, &Steps::default()).await.0
}

/// What a group of one shows when it starts from this disk: its state, but for how far its log goes, since each start adds to it.
pub fn shown(disk: &LossyDisk) -> Result<Manifest, StartError> {
    shown_as(1, disk)
}

/// The same where the only member has another number.
pub fn shown_as(node_id: u64, disk: &LossyDisk) -> Result<Manifest, StartError> {
    run(async {
        let config = NodeConfig { node_id, members: [(node_id, String::new())].into(), ..config() };
        let node = start(disk, config, NoPeers, &Steps::default()).await.0?;
        let state = state(&node);
        node.shutdown().await;
        Ok(state)
    })
}

pub fn state(node: &MetadataNode) -> Manifest {
    let mut manifest = node.manifest();
    manifest.version = CommitIndex(0);
    manifest
}

/// An error with its causes.
pub fn text(error: &StartError) -> String {
    with_causes(error)
}

/// All files of a disk's directory and of those in it.
pub fn files(disk: &LossyDisk) -> Files {
    let mut files = Files::new();
    let mut dirs = vec![PathBuf::from(DIR)];
    while let Some(dir) = dirs.pop() {
        for entry in disk.list_dir(&dir).unwrap() {
            let path = dir.join(&entry.name);
            if entry.is_dir {
                dirs.push(path);
            } else {
                let bytes = disk.open(&path).unwrap().read_exact_at(0, usize::try_from(entry.len).unwrap()).unwrap();
                files.insert(path, bytes);
            }
        }
    }
    files
}

/// A disk that holds exactly these files, all durable.
pub fn disk_with(files: &Files) -> LossyDisk {
    let disk = LossyDisk::new();
    for dir in ["", "wal", "snapshots"] {
        create_dir_durable(&disk, &Path::new(DIR).join(dir)).unwrap();
    }
    for (path, bytes) in files {
        let file = disk.create_new(path).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        file.sync_data().unwrap();
        disk.sync_dir(path.parent().unwrap()).unwrap();
    }
    disk
}

/// Waits, in the test's own time, until a snapshot covers this place.
pub async fn until_snapshot(node: &MetadataNode, index: u64) -> bool {
    let covers = move |metrics: &openraft::RaftMetrics<u64, openraft::BasicNode>| metrics.snapshot.is_some_and(|last| last.index >= index);
    let mut metrics = node.raft().metrics();
    let waited = tokio::time::timeout(std::time::Duration::from_secs(30), metrics.wait_for(covers)).await;
    waited.is_ok_and(|seen| seen.is_ok())
}
