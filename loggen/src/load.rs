//! How many lines are written when: a day's rhythm, bursts, incidents.

use crate::catalog::{Section, ServiceId, service_id};
use crate::incident::PlacedIncident;
use crate::rng::{Rng, mix};

/// Traffic of each hour of a day (UTC), in 1,000ths of the mean: people sleep, look at lunch time, and buy in the evening.
const RHYTHM_PERMILLE: [u64; 24] = [
    420, 310, 260, 240, 250, 330, 520, 780, 980, 1_080, 1_140, 1_210, 1_290, 1_230, 1_160, 1_150, 1_190, 1_300, 1_480, 1_640, 1_700, 1_520, 1_090,
    680,
];

const HOUR_US: i64 = 3_600 * 1_000_000;

/// How finely a span is divided. A day has one part a second.
const TICKS_MAX: i64 = 100_000;

/// A workload writes more than usual, and other lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wave {
    pub(crate) service: ServiceId,
    pub(crate) section: Section,
    pub(crate) from_us: i64,
    pub(crate) to_us: i64,
    /// In 1,000ths of all normal lines.
    pub(crate) share_permille: u64,
}

/// The lines over time.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    start_us: i64,
    tick_us: i64,
    /// The sum of the weights before each tick, and after the last.
    sums: Vec<u64>,
    /// The tick of the last question.
    tick: usize,
    pub(crate) waves: Vec<Wave>,
}

impl Load {
    pub(crate) fn new(seed: u64, start_us: i64, span_us: i64, incidents: &[PlacedIncident]) -> Self {
        let waves = waves(seed, start_us, span_us, incidents);
        let tick_us = (span_us / TICKS_MAX).max(1_000_000).min(span_us);
        let ticks = (span_us / tick_us).max(1);
        let mut sums = Vec::with_capacity(ticks as usize + 1);
        let mut sum = 0;
        sums.push(sum);
        for tick in 0..ticks {
            let time_us = start_us + tick * tick_us;
            let extra: u64 = waves.iter().filter(|wave| wave.from_us <= time_us && time_us < wave.to_us).map(|wave| wave.share_permille).sum();
            let noise = 850 + mix(seed ^ mix(tick.unsigned_abs())) % 300;
            sum += rhythm(time_us) * (1_000 + extra) * noise / 1_000;
            sums.push(sum);
        }
        Self { start_us, tick_us, sums, tick: 0, waves }
    }

    /// The time of line `line` of `lines`, with chance between it and the next. Lines must be asked for in order.
    pub(crate) fn time_us(&mut self, line: u64, lines: u64, rng: &mut Rng) -> i64 {
        let total = self.sums.last().copied().unwrap_or(1);
        let share = |line: u64| (u128::from(total) * u128::from(line) / u128::from(lines)) as u64;
        let target = share(line) + rng.below(share(line + 1) - share(line));
        while self.tick + 2 < self.sums.len() && self.sums[self.tick + 1] <= target {
            self.tick += 1;
        }
        let (before, after) = (self.sums[self.tick], self.sums[self.tick + 1]);
        let within = u128::from(self.tick_us.unsigned_abs()) * u128::from(target - before) / u128::from(after - before);
        self.start_us + self.tick as i64 * self.tick_us + within as i64
    }
}

fn rhythm(time_us: i64) -> u64 {
    let hour = time_us.div_euclid(HOUR_US).rem_euclid(24) as usize;
    let within = time_us.rem_euclid(HOUR_US).unsigned_abs();
    let (here, next) = (RHYTHM_PERMILLE[hour], RHYTHM_PERMILLE[(hour + 1) % 24]);
    (here * (HOUR_US.unsigned_abs() - within) + next * within) / HOUR_US.unsigned_abs()
}

fn waves(seed: u64, start_us: i64, span_us: i64, incidents: &[PlacedIncident]) -> Vec<Wave> {
    let mut waves: Vec<Wave> = Vec::new();
    for incident in incidents {
        waves.extend(incident.spec.storms.iter().map(|storm| Wave {
            service: storm.service,
            section: storm.section,
            from_us: incident.at_us(storm.from_permille),
            to_us: incident.at_us(storm.to_permille),
            share_permille: storm.share_permille,
        }));
    }
    // Crawlers and password guessers come when they like, twice a day each.
    let mut rng = Rng::fork(seed, 2);
    for (service, share_permille) in [(service_id("shop", "ingress-nginx"), 500), (service_id("platform", "auth"), 120)] {
        for half in 0..2 {
            let from_us = start_us + half * span_us / 2 + rng.below(span_us.unsigned_abs() * 4 / 10) as i64;
            let to_us = from_us + (span_us / 60).min(HOUR_US / 2);
            waves.push(Wave { service, section: Section::Burst, from_us, to_us, share_permille });
        }
    }
    // Nightly work.
    let day_us = 24 * HOUR_US;
    let mut midnight_us = start_us.div_euclid(day_us) * day_us;
    while midnight_us < start_us + span_us {
        for (service, hour, hours, share_permille) in [(service_id("analytics", "etl"), 1, 2, 160), (service_id("platform", "backup"), 2, 1, 12)] {
            let from_us = midnight_us + hour * HOUR_US;
            waves.push(Wave { service, section: Section::Burst, from_us, to_us: from_us + hours * HOUR_US, share_permille });
        }
        midnight_us += day_us;
    }
    waves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_spread_over_the_span_in_order() {
        let (start_us, span_us) = (1_767_225_600_000_000, 24 * HOUR_US);
        let mut load = Load::new(3, start_us, span_us, &[]);
        let mut rng = Rng::new(1);
        let times: Vec<i64> = (0..50_000).map(|line| load.time_us(line, 50_000, &mut rng)).collect();
        assert!(times.is_sorted());
        assert!(times[0] >= start_us && times[49_999] < start_us + span_us);
        let in_hour = |hour: i64| times.iter().filter(|time| (*time - start_us) / HOUR_US == hour).count();
        assert!(in_hour(20) > 3 * in_hour(4), "evenings are busy: {} and {}", in_hour(20), in_hour(4));
    }

    #[test]
    fn a_span_shorter_than_a_tick_is_enough() {
        let mut load = Load::new(3, 0, 1_000, &[]);
        let mut rng = Rng::new(1);
        assert!((0..10).all(|line| (0..1_000).contains(&load.time_us(line, 10, &mut rng))));
    }
}
