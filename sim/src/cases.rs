//! Named cases: a topology or a fault that was somebody's undoing, with what must come of it. The seed draws the details.

use crate::audit;
use crate::checks::Failure;
use crate::event;
use crate::faults::Faults;
use crate::rng::{Rng, Stream};
use crate::workload::Client;
use crate::world::World;
use siltstone_core::ErrorKind;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// How long a group may take to elect at first.
const BOOT_MS: u64 = 10_000;

/// What happens in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Case {
    /// Faults of all kinds, by chance.
    #[default]
    Random,
    /// Of five members the old leader reaches one alone, which the others reach too (openraft issue 2080): they must elect.
    Bridge,
    /// A leader whose messages arrive, and who hears nothing.
    DeafLeader,
    /// A leader who hears all, and of whom nothing arrives.
    MuteLeader,
    /// A leader whose disk takes 100 ms for a sync: no election.
    SlowDisk,
    /// A leader whose disk hangs loses the lead within two election timeouts.
    StuckDisk,
    /// A leader is killed: writes go on within three seconds.
    KilledLeader,
    /// All members lose power at once, again and again.
    Blackout,
    /// A follower is cut off, comes back, and deposes nobody.
    Returning,
    /// The leader becomes the only voter while clients write, and loses power: what it counted before its disk had it would be lost.
    Shrinking,
    /// A disk loses power at its n-th operation, from its first on: neighbouring seeds take neighbouring operations.
    EachOperation,
}

impl Case {
    /// All cases.
    pub const ALL: [Self; 11] = [
        Self::Random,
        Self::Bridge,
        Self::DeafLeader,
        Self::MuteLeader,
        Self::SlowDisk,
        Self::StuckDisk,
        Self::KilledLeader,
        Self::Blackout,
        Self::Returning,
        Self::Shrinking,
        Self::EachOperation,
    ];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Bridge => "bridge",
            Self::DeafLeader => "deaf-leader",
            Self::MuteLeader => "mute-leader",
            Self::SlowDisk => "slow-disk",
            Self::StuckDisk => "stuck-disk",
            Self::KilledLeader => "killed-leader",
            Self::Blackout => "blackout",
            Self::Returning => "returning",
            Self::Shrinking => "shrinking",
            Self::EachOperation => "each-operation",
        }
    }

    /// How many members it needs; `None` where any number does.
    #[must_use]
    pub const fn members(self) -> Option<u64> {
        match self {
            Self::Bridge => Some(5),
            _ => None,
        }
    }

    /// Plays it. What goes wrong is noted in the world.
    pub async fn play(self, world: &Arc<World>) {
        if self == Self::Random {
            Faults::new(world).run().await;
            return;
        }
        let mut stage = Stage { world: world.clone(), rng: Rng::new(world.seed, Stream::Faults, 1), client: Client::new(world, 1_000) };
        if self == Self::EachOperation {
            // Before anything is written.
            world.members[&(1 + world.seed % world.plan.members)].crash_at_operation(1 + world.seed / world.plan.members);
            stage.begin().await;
            // The operation comes within this, as often as not while its member leads: then nobody does for a while.
            tokio::time::sleep(Duration::from_secs(6)).await;
            return;
        }
        let Some(leader) = stage.boot().await else { return };
        match self {
            Self::Random | Self::EachOperation => {}
            Self::Bridge => stage.bridge(leader).await,
            Self::DeafLeader => stage.one_way(leader, false).await,
            Self::MuteLeader => stage.one_way(leader, true).await,
            Self::SlowDisk => stage.slow_disk(leader).await,
            Self::StuckDisk => stage.stuck_disk(leader).await,
            Self::KilledLeader => stage.killed_leader(leader).await,
            Self::Blackout => stage.blackout().await,
            Self::Returning => stage.returning(leader).await,
            Self::Shrinking => stage.shrinking(leader).await,
        }
    }
}

/// What a case works with.
struct Stage {
    world: Arc<World>,
    rng: Rng,
    client: Client,
}

impl Stage {
    async fn begin(&mut self) {
        self.set_disks(0..=3);
        self.commit_within(BOOT_MS, "after the start").await;
    }

    async fn boot(&mut self) -> Option<u64> {
        self.begin().await;
        // The founder of the group may have been another than who leads now.
        tokio::time::sleep(Duration::from_millis(500 + self.rng.below(2_000))).await;
        let leader = self.world.leader();
        if leader.is_none() {
            self.world.fail(Failure::new("LV-1", "a group without faults has no leader"));
        }
        leader
    }

    fn set_disks(&self, latency_ms: RangeInclusive<u64>) {
        self.world.members.values().for_each(|member| member.pace.set(latency_ms.clone()));
    }

    fn others(&self, leader: u64) -> Vec<u64> {
        self.world.plan.ids().into_iter().filter(|id| *id != leader).collect()
    }

