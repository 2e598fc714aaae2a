//! One running member of the group.

use crate::raft::admission::{Admission, Drawn, FoundLog, check_has_log};
use crate::raft::blocking::Blocking;
use crate::raft::config::{NodeConfig, NodeParts};
use crate::raft::contact::Contacts;
use crate::raft::directory::check_finished;
use crate::raft::durable::Durable;
use crate::raft::elector::Elector;
use crate::raft::error::{FatalError, StartError};
use crate::raft::expiry::Expiry;
use crate::raft::feed::{Deltas, Feed, FeedError};
use crate::raft::log_store::LogStore;
use crate::raft::metrics::{NodeMetrics, Outcome};
use crate::raft::network::Network;
use crate::raft::peers::PeerError;
use crate::raft::readiness::Readiness;
use crate::raft::snapshots::{LOG_DIR, SNAPSHOT_DIR, SnapshotStore};
use crate::raft::state_machine::StateMachine;
use crate::raft::stored::ENTRY_OVERHEAD_BYTES;
use crate::raft::supervisor::{Fatal, Supervisor};
use crate::raft::transport::{PeerRequest, PeerResponse, Transport};
use crate::raft::types::{Applied, Proposal, Raft, RaftTypes};
use crate::raft::versions::Versions;
use async_trait::async_trait;
use openraft::error::{InitializeError, RaftError};
use openraft::{BasicNode, ServerState, SnapshotPolicy};
use parking_lot::Mutex;
use siltstone_core::{Clock, CommitIndex, CommitToken, Epoch, Incarnation};
use siltstone_format::{
    command::{Command, CommandBody, Reply},
    manifest::Manifest,
};
use siltstone_metadata_client::{ClientError, MetadataClient, Renewal};
use siltstone_wal::{Slot, Wal, WalError, WalMetrics, WalParts};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How long [`MetadataNode::start`] waits for a group of one to be ready: replaying a log takes seconds at most.
const SINGLE_READY_TIMEOUT: Duration = Duration::from_secs(60);

/// How often [`MetadataNode::wait_ready`] looks.
const READY_POLL: Duration = Duration::from_millis(5);

/// One running member. Clones are handles on the same member.
#[derive(Clone)]
pub struct MetadataNode {
    pub(crate) inner: Arc<Inner>,
}

