//! Stores that wrap another store, one concern each.

mod prefix;

pub use prefix::PrefixStore;
