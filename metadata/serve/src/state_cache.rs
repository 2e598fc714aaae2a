//! The whole state as bytes, encoded once for all watchers that need it at a time.

use bytes::Bytes;
use siltstone_core::CommitToken;
use siltstone_format::snapshot::encode_blob;
use siltstone_metadata::MetadataNode;
use siltstone_metadata_client::MetadataClient;
use std::sync::{Arc, Weak};
use tokio::sync::Mutex;
use tonic::Status;

/// A state of at most so many bytes stays for the next watcher; a longer one only while somebody gets it.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// A state that is at most so many places old is given to one more watcher: applying them costs it less than encoding anew costs us.
const AGE_MAX: u64 = 1_024;

/// The state at a position, as bytes.
pub(crate) struct EncodedState {
    pub(crate) token: CommitToken,
    pub(crate) bytes: Bytes,
}

#[derive(Default)]
pub(crate) struct StateCache {
    /// Locked while a state is encoded, so that all who need one wait for the same.
    newest: Mutex<(Weak<EncodedState>, Option<Arc<EncodedState>>)>,
}

impl StateCache {
    /// A state from which the member's applied places lead on.
    pub(crate) async fn current(&self, node: &MetadataNode) -> Result<Arc<EncodedState>, Status> {
        let mut newest = self.newest.lock().await;
        let manifest = node.manifest();
        let is_fresh = |state: &EncodedState| {
            let age = manifest.version.0.checked_sub(state.token.index.0);
            let leads_on = node.deltas_from(state.token.index).is_ok();
            state.token.incarnation == manifest.incarnation && age.is_some_and(|age| age <= AGE_MAX) && leads_on
        };
        if let Some(state) = newest.0.upgrade().filter(|state| is_fresh(state)) {
            return Ok(state);
        }
        let token = manifest.token();
        let bytes = tokio::task::spawn_blocking(move || encode_blob(&manifest)).await;
        let bytes = bytes.map_err(|error| Status::unavailable(error.to_string()))?.map_err(|error| Status::internal(error.to_string()))?;
        node.metrics().count_state_encoded();
        let state = Arc::new(EncodedState { token, bytes: bytes.into() });
        *newest = (Arc::downgrade(&state), (state.bytes.len() <= KEPT_BYTES_MAX).then(|| state.clone()));
        Ok(state)
    }
}
