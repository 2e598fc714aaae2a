//! Whether the member that is followed lags behind what the leader has answered.
//!
//! A member can be well in touch with its group and yet apply late, on a disk that is slow or stuck. Whoever waits here for what the leader has
//! applied would wait for that member; then the leader itself is followed.

use siltstone_core::CommitIndex;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The newest place that the leader has answered a call of ours with. Clones share it.
#[derive(Clone)]
pub(crate) struct Wanted {
    index: watch::Sender<CommitIndex>,
}

/// How long a member has lacked what is wanted.
pub(crate) struct Lag {
    wanted: watch::Receiver<CommitIndex>,
    limit: Duration,
    /// A place that the member lacks, and when patience with it ends.
    lacking: Option<(CommitIndex, Instant)>,
}

impl Wanted {
    pub(crate) fn new() -> Self {
        Self { index: watch::Sender::new(CommitIndex(0)) }
    }

    pub(crate) fn raise(&self, index: CommitIndex) {
        self.index.send_if_modified(|wanted| std::mem::replace(wanted, index.max(*wanted)) < index);
    }

    pub(crate) fn lag(&self, limit: Duration) -> Lag {
        Lag { wanted: self.index.subscribe(), limit, lacking: None }
    }
}

impl Lag {
    /// Ends with a place that the member has lacked for too long, if it has applied no more than this. May be dropped and asked again.
    pub(crate) async fn too_long(&mut self, applied: CommitIndex) -> CommitIndex {
        loop {
            let wanted = *self.wanted.borrow_and_update();
            if self.lacking.is_none_or(|(index, _)| index <= applied) {
                self.lacking = (wanted > applied).then(|| (wanted, Instant::now() + self.limit));
            }
            match self.lacking {
                Some((index, end)) => {
                    sleep_until(end).await;
                    return index;
                }
                // An error means that nobody is left who could want anything.
                None if self.wanted.changed().await.is_err() => std::future::pending().await,
                None => {}
            }
        }
    }

    /// Other things took their time: patience begins anew.
    pub(crate) fn begin_anew(&mut self) {
        self.lacking = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    const LIMIT: Duration = Duration::from_secs(2);

    #[tokio::test(start_paused = true)]
    async fn a_member_that_lacks_a_place_for_too_long_is_found_out_however_much_else_it_tells() {
        let wanted = Wanted::new();
        let mut lag = wanted.lag(LIMIT);
        let short = Duration::from_millis(500);
        assert!(timeout(2 * LIMIT, lag.too_long(CommitIndex(3))).await.is_err(), "nothing is wanted");
        wanted.raise(CommitIndex(9));
        wanted.raise(CommitIndex(5));
        for applied in [3, 4, 8] {
            assert!(timeout(short, lag.too_long(CommitIndex(applied))).await.is_err());
        }
        assert_eq!(timeout(LIMIT, lag.too_long(CommitIndex(8))).await, Ok(CommitIndex(9)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_member_that_is_a_little_late_again_and_again_is_followed_on() {
        let wanted = Wanted::new();
        let mut lag = wanted.lag(LIMIT);
        for index in 1..20 {
            wanted.raise(CommitIndex(index));
            assert!(timeout(LIMIT / 2, lag.too_long(CommitIndex(index - 1))).await.is_err());
        }
        lag.begin_anew();
        assert!(timeout(LIMIT / 2, lag.too_long(CommitIndex(18))).await.is_err());
    }
}
