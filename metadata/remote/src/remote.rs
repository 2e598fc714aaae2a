//! The client.

use crate::applier::Applier;
use crate::calls::Calls;
use crate::config::RemoteConfig;
use crate::error::FollowError;
use crate::follower::Follower;
use crate::lag::Wanted;
use crate::members::{Lane, Members};
use crate::metrics::{Counts, FollowMetrics};
use crate::reason::reason_of;
use async_trait::async_trait;
use parking_lot::Mutex;
use siltstone_core::{CommitIndex, CommitToken, Incarnation};
use siltstone_format::{
    command::{CommandBody, Reply},
    manifest::Manifest,
};
use siltstone_metadata_client::{ClientError, MetadataClient};
use siltstone_proto::metadata::v1 as pb;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a member that has nothing to show may take to say why.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// A metadata group in other processes: its manifest is kept here by a machine of our own, which applies what the group has applied. Dropping it ends
/// the following.
pub struct RemoteMetadata {
    members: Arc<Members>,
    calls: Calls,
    call_timeout: Duration,
    manifests: watch::Receiver<Manifest>,
    counts: Arc<Mutex<Counts>>,
    end: watch::Receiver<Option<FollowError>>,
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
        let (end_sender, end) = watch::channel(None);
        let (counts, wanted) = (Arc::new(Mutex::new(Counts::new())), Wanted::new());
        let follower = Follower {
            members: members.clone(),
            wanted: wanted.clone(),
            applier: Applier::default(),
            manifests: sender,
            counts: counts.clone(),
            end: end_sender,
        };
        let task = tokio::spawn(follower.run());
        Ok(Self { calls: Calls::new(members.clone(), wanted), members, call_timeout, manifests, counts, end, task })
    }

    /// Waits until there is a manifest to show.
    ///
    /// # Errors
    /// [`FollowError::NotReady`] when time is up, with what each member says of itself; or the error that ended the following.
    pub async fn wait_ready(&self, limit: Duration) -> Result<(), FollowError> {
        let mut manifests = self.manifests.clone();
        let ready = timeout(limit, manifests.wait_for(|manifest| manifest.incarnation != Incarnation(0))).await;
        if matches!(ready, Ok(Ok(_))) {
            return Ok(());
        }
        if let Some(end) = self.end() {
            return Err(end);
        }
        let mut members = Vec::new();
        for address in &self.members.config().addresses {
            members.push((address.clone(), self.ask(address).await));
        }
        Err(FollowError::NotReady { waited_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX), members })
    }

    /// Why a member has nothing to show.
    async fn ask(&self, address: &str) -> String {
        let mut client = match self.members.client(address, Lane::Calls) {
            Ok(client) => client,
            Err(error) => return error.to_string(),
        };
        match timeout(STATUS_TIMEOUT, client.status(pb::StatusRequest {})).await {
            Ok(Ok(answer)) => {
                let status = answer.into_inner();
                let reason = if status.not_ready.is_empty() { "it is ready, and its state is on its way" } else { &status.not_ready };
                format!("member {}: {reason}", status.node_id)
            }
            Ok(Err(status)) => reason_of(&status),
            Err(_) => format!("no answer within {} ms", STATUS_TIMEOUT.as_millis()),
        }
    }

    /// The members that were named.
    #[must_use]
    pub fn addresses(&self) -> &[String] {
        &self.members.config().addresses
    }

    /// How following goes.
    #[must_use]
    pub fn metrics(&self) -> FollowMetrics {
        self.counts.lock().snapshot(self.manifests.borrow().version)
    }

    /// Why the group is followed no longer, if it is not: this program must be started again, or updated.
    #[must_use]
    pub fn end(&self) -> Option<FollowError> {
        self.end.borrow().clone()
    }

    /// Waits until the group is followed no longer, and tells why.
    pub async fn ended(&self) -> FollowError {
        let mut end = self.end.clone();
        match end.wait_for(Option::is_some).await.map(|end| end.clone()) {
            Ok(Some(end)) => end,
            // The task was aborted: by whoever drops this, who then waits no more.
            _ => std::future::pending().await,
        }
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

    async fn read_index(&self) -> Result<CommitIndex, ClientError> {
        self.check_end()?;
        self.calls.read_index().await
    }
}
