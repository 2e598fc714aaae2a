//! The client.

use crate::applier::Applier;
use crate::calls::Calls;
use crate::config::RemoteConfig;
use crate::error::FollowError;
use crate::follower::Follower;
use crate::members::Members;
use crate::metrics::{Counts, FollowMetrics};
use async_trait::async_trait;
use parking_lot::Mutex;
use siltstone_core::{CommitIndex, CommitToken, Epoch, Incarnation};
use siltstone_format::{
    command::{CommandBody, Reply},
    manifest::Manifest,
};
use siltstone_metadata_client::{ClientError, MetadataClient, Renewal};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A metadata group in other processes: its manifest is kept here by a machine of our own, which applies what the group has applied. Dropping it ends
/// the following.
pub struct RemoteMetadata {
    calls: Calls,
    call_timeout: Duration,
    manifests: watch::Receiver<Manifest>,
    counts: Arc<Mutex<Counts>>,
    end: Arc<Mutex<Option<FollowError>>>,
    task: JoinHandle<()>,
}

impl RemoteMetadata {
    /// Begins to follow a group; see [`RemoteMetadata::wait_ready`]. Clients of one group need different seeds, or they all come back at once after
    /// it was away. Must run within a tokio runtime.
    ///
    /// # Errors
    /// [`FollowError::Address`].
    pub fn start(config: RemoteConfig, seed: u64) -> Result<Self, FollowError> {
        let call_timeout = config.call_timeout();
        let members = Arc::new(Members::new(config, seed)?);
        let (sender, manifests) = watch::channel(Manifest::default());
        let (counts, end) = (Arc::new(Mutex::new(Counts::new())), Arc::default());
        let applier = Applier::default();
        let follower = Follower { members: members.clone(), applier, manifests: sender, counts: Arc::clone(&counts), end: Arc::clone(&end) };
        let task = tokio::spawn(follower.run());
        Ok(Self { calls: Calls::new(members), call_timeout, manifests, counts, end, task })
    }

    /// Waits until there is a manifest to show.
    ///
    /// # Errors
    /// [`FollowError`]: the one that ended the following, or the last that was met when time is up.
    pub async fn wait_ready(&self, limit: Duration) -> Result<(), FollowError> {
        let mut manifests = self.manifests.clone();
        let ready = timeout(limit, manifests.wait_for(|manifest| manifest.incarnation != Incarnation(0))).await;
        if matches!(ready, Ok(Ok(_))) {
            return Ok(());
        }
        if let Some(end) = self.end.lock().clone() {
            return Err(end);
        }
        let counts = self.counts.lock();
        let reason = counts.last_error.clone().unwrap_or_else(|| format!("it showed nothing within {} ms", limit.as_millis()));
        Err(FollowError::Lost { address: counts.address.clone(), reason })
    }

    /// How following goes.
    #[must_use]
    pub fn metrics(&self) -> FollowMetrics {
        self.counts.lock().snapshot(self.manifests.borrow().version)
    }

    /// Why the group is followed no longer, if it is not: this program must be started again, or updated.
    #[must_use]
    pub fn end(&self) -> Option<FollowError> {
        self.end.lock().clone()
    }

    fn check_end(&self) -> Result<(), ClientError> {
        self.end().map_or(Ok(()), |end| Err(ClientError::Ended { reason: end.to_string() }))
    }
}

impl Drop for RemoteMetadata {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[async_trait]
impl MetadataClient for RemoteMetadata {
    async fn propose(&self, body: CommandBody) -> Result<(CommitToken, Reply), ClientError> {
        self.check_end()?;
        let unknown = |reason: String| ClientError::UnknownOutcome { reason };
        let (token, reply) = self.calls.propose(&body).await?;
        // It is applied there; it must be here too before it is answered.
        match timeout(self.call_timeout, self.wait_for(token.index)).await {
            Ok(Ok(manifest)) if manifest.incarnation == token.incarnation => Ok((token, reply)),
            Ok(Ok(manifest)) => {
                Err(unknown(format!("it was applied by a group that lives as {:x}, not {:x}", token.incarnation.0, manifest.incarnation.0)))
            }
            Ok(Err(error)) => Err(unknown(format!("it was applied as {token}, which is not shown here: {error}"))),
            Err(_) => Err(unknown(format!("it was applied as {token}, which did not come here within {} ms", self.call_timeout.as_millis()))),
        }
    }

    fn manifest(&self) -> Manifest {
        self.manifests.borrow().clone()
    }

    fn watch(&self) -> watch::Receiver<Manifest> {
        self.manifests.clone()
    }

    async fn renew(&self, epochs: &[Epoch]) -> Result<Renewal, ClientError> {
        self.check_end()?;
        self.calls.renew(epochs).await
    }

    async fn read_index(&self) -> Result<CommitIndex, ClientError> {
        self.check_end()?;
        self.calls.read_index().await
    }
}