/// What the handle and the supervisor share.
pub(crate) struct Inner {
    pub(crate) config: NodeConfig,
    pub(crate) raft: Raft,
    pub(crate) wal: Arc<Wal>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) log_store: LogStore,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) contacts: Arc<Contacts>,
    pub(crate) metrics: NodeMetrics,
    pub(crate) manifests: watch::Receiver<Manifest>,
    /// The numbers of members that were removed.
    pub(crate) removed: watch::Receiver<Arc<BTreeSet<u64>>>,
    pub(crate) feed: Feed,
    pub(crate) versions: Versions,
    pub(crate) expiry: Expiry,
    pub(crate) incarnation: Incarnation,
    pub(crate) fatal: Arc<Fatal>,
    /// The disk stalls: no new proposals, no lead.
    pub(crate) is_stalled: AtomicBool,
    /// The member gives up the lead because it was told to: no new proposals, no candidacy.
    pub(crate) is_leaving: AtomicBool,
    /// A member that leaves has a successor with the whole log: it says nothing more as a leader.
    pub(crate) is_handing_over: AtomicBool,
    /// A leader that leaves wants this member to stand for election.
    pub(crate) is_asked_to_campaign: AtomicBool,
    /// Why no proposals are taken in any more.
    pub(crate) refusal: OnceLock<String>,
    pub(crate) blocking: Blocking,
    clock: Arc<dyn Clock>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl MetadataNode {
    /// Starts a member from what its directory holds, or as a member of a new group. A group of one is ready when this returns; of several
    /// members, see [`MetadataNode::wait_ready`]. Must run within a tokio runtime.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running then.
    pub async fn start(config: NodeConfig, parts: NodeParts) -> Result<Self, StartError> {
        config.check()?;
        let NodeParts { disk, dir, clock, transport, incarnation, seed, blocking, on_fatal } = parts;
        let fatal = Arc::new(Fatal::new(on_fatal));
        let (node_id, wal_config, feed, on_wal_fatal) = (config.node_id, config.wal, config.feed_bounds(), fatal.clone());
        let version_max = config.command_version_max;
        // The members of a new group must see each other before any of them has a directory.
        let (drawn, waits) = (Drawn::new(seed), config.members.len() > 1);
        let (noted, log_blocking) = (Arc::new(Durable::default()), blocking.clone());
        let opened = blocking.run(move || {
            check_finished(disk.as_ref(), &dir)?;
            check_has_log(disk.as_ref(), &dir)?;
            let on_fatal = move |error: &WalError| on_wal_fatal.report(&FatalError::Log(error.clone()));
            let (wal, recovery) = log_blocking.open_log(WalParts::new(disk.clone(), &dir.join(LOG_DIR), wal_config, on_fatal))?;
            let wal = Arc::new(wal);
            let was_used = wal.get(Slot::Vote).is_some() || wal.purged().is_some() || recovery.entries > 0;
            let found = if was_used { FoundLog::Used } else { FoundLog::Empty };
            let admission = Admission::open(disk.clone(), &dir, node_id, found, drawn, waits)?;
            let (snapshots, newest) = SnapshotStore::open(disk, dir.join(SNAPSHOT_DIR), wal.clone(), log_blocking.clone(), version_max)?;
            let kept = snapshots.kept().clone();
            let state_machine = StateMachine::new(snapshots, newest, noted.clone(), log_blocking, feed);
            let log_store = LogStore::new(node_id, wal.clone(), noted).purging_after(kept);
            let newer = log_store.survey(version_max).map_err(|error| StartError::Raft { reason: error.to_string() })?;
            if let Some((index, version)) = newer {
                return Err(StartError::Newer { version, version_max, place: format!("position {index} of the log in {}", dir.display()) });
            }
            Ok::<_, StartError>((wal, Arc::new(admission), log_store, state_machine))
        });
        let (wal, admission, log_store, state_machine) = opened.await.map_err(|error| StartError::Raft { reason: error.to_string() })??;

        let contacts = Arc::new(Contacts::new());
        let backoff = Duration::from_millis(config.heartbeat_ms);
        let patience = config.part_timeout_leader();
        let network = Network { transport: transport.clone(), log_store: log_store.clone(), contacts: contacts.clone(), backoff, patience };
        let (manifests, removed, feed) = (state_machine.watch(), state_machine.removed(), state_machine.feed());
        let versions = Versions::new(state_machine.command_version());
        let expiry = Expiry::new(Duration::from_millis(config.lease_ms));
        let raft_config = Arc::new(raft_config(&config)?);
        let raft = Raft::new(node_id, raft_config, network, log_store.clone(), state_machine).await;
        let raft = raft.map_err(|error| StartError::Raft { reason: error.to_string() })?;
        let inner = Arc::new(Inner {
            config,
            raft,
            wal,
            admission,
            log_store,
            transport,
            contacts,
            metrics: NodeMetrics::default(),
            manifests,
            removed,
            feed,
            versions,
            expiry,
            incarnation,
            fatal,
            is_stalled: AtomicBool::new(false),
            is_leaving: AtomicBool::new(false),
            is_handing_over: AtomicBool::new(false),
            is_asked_to_campaign: AtomicBool::new(false),
            refusal: OnceLock::new(),
            blocking,
            clock,
            tasks: Mutex::new(Vec::new()),
        });
        let node = Self { inner };
        if let Err(error) = node.begin(seed).await {
            node.shutdown().await;
            return Err(error);
        }
        Ok(node)
    }

    async fn begin(&self, seed: u64) -> Result<(), StartError> {
        let Inner { config, raft, .. } = self.inner.as_ref();
        // Raft's task answers only once it has read what is stored: the status tells of that from here on.
        let is_initialized = raft.is_initialized().await.map_err(|error| StartError::Raft { reason: error.to_string() })?;
        // A group of one may have grown since it was begun.
        let is_alone = raft.metrics().borrow().membership_config.membership().voter_ids().eq([config.node_id]);
        let is_single = config.members.len() == 1 && (is_alone || !is_initialized);
        if is_single && !is_initialized {
            let members: BTreeMap<u64, BasicNode> = config.members.iter().map(|(id, addr)| (*id, BasicNode { addr: addr.clone() })).collect();
            match raft.initialize(members).await {
                // The group lives already.
                Ok(()) | Err(RaftError::APIError(InitializeError::NotAllowed(_))) => {}
                Err(error) => return Err(StartError::Raft { reason: error.to_string() }),
            }
        } else if !is_single && !config.members.is_empty() {
            let inner = self.inner.clone();
            self.inner.tasks.lock().push(tokio::spawn(async move { inner.begin_group().await }));
        }
        self.inner.tasks.lock().extend([Supervisor::spawn(&self.inner), Elector::spawn(&self.inner, seed), Versions::spawn(&self.inner)]);
        self.inner.tasks.lock().push(Expiry::spawn(&self.inner));
        if is_single {
            // Nobody else can be leader, so there is no reason to wait for a timeout. An error shows in the wait.
            let _ = raft.trigger().elect().await;
            self.wait_ready(SINGLE_READY_TIMEOUT).await?;
            // Nobody else is to be asked. Where it fails, the first newer command tells why.
            let _ = self.inner.raise_version().await;
        }
        Ok(())
    }

    /// Waits until the group lives. A leader has then applied all that was committed before the call; a follower knows its leader, and
    /// callers that need more wait for a commit.
    ///
    /// # Errors
    /// [`StartError::NotReady`], at once when the member has failed.
    pub async fn wait_ready(&self, timeout: Duration) -> Result<(), StartError> {
        let started = Instant::now();
        loop {
            let reason = match self.inner.readiness().await {
                Readiness::Ready => return Ok(()),
                Readiness::Failed { reason } => return Err(StartError::NotReady { waited: started.elapsed(), reason }),
                Readiness::NotYet { reason } => reason,
            };
            if started.elapsed() >= timeout {
                return Err(StartError::NotReady { waited: timeout, reason });
            }
            tokio::time::sleep(READY_POLL).await;
        }
    }

    /// Ends the member: what it acknowledged is durable already. Idempotent.
    pub async fn shutdown(&self) {
        self.inner.fatal.disarm();
        for task in self.inner.tasks.lock().drain(..) {
            task.abort();
        }
        // An error means that Raft's task panicked: it is down as well then.
        let _ = self.inner.raft.shutdown().await;
        let wal = self.inner.wal.clone();
        // It cannot be refused; were the runtime shutting down, dropping the log would close it.
        let _ = self.inner.blocking.run(move || wal.close()).await;
    }

    /// Gives up the lead, if this member has it, to the member with the longest log, so that the group need not find out by waiting. Returns
    /// whether another leads in the end. No proposals are taken in meanwhile, nor afterwards until [`MetadataNode::stay`] is called. Dropped before
    /// it is done, it leaves the member as it was.
    pub async fn leave(&self) -> bool {
        self.inner.leave().await
    }

    /// Takes part in the lead again, after [`MetadataNode::leave`].
    pub fn stay(&self) {
        self.inner.stay();
    }

    /// Takes in no more proposals from now on, and says why: the group has no right any more to what it decides about. Its log stays as it is.
    pub fn refuse_proposals(&self, reason: &str) {
        if self.inner.refusal.set(reason.to_owned()).is_ok() {
            tracing::error!(reason, "this metadata member takes in no more proposals");
        }
    }

    /// Answers another member: the serving side of a [`Transport`]. `directory` is [`Peer::directory`](crate::raft::Peer) as the other one meant it.
    ///
    /// # Errors
    /// [`PeerError`].
    pub async fn handle(&self, directory: u64, request: PeerRequest) -> Result<PeerResponse, PeerError> {
        self.inner.handle(directory, request).await
    }

    /// What this member applied after a position, and what it will apply, without a gap.
    ///
    /// # Errors
    /// [`FeedError::TooFarBehind`]: take [`MetadataClient::manifest`] first, and follow from its version.
    pub fn deltas_from(&self, position: CommitIndex) -> Result<Deltas, FeedError> {
        self.inner.feed.deltas_from(position)
    }

    /// Whether this member has word of the group: it leads and a quorum answers, or it hears its leader. What it shows is fresh then.
    #[must_use]
    pub fn is_in_touch(&self) -> bool {
        self.inner.is_in_touch()
    }

    /// The member's Raft, for what looks at it from outside.
    #[must_use]
    pub fn raft(&self) -> &openraft::Raft<RaftTypes> {
        &self.inner.raft
    }

    /// Whether this member leads the group, as far as it knows.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.inner.is_leader()
    }

    /// The member's own counters.
    #[must_use]
    pub fn metrics(&self) -> &NodeMetrics {
        &self.inner.metrics
    }

    /// Leases of epochs that run at this member (none unless it leads), and how many it has seen run out.
    #[must_use]
    pub fn leases(&self) -> (u64, u64) {
        self.inner.expiry.counts()
    }

    /// The counters of the member's log.
    #[must_use]
    pub fn wal_metrics(&self) -> Arc<WalMetrics> {
        self.inner.wal.metrics().clone()
    }
}

