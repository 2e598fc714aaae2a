//! How far the snapshots reach that a restart would find.
//!
//! openraft 0.9 purges the log up to a snapshot while the state machine still installs it. A crash between the two would leave a member that has
//! neither the entries that it acknowledged nor the snapshot that stands for them (WA-1). So a purge waits until the snapshot's pointer stands
//! before it in the log.

use tokio::sync::watch;

/// How far the snapshots reach that a restart would find.
#[derive(Debug)]
pub(crate) struct Kept {
    state: watch::Sender<State>,
}

#[derive(Debug)]
struct State {
    last_index: Option<u64>,
    has_failed: bool,
}

/// No snapshot will reach so far: keeping it has failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("wait for the snapshot that stands for the entries up to {index}: it could not be kept")]
pub(crate) struct NotKept {
    index: u64,
}

impl Kept {
    pub(crate) fn new(last_index: Option<u64>) -> Self {
        Self { state: watch::Sender::new(State { last_index, has_failed: false }) }
    }

    /// The pointer to a snapshot stands in the log, before all that is written from now on.
    pub(crate) fn keep(&self, last_index: Option<u64>) {
        self.state.send_modify(|state| state.last_index = state.last_index.max(last_index));
    }

    /// A snapshot that was to be installed is not kept: the member ends.
    pub(crate) fn fail(&self) {
        self.state.send_modify(|state| state.has_failed = true);
    }

    /// Waits for a snapshot that stands for the entries up to and with `index`.
    pub(crate) async fn reach(&self, index: u64) -> Result<(), NotKept> {
        let mut state = self.state.subscribe();
        // The sender lives as long as `self`.
        let reached =
            state.wait_for(|state| state.last_index >= Some(index) || state.has_failed).await.is_ok_and(|state| state.last_index >= Some(index));
        if reached { Ok(()) } else { Err(NotKept { index }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_purge_waits_for_its_snapshot_or_for_its_failure() {
        let kept = Kept::new(Some(5));
        assert_eq!(kept.reach(5).await, Ok(()));
        let (waited, ()) = tokio::join!(kept.reach(9), async { kept.keep(Some(9)) });
        assert_eq!(waited, Ok(()));
        kept.keep(Some(7));
        assert_eq!(kept.reach(9).await, Ok(()), "it never goes back");
        let (waited, ()) = tokio::join!(kept.reach(10), async { kept.fail() });
        assert_eq!(waited, Err(NotKept { index: 10 }));
    }
}
