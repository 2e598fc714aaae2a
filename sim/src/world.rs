//! Everything of a run that its tasks share: members, network, what was seen, and the first failure.

use crate::checks::{Acknowledged, Failure, LogCheck, LogId};
use crate::clock::SimClock;
use crate::disk::DiskPace;
use crate::event;
use crate::history::History;
use crate::life::Life;
use crate::net::Net;
use crate::plan::Plan;
use crate::rng::{Rng, Stream};
use crate::sabotage::Sabotage;
use crate::trace::Trace;
use parking_lot::Mutex;
use siltstone_disk::LossyDisk;
use siltstone_metadata::MetadataNode;
use siltstone_metadata_client::MetadataClient;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;
use tokio::time::Instant;

/// States are compared at every so many positions: a hash costs as much as a snapshot.
const STATE_STEP: u64 = 3;

/// A run.
pub struct World {
    /// The seed.
    pub seed: u64,
    /// What is wrong with the group on purpose.
    pub sabotage: Sabotage,
    /// What the run is like.
    pub plan: Plan,
    /// What happened.
    pub trace: Trace,
    /// The network.
    pub net: Net,
    /// What was seen of the log.
    pub log: Mutex<LogCheck>,
    /// What was acknowledged.
    pub acknowledged: Mutex<Acknowledged>,
    /// What clients saw.
    pub history: Mutex<History>,
    /// Members by their number.
    pub members: BTreeMap<u64, Arc<Member>>,
    moments: AtomicU64,
    failure: watch::Sender<Option<Failure>>,
}

/// A member through all its lives.
pub struct Member {
    /// Its number.
    pub id: u64,
    /// Its wall clock.
    pub clock: Arc<SimClock>,
    /// How fast its disk is.
    pub pace: DiskPace,
    pub(crate) state: Mutex<MemberState>,
    /// Whether it is started again after a crash.
    pub(crate) may_run: watch::Sender<bool>,
}

/// Where a member stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It may be taken in later.
    Outside,
    /// It is a member, or is being taken in.
    Inside,
    /// It was removed, for good.
    Removed,
}

pub(crate) struct MemberState {
    pub(crate) standing: Standing,
    pub(crate) disk: LossyDisk,
    pub(crate) life: Option<Arc<Life>>,
    pub(crate) lives: u64,
}

impl World {
    /// A run that begins. Must run within its runtime.
    #[must_use]
    pub fn new(seed: u64, plan: Plan, sabotage: Sabotage, is_printed: bool) -> Arc<Self> {
        let start = Instant::now();
        let member = |id: u64, standing: Standing| {
            let pace = DiskPace::new(Rng::new(seed, Stream::Disk, id), plan.disk_ms.clone());
            let state = MemberState { standing, disk: LossyDisk::new(), life: None, lives: 0 };
            Arc::new(Member {
                id,
                clock: Arc::new(SimClock::new(start)),
                pace,
                state: Mutex::new(state),
                may_run: watch::Sender::new(standing == Standing::Inside),
            })
        };
        let first = plan.ids().into_iter().map(|id| (id, member(id, Standing::Inside)));
        let spare = plan.spare_ids().into_iter().map(|id| (id, member(id, Standing::Outside)));
        let members = first.chain(spare).collect();
        let log = Mutex::new(LogCheck::new(plan.ids()));
        Arc::new(Self {
            seed,
            sabotage,
            plan,
            trace: Trace::new(is_printed),
            net: Net::new(Rng::new(seed, Stream::Network, 0)),
            log,
            acknowledged: Mutex::default(),
            history: Mutex::default(),
            members,
            moments: AtomicU64::new(0),
            failure: watch::Sender::new(None),
        })
    }

    /// A moment that no other event has.
    pub fn moment(&self) -> u64 {
        self.moments.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes a failure; the first one counts.
    pub fn fail(&self, failure: Failure) {
        self.failure.send_if_modified(|first| {
            if first.is_some() {
                return false;
            }
            event!(self.trace, "FAILURE {failure}");
            *first = Some(failure);
            true
        });
    }

    /// Notes the failure of a check, if it failed.
    pub fn require(&self, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            self.fail(failure);
        }
    }

