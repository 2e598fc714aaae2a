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
use tokio::sync::watch;

/// Appends on their way to the disk. They are numbered in the order of the log.
#[derive(Debug)]
pub(crate) struct Durable {
    state: Mutex<State>,
    progress: watch::Sender<Progress>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Progress {
    /// Appends with a smaller number are durable.
    next: u64,
    /// The log failed: nothing more becomes durable.
    has_failed: bool,
}

#[derive(Default, Debug)]
struct State {
    next_sequence: u64,
    /// Oldest first; their entries ascend.
    in_flight: VecDeque<InFlight>,
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

impl Default for Durable {
    fn default() -> Self {
        Self { state: Mutex::default(), progress: watch::Sender::new(Progress::default()) }
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
        if is_durable {
            let mut state = self.state.lock();
            while state.in_flight.front().is_some_and(|append| append.sequence <= sequence) {
                state.in_flight.pop_front();
            }
        }
        self.progress.send_modify(|progress| {
            if is_durable {
                progress.next = progress.next.max(sequence + 1);
            } else {
                progress.has_failed = true;
            }
        });
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
        let awaited = self.state.lock().in_flight.iter().rev().find(|append| append.first_index <= index).map(|append| append.sequence);
        let Some(awaited) = awaited else { return Ok(()) };
        let mut progress = self.progress.subscribe();
        // The sender lives as long as `self`.
        let reached = progress.wait_for(|progress| progress.next > awaited || progress.has_failed).await.map(|progress| *progress);
        if reached.is_ok_and(|progress| progress.next > awaited) { Ok(()) } else { Err(LogFailed) }
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
