//! What went wrong in the background, for whoever asks for the status. The log has it too.

use crate::repeats::Repeats;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Problems that are kept; a person reads no more.
const KEPT: usize = 20;

/// A problem that has not come again for so long is over: background work is tried again every minute or more often.
const OVER_AFTER: Duration = Duration::from_secs(600);

/// The latest problems.
#[derive(Clone)]
pub struct Problems {
    inner: Arc<Inner>,
}

struct Inner {
    latest: Mutex<VecDeque<Problem>>,
    logged: Repeats,
    over_after: Duration,
}

struct Problem {
    text: String,
    count: u64,
    last_seen: Instant,
    is_lasting: bool,
}

impl Default for Problems {
    fn default() -> Self {
        Self::forgotten_after(OVER_AFTER)
    }
}

impl Problems {
    fn forgotten_after(over_after: Duration) -> Self {
        Self { inner: Arc::new(Inner { latest: Mutex::default(), logged: Repeats::new(), over_after }) }
    }

    /// Notes a problem. One that repeats is counted, not listed again, and one that does not is forgotten after ten minutes.
    pub fn note(&self, error: &dyn Display) {
        self.add(error.to_string(), false);
    }

    /// Notes a problem that stays until the process ends: time does not mend it.
    pub fn note_lasting(&self, error: &dyn Display) {
        self.add(error.to_string(), true);
    }

    fn add(&self, text: String, is_lasting: bool) {
        if let Some(times) = self.inner.logged.worth_a_line(&text) {
            tracing::error!(error = text, times, "in the background");
        }
        let mut latest = self.inner.latest.lock();
        let known = latest.iter().position(|known| known.text == text).and_then(|at| latest.remove(at));
        let count = known.map_or(0, |known| known.count) + 1;
        latest.push_front(Problem { text, count, last_seen: Instant::now(), is_lasting });
        latest.truncate(KEPT);
    }

    /// The latest problems that are not over, newest first, each with how often and when it last came.
    #[must_use]
    pub fn latest(&self) -> Vec<String> {
        let mut latest = self.inner.latest.lock();
        latest.retain(|problem| problem.is_lasting || problem.last_seen.elapsed() < self.inner.over_after);
        latest.iter().map(Problem::line).collect()
    }
}

impl Problem {
    fn line(&self) -> String {
        let Self { text, count, last_seen, is_lasting } = self;
        let times = if *count == 1 { String::new() } else { format!("{count} times, ") };
        if *is_lasting { text.clone() } else { format!("{text} ({times}last seen {} s ago)", last_seen.elapsed().as_secs()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_is_counted_and_the_newest_comes_first() {
        let problems = Problems::default();
        for text in ["disk", "net", "disk"] {
            problems.note(&text);
        }
        let latest = problems.latest();
        assert!(latest.len() == 2 && latest[0].starts_with("disk (2 times, last seen ") && latest[1].starts_with("net (last seen "), "{latest:?}");
        (0..100).for_each(|number| problems.note(&number));
        assert_eq!(problems.latest().len(), KEPT);
    }

    #[test]
    fn what_is_over_goes_away_and_what_lasts_stays() {
        let problems = Problems::forgotten_after(Duration::ZERO);
        problems.note(&"disk");
        problems.note_lasting(&"entries are missing");
        assert_eq!(problems.latest(), ["entries are missing"]);
    }
}
