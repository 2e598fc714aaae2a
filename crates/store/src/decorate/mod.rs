//! Stores that wrap another store, one concern each. From the inside out a store is opened as: backend, prefix, counting, retry; so every
//! request is counted, the repeated ones too.

mod breaker;
mod counting;
#[cfg(any(test, feature = "internals"))]
mod faulty;
mod prefix;
mod retry;

pub use counting::{CountingStore, OperationCounts, StoreMetrics};
#[cfg(any(test, feature = "internals"))]
pub use faulty::{Effect, FaultRule, FaultyStore};
pub use prefix::PrefixStore;
pub use retry::{RetryPolicy, RetryStore};
