//! The network: which ways are cut, and what becomes of a message on one that is not.

use crate::rng::Rng;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// What the network is like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Weather {
    /// How long a message takes, in milliseconds.
    pub delay_ms: RangeInclusive<u64>,
    /// Of a thousand messages, so many take `late_ms` instead. Messages overtake each other.
    pub late_permille: u64,
    /// How long those take.
    pub late_ms: RangeInclusive<u64>,
    /// Of a thousand messages, so many are lost.
    pub lost_permille: u64,
    /// Of a thousand requests, so many are delivered twice. Only the first delivery is answered.
    pub twice_permille: u64,
}

impl Weather {
    /// A network that works.
    #[must_use]
    pub const fn calm() -> Self {
        Self { delay_ms: 0..=2, late_permille: 0, late_ms: 0..=0, lost_permille: 0, twice_permille: 0 }
    }
}

/// The network of a group.
#[derive(Debug)]
pub struct Net {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    rng: Rng,
    weather: Weather,
    /// Ways that are cut, one direction each.
    cuts: BTreeSet<(u64, u64)>,
    messages: u64,
}

impl Net {
    /// A network that works.
    #[must_use]
    pub const fn new(rng: Rng) -> Self {
        Self { state: Mutex::new(State { rng, weather: Weather::calm(), cuts: BTreeSet::new(), messages: 0 }) }
    }

    /// The number of the next message.
    pub fn number(&self) -> u64 {
        let mut state = self.state.lock();
        state.messages += 1;
        state.messages
    }

    /// Changes the weather.
    pub fn set_weather(&self, weather: Weather) {
        self.state.lock().weather = weather;
    }

    /// Cuts one direction.
    pub fn cut(&self, from: u64, to: u64) {
        self.state.lock().cuts.insert((from, to));
    }

    /// Cuts both directions between the members of two sides.
    pub fn split(&self, one: &[u64], other: &[u64]) {
        for (a, b) in one.iter().flat_map(|a| other.iter().map(move |b| (*a, *b))).filter(|(a, b)| a != b) {
            self.cut(a, b);
            self.cut(b, a);
        }
    }

    /// Mends all ways.
    pub fn heal(&self) {
        self.state.lock().cuts.clear();
    }

    /// Whether a way is cut.
    pub fn is_cut(&self, from: u64, to: u64) -> bool {
        self.state.lock().cuts.contains(&(from, to))
    }

    /// How long a message takes on a way; `None` when it is lost.
    pub fn delay_ms(&self, from: u64, to: u64) -> Option<u64> {
        let mut state = self.state.lock();
        if state.cuts.contains(&(from, to)) {
            return None;
        }
        let State { rng, weather, .. } = &mut *state;
        if rng.chance(weather.lost_permille) {
            return None;
        }
        Some(if rng.chance(weather.late_permille) { rng.within(&weather.late_ms) } else { rng.within(&weather.delay_ms) })
    }

    /// Whether a request is delivered twice.
    pub fn is_twice(&self) -> bool {
        let mut state = self.state.lock();
        let permille = state.weather.twice_permille;
        state.rng.chance(permille)
    }
}
