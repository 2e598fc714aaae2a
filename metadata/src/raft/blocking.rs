//! Where work that blocks on a disk is done.

use siltstone_wal::{Recovery, Stepper, Wal, WalError, WalParts};
use std::io;
use std::sync::Arc;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

/// Where work that blocks on a disk is done.
#[derive(Clone, Default)]
pub enum Blocking {
    /// On threads: one for the log, and those of the runtime that are there for it.
    #[default]
    Threads,
    /// At once, on the task that asks for it, and the log in steps: for simulations, where disks take no real time and nothing runs side by side.
    Inline(SteppedLog),
}

/// Who drives the log of a simulated member.
#[derive(Clone)]
pub struct SteppedLog {
    /// Told when the log is open.
    pub on_open: Arc<dyn Fn(Stepper) + Send + Sync>,
    /// Told when there is something to write; see [`Wal::open_stepped`].
    pub on_work: Arc<dyn Fn() + Send + Sync>,
}

impl Blocking {
    /// Does the work and waits for it.
    ///
    /// # Errors
    /// When the work panics or the runtime ends.
    pub(crate) async fn run<F, T>(&self, work: F) -> io::Result<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        match self {
            Self::Threads => spawn_blocking(work).await.map_err(io::Error::other),
            Self::Inline(_) => Ok(work()),
        }
    }

    /// Opens the log with what drives it.
    pub(crate) fn open_log(&self, mut parts: WalParts) -> Result<(Wal, Recovery), WalError> {
        let Self::Inline(log) = self else { return Wal::open_with(parts) };
        let (origin, on_work) = (Instant::now(), log.on_work.clone());
        parts.clock = Arc::new(move || origin.elapsed());
        let (wal, stepper, recovery) = Wal::open_stepped(parts, move || on_work())?;
        (log.on_open)(stepper);
        Ok((wal, recovery))
    }
}
