//! What a log is made of.

use crate::{WalConfig, WalError};
use siltstone_disk::Disk;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time since an origin that never changes; it never goes back.
pub type MonotonicClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Told at most once, by whoever drives the log, that a file operation failed.
pub type OnFatal = Box<dyn FnOnce(&WalError) + Send>;

/// What a log is made of.
pub struct WalParts {
    /// Where the files lie.
    pub disk: Arc<dyn Disk>,
    /// The log's directory. Nobody else may have it open: see `siltstone_disk::lock_dir`.
    pub dir: PathBuf,
    /// Bounds.
    pub config: WalConfig,
    /// Called when a file operation failed: the process must then end.
    pub on_fatal: OnFatal,
    /// What stalls and latencies are measured with.
    pub clock: MonotonicClock,
}

impl WalParts {
    /// Parts with the machine's monotonic clock.
    pub fn new<F>(disk: Arc<dyn Disk>, dir: &Path, config: WalConfig, on_fatal: F) -> Self
    where
        F: FnOnce(&WalError) + Send + 'static,
    {
        let origin = Instant::now();
        Self { disk, dir: dir.to_owned(), config, on_fatal: Box::new(on_fatal), clock: Arc::new(move || origin.elapsed()) }
    }
}
