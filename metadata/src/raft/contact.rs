//! When this member last heard from whom, and whether it may speak as a leader.

use openraft::{BasicNode, Membership};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// When this member last heard from whom.
#[derive(Debug)]
pub(crate) struct Contacts {
    state: Mutex<State>,
    /// It says nothing as a leader, neither that it lives nor entries, so that the others elect another.
    is_silent: AtomicBool,
    /// Held while this member makes up its mind about a term.
    vote_gate: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct State {
    /// When a leader, or a candidate that got this member's vote, was last heard; at first, when this member started.
    leader: Instant,
    /// For each follower: when the newest message was sent that it answered as a follower.
    followers: BTreeMap<u64, Instant>,
}

impl Contacts {
    pub(crate) fn new() -> Self {
        let state = Mutex::new(State { leader: Instant::now(), followers: BTreeMap::new() });
        Self { state, is_silent: AtomicBool::new(false), vote_gate: tokio::sync::Mutex::default() }
    }

    /// Held while this member votes, takes the first word of a new leader, or decides to stand: what it said of another takes as long as a sync, and
    /// if it stood meanwhile it would take that back by a newer term.
    pub(crate) async fn vote_gate(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.vote_gate.lock().await
    }

    /// Says nothing more as a leader, or speaks again.
    pub(crate) fn set_silent(&self, is_silent: bool) {
        self.is_silent.store(is_silent, Ordering::Release);
    }

    /// Whether it says nothing as a leader.
    pub(crate) fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::Acquire)
    }

    /// A leader lives, or an election goes on that this member supports.
    pub(crate) fn heard_leader(&self) {
        self.state.lock().leader = Instant::now();
    }

    /// How long no leader was heard.
    pub(crate) fn leader_silence(&self) -> Duration {
        self.state.lock().leader.elapsed()
    }

    /// A follower answered what was sent then.
    pub(crate) fn heard_follower(&self, id: u64, sent: Instant) {
        let mut state = self.state.lock();
        let heard = state.followers.entry(id).or_insert(sent);
        *heard = (*heard).max(sent);
    }

    /// How long ago the newest message was sent that a follower answered.
    pub(crate) fn follower_silence(&self, id: u64) -> Option<Duration> {
        self.state.lock().followers.get(&id).map(Instant::elapsed)
    }

    /// This member begins to lead: older contacts say nothing about its term.
    pub(crate) fn begin_leading(&self) {
        let (now, mut state) = (Instant::now(), self.state.lock());
        state.leader = now;
        state.followers.clear();
    }

    /// Whether a quorum of followers, with this member, was heard within `limit`.
    pub(crate) fn has_quorum(&self, own_id: u64, membership: &Membership<u64, BasicNode>, limit: Duration) -> bool {
        let state = self.state.lock();
        let is_heard = |id: u64| id == own_id || state.followers.get(&id).is_some_and(|heard| heard.elapsed() <= limit);
        is_quorum(membership, is_heard)
    }
}

/// Whether the members of which `has` is true are a majority of every set of voters.
pub(crate) fn is_quorum<F>(membership: &Membership<u64, BasicNode>, has: F) -> bool
where
    F: Fn(u64) -> bool,
{
    let mut configs = membership.get_joint_config().iter();
    configs.all(|voters| voters.iter().filter(|id| has(**id)).count() > voters.len() / 2)
}
