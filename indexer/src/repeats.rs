//! Which of many alike messages are worth a line in the log.

use parking_lot::Mutex;
use siltstone_core::pattern::{PatternHash, Split, split};

/// Tells a message from the one before by its pattern, so that other numbers and keys do not make it another one.
#[derive(Debug)]
pub(crate) struct Repeats {
    last: Mutex<Option<(PatternHash, u64)>>,
}

impl Repeats {
    pub(crate) const fn new() -> Self {
        Self { last: Mutex::new(None) }
    }

    /// How often this message has come in a row, when that is worth a line: the first time, the tenth, the hundredth and so on.
    pub(crate) fn worth_a_line(&self, message: &str) -> Option<u64> {
        let mut parts = Split::default();
        split(message.as_bytes(), &mut parts);
        let pattern = PatternHash::of(parts.pattern());
        let mut last = self.last.lock();
        let count = match *last {
            Some((known, count)) if known == pattern => count + 1,
            _ => 1,
        };
        *last = Some((pattern, count));
        (10_u64.pow(count.ilog10()) == count).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_the_tenth_and_the_hundredth_are_told_and_another_message_begins_anew() {
        let repeats = Repeats::new();
        let told: Vec<_> = (0..150).filter_map(|number| repeats.worth_a_line(&format!("put v1/{number:016x}: no space left"))).collect();
        assert_eq!(told, [1, 10, 100]);
        assert_eq!(repeats.worth_a_line("the net is gone"), Some(1));
        assert_eq!(repeats.worth_a_line("put v1/0000000000000001: no space left"), Some(1));
    }
}
