//! Which entries of the log are durable, and whether this member alone makes a quorum.
//!
//! openraft 0.9 waits for each append within its one task. Where it needs others for a quorum anyway, the log store tells it at once that an
//! append is done, and what leaves the member waits here instead: a follower's acknowledgement on its way out, and on the leader every follower's
//! acknowledgement on its way in. So whatever openraft takes for a quorum is a durable one (WA-1), the members' disks work side by side, and no
//! heartbeat waits for a disk.
//!
//! What is deliberately not here: votes, which openraft waits for, and the log itself.

use crate::raft::types::{LogId, Membership};
use openraft::raft::AppendEntriesResponse;
use parking_lot::Mutex;
use std::collections::VecDeque;
use tokio::sync::oneshot;

/// Appends on their way to the disk. They are numbered in the order of the log.
#[derive(Default, Debug)]
pub(crate) struct Durable {
    state: Mutex<State>,
}

#[derive(Default, Debug)]
struct State {
    next_sequence: u64,
    /// Oldest first; their entries ascend.
    in_flight: VecDeque<InFlight>,
    /// Those who wait, and for the append of which number. A few at most: one or two for each other member.
    waiting: Vec<(u64, oneshot::Sender<Result<(), LogFailed>>)>,
    /// The log failed: nothing more becomes durable.
    has_failed: bool,
    quorums: Quorums,
}

#[derive(Debug)]
struct InFlight {
    sequence: u64,
    first_index: u64,
}

/// The memberships that may hold, by their place in the log: the newest does, and the one before it again when it is cut off.
#[derive(Default, Debug)]
struct Quorums {
    /// Ascending; whether a quorum needs another member.
    by_index: VecDeque<(Option<u64>, bool)>,
}

/// The log has failed: what was waited for never becomes durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LogFailed;

/// The last entry for which an answer vouches, to a request whose last entry (or the one before its first) this is.
pub(crate) const fn acknowledged(last: Option<LogId>, answer: &AppendEntriesResponse<u64>) -> Option<LogId> {
    match answer {
        AppendEntriesResponse::Success => last,
        AppendEntriesResponse::PartialSuccess(matching) => *matching,
        AppendEntriesResponse::HigherVote(_) | AppendEntriesResponse::Conflict => None,
    }
}

impl Durable {
    /// An append begins. Its number is to be given to [`Durable::complete`].
    pub(crate) fn begin(&self, first_index: u64) -> u64 {
        let mut state = self.state.lock();
        let sequence = state.next_sequence;
        state.next_sequence += 1;
        state.in_flight.push_back(InFlight { sequence, first_index });
        sequence
    }

    /// An append is durable, and with it all before it; or the log failed.
    pub(crate) fn complete(&self, sequence: u64, is_durable: bool) {
        let mut state = self.state.lock();
        if is_durable {
            while state.in_flight.front().is_some_and(|append| append.sequence <= sequence) {
                state.in_flight.pop_front();
            }
        }
        state.has_failed |= !is_durable;
        let (has_failed, outcome) = (state.has_failed, if is_durable { Ok(()) } else { Err(LogFailed) });
        let released: Vec<_> = state.waiting.extract_if(.., |(awaited, _)| *awaited <= sequence || has_failed).collect();
        // Woken outside of the lock, which they take next.
        drop(state);
        for (awaited, waiter) in released {
            // Nobody waits any more where the receiver is gone.
            let _ = waiter.send(if awaited <= sequence { outcome } else { Err(LogFailed) });
        }
    }

    /// The entries from `index` on are cut off.
    pub(crate) fn truncate(&self, index: u64) {
        let mut state = self.state.lock();
        while state.in_flight.back().is_some_and(|append| append.first_index >= index) {
            state.in_flight.pop_back();
        }
        state.quorums.truncate(index);
    }

    /// Waits until the entries up to and with `index`, as the log holds them now, are durable.
    pub(crate) async fn wait(&self, index: u64) -> Result<(), LogFailed> {
        let released = {
            let mut state = self.state.lock();
            let awaited = state.in_flight.iter().rev().find(|append| append.first_index <= index).map(|append| append.sequence);
            let Some(awaited) = awaited else { return Ok(()) };
            if state.has_failed {
                return Err(LogFailed);
            }
            let (sender, released) = oneshot::channel();
            state.waiting.retain(|(_, waiter)| !waiter.is_closed());
            state.waiting.push((awaited, sender));
            released
        };
        // The sender lives as long as `self`, or was sent through.
        released.await.unwrap_or(Err(LogFailed))
    }

    /// The first entry of the oldest append that is on its way to the disk; `None` where none is.
    pub(crate) fn oldest_in_flight(&self) -> Option<u64> {
        self.state.lock().in_flight.front().map(|append| append.first_index)
    }

    /// A membership stands in the log, or in the snapshot before it.
    pub(crate) fn note_membership(&self, membership: &Membership) {
        let index = membership.log_id().map(|log_id| log_id.index);
        let needs_others = membership.membership().get_joint_config().iter().any(|voters| voters.len() > 1);
        self.state.lock().quorums.note(index, needs_others);
    }

    /// Whether every quorum of the newest membership holds another member than this.
    pub(crate) fn needs_others(&self) -> bool {
        self.state.lock().quorums.by_index.back().is_some_and(|(_, needs_others)| *needs_others)
    }
}

impl Quorums {
    fn note(&mut self, index: Option<u64>, needs_others: bool) {
        self.by_index.retain(|(noted, _)| *noted != index);
        let place = self.by_index.partition_point(|(noted, _)| *noted < index);
        self.by_index.insert(place, (index, needs_others));
        // Raft allows one membership that is not committed, so that the newest or the one before it holds.
        while self.by_index.len() > 2 {
            self.by_index.pop_front();
        }
    }

    fn truncate(&mut self, index: u64) {
        self.by_index.retain(|(noted, _)| noted.is_none_or(|noted| noted < index));
    }
}

#[cfg(test)]
#[path = "durable_test.rs"]
mod tests;
