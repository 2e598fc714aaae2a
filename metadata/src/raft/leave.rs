//! A leader gives up the lead, as before its process ends: its successor is asked to stand, so that nobody waits for an election timeout.

use crate::raft::node::Inner;
use crate::raft::transport::{Peer, PeerRequest};
use openraft::ServerState;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often it looks whether its successor is ready, and whether it leads.
const POLL: Duration = Duration::from_millis(5);

/// How often its successor is asked.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// A leader that is half on its way out would take nothing in and lead on.
struct StaysUnlessDone<'a> {
    inner: &'a Inner,
    is_done: bool,
}

impl Drop for StaysUnlessDone<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.inner.stay();
        }
    }
}

impl Inner {
    pub(crate) async fn leave(&self) -> bool {
        // Whoever asks may give up before this is done: then this member stays what it was.
        let mut guard = StaysUnlessDone { inner: self, is_done: false };
        let has_left = self.try_to_leave().await;
        guard.is_done = true;
        has_left
    }

    /// Takes part in the lead again.
    pub(crate) fn stay(&self) {
        self.is_handing_over.store(false, Ordering::Release);
        self.is_leaving.store(false, Ordering::Release);
    }

    async fn try_to_leave(&self) -> bool {
        // From now on nothing is proposed, so that the log has an end which another can reach.
        self.is_leaving.store(true, Ordering::Release);
        let patience = self.config.election_timeout_max();
        let Some(successor) = self.wait_for_successor(Instant::now() + patience).await else { return self.another_leads() };
        // Only now: until then the successor must be sent what it lacks.
        self.is_handing_over.store(true, Ordering::Release);
        self.contacts.set_silent(true);
        let deadline = Instant::now() + patience;
        // Asked again and again: a message may be lost, and a member refuses its vote for a while after it heard a leader, this one included.
        while Instant::now() < deadline && !self.another_leads() {
            let next = (Instant::now() + ASK_EVERY).min(deadline);
            // Where nobody is reached, the others will notice the silence.
            let _ = tokio::time::timeout_at(next, self.transport.call(&successor, PeerRequest::Campaign)).await;
            while Instant::now() < next && !self.another_leads() {
                sleep(POLL).await;
            }
        }
        self.another_leads()
    }

    fn another_leads(&self) -> bool {
        self.raft.metrics().borrow().current_leader.is_some_and(|leader| leader != self.config.node_id)
    }

    /// A voter that has the whole log; the one that has most of it when time is up.
    async fn wait_for_successor(&self, deadline: Instant) -> Option<Peer> {
        loop {
            let metrics = self.raft.metrics().borrow().clone();
            if metrics.state != ServerState::Leader {
                return None;
            }
            let membership = metrics.membership_config.membership();
            let voters = membership.voter_ids().filter(|id| *id != self.config.node_id);
            let replication = metrics.replication.as_ref()?;
            let matched = voters.map(|id| (replication.get(&id).copied().flatten(), id));
            let (matched, id) = matched.max()?;
            let has_all = matched.map(|log_id| log_id.index) >= metrics.last_log_index;
            if has_all || Instant::now() >= deadline {
                return membership.get_node(&id).map(|node| Peer::from_text(id, &node.addr));
            }
            sleep(POLL).await;
        }
    }
}
