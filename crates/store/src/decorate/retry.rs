//! Tries again what may succeed, for a bounded time, and stops asking where access is denied.
//!
//! Whether to try again is decided by the error's kind alone. Puts and deletes may be repeated, as each key is written once with one content.

use super::breaker::{Breaker, Change};
use crate::error::{Operation, StoreError};
use crate::key::ObjectKey;
use crate::object_store::{ListPage, ObjectStore};
use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// How often and how long to try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetryPolicy {
    /// Requests for one operation, the first included.
    pub attempts_max: u32,
    /// The wait before the second attempt; it doubles with each one.
    pub delay_first: Duration,
    /// The longest wait between two attempts, unless the store asks for a longer one.
    pub delay_max: Duration,
    /// No new attempt begins later than this after the first began.
    pub retrying_max: Duration,
    /// After access was denied three times in a row, at most one request of that operation goes out in this time.
    pub denied_pause: Duration,
}

impl Default for RetryPolicy {
    /// Six attempts: the waits are 0.1, 0.2, 0.4, 0.8 and 1.6 s, some 3 s in all, which outlasts the restart of a load balancer; whoever can
    /// wait longer asks again.
    fn default() -> Self {
        Self {
            attempts_max: 6,
            delay_first: Duration::from_millis(100),
            delay_max: Duration::from_secs(5),
            retrying_max: Duration::from_secs(90),
            denied_pause: Duration::from_secs(30),
        }
    }
}

/// A store that tries again.
pub struct RetryStore {
    inner: Arc<dyn ObjectStore>,
    policy: RetryPolicy,
    breaker: Breaker,
    /// The state of the jitter.
    jitter: Mutex<u64>,
}

impl RetryStore {
    /// Wraps a store. Processes need different seeds, so that they do not all come back at once.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>, policy: RetryPolicy, jitter_seed: u64) -> Self {
        Self { inner, policy, breaker: Breaker::new(policy.denied_pause), jitter: Mutex::new(jitter_seed) }
    }

    /// Runs attempts of one operation until one succeeds, fails for good, or the bounds are reached; then gives the last error.
    pub(crate) async fn run<T, F, A>(&self, operation: Operation, key: &str, mut attempt: F) -> Result<T, StoreError>
    where
        T: Send,
        F: FnMut() -> A + Send,
        A: Future<Output = Result<T, StoreError>> + Send,
    {
        let began = Instant::now();
        let mut attempts = 1;
        loop {
            self.breaker.check(operation).map_err(|fault| StoreError { operation, key: key.to_owned(), fault })?;
            let result = attempt().await;
            self.learn(operation, result.as_ref().err());
            let error = match result {
                Err(error) if error.kind().is_retryable() => error,
                done => return done,
            };
            let delay = self.delay(attempts).max(error.retry_after().unwrap_or_default());
            if attempts >= self.policy.attempts_max || began.elapsed() + delay > self.policy.retrying_max {
                return Err(error);
            }
            tracing::debug!(%error, attempts, delay_ms = delay.as_millis(), "try the object store again");
            tokio::time::sleep(delay).await;
            attempts += 1;
        }
    }

    fn learn(&self, operation: Operation, error: Option<&StoreError>) {
        match (self.breaker.learn(operation, error.map_or(Ok(()), |error| Err(&error.fault))), error) {
            (Some(Change::Opened), Some(error)) => {
                tracing::error!(%error, pause_ms = self.policy.denied_pause.as_millis(), "the object store denies access: requests are held back");
            }
            (Some(Change::Closed), _) => tracing::info!(%operation, "the object store gives access again"),
            _ => {}
        }
    }

    /// The wait after this many attempts: doubled each time, and of that a random half to whole.
    fn delay(&self, attempts: u32) -> Duration {
        let doubled = self.policy.delay_first.saturating_mul(1_u32.checked_shl(attempts - 1).unwrap_or(u32::MAX)).min(self.policy.delay_max);
        let random = splitmix(&mut self.jitter.lock());
        // The upper 32 bits, so the fraction is exact.
        doubled.mul_f64(0.5 + 0.5 * f64::from((random >> 32) as u32) / f64::from(u32::MAX))
    }
}

/// The next number of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[async_trait]
impl ObjectStore for RetryStore {
    async fn put(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        self.run(Operation::Put, key.as_str(), || self.inner.put(key, bytes.clone())).await
    }

    /// An attempt whose outcome is unknown may have taken the key: when a later one finds it taken, the bytes there tell whose they are.
    async fn put_if_absent(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        let repeated = AtomicBool::new(false);
        let put = self.run(Operation::PutIfAbsent, key.as_str(), || async {
            let result = self.inner.put_if_absent(key, bytes.clone()).await;
            if result.as_ref().is_err_and(|error| error.kind().is_retryable()) {
                repeated.store(true, Ordering::Relaxed);
            }
            result
        });
        match put.await {
            Err(error) if error.kind() == siltstone_core::ErrorKind::Conflict && repeated.load(Ordering::Relaxed) => {
                if self.get(key).await? == bytes { Ok(()) } else { Err(error) }
            }
            result => result,
        }
    }

    async fn get(&self, key: &ObjectKey) -> Result<Bytes, StoreError> {
        self.run(Operation::Get, key.as_str(), || self.inner.get(key)).await
    }

    async fn get_range(&self, key: &ObjectKey, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.run(Operation::GetRange, key.as_str(), || self.inner.get_range(key, range.clone())).await
    }

    async fn head(&self, key: &ObjectKey) -> Result<u64, StoreError> {
        self.run(Operation::Head, key.as_str(), || self.inner.head(key)).await
    }

    async fn list(&self, prefix: &str, after: Option<&ObjectKey>) -> Result<ListPage, StoreError> {
        self.run(Operation::List, prefix, || self.inner.list(prefix, after)).await
    }

    async fn delete(&self, key: &ObjectKey) -> Result<(), StoreError> {
        self.run(Operation::Delete, key.as_str(), || self.inner.delete(key)).await
    }

    fn place(&self) -> String {
        self.inner.place()
    }
}

#[cfg(test)]
#[path = "retry_test.rs"]
mod tests;
