//! What callers and the log's driver share.

use crate::log::Log;
use crate::parts::OnFatal;
use crate::queue::{Operation, Queue};
use crate::{WalConfig, WalError};
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::Arc;

/// Told that there is something to write.
pub(crate) type OnWork = Box<dyn Fn() + Send + Sync>;

pub(crate) struct Shared {
    pub(crate) state: Mutex<State>,
    /// Told when there is something to write, or when the log closes.
    work: Condvar,
    /// The same for a driver that is no thread.
    on_work: Option<OnWork>,
}

pub(crate) struct State {
    pub(crate) log: Log,
    pub(crate) queue: Queue,
    pub(crate) failure: Option<WalError>,
    is_closing: bool,
    on_fatal: Option<OnFatal>,
}

impl State {
    pub(crate) fn new(log: Log, on_fatal: OnFatal) -> Self {
        Self { log, queue: Queue::default(), failure: None, is_closing: false, on_fatal: Some(on_fatal) }
    }

    pub(crate) fn has_work(&self) -> bool {
        self.queue.is_due() || (self.is_closing && !self.queue.is_empty())
    }
}

impl Shared {
    pub(crate) fn new(state: State, on_work: Option<OnWork>) -> Self {
        Self { state: Mutex::new(state), work: Condvar::new(), on_work }
    }

    /// The state of a log that neither failed nor was closed.
    pub(crate) fn usable(&self) -> Result<MutexGuard<'_, State>, WalError> {
        let state = self.state.lock();
        if let Some(failure) = &state.failure {
            return Err(poisoned(failure));
        }
        if state.is_closing { Err(WalError::Closed) } else { Ok(state) }
    }

    /// Tells the driver that there is something to write.
    pub(crate) fn wake(&self) {
        self.work.notify_one();
        if let Some(on_work) = &self.on_work {
            on_work();
        }
    }

    /// Refuses changes from now on.
    pub(crate) fn close(&self) {
        self.state.lock().is_closing = true;
        self.work.notify_all();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.state.lock().is_closing
    }

    pub(crate) fn has_work(&self) -> bool {
        self.state.lock().has_work()
    }

    /// Waits for something to write; false when the log is closed and all is written.
    pub(crate) fn wait_for_work(&self) -> bool {
        let mut state = self.state.lock();
        while !state.has_work() && !state.is_closing {
            self.work.wait(&mut state);
        }
        state.has_work()
    }

    /// The next operations to write: none when there is no work.
    pub(crate) fn next_batch(&self, config: &WalConfig) -> Vec<Operation> {
        let mut state = self.state.lock();
        if state.has_work() { state.queue.take(config) } else { Vec::new() }
    }

    /// A batch is durable.
    pub(crate) fn settle(&self, batch: &[Operation]) {
        let entries = batch.iter().map(|operation| operation.change.records()).sum();
        let bytes = batch.iter().map(|operation| operation.change.payload_bytes()).sum();
        self.state.lock().queue.settle(entries, bytes);
    }

    /// Closes the log and drops what waits, unwritten and without telling anybody.
    pub(crate) fn forget(&self) {
        let waiting = {
            let mut state = self.state.lock();
            state.is_closing = true;
            state.queue.take_all()
        };
        drop(waiting);
    }

    /// Poisons the log: the process hears of it first, then everybody who waits.
    pub(crate) fn fail(&self, error: WalError, batch: Vec<Operation>) {
        let (waiting, on_fatal) = {
            let mut state = self.state.lock();
            state.failure.get_or_insert_with(|| error.clone());
            (state.queue.take_all(), state.on_fatal.take())
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