    /// Something is committed within a time.
    async fn commit_within(&mut self, limit_ms: u64, when: &str) {
        let begin_ms = self.world.trace.now_ms();
        let committed = async {
            while !self.client.probe().await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(Duration::from_millis(limit_ms), committed).await {
            Ok(()) => event!(self.world.trace, "committed {} ms {when}", self.world.trace.now_ms() - begin_ms),
            Err(_) => self.world.fail(Failure::new("LV-1", format!("nothing was committed within {limit_ms} ms {when}"))),
        }
    }

    /// Another leads within a time.
    async fn other_leads_within(&self, old: u64, limit_ms: u64, when: &str) {
        let other_leads = async {
            while self.world.leader().is_none_or(|leader| leader == old) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(Duration::from_millis(limit_ms), other_leads).await.is_err() {
            self.world.fail(Failure::new("LV-1", format!("member {old} has no successor within {limit_ms} ms {when}")));
        }
    }

    async fn bridge(&mut self, leader: u64) {
        let mut others = self.others(leader);
        self.rng.shuffle(&mut others);
        let bridge = others.remove(0);
        event!(self.world.trace, "case: {leader} reaches {bridge} alone, {others:?} reach {bridge}");
        self.world.net.split(&[leader], &others);
        if self.rng.chance(500) {
            // Then the bridge is needed for every quorum.
            let lost = others.remove(0);
            event!(self.world.trace, "case: {lost} is cut off");
            self.world.net.split(&[lost], &self.world.plan.ids());
        }
        let limit_ms = 4 * self.world.plan.config(1).election_ms_max;
        self.other_leads_within(leader, limit_ms, "behind a bridge").await;
        self.commit_within(limit_ms, "behind a bridge").await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        self.commit_within(limit_ms, "later behind a bridge").await;
    }

    async fn one_way(&mut self, leader: u64, is_mute: bool) {
        for other in self.others(leader) {
            let (from, to) = if is_mute { (leader, other) } else { (other, leader) };
            self.world.net.cut(from, to);
        }
        let limit_ms = 4 * self.world.plan.config(1).election_ms_max;
        self.other_leads_within(leader, limit_ms, "after one direction was cut").await;
        self.commit_within(limit_ms, "after one direction was cut").await;
    }

    async fn slow_disk(&mut self, leader: u64) {
        let victim = if self.rng.chance(500) { leader } else { *self.rng.pick(&self.others(leader)) };
        let leaders = self.world.log.lock().leaders();
        event!(self.world.trace, "case: the disk of {victim} takes 100 ms for a sync");
        self.world.members[&victim].pace.set(100..=100);
        for _ in 0..20 {
            self.commit_within(2_000, "with a slow disk").await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        if self.world.log.lock().leaders() != leaders {
            self.world.fail(Failure::new("LV-1", format!("a disk of member {victim} that takes 100 ms caused an election; member {leader} led")));
        }
    }

    async fn stuck_disk(&mut self, leader: u64) {
        event!(self.world.trace, "case: the disk of {leader} hangs");
        self.world.members[&leader].pace.stick();
        // The clients' writes keep the disk busy: one that nobody asks hangs unseen.
        let limit_ms = 2 * self.world.plan.config(1).election_ms_max + self.world.plan.think_ms.end();
        self.other_leads_within(leader, limit_ms, "after its disk hung").await;
        self.commit_within(limit_ms, "after the leader's disk hung").await;
        tokio::time::sleep(Duration::from_millis(self.rng.below(8_000))).await;
    }

    async fn killed_leader(&mut self, leader: u64) {
        let member = &self.world.members[&leader];
        member.set_may_run(self.rng.chance(500));
        member.crash("it is killed");
        self.commit_within(3_000, "after the leader was killed").await;
    }

    async fn blackout(&mut self) {
        for _ in 0..4 {
            self.world.members.values().for_each(|member| member.crash("all lose power"));
            tokio::time::sleep(Duration::from_millis(100 + self.rng.below(3_000))).await;
        }
        let limit_ms = self.world.plan.down_ms.end() + BOOT_MS;
        self.commit_within(limit_ms, "after the power came back").await;
    }

    async fn returning(&mut self, leader: u64) {
        let victim = *self.rng.pick(&self.others(leader));
        event!(self.world.trace, "case: {victim} is cut off");
        self.world.net.split(&[victim], &self.world.plan.ids());
        tokio::time::sleep(Duration::from_millis(3_000 + self.rng.below(5_000))).await;
        let leaders = self.world.log.lock().leaders();
        self.world.net.heal();
        tokio::time::sleep(Duration::from_secs(5)).await;
        if self.world.log.lock().leaders() != leaders {
            self.world.fail(Failure::new("LV-1", format!("member {victim} came back and caused an election; member {leader} led")));
        }
    }

    async fn shrinking(&mut self, leader: u64) {
        let member = &self.world.members[&leader];
        let Some((_, node)) = self.world.running(leader) else { return };
        // A long time between an entry that the log has and one that the disk has.
        member.pace.set(10..=60);
        let voters = BTreeSet::from([leader]);
        let change = {
            let (node, voters) = (node.clone(), voters.clone());
            tokio::spawn(async move {
                while node.change_voters(&voters).await.is_err_and(|error| error.kind() == ErrorKind::Unavailable) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            })
        };
        let is_alone = || node.raft().metrics().borrow().membership_config.voter_ids().eq(voters.iter().copied());
        let shrunk = async {
            while !is_alone() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        // An earlier leader may have come back meanwhile; then there is nothing to see.
        let has_shrunk = tokio::time::timeout(Duration::from_secs(3), shrunk).await.is_ok();
        event!(self.world.trace, "case: {leader} is the only voter: {has_shrunk}");
        for _ in 0..self.rng.below(60) {
            self.world.require(audit::look(&self.world, &mut self.rng));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        member.crash("the only voter loses power");
        member.pace.set(0..=3);
        change.abort();
        self.commit_within(self.world.plan.down_ms.end() + BOOT_MS, "after the only voter came back").await;
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|case| case.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.into_iter().map(Self::name).collect();
            format!("there is no case {name:?}; there are {}", names.join(", "))
        })
    }
}
