//! What breaks, when, and for how long: drawn from the seed.

mod members;

use crate::event;
use crate::net::Weather;
use crate::plan::FaultKind;
use crate::rng::{Rng, Stream};
use crate::world::{Standing, World};
use siltstone_metadata::MetadataNode;
use std::sync::Arc;
use std::time::Duration;

/// Syncs of a disk that works.
const CALM_DISK_MS: std::ops::RangeInclusive<u64> = 0..=2;

/// Faults of one run.
pub struct Faults {
    world: Arc<World>,
    rng: Rng,
}

impl Faults {
    /// The faults of a run.
    #[must_use]
    pub fn new(world: &Arc<World>) -> Self {
        Self { world: world.clone(), rng: Rng::new(world.seed, Stream::Faults, 0) }
    }

    /// Breaks things for as long as the plan says.
    pub async fn run(&mut self) {
        let world = self.world.clone();
        world.net.set_weather(world.plan.weather.clone());
        let end_ms = world.trace.now_ms() + world.plan.chaos_ms;
        while world.trace.now_ms() < end_ms {
            tokio::time::sleep(Duration::from_millis(self.rng.within(&world.plan.gap_ms))).await;
            if self.rng.chance(350) {
                self.ease();
            } else {
                let kind = *self.rng.pick(&world.plan.faults);
                self.inflict(kind);
            }
        }
    }

    /// One kind of fault ends.
    fn ease(&mut self) {
        let world = self.world.clone();
        match self.rng.below(4) {
            0 | 1 => {
                event!(world.trace, "fault: the network heals");
                world.net.heal();
            }
            2 => {
                event!(world.trace, "fault: disks are as they were");
                world.members.values().for_each(|member| member.pace.set(world.plan.disk_ms.clone()));
            }
            _ => {
                event!(world.trace, "fault: the weather is as it was");
                world.net.set_weather(world.plan.weather.clone());
            }
        }
    }

    /// A member: more often than by chance the one that leads.
    fn victim(&mut self) -> u64 {
        let any = *self.rng.pick(&self.world.ids());
        let prefers_leader = self.rng.chance(400);
        self.world.leader().filter(|_| prefers_leader).unwrap_or(any)
    }

    fn inflict(&mut self, kind: FaultKind) {
        let world = self.world.clone();
        let victim = self.victim();
        let member = &world.members[&victim];
        let mut ids = world.ids();
        match kind {
            FaultKind::Isolate => {
                event!(world.trace, "fault: {victim} is cut off");
                world.net.split(&[victim], &ids);
            }
            FaultKind::OneWay => self.cut_one_way(victim, &ids),
            FaultKind::Split => {
                self.rng.shuffle(&mut ids);
                let cut = 1 + usize::try_from(self.rng.below(ids.len() as u64 - 1)).expect("a few");
                let (one, other) = ids.split_at(cut);
                event!(world.trace, "fault: {one:?} and {other:?} are split");
                world.net.split(one, other);
            }
            FaultKind::Bridge => {
                ids.retain(|id| *id != victim);
                self.rng.shuffle(&mut ids);
                let (one, other) = ids.split_at(ids.len() / 2);
                event!(world.trace, "fault: only {victim} joins {one:?} and {other:?}");
                world.net.split(one, other);
            }
            FaultKind::Crash => member.crash("it is killed"),
            FaultKind::CrashAtIo => {
                let nth = 1 + self.rng.below(12);
                event!(world.trace, "fault: the disk of {victim} loses power at operation {nth} from now");
                member.crash_at_operation(nth);
            }
            FaultKind::CrashAll => {
                event!(world.trace, "fault: all crash");
                world.members.values().for_each(|member| member.crash("all are killed"));
            }
            FaultKind::SlowDisk => {
                let latency_ms = self.rng.pick(&[20..=60, 100..=100, 50..=300, 300..=900]).clone();
                event!(world.trace, "fault: the disk of {victim} takes {latency_ms:?} ms");
                member.pace.set(latency_ms);
            }
            FaultKind::StuckDisk => {
                event!(world.trace, "fault: the disk of {victim} hangs");
                member.pace.stick();
                let (member, trace_world, hang_ms) = (member.clone(), world.clone(), self.rng.within(&(100..=6_000)));
                drop(tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(hang_ms)).await;
                    event!(trace_world.trace, "fault: the disk of {victim} hangs no more");
                    member.pace.set(trace_world.plan.disk_ms.clone());
                }));
            }
            FaultKind::ClockJump => {
                let range_ms = *self.rng.pick(&[500, 60_000, 86_400_000]);
                let by_ms = i64::try_from(self.rng.below(2 * range_ms)).expect("days") - i64::try_from(range_ms).expect("days");
                event!(world.trace, "fault: the clock of {victim} jumps by {by_ms} ms");
                member.clock.jump_ms(by_ms);
            }
            FaultKind::BadWeather => self.change_weather(),
            FaultKind::Transfer => transfer(&world),
            FaultKind::Membership => members::change(&world, &mut self.rng),
        }
    }

    fn cut_one_way(&mut self, victim: u64, ids: &[u64]) {
        let world = &self.world;
        let others = ids.iter().copied().filter(|id| *id != victim);
        match self.rng.below(3) {
            0 => {
                event!(world.trace, "fault: nothing from {victim} arrives");
                others.for_each(|other| world.net.cut(victim, other));
            }
            1 => {
                event!(world.trace, "fault: {victim} hears nothing");
                others.for_each(|other| world.net.cut(other, victim));
            }
            _ => {
                let others: Vec<u64> = others.collect();
                let other = *self.rng.pick(&others);
                event!(world.trace, "fault: nothing from {victim} arrives at {other}");
                world.net.cut(victim, other);
            }
        }
    }

    fn change_weather(&mut self) {
        let rng = &mut self.rng;
        let weather = Weather {
            delay_ms: rng.pick(&[0..=2, 1..=50, 50..=200]).clone(),
            late_permille: *rng.pick(&[0, 50, 200]),
            late_ms: 100..=3_000,
            lost_permille: *rng.pick(&[0, 20, 100, 400]),
            twice_permille: *rng.pick(&[0, 50, 300]),
        };
        event!(self.world.trace, "fault: the weather is {weather:?}");
        self.world.net.set_weather(weather);
    }
}

/// The leader hands the lead over.
fn transfer(world: &Arc<World>) {
    let Some((life, node)) = world.leader().and_then(|leader| world.running(leader)) else { return };
    event!(world.trace, "fault: {} hands the lead over", life.member);
    let world = world.clone();
    drop(tokio::spawn(async move { hand_over(&world, life.member, node).await }));
}

async fn hand_over(world: &World, member: u64, node: MetadataNode) {
    let is_done = node.leave().await;
    event!(world.trace, "{member} handed the lead over: {is_done}");
    node.stay();
}

/// Everything works from now on.
pub fn calm(world: &World) {
    event!(world.trace, "calm");
    world.net.heal();
    world.net.set_weather(Weather::calm());
    for member in world.members.values() {
        member.pace.set(CALM_DISK_MS);
        member.crash_at_operation(u64::MAX);
        member.clock.mend();
        if member.standing() == Standing::Inside {
            member.set_may_run(true);
        }
    }
}
