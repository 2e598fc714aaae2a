//! The identity of a pattern.

use super::SPLITTER_VERSION;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A pattern's identity: the 128-bit hash of (splitter version, pattern bytes), verified by the bytes where two meet.
///
/// Its text form is 32 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct PatternHash(pub u128);

impl PatternHash {
    /// The hash of a pattern of this version's splitter: XXH3 with 128 bits, seeded with the version.
    #[must_use]
    pub fn of(pattern: &[u8]) -> Self {
        Self(xxhash_rust::xxh3::xxh3_128_with_seed(pattern, u64::from(SPLITTER_VERSION)))
    }
}

impl fmt::Display for PatternHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
