//! A metadata group whose commands are refused, lost, or late, as chance has it.

use crate::rng::Rng;
use async_trait::async_trait;
use parking_lot::Mutex;
use siltstone_core::{CommitIndex, CommitToken};
use siltstone_format::command::{CommandBody, Reply};
use siltstone_format::manifest::Manifest;
use siltstone_metadata::LocalMetadata;
use siltstone_metadata_client::{ClientError, MetadataClient};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// How late a command may be: long enough for a new life to have begun.
const LATE_MS_MAX: u64 = 60;

/// How long a command that is merely slow may take.
const SLOW_MS_MAX: u64 = 15;

/// A group in trouble.
pub(crate) struct TroubledGroup {
    inner: Arc<LocalMetadata>,
    rng: Mutex<Rng>,
    /// Of a thousand commands.
    troubles: AtomicU64,
    late: Arc<AtomicU64>,
    /// Where late commands are: whoever sent them may be gone, and its runtime with it.
    runtime: Handle,
}

enum Trouble {
    None,
    Refused,
    RequestLost,
    ReplyLost,
    Late(Duration),
    Slow(Duration),
}

impl TroubledGroup {
    pub(crate) fn new(inner: LocalMetadata, seed: u64, runtime: Handle) -> Self {
        let (rng, troubles) = (Mutex::new(Rng::new(seed)), AtomicU64::new(0));
        Self { inner: Arc::new(inner), rng, troubles, late: Arc::default(), runtime }
    }

    /// So many of a thousand commands meet trouble from now on.
    pub(crate) fn set_troubles(&self, of_thousand: u64) {
        self.troubles.store(of_thousand, Ordering::SeqCst);
    }

    /// Waits until every late command has arrived.
    pub(crate) async fn wait_for_late(&self) {
        while self.late.load(Ordering::SeqCst) != 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn draw(&self) -> Trouble {
        let mut rng = self.rng.lock();
        if rng.below(1_000) >= self.troubles.load(Ordering::SeqCst) {
            return Trouble::None;
        }
        match rng.below(6) {
            0 => Trouble::Refused,
            1 => Trouble::RequestLost,
            2 => Trouble::ReplyLost,
            3 | 4 => Trouble::Late(Duration::from_millis(rng.below(LATE_MS_MAX))),
            _ => Trouble::Slow(Duration::from_millis(rng.below(SLOW_MS_MAX))),
        }
    }
}

#[async_trait]
impl MetadataClient for TroubledGroup {
    async fn propose(&self, body: CommandBody) -> Result<(CommitToken, Reply), ClientError> {
        let unknown = |what: &str| Err(ClientError::UnknownOutcome { reason: format!("injected: {what}") });
        match self.draw() {
            Trouble::None => self.inner.propose(body).await,
            Trouble::Refused => Err(ClientError::Unavailable { reason: "injected: the command is refused".to_owned() }),
            Trouble::RequestLost => unknown("the command is lost"),
            Trouble::ReplyLost => {
                // Whatever the reply says is lost.
                let _ = self.inner.propose(body).await;
                unknown("the reply is lost")
            }
            Trouble::Late(by) => {
                let (inner, late) = (self.inner.clone(), self.late.clone());
                late.fetch_add(1, Ordering::SeqCst);
                self.runtime.spawn(async move {
                    tokio::time::sleep(by).await;
                    let _ = inner.propose(body).await;
                    late.fetch_sub(1, Ordering::SeqCst);
                });
                unknown("the command is late")
            }
            Trouble::Slow(by) => {
                tokio::time::sleep(by).await;
                self.inner.propose(body).await
            }
        }
    }

    fn manifest(&self) -> Manifest {
        self.inner.manifest()
    }

    fn watch(&self) -> watch::Receiver<Manifest> {
        self.inner.watch()
    }

    async fn read_index(&self) -> Result<CommitIndex, ClientError> {
        self.inner.read_index().await
    }
}
