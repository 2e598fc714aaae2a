//! Which commands the group's log may hold while its members run programs of different versions.
//!
//! A member must never meet a command that its program does not know. So the log itself says which version it may hold: the newest of the commands in
//! it. Only a leader raises it, by a command of the new version ([`CommandBody::RaiseVersion`]), after every member of its log's membership, with a
//! vote or without, has said that it reads that version. A member that is away when the leader asks holds the raise up, unless the leader's process
//! saw it when the group began: a new group uses the newest version at once, whoever is lost next. Nobody joins who reads less than the log holds.
//! Both look at the members under one lock, and at a state with all that was in the log before this lead, so that in every log either the raise
//! comes first and the join was measured by it, or the join comes first and the new member was asked.
//!
//! What this cannot see is a member whose program is replaced by an older one after it answered. Such a member does not start where its log or its
//! snapshot holds what it does not read, and ends where the leader sends it such things; it misreads nothing.
//!
//! Once raised, a version stays: programs that do not read it cannot come back.

use crate::raft::error::FatalError;
use crate::raft::node::{Inner, MetadataNode};
use crate::raft::peers::PeerError;
use crate::raft::transport::{Peer, PeerRequest};
use openraft::EntryPayload;
use parking_lot::Mutex;
use siltstone_core::Incarnation;
use siltstone_format::{command::CommandBody, envelope::EnvelopeError};
use siltstone_metadata_client::ClientError;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

/// How often a leader looks whether the version can be raised.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// For how long what held the last raise up is taken to hold up the next: members are not asked more often.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// What a member knows of versions.
pub(crate) struct Versions {
    /// The newest version of the commands that this member has applied.
    applied: Arc<AtomicU16>,
    /// The newest that this member tried to raise to: a log may hold it.
    tried: AtomicU16,
    /// Held while members are measured by the version.
    gate: tokio::sync::Mutex<()>,
    /// What held the last raise up, and when.
    held_up: Mutex<Option<(Instant, String)>>,
}

impl Versions {
    pub(crate) fn new(applied: Arc<AtomicU16>) -> Self {
        Self { applied, tried: AtomicU16::new(0), gate: tokio::sync::Mutex::default(), held_up: Mutex::default() }
    }

    /// The newest version of commands that the log may hold, as far as this member has applied it.
    pub(crate) fn group(&self) -> u16 {
        self.applied.load(Ordering::Acquire).max(1)
    }

    /// Keeps members from being measured by another version until it is dropped.
    pub(crate) async fn lock(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.gate.lock().await
    }

    /// The version that a new member must read. To be asked under the lock, by a leader that has caught up.
    pub(crate) fn needed(&self) -> u16 {
        self.group().max(self.tried.load(Ordering::Acquire))
    }

    /// Raises the version whenever it can be raised, until the member is gone or the task is aborted.
    pub(crate) fn spawn(inner: &Arc<Inner>) -> JoinHandle<()> {
        let inner: Weak<Inner> = Arc::downgrade(inner);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(LOOK_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut told = String::new();
            loop {
                ticks.tick().await;
                let Some(inner) = inner.upgrade() else { return };
                if !inner.is_leader() || inner.manifests.borrow().incarnation == Incarnation(0) {
                    continue;
                }
                if let Err(reason) = inner.raise_version().await
                    && reason != told
                {
                    tracing::info!(node_id = inner.config.node_id, reason, "newer commands are not used yet");
                    told = reason;
                }
            }
        })
    }
}

impl Inner {
    /// Whether the log may hold this command; it is tried to make it so.
    pub(crate) async fn admit_version(&self, body: &CommandBody) -> Result<(), ClientError> {
        let wanted = body.since_version();
        if wanted <= self.versions.group() {
            return Ok(());
        }
        self.check_takes_in()?;
        let held_up = self.raise_version().await.err();
        let group = self.versions.group();
        if wanted <= group {
            return Ok(());
        }
        let reason = held_up.unwrap_or_else(|| reads_less(self.config.node_id, self.config.command_version_max));
        let name = body.name();
        Err(ClientError::Unavailable {
            reason: format!("{name} is a command of version {wanted}, and the group's log holds up to version {group}: {reason}"),
        })
    }

    /// Raises the version as far as this member and all others read it. An error says what holds it up.
    pub(crate) async fn raise_version(&self) -> Result<(), String> {
        let own = self.config.command_version_max;
        if self.versions.group() >= own {
            return Ok(());
        }
        let _gate = self.versions.lock().await;
        if let Some((_, reason)) = self.versions.held_up.lock().as_ref().filter(|(at, _)| at.elapsed() < ASK_EVERY) {
            return Err(reason.clone());
        }
        let raised = self.raise_under_lock(own).await;
        *self.versions.held_up.lock() = raised.as_ref().err().map(|reason| (Instant::now(), reason.clone()));
        raised
    }

