//! Where work that blocks on a disk is done.

use std::io;
use tokio::task::spawn_blocking;

/// Where work that blocks on a disk is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Blocking {
    /// On threads of the runtime that are there for it.
    #[default]
    Threads,
    /// At once, on the task that asks for it: for simulations, where disks take no real time and nothing may run side by side.
    Inline,
}

impl Blocking {
    /// Does the work and waits for it.
    ///
    /// # Errors
    /// When the work panics or the runtime ends.
    pub(crate) async fn run<F, T>(self, work: F) -> io::Result<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        match self {
            Self::Threads => spawn_blocking(work).await.map_err(io::Error::other),
            Self::Inline => Ok(work()),
        }
    }
}
