//! The life of a background job: its epoch, and the ids that it may use under it.
//!
//! What is deliberately not here: what jobs do (`seal`, `merge`, `gc`).

use crate::Patience;
use siltstone_core::{Epoch, ErrorKind};
use siltstone_metadata_client::{ClientError, EpochKeeper, HeldEpoch, MetadataClient, MetadataClientExt};
use std::ops::Range;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Ids are fetched in blocks of this many.
const ID_BLOCK: u32 = 256;

/// A job under its present epoch. Jobs of one name fence each other: only the newest changes anything (EP-1).
pub struct JobLife {
    metadata: Arc<dyn MetadataClient>,
    keeper: Arc<EpochKeeper>,
    name: &'static str,
    patience: Patience,
    state: Mutex<State>,
}

struct State {
    held: HeldEpoch,
    ids: Range<u64>,
}

impl JobLife {
    /// Registers a new life of a job, whose lease the keeper renews.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn begin(
        metadata: Arc<dyn MetadataClient>,
        keeper: Arc<EpochKeeper>,
        name: &'static str,
        patience: Patience,
    ) -> Result<Self, ClientError> {
        let held = keeper.hold(metadata.register_job(name).await?);
        Ok(Self { metadata, keeper, name, patience, state: Mutex::new(State { held, ids: 0..0 }) })
    }

    /// A new life.
    async fn register(&self) -> Result<State, ClientError> {
        Ok(State { held: self.keeper.hold(self.metadata.register_job(self.name).await?), ids: 0..0 })
    }

    /// The metadata group that gave the epoch.
    #[must_use]
    pub fn metadata(&self) -> &Arc<dyn MetadataClient> {
        &self.metadata
    }

    /// How long the job tries.
    #[must_use]
    pub fn patience(&self) -> &Patience {
        &self.patience
    }

    /// The present epoch and `count` ids that it may use.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn ids(&self, count: usize) -> Result<(Epoch, Vec<u64>), ClientError> {
        let mut state = self.state.lock().await;
        if state.held.is_over() {
            *state = self.register().await?;
        }
        let mut ids = Vec::with_capacity(count);
        while ids.len() < count {
            if state.ids.is_empty() {
                let block = ID_BLOCK.max(u32::try_from(count - ids.len()).unwrap_or(u32::MAX));
                let first = match self.metadata.allocate_ids(state.held.epoch(), block).await {
                    Err(error) if error.kind() == ErrorKind::Fenced => {
                        // Another process took the job over, and lost it or is gone: whoever asks last works.
                        *state = self.register().await?;
                        ids.clear();
                        continue;
                    }
                    outcome => outcome?,
                };
                state.ids = first..first + u64::from(block);
            }
            ids.extend(state.ids.next());
        }
        Ok((state.held.epoch(), ids))
    }

    /// The present epoch.
    pub async fn epoch(&self) -> Epoch {
        self.state.lock().await.held.epoch()
    }

    /// Begins anew after the epoch was fenced.
    ///
    /// # Errors
    /// [`ClientError`]
    pub async fn renew(&self) -> Result<(), ClientError> {
        let mut state = self.state.lock().await;
        *state = self.register().await?;
        Ok(())
    }
}

/// Repeats the very same command while its outcome is unknown, for a while.
///
/// # Errors
/// The last try's.
pub(crate) async fn repeated<T, F, Fut>(patience: &Patience, mut propose: F) -> Result<T, ClientError>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, ClientError>>,
{
    let started = tokio::time::Instant::now();
    loop {
        match propose().await {
            Err(error) if error.kind().is_retryable() && !error.is_final() && started.elapsed() < patience.unknown_outcome_max() => {
                tokio::time::sleep(patience.retry()).await;
            }
            outcome => return outcome,
        }
    }
}