    /// The first failure, if there was one.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.borrow().clone()
    }

    /// Waits for the first failure.
    pub async fn failed(&self) {
        let mut failure = self.failure.subscribe();
        if failure.wait_for(Option::is_some).await.is_err() {
            // The sender lives as long as this borrow.
            std::future::pending::<()>().await;
        }
    }

    /// The numbers of all members that the group has, or is taking in.
    pub fn ids(&self) -> Vec<u64> {
        self.members.values().filter(|member| member.standing() == Standing::Inside).map(|member| member.id).collect()
    }

    /// A member's life and handle, where it runs.
    pub fn running(&self, id: u64) -> Option<(Arc<Life>, MetadataNode)> {
        let life = self.members.get(&id)?.state.lock().life.clone()?;
        let node = life.node()?;
        Some((life, node))
    }

    /// All members that run.
    pub fn all_running(&self) -> Vec<(Arc<Life>, MetadataNode)> {
        self.members.keys().filter_map(|id| self.running(*id)).collect()
    }

    /// The member that leads the newest term, as far as the members know.
    pub fn leader(&self) -> Option<u64> {
        let leading = self.all_running().into_iter().filter(|(_, node)| node.is_leader());
        leading.max_by_key(|(_, node)| node.raft().metrics().borrow().current_term).map(|(life, _)| life.member)
    }

    /// Looks at all members: called after every event that may have changed one.
    pub fn observe(&self) {
        for (life, node) in self.all_running() {
            self.observe_one(&life, &node);
        }
    }

    fn observe_one(&self, life: &Life, node: &MetadataNode) {
        let (leads, vote, applied, end) = {
            let metrics = node.raft().metrics();
            let metrics = metrics.borrow();
            let applied = metrics.last_applied.map(|id| LogId { term: id.leader_id.term, leader: id.leader_id.node_id, index: id.index });
            let vote = (metrics.vote.leader_id.term, metrics.vote.leader_id.node_id);
            (node.is_leader().then_some(metrics.vote.leader_id), vote, applied, metrics.running_state.as_ref().err().map(ToString::to_string))
        };
        // A panic of Raft's task shows nowhere else.
        let end = end.or_else(|| node.raft().metrics().has_changed().is_err().then(|| "its task has panicked".to_owned()));
        let mut seen = life.seen.lock();
        // Later on what is told of a member may be a moment behind.
        if !std::mem::replace(&mut seen.is_vote_checked, true) {
            self.require(self.log.lock().has_vote(life.member, vote));
        }
        if let Some(leader) = leads
            && leader.node_id == life.member
            && seen.term_led != leader.term
        {
            seen.term_led = leader.term;
            event!(self.trace, "{} leads term {}", life.member, leader.term);
            self.require(self.log.lock().leads(leader.term, life.member, life.number));
        }
        if let Some(applied) = applied
            && seen.applied_index != Some(applied.index)
        {
            seen.applied_index = Some(applied.index);
            event!(self.trace, "{} applied {applied}", life.member);
            self.require(self.log.lock().applied(life.member, applied));
        }
        let manifest = node.watch();
        let manifest = manifest.borrow();
        let version = manifest.version.0;
        if version < seen.version {
            self.fail(Failure::new("CP-1", format!("member {} went back from position {} to {version}", life.member, seen.version)));
        } else if version > seen.version {
            seen.version = version;
            if version.is_multiple_of(STATE_STEP) {
                match siltstone_format::snapshot::encode_blob(&manifest) {
                    Ok(bytes) => {
                        let mut hasher = DefaultHasher::new();
                        hasher.write(&bytes);
                        self.require(self.log.lock().state(life.member, version, hasher.finish()));
                    }
                    Err(error) => self.fail(Failure::new("CP-1", error.to_string())),
                }
            }
        }
        if let Some(reason) = end
            && !life.is_over()
        {
            self.fail(Failure::new("LV-1", format!("member {} has ended without a fault: {reason}", life.member)));
        }
    }
}
