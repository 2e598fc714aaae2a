//! The pattern split: a body into the words that stay and the tokens that vary, and back to the exact bytes.

use serde::{Deserialize, Serialize};

/// A pattern's identity: the 128-bit hash of (splitter version, pattern bytes), verified by the bytes where two meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PatternHash(pub u128);
