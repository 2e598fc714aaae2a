//! The trait.

use crate::ClientError;
use crate::lease::{LEASE, Renewal};
use async_trait::async_trait;
use siltstone_core::{CommitIndex, CommitToken, Epoch, Incarnation};
use siltstone_format::{
    command::{CommandBody, Reply},
    manifest::Manifest,
};
use tokio::sync::watch;

/// The metadata group as other services see it.
///
/// To ensure correctness, an implementation
/// - answers `propose` with `Ok` only once the command is durable in the group and applied, and shows it in `manifest()` from then on;
/// - answers [`ClientError::Unavailable`] only where the command changed nothing and never will, and [`ClientError::UnknownOutcome`] in every other
///   case of doubt;
/// - never shows an older manifest after a newer one, by `manifest` or by `watch`.
#[async_trait]
pub trait MetadataClient: Send + Sync + 'static {
    /// Proposes a command at the implementation's clock, and waits until it is applied. The machine's refusal is an `Ok` with [`Reply::Rejected`].
    ///
    /// # Errors
    /// [`ClientError::Unavailable`], [`ClientError::UnknownOutcome`].
    async fn propose(&self, body: CommandBody) -> Result<(CommitToken, Reply), ClientError>;

    /// The newest manifest that was applied here. It may be behind the group; see [`MetadataClient::read_index`].
    fn manifest(&self) -> Manifest;

    /// The manifest as it changes. A slow receiver sees the newest, not each one.
    fn watch(&self) -> watch::Receiver<Manifest>;

    /// A position of the log that covers every command that was answered before this call: waiting for it makes a read linearizable (LN-1).
    ///
    /// # Errors
    /// [`ClientError::Unavailable`].
    async fn read_index(&self) -> Result<CommitIndex, ClientError>;

    /// Renews the leases of these epochs, which run from now on again. The default is for groups that keep no leases: it tells which epochs are over.
    ///
    /// # Errors
    /// [`ClientError::Unavailable`], and the like: whether the leases were renewed is not known then. Try again.
    async fn renew(&self, epochs: &[Epoch]) -> Result<Renewal, ClientError> {
        Ok(Renewal::of(&self.manifest(), epochs, LEASE))
    }

    /// The life of the group.
    fn incarnation(&self) -> Incarnation {
        self.manifest().incarnation
    }

    /// Waits until this position is applied here, without a bound: the caller sets one.
    ///
    /// # Errors
    /// [`ClientError::Stopped`].
    async fn wait_for(&self, index: CommitIndex) -> Result<Manifest, ClientError> {
        let mut manifests = self.watch();
        let manifest = manifests.wait_for(|manifest| manifest.version >= index).await;
        manifest.map(|manifest| manifest.clone()).map_err(|_| ClientError::Stopped { index })
    }
}
