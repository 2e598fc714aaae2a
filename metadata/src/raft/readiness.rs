//! Whether a member can serve, and why not.
//!
//! What is deliberately not here: who asks (probes, `status`), and metrics.

use crate::raft::node::Inner;
use siltstone_core::Incarnation;
use std::sync::atomic::Ordering;

pub(crate) enum Readiness {
    Ready,
    NotYet { reason: String },
    Failed { reason: String },
}

impl Inner {
    /// Why the member is not ready, if it is not.
    pub(crate) async fn not_ready(&self) -> Option<String> {
        match self.readiness().await {
            Readiness::Ready => None,
            Readiness::NotYet { reason } | Readiness::Failed { reason } => Some(reason),
        }
    }

    pub(crate) async fn readiness(&self) -> Readiness {
        let not_yet = |reason: &str| Readiness::NotYet { reason: reason.to_owned() };
        if let Some(reason) = self.end() {
            return Readiness::Failed { reason };
        }
        if let Some(reason) = self.refusal.get() {
            return not_yet(reason);
        }
        if self.raft.metrics().borrow().current_leader.is_none() {
            return not_yet("the group has no leader");
        }
        if self.manifests.borrow().incarnation == Incarnation(0) {
            return not_yet("the group is not founded");
        }
        if !self.is_leader() {
            return if self.is_in_touch() { Readiness::Ready } else { not_yet("no leader is heard") };
        }
        if self.is_leaving.load(Ordering::Acquire) {
            return not_yet("this member is giving up the lead");
        }
        // Who asks for the state of a group without a quorum wants to hear of it soon.
        match self.read_index_within(self.config.election_timeout_max()).await {
            Ok(index) if self.manifests.borrow().version >= index => Readiness::Ready,
            Ok(_) => not_yet("the log is being applied"),
            Err(error) => Readiness::NotYet { reason: error.to_string() },
        }
    }
}