    async fn raise_under_lock(&self, own: u16) -> Result<(), String> {
        // The lead before this one may have raised it.
        self.catch_up().await.map_err(|error| error.to_string())?;
        if self.versions.group() >= own {
            return Ok(());
        }
        let read = self.ask_versions().await;
        let mut common = own;
        for (id, version) in &read {
            common = common.min(version.ok_or_else(|| format!("member {id} was not heard: start it, or remove it if it is lost"))?);
        }
        if common > self.versions.group() {
            self.versions.tried.fetch_max(common, Ordering::AcqRel);
            self.write(CommandBody::RaiseVersion { version: common }).await.map_err(|error| error.to_string())?;
            tracing::info!(version = common, "all members read this version of commands: it is used from now on");
        }
        let behind = read.iter().filter_map(|(id, version)| Some((*id, version.filter(|version| *version < own)?)));
        let behind: Vec<String> = behind.map(|(id, version)| reads_less(id, version)).collect();
        if behind.is_empty() { Ok(()) } else { Err(behind.join("; ")) }
    }

    /// What the other members read, as they say now, or said when this process began the group with them, if that was as much as this member reads;
    /// `None` for those that are not known.
    async fn ask_versions(&self) -> Vec<(u64, Option<u16>)> {
        let membership = self.raft.metrics().borrow().membership_config.clone();
        let others = membership.membership().nodes().filter(|(id, _)| **id != self.config.node_id);
        let asked = others.map(|(id, node)| {
            let peer = Peer::from_text(*id, &node.addr);
            async move {
                let hello = self.ask_hello(&peer).await;
                // Another directory under its number is no member.
                let hello = hello.filter(|hello| peer.directory == 0 || hello.directory == 0 || hello.directory == peer.directory);
                let said_before = || self.admission.founder_version(peer.id, peer.directory).filter(|said| *said >= self.config.command_version_max);
                (peer.id, hello.map(|hello| hello.command_version).or_else(said_before))
            }
        });
        futures::future::join_all(asked).await
    }

    /// Waits until this leader has applied all that was in the log before it led.
    pub(crate) async fn catch_up(&self) -> Result<(), ClientError> {
        let limit = self.config.election_timeout_max();
        let index = self.read_index_within(limit).await?;
        let mut manifests = self.manifests.clone();
        let applied = tokio::time::timeout(limit, manifests.wait_for(|manifest| manifest.version >= index)).await;
        match applied {
            Ok(Ok(_)) => Ok(()),
            _ => Err(ClientError::Unavailable { reason: "the log is being applied".to_owned() }),
        }
    }

    /// Refuses what another member sends of a version that this one does not read.
    pub(crate) fn check_versions(&self, request: &PeerRequest) -> Result<(), PeerError> {
        let sent = match request {
            PeerRequest::Append(request) => {
                let commands = request.entries.iter().filter_map(|entry| match &entry.payload {
                    EntryPayload::Normal(proposal) => Some(proposal.version()),
                    EntryPayload::Blank | EntryPayload::Membership(_) => None,
                });
                commands.max().unwrap_or(0)
            }
            PeerRequest::Snapshot(request) => request.machine.command_version,
            PeerRequest::Vote(_) | PeerRequest::PreVote(_) | PeerRequest::Campaign | PeerRequest::Hello => 0,
        };
        let version_max = self.config.command_version_max;
        if sent <= version_max {
            return Ok(());
        }
        Err(self.end_as_too_old(format!("it is of version {sent}, and this program reads up to version {version_max}")))
    }

    fn end_as_too_old(&self, reason: String) -> PeerError {
        self.fatal.report(&FatalError::Newer { reason: reason.clone() });
        PeerError::Ended { reason: format!("its program is too old: {reason}") }
    }
}

fn reads_less(id: u64, version: u16) -> String {
    format!("member {id} reads up to version {version}: upgrade it")
}

impl MetadataNode {
    /// A message of another member was not read. Where the cause is that it was written by a newer program, this member ends: see
    /// [`FatalError::Newer`].
    pub fn report_unreadable(&self, error: &EnvelopeError) {
        if matches!(error, EnvelopeError::Version { .. }) {
            self.inner.end_as_too_old(error.to_string());
        }
    }
}
