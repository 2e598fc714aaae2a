//! What a member is told at its start.

use crate::raft::blocking::Blocking;
use crate::raft::error::{FatalError, StartError};
use crate::raft::feed::FeedBounds;
use crate::raft::transport::Transport;
use siltstone_core::{Clock, Incarnation};
use siltstone_disk::Disk;
use siltstone_format::command::COMMAND_VERSION;
use siltstone_wal::WalConfig;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Settings of a member.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// This member's number in the group.
    pub node_id: u64,
    /// All members of a new group and their addresses, this one included. An existing group keeps the members that its log names. Empty for a
    /// member that joins a group later.
    pub members: BTreeMap<u64, String>,
    /// How often a leader tells that it lives.
    pub heartbeat_ms: u64,
    /// The shortest silence after which a member stands for election: at least 10 × a typical append, and over twice the heartbeat.
    pub election_ms_min: u64,
    /// The longest such silence; each election draws from the range.
    pub election_ms_max: u64,
    /// A snapshot is taken when this many entries were applied since the last.
    pub snapshot_entries: u64,
    /// A snapshot is taken when the log's entries take this much memory.
    pub snapshot_log_bytes: usize,
    /// Entries before a snapshot that stay in the log, so that a follower that lags a little needs no snapshot.
    pub log_entries_kept: u64,
    /// Applied places of the log that are kept in memory for whoever follows this member; who is further behind gets the whole state.
    pub feed_entries_max: usize,
    /// Bytes that those places take at most.
    pub feed_bytes_max: usize,
    /// How long a proposal waits for its outcome before it is reported unknown.
    pub propose_ms_max: u64,
    /// A stall of the disk after which the member gives up leadership and does not campaign: half the shortest election timeout.
    pub stall_ms_yield: u64,
    /// A stall of the disk after which the process ends.
    pub stall_ms_fatal: u64,
    /// How long an epoch of a writer or job lives without a renewal: over three times the longest election timeout.
    pub lease_ms: u64,
    /// The newest version of commands that this member reads: the program's own. Below it, the member acts as an older program would, for tests of
    /// groups of several versions.
    pub command_version_max: u16,
    /// Bounds of the log.
    pub wal: WalConfig,
}

impl NodeConfig {
    /// The only member of a group.
    #[must_use]
    pub fn single() -> Self {
        // No follower will ever ask for the entries before a snapshot.
        Self { log_entries_kept: 0, ..Self::member(1, BTreeMap::from([(1, String::new())])) }
    }

    /// One of several members, with the defaults of a group in one region.
    #[must_use]
    pub fn member(node_id: u64, members: BTreeMap<u64, String>) -> Self {
        Self {
            node_id,
            members,
            heartbeat_ms: 100,
            election_ms_min: 800,
            election_ms_max: 1_200,
            snapshot_entries: 5_000,
            snapshot_log_bytes: 64 << 20,
            log_entries_kept: 1_000,
            // Some minutes of 20 writers that flush twice a second.
            feed_entries_max: 16_384,
            feed_bytes_max: 32 << 20,
            propose_ms_max: 10_000,
            stall_ms_yield: 400,
            stall_ms_fatal: 10_000,
            lease_ms: 10_000,
            command_version_max: COMMAND_VERSION,
            wal: WalConfig::default(),
        }
    }

    /// Whether the times stand in the relations that make a group stable.
    ///
    /// # Errors
    /// [`StartError::Config`] names the first relation that does not hold.
    pub fn check(&self) -> Result<(), StartError> {
        let relations = [
            (self.heartbeat_ms > 0, "the heartbeat must be at least 1 ms"),
            (
                self.election_ms_min > 2 * self.heartbeat_ms,
                "the shortest election timeout must be more than two heartbeats, or one lost message starts an election",
            ),
            (
                self.election_ms_max > self.election_ms_min,
                "the longest election timeout must be above the shortest, or members stand against each other again and again",
            ),
            (self.stall_ms_yield > self.heartbeat_ms, "a stall that costs the lead must be longer than a heartbeat"),
            (self.stall_ms_yield <= self.election_ms_min, "a leader whose disk stalls must fall silent before the others stop waiting for it"),
            (self.stall_ms_fatal > self.election_ms_max, "a stall that ends the process must be longer than an election"),
            (self.propose_ms_max > self.election_ms_max, "a proposal must be able to outlive an election"),
            (
                self.lease_ms > 3 * self.election_ms_max,
                "a third of a lease must be longer than an election, so that renewals find the next leader in time",
            ),
            ((1..=COMMAND_VERSION).contains(&self.command_version_max), "the version of commands must be one that this program reads"),
            (self.members.is_empty() || self.members.contains_key(&self.node_id), "the members of a new group must include this one"),
        ];
        relations.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, relation)| Err(StartError::Config { relation }))
    }

    pub(crate) const fn feed_bounds(&self) -> FeedBounds {
        FeedBounds { entries_max: self.feed_entries_max, bytes_max: self.feed_bytes_max }
    }

    pub(crate) const fn propose_timeout(&self) -> Duration {
        Duration::from_millis(self.propose_ms_max)
    }

    pub(crate) const fn election_timeout_min(&self) -> Duration {
        Duration::from_millis(self.election_ms_min)
    }

    pub(crate) const fn election_timeout_max(&self) -> Duration {
        Duration::from_millis(self.election_ms_max)
    }

    /// After so long a follower answers to a part of the entries that it was sent, if its disk has one. Raft waits a heartbeat for an answer; this is
    /// its half, and leaves the leader time for the same.
    pub(crate) const fn part_timeout_follower(&self) -> Duration {
        Duration::from_millis(self.heartbeat_ms / 2)
    }

    /// After so long since it sent them a leader counts a part of the entries, if its own disk has one.
    pub(crate) const fn part_timeout_leader(&self) -> Duration {
        Duration::from_millis(self.heartbeat_ms * 3 / 4)
    }

    /// How long answers to a plea for votes to come are waited for.
    pub(crate) const fn pre_vote_timeout(&self) -> Duration {
        Duration::from_millis(self.election_ms_min / 2)
    }
}

/// Told once when the process must end. It must not block: it may run on the log's thread.
pub type OnFatal = Arc<dyn Fn(&FatalError) + Send + Sync>;

/// What a member is built from.
pub struct NodeParts {
    /// Where its log and snapshots lie.
    pub disk: Arc<dyn Disk>,
    /// Its directory there. Nobody else may use it: see `siltstone_disk::lock_dir`.
    pub dir: PathBuf,
    /// The clock that proposals carry.
    pub clock: Arc<dyn Clock>,
    /// The way to the other members.
    pub transport: Arc<dyn Transport>,
    /// The life that a new group begins: a fresh random number, not 0. Ignored by a group that lives already.
    pub incarnation: Incarnation,
    /// Where its chance comes from: the lengths of its election timeouts. Members of a group need different seeds.
    pub seed: u64,
    /// Where it waits for its disk.
    pub blocking: Blocking,
    /// Ends the process.
    pub on_fatal: OnFatal,
}
