//! The applied places of the log, kept for a while for whoever follows this member.
//!
//! The state machine puts each place in as it applies it, on leaders and followers alike; watchers take them out at their own pace, each from its own
//! position. Commands are those bytes that came with the log, shared by all: a watcher costs a position. What is kept is bounded in places and bytes,
//! whatever watchers do: one that falls behind the oldest place is told so, and takes the whole state instead. A slow watcher holds up nobody.
//!
//! What is deliberately not here: the whole state and its encoding (who serves followers keeps that), and bytes on a wire.

use bytes::Bytes;
use parking_lot::Mutex;
use siltstone_core::CommitIndex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

/// Bytes that a place is counted with beside its command.
const PLACE_OVERHEAD_BYTES: usize = size_of::<Delta>();

/// One applied place of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delta {
    /// The place.
    pub index: CommitIndex,
    /// Its command in its stored form, shared by all watchers; none where the place holds none (a membership change, a new leader's blank entry).
    pub command: Option<Bytes>,
}

/// Why there are no deltas.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FeedError {
    /// Places that would follow are not kept any more. Take the current manifest first, then the deltas from its version.
    #[error("follow the log from position {position}: it is kept from position {kept_after} on only")]
    TooFarBehind {
        /// The watcher's position.
        position: CommitIndex,
        /// The position from which on places are kept.
        kept_after: CommitIndex,
    },
    /// The member has ended.
    #[error("follow the log from position {position}: the member has ended")]
    Ended {
        /// The watcher's position.
        position: CommitIndex,
    },
}

/// How much is kept for watchers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeedBounds {
    pub(crate) entries_max: usize,
    pub(crate) bytes_max: usize,
}

/// What is kept, for readers. Clones share it.
#[derive(Clone)]
pub(crate) struct Feed {
    ring: Arc<Mutex<Ring>>,
    /// The last applied place. Closed when the member ends.
    end: watch::Receiver<CommitIndex>,
}

/// The state machine's side.
pub(crate) struct FeedWriter {
    ring: Arc<Mutex<Ring>>,
    end: watch::Sender<CommitIndex>,
    bounds: FeedBounds,
}

struct Ring {
    /// Without gaps.
    places: VecDeque<Delta>,
    /// The position before the first of `places`.
    kept_after: CommitIndex,
    bytes: usize,
}

/// A watcher: a position in the log, and what follows it.
pub struct Deltas {
    feed: Feed,
    position: CommitIndex,
}

impl FeedWriter {
    /// A feed of a machine that stands at this position.
    pub(crate) fn new(position: CommitIndex, bounds: FeedBounds) -> Self {
        let ring = Arc::new(Mutex::new(Ring { places: VecDeque::new(), kept_after: position, bytes: 0 }));
        Self { ring, end: watch::Sender::new(position), bounds }
    }

    pub(crate) fn reader(&self) -> Feed {
        Feed { ring: self.ring.clone(), end: self.end.subscribe() }
    }

    /// Puts in places that were just applied, in order and without gaps. Before the manifest with them is shown, so that whoever sees a manifest can
    /// follow from its version.
    pub(crate) fn push<I>(&mut self, places: I)
    where
        I: IntoIterator<Item = Delta>,
    {
        let mut ring = self.ring.lock();
        for place in places {
            if place.index.0 != ring.end().0 + 1 {
                // Raft's own places have no gaps. Were there one, watchers before it would need the whole state.
                *ring = Ring { places: VecDeque::new(), kept_after: CommitIndex(place.index.0.saturating_sub(1)), bytes: 0 };
            }
            ring.bytes += weight(&place);
            ring.places.push_back(place);
        }
        while ring.places.len() > self.bounds.entries_max || ring.bytes > self.bounds.bytes_max {
            let Some(oldest) = ring.places.pop_front() else { break };
            ring.bytes -= weight(&oldest);
            ring.kept_after = oldest.index;
        }
        let end = ring.end();
        drop(ring);
        self.end.send_if_modified(|known| std::mem::replace(known, end) != end);
    }

    /// The machine was replaced by another at this position: nothing of what was kept leads there.
    pub(crate) fn reset(&mut self, position: CommitIndex) {
        let mut ring = self.ring.lock();
        *ring = Ring { places: VecDeque::new(), kept_after: position, bytes: 0 };
        drop(ring);
        self.end.send_replace(position);
    }
}

impl Feed {
    /// A watcher that stands at this position. One that is ahead of this member waits until the member has caught up.
    pub(crate) fn deltas_from(&self, position: CommitIndex) -> Result<Deltas, FeedError> {
        let kept_after = self.ring.lock().kept_after;
        if position < kept_after {
            return Err(FeedError::TooFarBehind { position, kept_after });
        }
        Ok(Deltas { feed: self.clone(), position })
    }
}

impl Deltas {
    /// The place up to which this watcher has everything.
    #[must_use]
    pub const fn position(&self) -> CommitIndex {
        self.position
    }

    /// Waits until the member has applied the watcher's position: from then on the watcher lags behind the member, not the other way round.
    ///
    /// # Errors
    /// [`FeedError::Ended`]
    pub async fn reached(&mut self) -> Result<(), FeedError> {
        let position = self.position;
        self.feed.end.wait_for(|end| *end >= position).await.map(drop).map_err(|_| FeedError::Ended { position })
    }

    /// What the member has applied.
    #[must_use]
    pub fn end(&self) -> CommitIndex {
        *self.feed.end.borrow()
    }

    /// The places that follow, as many as are there and fit `bytes_max` (at least one), once there are any. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`FeedError`]; the position stays.
    pub async fn next(&mut self, bytes_max: usize) -> Result<Vec<Delta>, FeedError> {
        let position = self.position;
        loop {
            // Marked as seen before the look, so that what comes after the look wakes.
            self.feed.end.borrow_and_update();
            let taken = self.feed.ring.lock().after(position, bytes_max)?;
            if let Some(last) = taken.last() {
                self.position = last.index;
                return Ok(taken);
            }
            self.feed.end.changed().await.map_err(|_| FeedError::Ended { position })?;
        }
    }
}

impl Ring {
    fn end(&self) -> CommitIndex {
        self.places.back().map_or(self.kept_after, |place| place.index)
    }

    fn after(&self, position: CommitIndex, bytes_max: usize) -> Result<Vec<Delta>, FeedError> {
        let Some(skipped) = position.0.checked_sub(self.kept_after.0) else {
            return Err(FeedError::TooFarBehind { position, kept_after: self.kept_after });
        };
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX).min(self.places.len());
        let mut bytes = 0;
        let fits = self.places.range(skipped..).take_while(|place| {
            let is_first = bytes == 0;
            bytes += weight(place);
            is_first || bytes <= bytes_max
        });
        Ok(fits.cloned().collect())
    }
}

fn weight(place: &Delta) -> usize {
    PLACE_OVERHEAD_BYTES + place.command.as_ref().map_or(0, Bytes::len)
}

#[cfg(test)]
#[path = "feed_test.rs"]
mod tests;
