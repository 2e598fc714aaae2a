//! How following goes.

use siltstone_core::CommitIndex;
use std::time::Duration;
use tokio::time::Instant;

/// How following goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FollowMetrics {
    /// The member that is followed.
    pub address: String,
    /// What that member had applied when it was last heard.
    pub member_index: CommitIndex,
    /// What is applied here.
    pub index: CommitIndex,
    /// How long it has said nothing.
    pub silence: Duration,
    /// Whole states that were taken over.
    pub states: u64,
    /// Places of the log that came.
    pub places: u64,
    /// Connections that were lost or given up.
    pub reconnects: u64,
    /// Why the last one was.
    pub last_error: Option<String>,
}

impl FollowMetrics {
    /// Places of the log that this follower is behind its member.
    #[must_use]
    pub const fn lag(&self) -> u64 {
        self.member_index.0.saturating_sub(self.index.0)
    }
}

/// What is counted.
pub(crate) struct Counts {
    pub(crate) address: String,
    pub(crate) member_index: CommitIndex,
    pub(crate) heard: Instant,
    pub(crate) states: u64,
    pub(crate) places: u64,
    pub(crate) reconnects: u64,
    pub(crate) last_error: Option<String>,
}

impl Counts {
    pub(crate) fn new() -> Self {
        let (address, member_index, heard) = (String::new(), CommitIndex(0), Instant::now());
        Self { address, member_index, heard, states: 0, places: 0, reconnects: 0, last_error: None }
    }

    pub(crate) fn snapshot(&self, index: CommitIndex) -> FollowMetrics {
        FollowMetrics {
            address: self.address.clone(),
            member_index: self.member_index,
            index,
            silence: self.heard.elapsed(),
            states: self.states,
            places: self.places,
            reconnects: self.reconnects,
            last_error: self.last_error.clone(),
        }
    }
}
