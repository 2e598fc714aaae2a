//! The handle of an open log.

use crate::format::NUMBER_MAX;
use crate::log::{Log, LogSpan, Slot};
use crate::metrics::WalMetrics;
use crate::queue::{Change, Done, Operation, Queue};
use crate::recover::{Recovery, recover};
use crate::writer::Writer;
use crate::{WalConfig, WalError};
use bytes::Bytes;
use parking_lot::{Condvar, Mutex, MutexGuard};
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
    thread: Mutex<Option<JoinHandle<()>>>,
}

type OnFatal = Box<dyn FnOnce(&WalError) + Send>;

/// What callers and the log's thread share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Told when there is something to write, or when the log closes.
    wake: Condvar,
}

struct State {
    log: Log,
    queue: Queue,
    failure: Option<WalError>,
    is_closing: bool,
    on_fatal: Option<OnFatal>,
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
        let metrics = Arc::new(WalMetrics::new());
        let recovered = recover(disk.as_ref(), dir, &metrics)?;
        let recovery = recovered.recovery.clone();
        let state = State { log: Log::default(), queue: Queue::default(), failure: None, is_closing: false, on_fatal: Some(Box::new(on_fatal)) };
        let shared = Arc::new(Shared { state: Mutex::new(state), wake: Condvar::new() });
        let (writer, log) = Writer::new(disk, dir.to_owned(), config, shared.clone(), metrics.clone(), recovered);
        shared.state.lock().log = log;
        let thread = thread::Builder::new()
            .name("raft-wal".to_owned())
            .spawn(|| writer.run())
            .map_err(|error| WalError::io("start the thread of the log in", dir, error))?;
        Ok((Self { shared, config, metrics, thread: Mutex::new(Some(thread)) }, recovery))
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
    /// # Errors
    /// When the log failed or was closed, or the note is too long; `done` is dropped then.
    pub fn purge_to(&self, index: u64, note: Bytes, done: Done) -> Result<(), WalError> {
        self.check_len(&note)?;
        let mut state = self.usable()?;
        if index > NUMBER_MAX {
            let LogSpan { first, next } = state.log.span();
            return Err(WalError::OutOfSpan { index, first, next });
        }
        state.log.purge(index, note.clone());
        self.submit(state, Change::Purge { index, note }, Some(done));
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

    /// Writes what waits and ends the log's thread. Later changes fail.
    pub fn close(&self) {
        self.shared.state.lock().is_closing = true;
        self.shared.wake.notify_all();
        let thread = self.thread.lock().take();
        if let Some(thread) = thread
            && thread.thread().id() != thread::current().id()
        {
            // A panic of the thread was reported as a failure already.
            let _ = thread.join();
        }
    }

    fn usable(&self) -> Result<MutexGuard<'_, State>, WalError> {
        let state = self.shared.state.lock();
        if let Some(failure) = &state.failure {
            return Err(poisoned(failure));
        }
        if state.is_closing { Err(WalError::Closed) } else { Ok(state) }
    }

    fn submit(&self, mut state: MutexGuard<'_, State>, change: Change, done: Option<Done>) {
        let wakes = done.is_some();
        state.queue.push(Operation { change, done });
        drop(state);
        if wakes {
            self.shared.wake.notify_one();
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

impl Shared {
    /// Waits for something to write; `None` when the log is closed and all is written.
    pub(crate) fn next_batch(&self, bytes_max: usize) -> Option<Vec<Operation>> {
        let mut state = self.state.lock();
        while !state.queue.has_awaited() && !state.is_closing {
            self.wake.wait(&mut state);
        }
        let batch = state.queue.take(bytes_max);
        (!batch.is_empty()).then_some(batch)
    }

    /// A batch is durable.
    pub(crate) fn settle(&self, batch: &[Operation]) {
        let entries = batch.iter().map(|operation| operation.change.records()).sum();
        let bytes = batch.iter().map(|operation| operation.change.payload_bytes()).sum();
        self.state.lock().queue.settle(entries, bytes);
    }

    /// Poisons the log: the process hears of it first, then everybody who waits.
    pub(crate) fn fail(&self, error: WalError, batch: Vec<Operation>) {
        let (waiting, on_fatal) = {
            let mut state = self.state.lock();
            state.failure.get_or_insert_with(|| error.clone());
            (state.queue.take(usize::MAX), state.on_fatal.take())
        };
        tracing::error!(%error, "the log failed: nothing more is promised");
        if let Some(on_fatal) = on_fatal {
            on_fatal(&error);
        }
        for done in batch.into_iter().chain(waiting).filter_map(|operation| operation.done) {
            done(Err(poisoned(&error)));
        }
    }
}

fn poisoned(failure: &WalError) -> WalError {
    WalError::Poisoned { source: Arc::new(failure.clone()) }
}
