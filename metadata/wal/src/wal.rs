//! The handle of an open log.

use crate::format::NUMBER_MAX;
use crate::log::{LogSpan, Slot};
use crate::metrics::WalMetrics;
use crate::queue::{Change, Done, Operation};
use crate::recover::{Recovery, recover};
use crate::segment::Place;
use crate::shared::{OnWork, Shared, State};
use crate::stepper::Stepper;
use crate::writer::Writer;
use crate::{WalConfig, WalError, WalParts};
use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use siltstone_disk::Disk;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

/// An open log. Changes are readable when their call returns and durable when their `done` is told so.
///
/// To ensure correctness, the owner
/// - appends entries without holes, and truncates only what was never committed;
/// - lets nobody rely on a change before its `done` said `Ok`;
/// - ends the process when `on_fatal` is called.
pub struct Wal {
    shared: Arc<Shared>,
    config: WalConfig,
    metrics: Arc<WalMetrics>,
    driver: Driver,
}

/// Who writes.
enum Driver {
    Thread(Mutex<Option<JoinHandle<()>>>),
    Stepped(Stepper),
}

impl Wal {
    /// Opens the log in a directory, or makes a new one there. Nobody else may have it open: see `siltstone_disk::lock_dir`.
    ///
    /// `on_fatal` is called at most once, on the log's thread, when a file operation failed: the process must then end.
    ///
    /// # Errors
    /// [`WalError::Corrupt`] when stored bytes are damaged, [`WalError::Io`] when the disk refuses.
    pub fn open<F>(disk: Arc<dyn Disk>, dir: &Path, config: WalConfig, on_fatal: F) -> Result<(Self, Recovery), WalError>
    where
        F: FnOnce(&WalError) + Send + 'static,
    {
        Self::open_with(WalParts::new(disk, dir, config, on_fatal))
    }

    /// As [`Wal::open`], from parts.
    ///
    /// # Errors
    /// As [`Wal::open`].
    pub fn open_with(parts: WalParts) -> Result<(Self, Recovery), WalError> {
        let dir = parts.dir.clone();
        let (writer, mut wal, recovery) = Self::recovered(parts, None)?;
        let thread = thread::Builder::new()
            .name("raft-wal".to_owned())
            .spawn(|| writer.run())
            .map_err(|error| WalError::io("start the thread of the log in", &dir, error))?;
        wal.driver = Driver::Thread(Mutex::new(Some(thread)));
        Ok((wal, recovery))
    }

    /// As [`Wal::open_with`], but without a thread: nothing is written until the [`Stepper`] is told to. For simulations, where time passes only
    /// when they say so.
    ///
    /// `on_work` is called, on the caller's thread, whenever there is something to write. It must not wait, and may be called more often than
    /// needed.
    ///
    /// # Errors
    /// As [`Wal::open`].
    pub fn open_stepped<F>(parts: WalParts, on_work: F) -> Result<(Self, Stepper, Recovery), WalError>
    where
        F: Fn() + Send + Sync + 'static,
    {
        let (writer, mut wal, recovery) = Self::recovered(parts, Some(Box::new(on_work)))?;
        let stepper = Stepper::new(writer);
        wal.driver = Driver::Stepped(stepper.clone());
        Ok((wal, stepper, recovery))
    }

    /// A log that nobody drives yet.
    fn recovered(parts: WalParts, on_work: Option<OnWork>) -> Result<(Writer, Self, Recovery), WalError> {
        let WalParts { disk, dir, config, on_fatal, clock } = parts;
        let metrics = Arc::new(WalMetrics::new(clock));
        let mut recovered = recover(&Place { disk: disk.as_ref(), dir: &dir, config: &config, metrics: &metrics })?;
        let recovery = recovered.recovery.clone();
        let log = std::mem::take(&mut recovered.log);
        let shared = Arc::new(Shared::new(State::new(log, on_fatal), on_work));
        let writer = Writer::new(disk, dir, config, shared.clone(), metrics.clone(), recovered);
        Ok((writer, Self { shared, config, metrics, driver: Driver::Thread(Mutex::new(None)) }, recovery))
    }

    /// Appends entries. They are readable when this returns. A log that holds nothing and gave nothing up may begin with any index.
    ///
    /// # Errors
    /// [`WalError::QueueFull`], [`WalError::OutOfOrder`] and [`WalError::TooLarge`] change nothing, and `done` is dropped.
    pub fn append(&self, first_index: u64, payloads: Vec<Bytes>, done: Done) -> Result<(), WalError> {
        for payload in &payloads {
            self.check_len(payload)?;
        }
        let bytes: usize = payloads.iter().map(Bytes::len).sum();
        // Offsets in a segment are 32 bits wide; one append is one write into one segment.
        let bytes_max = u32::MAX / 4;
        if bytes > bytes_max as usize {
            return Err(WalError::TooLarge { len: bytes, max: bytes_max });
        }
        let mut state = self.usable()?;
        if !state.log.takes(first_index) {
            return Err(WalError::OutOfOrder { index: first_index, next: state.log.span().next });
        }
        state.queue.check_room(payloads.len(), bytes, &self.config)?;
        for (index, payload) in (first_index..).zip(&payloads) {
            state.log.push(index, payload.clone());
        }
        self.submit(state, Change::Append { first_index, payloads }, Some(done));
        Ok(())
    }