impl Inner {
    /// Why the member has ended, if it has.
    pub(crate) fn end(&self) -> Option<String> {
        let failure = self.wal.failure().map(|error| error.to_string());
        failure.or_else(|| self.raft_end())
    }

    /// Why Raft has ended, if it has. Its task tells of an error, but not of a panic: then only its metrics have no source any more.
    pub(crate) fn raft_end(&self) -> Option<String> {
        let metrics = self.raft.metrics();
        let told = metrics.borrow().running_state.as_ref().err().map(ToString::to_string);
        told.or_else(|| metrics.has_changed().is_err().then(|| "its task has panicked".to_owned()))
    }

    pub(crate) async fn read_index_within(&self, limit: Duration) -> Result<CommitIndex, ClientError> {
        let unavailable = |reason: String| ClientError::Unavailable { reason };
        match tokio::time::timeout(limit, self.raft.get_read_log_id()).await {
            Ok(Ok((read, _))) => Ok(CommitIndex(read.map_or(0, |log_id| log_id.index))),
            Ok(Err(error)) => Err(unavailable(error.to_string())),
            Err(_) => Err(unavailable("no quorum answered in time".to_owned())),
        }
    }

    /// Whether a quorum answered this leader lately.
    pub(crate) fn has_quorum(&self) -> bool {
        let membership = self.raft.metrics().borrow().membership_config.clone();
        self.contacts.has_quorum(self.config.node_id, membership.membership(), self.config.election_timeout_max())
    }

