//! Drives a log without a thread, for simulations.

use crate::writer::Writer;
use parking_lot::ReentrantMutex;
use std::cell::RefCell;
use std::sync::Arc;

/// Writes what a log without a thread has queued, one batch at a time. Clones drive the same log.
///
/// A batch has two halves, [`begin`](Self::begin) and [`finish`](Self::finish): between them it is written but not synced, which is where a
/// simulation lets the disk's latency pass. A crash of the disk there loses or tears it; what is queued meanwhile goes with the next batch; and
/// `WalMetrics::stall` counts from the first half on.
///
/// Callbacks run within `finish`, on the caller's thread. They may use the log, but not the stepper.
#[derive(Clone)]
pub struct Stepper {
    /// Re-entrant, so that a callback that closes the log does not wait for itself.
    writer: Arc<ReentrantMutex<RefCell<Writer>>>,
}

impl Stepper {
    pub(crate) fn new(writer: Writer) -> Self {
        Self { writer: Arc::new(ReentrantMutex::new(RefCell::new(writer))) }
    }

    /// Whether a batch is in flight, or [`begin`](Self::begin) would find one.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.with(|writer| writer.is_in_flight() || writer.shared().has_work()).unwrap_or(false)
    }

    /// Writes everything that is queued, in order, as one batch (of about `WalConfig::batch_bytes_max`). False when nothing is queued, a batch is
    /// in flight already, or the write failed.
    pub fn begin(&self) -> bool {
        self.with(|writer| !writer.is_in_flight() && writer.begin()).unwrap_or(false)
    }

    /// Syncs the batch in flight, if there is one, calls its callbacks in order, and removes the files that it purged. False when the sync
    /// failed: the log is poisoned then.
    pub fn finish(&self) -> bool {
        let finish = |writer: &mut Writer| {
            let is_sound = writer.finish();
            // A callback may have closed the log: nobody will step any more.
            if writer.shared().is_closing() {
                drain(writer);
            }
            is_sound
        };
        self.with(finish).unwrap_or(false)
    }

    /// Both halves at once: what the log's thread does for one batch. False when there was nothing to do or the log failed.
    pub fn step(&self) -> bool {
        (self.with(|writer| writer.is_in_flight()).unwrap_or(false) || self.begin()) && self.finish()
    }

    /// Ends the log as a killed process does: nothing more is written, and callbacks are dropped without being called.
    pub fn kill(&self) {
        let shared = self.writer.lock().try_borrow().ok().map(|writer| writer.shared().clone());
        if let Some(shared) = shared {
            shared.forget();
            self.with(Writer::forget);
        }
    }

    /// Writes what waits in a log that was closed.
    pub(crate) fn drain(&self) {
        self.with(drain);
    }

    /// `None` within a callback.
    fn with<T>(&self, act: impl FnOnce(&mut Writer) -> T) -> Option<T> {
        let writer = self.writer.lock();
        let mut writer = writer.try_borrow_mut().ok()?;
        Some(act(&mut writer))
    }
}

fn drain(writer: &mut Writer) {
    while writer.finish() && writer.begin() {}
}
