//! What went wrong in the background, for whoever asks for the status. The log has it too.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt::Display;
use std::sync::Arc;

/// Problems that are kept; a person reads no more.
const KEPT: usize = 20;

/// The latest problems.
#[derive(Clone, Default)]
pub struct Problems {
    latest: Arc<Mutex<VecDeque<(String, u64)>>>,
}

impl Problems {
    /// Notes a problem. One that repeats is counted, not listed again.
    pub fn note(&self, error: &dyn Display) {
        tracing::error!(%error, "in the background");
        let text = error.to_string();
        let mut latest = self.latest.lock();
        let count = match latest.iter().position(|(known, _)| *known == text) {
            Some(at) => latest.remove(at).map_or(1, |(_, count)| count + 1),
            None => 1,
        };
        latest.push_front((text, count));
        latest.truncate(KEPT);
    }

    /// The latest problems, newest first.
    #[must_use]
    pub fn latest(&self) -> Vec<String> {
        self.latest.lock().iter().map(|(text, count)| if *count == 1 { text.clone() } else { format!("{text} ({count} times)") }).collect()
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
        assert_eq!(problems.latest(), ["disk (2 times)", "net"]);
        (0..100).for_each(|number| problems.note(&number));
        assert_eq!(problems.latest().len(), KEPT);
    }
}