    pub(crate) fn is_in_touch(&self) -> bool {
        match self.is_leader() {
            true => self.has_quorum(),
            false => self.contacts.leader_silence() <= self.config.election_timeout_max(),
        }
    }

    /// Whether this member leads. One that led and was removed keeps its vote for itself for ever, and leads nobody.
    pub(crate) fn is_leader(&self) -> bool {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        metrics.state == ServerState::Leader && metrics.current_leader == Some(self.config.node_id)
    }

    /// Who else leads, as far as this member knows.
    pub(crate) fn other_leader(&self) -> Option<u64> {
        self.raft.metrics().borrow().current_leader.filter(|leader| *leader != self.config.node_id)
    }

    pub(crate) async fn propose(&self, body: CommandBody) -> Result<(CommitToken, Reply), ClientError> {
        let in_flight = self.metrics.begin_proposal();
        let ended = self.propose_uncounted(body).await;
        let outcome = match &ended {
            Ok(_) => Outcome::Applied,
            Err(ClientError::UnknownOutcome { .. }) => Outcome::Unknown,
            Err(_) => Outcome::Unavailable,
        };
        in_flight.end(&outcome);
        ended
    }

    async fn propose_uncounted(&self, body: CommandBody) -> Result<(CommitToken, Reply), ClientError> {
        self.admit_version(&body).await?;
        self.write(body).await
    }

