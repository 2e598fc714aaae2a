//! What a member is told at its start.

use crate::raft::error::FatalError;
use siltstone_core::{Clock, Incarnation};
use siltstone_disk::Disk;
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
    /// All members of a new group and their addresses, this one included. An existing group keeps the members that its log names.
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
    /// How long a proposal waits for its outcome before it is reported unknown.
    pub propose_ms_max: u64,
    /// A stall of the disk after which the member gives up leadership and does not campaign: half the shortest election timeout.
    pub stall_ms_yield: u64,
    /// A stall of the disk after which the process ends.
    pub stall_ms_fatal: u64,
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
            propose_ms_max: 10_000,
            stall_ms_yield: 400,
            stall_ms_fatal: 10_000,
            wal: WalConfig::default(),
        }
    }

    pub(crate) const fn propose_timeout(&self) -> Duration {
        Duration::from_millis(self.propose_ms_max)
    }
}

/// Told once when the process must end. It must not block: it may run on the log's thread.
pub type OnFatal = Arc<dyn Fn(&FatalError) + Send + Sync>;

/// What a member is built from.
pub struct NodeParts<N> {
    /// Where its log and snapshots lie.
    pub disk: Arc<dyn Disk>,
    /// Its directory there. Nobody else may use it: see `siltstone_disk::lock_dir`.
    pub dir: PathBuf,
    /// The clock that proposals carry.
    pub clock: Arc<dyn Clock>,
    /// The way to the other members.
    pub network: N,
    /// The life that a new group begins: a fresh random number, not 0. Ignored by a group that lives already.
    pub incarnation: Incarnation,
    /// Ends the process.
    pub on_fatal: OnFatal,
}
