//! What is remembered of a producer, so that a keyed entry is found once (AK-2).

use serde::{Deserialize, Serialize};

/// Sequences that a producer may have un-acknowledged at once: of those further behind the newest it is not known whether they came, and they change
/// nothing.
pub const SEQUENCE_WINDOW: u64 = 64;

/// Who numbers its client batches, within a namespace.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ProducerKey {
    /// The authenticated caller.
    pub principal: String,
    /// The name that the caller gave.
    pub producer: String,
}

/// The newest sequence of a producer and a window of those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProducerState {
    /// The largest sequence that was accepted.
    pub last: u64,
    /// Bit `i`: sequence `last − i` was accepted. Bit 0 is always set.
    pub window: u64,
    /// State time of the last acceptance.
    pub updated_at_ms: i64,
}

impl ProducerState {
    /// The state after a first sequence.
    #[must_use]
    pub const fn first(sequence: u64, now_ms: i64) -> Self {
        Self { last: sequence, window: 1, updated_at_ms: now_ms }
    }

    /// Whether a sequence was accepted before, or lies too far behind to tell.
    #[must_use]
    pub const fn is_duplicate(&self, sequence: u64) -> bool {
        if sequence > self.last {
            return false;
        }
        let behind = self.last - sequence;
        behind >= SEQUENCE_WINDOW || self.window >> behind & 1 == 1
    }

    /// Notes a sequence that is no duplicate.
    pub fn accept(&mut self, sequence: u64, now_ms: i64) {
        assert!(!self.is_duplicate(sequence), "AK-2: sequence {sequence} was accepted before");
        if sequence > self.last {
            let ahead = sequence - self.last;
            self.window = if ahead < SEQUENCE_WINDOW { self.window << ahead | 1 } else { 1 };
            self.last = sequence;
        } else {
            self.window |= 1 << (self.last - sequence);
        }
        self.updated_at_ms = now_ms;
    }
}
