//! How the publisher does, for people and metrics.

use super::collect::Collected;
use super::error::PublishError;
use super::term::Published;
use crate::load::RootKey;
use parking_lot::Mutex;
use std::time::Duration;

/// How the publisher does. Shared by those who show it.
#[derive(Default, Debug)]
pub struct PublishInsight(Mutex<PublishState>);

/// How the publisher does. Counters begin with the process.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PublishState {
    /// The root that this process published last.
    pub newest: Option<RootKey>,
    /// Roots that it published.
    pub roots: u64,
    /// Shards that were put.
    pub shards: u64,
    /// Bytes of roots and shards that were put.
    pub put_bytes: u64,
    /// How long publishing took, in all.
    pub spent: Duration,
    /// Rounds that failed.
    pub failures: u64,
    /// Why the last round failed, if it did.
    pub failure: Option<String>,
    /// Roots that were deleted.
    pub roots_deleted: u64,
    /// Shards that were deleted.
    pub shards_deleted: u64,
    /// Why the group takes in no more proposals, if it does not.
    pub refused: Option<String>,
}

impl PublishInsight {
    /// How it does now.
    #[must_use]
    pub fn state(&self) -> PublishState {
        self.0.lock().clone()
    }

    pub(super) fn note_published(&self, published: &Published, took: Duration) {
        let mut state = self.0.lock();
        state.newest = Some(published.key);
        state.roots += 1;
        state.shards += published.shards_put;
        state.put_bytes += published.put_bytes;
        state.spent += took;
    }

    pub(super) fn note_collected(&self, collected: Collected) {
        let mut state = self.0.lock();
        state.roots_deleted += collected.roots;
        state.shards_deleted += collected.shards;
    }

    pub(super) fn note_success(&self) {
        self.0.lock().failure = None;
    }

    /// Notes that publishing fails.
    pub fn note_failure(&self, error: &PublishError) {
        let mut state = self.0.lock();
        state.failures += 1;
        state.failure = Some(error.to_string());
    }

    pub(super) fn note_refused(&self, error: &PublishError) {
        self.0.lock().refused = Some(error.to_string());
    }
}
