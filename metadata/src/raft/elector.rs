//! When a member stands for election, and when a leader falls silent.
//!
//! openraft 0.9 has no pre-vote and no transfer of leadership, and its leaders stay leaders without a quorum. So its own elections are off, and this
//! task starts them:
//! - a member that hears no leader for a random time first asks the others whether they would vote for it, and stands only when a quorum would.
//!   So a member that was cut off, or that hears only some, deposes nobody when it comes back (Ongaro's thesis, section 9.6);
//! - a member whose disk stalls does not stand, and falls silent if it leads;
//! - a leader that no quorum answers falls silent for a while, so that others that hear it do not wait for it for ever (LV-1);
//! - a leader that leaves falls silent and asks the member with the longest log to stand at once.
//!
//! What is deliberately not here: the vote itself, which is openraft's.

use crate::raft::contact::is_quorum;
use crate::raft::error::FatalError;
use crate::raft::node::Inner;
use crate::raft::sabotage::{Sabotage, is_sabotaged};
use crate::raft::transport::{Peer, PeerRequest, PeerResponse, PreVote};
use openraft::ServerState;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};

/// How often the elector looks: some thirtieth of the shortest election timeout.
const TICK: Duration = Duration::from_millis(25);

pub(crate) struct Elector {
    inner: Weak<Inner>,
    random: StdRng,
    /// The silence of a leader after which this member stands for election.
    timeout: Duration,
    /// No attempt before this moment.
    next_attempt: Instant,
    /// Since when this member leads.
    leads_since: Option<Instant>,
    /// A leader without a quorum is silent until then.
    silent_until: Option<Instant>,
}

impl Elector {
    /// Runs until the member is gone or the task is aborted.
    pub(crate) fn spawn(inner: &Arc<Inner>, seed: u64) -> JoinHandle<()> {
        let mut elector = Self {
            inner: Arc::downgrade(inner),
            random: StdRng::seed_from_u64(seed),
            timeout: Duration::ZERO,
            next_attempt: Instant::now(),
            leads_since: None,
            silent_until: None,
        };
        elector.timeout = elector.draw_timeout(inner);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(TICK);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(inner) = elector.inner.upgrade() else { return };
                if inner.raft.metrics().borrow().state == ServerState::Leader {
                    elector.look_as_leader(&inner);
                } else {
                    elector.look_as_follower(&inner).await;
                }
            }
        })
    }

    fn draw_timeout(&mut self, inner: &Inner) -> Duration {
        Duration::from_millis(self.random.random_range(inner.config.election_ms_min..=inner.config.election_ms_max))
    }

    fn look_as_leader(&mut self, inner: &Inner) {
        let now = Instant::now();
        let leads_since = *self.leads_since.get_or_insert_with(|| {
            inner.contacts.begin_leading();
            now
        });
        let patience = inner.config.election_timeout_max();
        if self.silent_until.is_some_and(|until| now >= until) {
            // It has given the others time for two elections. Whoever still follows it may answer again.
            self.silent_until = None;
            self.leads_since = Some(now);
        } else if self.silent_until.is_none() && now - leads_since > patience && !inner.has_quorum() && !is_sabotaged(Sabotage::StubbornLeader) {
            tracing::warn!(node_id = inner.config.node_id, "no quorum answers this leader: it falls silent for a while");
            self.silent_until = Some(now + 2 * patience);
        }
        let is_silent = self.silent_until.is_some() || inner.is_stalled.load(Ordering::Acquire) || inner.is_handing_over.load(Ordering::Acquire);
        if is_silent && !inner.contacts.is_silent() {
            inner.metrics.count_silence();
        }
        inner.contacts.set_silent(is_silent);
    }

    async fn look_as_follower(&mut self, inner: &Arc<Inner>) {
        (self.leads_since, self.silent_until) = (None, None);
        inner.contacts.set_silent(false);
        let (now, was_asked) = (Instant::now(), inner.is_asked_to_campaign.swap(false, Ordering::AcqRel));
        let silence = inner.contacts.leader_silence();
        let is_due = was_asked || (silence >= self.timeout && now >= self.next_attempt);
        if !is_due || inner.is_stalled.load(Ordering::Acquire) || inner.is_leaving.load(Ordering::Acquire) {
            return;
        }
        let membership = inner.raft.metrics().borrow().membership_config.membership().clone();
        let own_id = inner.config.node_id;
        if !membership.voter_ids().any(|id| id == own_id) {
            return;
        }
        self.timeout = self.draw_timeout(inner);
        let is_granted = was_asked || self.ask_others(inner, &membership).await;
        // A vote that this member is about to give comes first. Who asked for it may have given up waiting, but not before the disk stalls.
        let gate = tokio::time::timeout(inner.config.pre_vote_timeout(), inner.contacts.vote_gate()).await;
        let can_stand = gate.is_ok() && !inner.is_stalled.load(Ordering::Acquire);
        // Meanwhile another may have been elected.
        let is_wanted = can_stand && (was_asked || (is_granted && inner.contacts.leader_silence() >= silence));
        // The next attempt is a whole timeout away, whatever comes of this one: an election that failed is not repeated at once.
        self.next_attempt = Instant::now() + self.timeout;
        if is_wanted {
            inner.metrics.count_candidacy();
            tracing::info!(node_id = own_id, silent_ms = silence.as_millis(), was_asked, "this member stands for election");
            // An error means that Raft has stopped, which the supervisor reports.
            let _ = inner.raft.trigger().elect().await;
        }
    }

    /// Whether a quorum would vote for this member.
    async fn ask_others(&self, inner: &Arc<Inner>, membership: &openraft::Membership<u64, openraft::BasicNode>) -> bool {
        let Ok(last_log_id) = inner.log_store.last_log_id() else { return false };
        let own_id = inner.config.node_id;
        let own_address = membership.get_node(&own_id).map(|node| Peer::from_text(own_id, &node.addr).address).unwrap_or_default();
        let candidate = inner.as_candidate(own_address);
        let mut granted = BTreeSet::from([own_id]);
        let mut answers = JoinSet::new();
        for id in membership.voter_ids().filter(|id| *id != own_id) {
            let Some(node) = membership.get_node(&id) else { continue };
            let (peer, transport, candidate) = (Peer::from_text(id, &node.addr), inner.transport.clone(), candidate.clone());
            answers.spawn(async move {
                match transport.call(&peer, PeerRequest::PreVote(PreVote { last_log_id, candidate })).await {
                    Ok(PeerResponse::PreVote { is_granted, is_copy }) => Some((id, is_granted, is_copy)),
                    _ => None,
                }
            });
        }
        let patience = tokio::time::sleep(inner.config.pre_vote_timeout());
        tokio::pin!(patience);
        loop {
            if is_quorum(membership, |id| granted.contains(&id)) {
                return true;
            }
            let answer = tokio::select! {
                biased;
                answer = answers.join_next() => answer,
                () = &mut patience => return false,
            };
            match answer {
                Some(Ok(Some((_, _, true)))) => {
                    inner.fatal.report(&FatalError::Copied { node_id: own_id, address: candidate.address });
                    return false;
                }
                Some(Ok(Some((id, true, false)))) => drop(granted.insert(id)),
                Some(_) => {}
                None => return false,
            }
        }
    }
}
