//! Whether the object store takes writes, as far as writing has shown. For health checks.

use parking_lot::Mutex;
use siltstone_store::{Fault, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A refusal is believed for so long; then senders may try again, and show whether it still holds.
const BELIEVED: Duration = Duration::from_secs(30);

/// Why no write succeeds at present.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StorageTrouble {
    /// What the store said.
    pub cause: String,
    /// Whether only a new start of the process can mend it.
    pub is_for_good: bool,
}

/// What the last writes to the store came to. Cheap to clone; clones share it.
#[derive(Clone, Debug)]
pub(super) struct StorageHealth {
    last: Arc<Mutex<Option<(StorageTrouble, Instant)>>>,
    believed: Duration,
}

impl Default for StorageHealth {
    fn default() -> Self {
        Self { last: Arc::default(), believed: BELIEVED }
    }
}

impl StorageHealth {
    /// The trouble, if writes were refused lately and none has succeeded since.
    pub(super) fn trouble(&self) -> Option<StorageTrouble> {
        let last = self.last.lock();
        last.as_ref().filter(|(trouble, at)| trouble.is_for_good || at.elapsed() < self.believed).map(|(trouble, _)| trouble.clone())
    }

    /// Learns from a write.
    pub(super) fn learn(&self, put: Result<(), &StoreError>) {
        let mut last = self.last.lock();
        if last.as_ref().is_some_and(|(trouble, _)| trouble.is_for_good) {
            return;
        }
        *last = put.err().map(|error| {
            let is_for_good = matches!(error.fault, Fault::Stopped { .. });
            (StorageTrouble { cause: error.to_string(), is_for_good }, Instant::now())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use siltstone_store::Operation;

    #[test]
    fn a_refusal_is_forgotten_with_the_next_success_or_after_a_while_unless_it_is_for_good() {
        let health = StorageHealth::default();
        let full = Fault::Full { place: "/data".to_owned(), detail: "no space".to_owned() }.at(Operation::Put, &"k");
        health.learn(Err(&full));
        assert!(health.trouble().is_some_and(|trouble| !trouble.is_for_good && trouble.cause.contains("/data")));
        health.learn(Ok(()));
        assert_eq!(health.trouble(), None);
        let health = StorageHealth { believed: Duration::ZERO, ..health };
        health.learn(Err(&full));
        assert_eq!(health.trouble(), None, "senders may try again");
        let stopped = Fault::Stopped { place: "/data".to_owned(), detail: "medium error".to_owned() }.at(Operation::Put, &"k");
        health.learn(Err(&stopped));
        health.learn(Ok(()));
        assert!(health.trouble().is_some_and(|trouble| trouble.is_for_good));
    }
}