    /// Whether this member takes commands in. What it refuses changes nothing and never will.
    pub(crate) fn check_takes_in(&self) -> Result<(), ClientError> {
        let unavailable = |reason: String| ClientError::Unavailable { reason };
        if let Some(reason) = self.end() {
            return Err(ClientError::Ended { reason });
        }
        if let Some(reason) = self.refusal.get() {
            return Err(unavailable(reason.clone()));
        }
        if self.is_stalled.load(Ordering::Acquire) {
            return Err(unavailable("the disk of the group's leader does not answer".to_owned()));
        }
        if self.is_leaving.load(Ordering::Acquire) {
            return Err(unavailable("this member is giving up the lead".to_owned()));
        }
        // Before the command is handed over this is certain. Afterwards Raft's own answer "not the leader" may be about a command that
        // was in the log for a while, and that another member may still bring to life.
        if !self.is_leader() {
            return Err(unavailable(
                self.other_leader().map_or_else(|| "the group has no leader".to_owned(), |id| format!("member {id} leads the group")),
            ));
        }
        if self.contacts.is_silent() {
            return Err(unavailable("no quorum of the group answers its leader".to_owned()));
        }
        Ok(())
    }

    /// Hands a command to Raft, whatever its version.
    pub(crate) async fn write(&self, body: CommandBody) -> Result<(CommitToken, Reply), ClientError> {
        let unavailable = |reason: String| ClientError::Unavailable { reason };
        let unknown = |reason: String| ClientError::UnknownOutcome { reason };
        self.check_takes_in()?;
        let name = body.name();
        let proposal = Proposal::new(Command { proposed_at_ms: self.clock.now_ms(), body }).map_err(|error| unavailable(error.to_string()))?;
        if proposal.encoded().len() + ENTRY_OVERHEAD_BYTES > self.config.wal.payload_bytes_max as usize {
            return Err(unavailable(format!("the command {name} of {} bytes is too long for the log", proposal.encoded().len())));
        }
        match tokio::time::timeout(self.config.propose_timeout(), self.raft.client_write(proposal)).await {
            Ok(Ok(written)) => {
                let Applied(reply) = written.data;
                let reply = reply.ok_or_else(|| unknown(format!("Raft gave no reply to {name}")))?;
                let incarnation = self.manifests.borrow().incarnation;
                Ok((CommitToken { incarnation, index: CommitIndex(written.log_id.index) }, reply))
            }
            Ok(Err(error)) => Err(unknown(format!("{name}: {error}"))),
            Err(_) => Err(unknown(format!("{name}: no outcome within {} ms", self.config.propose_ms_max))),
        }
    }
}

#[async_trait]
impl MetadataClient for MetadataNode {
    async fn propose(&self, body: CommandBody) -> Result<(CommitToken, Reply), ClientError> {
        self.inner.propose(body).await
    }

    fn manifest(&self) -> Manifest {
        self.inner.manifests.borrow().clone()
    }

    fn watch(&self) -> watch::Receiver<Manifest> {
        self.inner.manifests.clone()
    }

    async fn read_index(&self) -> Result<CommitIndex, ClientError> {
        self.inner.read_index_within(self.inner.config.propose_timeout()).await
    }

    async fn renew(&self, epochs: &[Epoch]) -> Result<Renewal, ClientError> {
        self.inner.renew(epochs)
    }

    fn incarnation(&self) -> Incarnation {
        self.inner.manifests.borrow().incarnation
    }
}

fn raft_config(config: &NodeConfig) -> Result<openraft::Config, StartError> {
    let raft = openraft::Config {
        cluster_name: "siltstone".to_owned(),
        heartbeat_interval: config.heartbeat_ms,
        // The elector starts elections. What is left of these is the time that a vote may take, and how long a member refuses its vote while it
        // hears a leader: the shortest election timeout both.
        enable_elect: false,
        election_timeout_min: config.election_ms_min,
        election_timeout_max: config.election_ms_min + 1,
        // A snapshot travels whole, so its time grows with the manifest.
        install_snapshot_timeout: 60_000,
        snapshot_policy: SnapshotPolicy::LogsSinceLast(config.snapshot_entries),
        max_in_snapshot_log_to_keep: config.log_entries_kept,
        ..openraft::Config::default()
    };
    raft.validate().map_err(|error| StartError::Raft { reason: error.to_string() })
}
