//! What a run is like: drawn from the seed alone, before anything happens. Each run has only some kinds of faults ("swarm testing", Groce et al.
//! 2012): all at once would hide each other.

use crate::net::Weather;
use crate::rng::{Rng, Stream};
use siltstone_metadata::NodeConfig;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A kind of fault that a run may have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FaultKind {
    /// A member is cut off from all others.
    Isolate,
    /// One direction between two members is cut, or all that one member sends, or all that it should hear.
    OneWay,
    /// The members are split into two sides.
    Split,
    /// Two sides, and one member that both reach.
    Bridge,
    /// A member crashes at a moment.
    Crash,
    /// A member crashes during one of its next disk operations.
    CrashAtIo,
    /// All members crash at once.
    CrashAll,
    /// A disk gets slow.
    SlowDisk,
    /// A disk hangs.
    StuckDisk,
    /// A wall clock jumps.
    ClockJump,
    /// Messages are lost, late, doubled, in another order.
    BadWeather,
    /// The leader is told to hand the lead over.
    Transfer,
    /// Members come and go.
    Membership,
}

impl FaultKind {
    /// All kinds.
    pub const ALL: [Self; 13] = [
        Self::Isolate,
        Self::OneWay,
        Self::Split,
        Self::Bridge,
        Self::Crash,
        Self::CrashAtIo,
        Self::CrashAll,
        Self::SlowDisk,
        Self::StuckDisk,
        Self::ClockJump,
        Self::BadWeather,
        Self::Transfer,
        Self::Membership,
    ];
}

/// What a run is like.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Members, numbered from 1.
    pub members: u64,
    /// Members that may be taken in later; their numbers follow.
    pub spares: u64,
    /// Clients.
    pub clients: u64,
    /// Jobs, and as many settings, that clients share.
    pub objects: u64,
    /// How long clients think between calls, in milliseconds.
    pub think_ms: RangeInclusive<u64>,
    /// How long faults go on, in milliseconds.
    pub chaos_ms: u64,
    /// The kinds of faults.
    pub faults: Vec<FaultKind>,
    /// The time between faults.
    pub gap_ms: RangeInclusive<u64>,
    /// The network between faults.
    pub weather: Weather,
    /// How long syncs take between faults.
    pub disk_ms: RangeInclusive<u64>,
    /// How long a member stays down after a crash.
    pub down_ms: RangeInclusive<u64>,
    /// Members' settings, but for their numbers.
    config: NodeConfig,
}

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn of(seed: u64, members: Option<u64>) -> Self {
        let mut rng = Rng::new(seed, Stream::Plan, 0);
        let drawn = if rng.chance(700) { 3 } else { 5 };
        let permille = 150 + rng.below(600);
        let mut faults = rng.some(&FaultKind::ALL, permille);
        if faults.is_empty() {
            faults.push(*rng.pick(&FaultKind::ALL));
        }
        let disk = [0..=1, 0..=5, 1..=30, 20..=100];
        let weather = Weather {
            delay_ms: rng.pick(&[0..=1, 0..=5, 1..=30]).clone(),
            late_permille: *rng.pick(&[0, 0, 20]),
            late_ms: 50..=600,
            lost_permille: *rng.pick(&[0, 0, 10]),
            twice_permille: *rng.pick(&[0, 20]),
        };
        let members = members.unwrap_or(drawn);
        let mut config = NodeConfig::member(1, (1..=members).map(|id| (id, format!("member-{id}"))).collect());
        // Small, so that snapshots, purges and new files of the log happen all the time.
        config.snapshot_entries = *rng.pick(&[8, 30, 200]);
        config.log_entries_kept = *rng.pick(&[0, 5, 50]);
        config.wal.segment_bytes_max = *rng.pick(&[1_000, 4_000, 64_000]);
        config.propose_ms_max = 3_000;
        config.stall_ms_fatal = 4_000;
        // Clients renew nothing; whose epoch is fenced is theirs to say.
        config.lease_ms = 86_400_000;
        let gap_max = *rng.pick(&[200, 1_000, 3_000]);
        let spares = if faults.contains(&FaultKind::Membership) { 3 } else { 0 };
        Self {
            members,
            spares,
            clients: 2 + rng.below(4),
            objects: 1 + rng.below(3),
            think_ms: rng.pick(&[0..=20, 10..=100, 50..=400]).clone(),
            chaos_ms: 6_000 + rng.below(10_000),
            faults,
            gap_ms: 20..=gap_max,
            weather,
            disk_ms: rng.pick(&disk).clone(),
            down_ms: 0..=*rng.pick(&[100, 1_000, 4_000]),
            config,
        }
    }

    /// The numbers of the group's first members.
    #[must_use]
    pub fn ids(&self) -> Vec<u64> {
        (1..=self.members).collect()
    }

    /// The numbers of members that may be taken in later.
    #[must_use]
    pub fn spare_ids(&self) -> Vec<u64> {
        (self.members + 1..=self.members + self.spares).collect()
    }

    /// A member's settings. One that is taken in later knows nobody.
    #[must_use]
    pub fn config(&self, id: u64) -> NodeConfig {
        let members = if id > self.members { BTreeMap::new() } else { self.config.members.clone() };
        NodeConfig { node_id: id, members, ..self.config.clone() }
    }
}