    /// Gives a slot a new value. With `done` it is written at once; without, it goes with the next operation that somebody waits for, and
    /// may be lost at a crash.
    ///
    /// # Errors
    /// When the log failed or was closed, or the value is too long; `done` is dropped then.
    pub fn set(&self, slot: Slot, value: Bytes, done: Option<Done>) -> Result<(), WalError> {
        self.check_len(&value)?;
        let mut state = self.usable()?;
        state.log.slots.set(slot, value.clone());
        self.submit(state, Change::Set { slot, value }, done);
        Ok(())
    }

    /// Drops the entries from `index` on.
    ///
    /// # Errors
    /// [`WalError::OutOfSpan`] when `index` is purged or past the end.
    pub fn truncate_from(&self, index: u64, done: Done) -> Result<(), WalError> {
        let mut state = self.usable()?;
        let LogSpan { first, next } = state.log.span();
        if index < first || index > next {
            return Err(WalError::OutOfSpan { index, first, next });
        }
        state.log.truncate(index);
        self.submit(state, Change::Truncate { index }, Some(done));
        Ok(())
    }

    /// Gives up the entries up to and with `index`, with a note about the last of them. An index past the end moves the end: the next entry
    /// is then `index + 1`. An index that is purged already changes nothing.
    ///
    /// With `done` it is written at once; without, it goes with the next operation that somebody waits for. Files are removed only after the
    /// purge is durable: a crash in between leaves files that the next purge removes.
    ///
    /// # Errors
    /// When the log failed or was closed, or the note is too long; `done` is dropped then.
    pub fn purge_to(&self, index: u64, note: Bytes, done: Option<Done>) -> Result<(), WalError> {
        self.check_len(&note)?;
        let mut state = self.usable()?;
        if index > NUMBER_MAX {
            let LogSpan { first, next } = state.log.span();
            return Err(WalError::OutOfSpan { index, first, next });
        }
        state.log.purge(index, note.clone());
        self.submit(state, Change::Purge { index, note }, done);
        Ok(())
    }

    /// The entries with `start <= index < end` that the log holds, until their payloads are more than `bytes_max`, but at least one if
    /// there is any.
    ///
    /// # Errors
    /// When the log failed or was closed.
    pub fn read(&self, start: u64, end: u64, bytes_max: usize) -> Result<Vec<(u64, Bytes)>, WalError> {
        Ok(self.usable()?.log.read(start, end, bytes_max))
    }

    /// The indexes that the log holds.
    #[must_use]
    pub fn span(&self) -> LogSpan {
        self.shared.state.lock().log.span()
    }

    /// Payload bytes of all entries that the log holds: what a snapshot and a purge would free.
    #[must_use]
    pub fn payload_bytes(&self) -> usize {
        self.shared.state.lock().log.payload_bytes()
    }

    /// The last purged index and its note.
    #[must_use]
    pub fn purged(&self) -> Option<(u64, Bytes)> {
        self.shared.state.lock().log.slots.purged.clone()
    }

    /// A slot's newest value.
    #[must_use]
    pub fn get(&self, slot: Slot) -> Option<Bytes> {
        self.shared.state.lock().log.slots.get(slot).cloned()
    }

    /// The log's counters.
    #[must_use]
    pub const fn metrics(&self) -> &Arc<WalMetrics> {
        &self.metrics
    }

    /// The failure that poisoned the log, if one did.
    #[must_use]
    pub fn failure(&self) -> Option<WalError> {
        self.shared.state.lock().failure.clone()
    }

    /// Runs one change and waits until it is durable: for callers that may block.
    ///
    /// # Errors
    /// Those of the change, and the failure of its write.
    pub fn blocking<F>(change: F) -> Result<(), WalError>
    where
        F: FnOnce(Done) -> Result<(), WalError>,
    {
        let (sender, receiver) = mpsc::channel();
        change(Box::new(move |outcome| {
            // Nobody listens only when this function returned with an error before.
            let _ = sender.send(outcome);
        }))?;
        receiver.recv().unwrap_or(Err(WalError::Closed))
    }

    /// Writes what waits and ends the log's thread, if it has one. Later changes fail. Called from a callback of the log, it returns at once, and
    /// what waits is written after the callback.
    pub fn close(&self) {
        self.shared.close();
        match &self.driver {
            Driver::Thread(thread) => {
                let thread = thread.lock().take();
                if let Some(thread) = thread
                    && thread.thread().id() != thread::current().id()
                {
                    // A panic of the thread was reported as a failure already.
                    let _ = thread.join();
                }
            }
            Driver::Stepped(stepper) => stepper.drain(),
        }
    }

    fn usable(&self) -> Result<MutexGuard<'_, State>, WalError> {
        self.shared.usable()
    }

    fn submit(&self, mut state: MutexGuard<'_, State>, change: Change, done: Option<Done>) {
        state.queue.push(Operation { change, done });
        let wakes = state.has_work();
        drop(state);
        if wakes {
            self.shared.wake();
        }
    }

    const fn check_len(&self, payload: &Bytes) -> Result<(), WalError> {
        if payload.len() > self.config.payload_bytes_max as usize {
            return Err(WalError::TooLarge { len: payload.len(), max: self.config.payload_bytes_max });
        }
        Ok(())
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        self.close();
    }
}
