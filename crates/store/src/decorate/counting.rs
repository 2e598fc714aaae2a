//! Counts what a store is asked: requests are what an object store is paid for.

use crate::error::{Operation, StoreError};
use crate::key::ObjectKey;
use crate::object_store::{ListPage, ObjectStore};
use async_trait::async_trait;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of all operations, shared between a store and whoever reads them.
#[derive(Debug, Default)]
pub struct StoreMetrics {
    operations: [Counters; Operation::ALL.len()],
}

#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    failures: AtomicU64,
    bytes: AtomicU64,
}

/// What one operation was asked so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OperationCounts {
    /// Requests that have ended, well or not.
    pub requests: u64,
    /// Those that failed, whatever the reason; a missing object is one.
    pub failures: u64,
    /// Bytes of objects that were written or read by those that succeeded.
    pub bytes: u64,
}

impl StoreMetrics {
    /// The counts of one operation.
    #[must_use]
    pub fn of(&self, operation: Operation) -> OperationCounts {
        let counters = &self.operations[operation as usize];
        OperationCounts {
            requests: counters.requests.load(Ordering::Relaxed),
            failures: counters.failures.load(Ordering::Relaxed),
            bytes: counters.bytes.load(Ordering::Relaxed),
        }
    }

    fn count<T>(&self, operation: Operation, result: &Result<T, StoreError>, bytes: impl FnOnce(&T) -> u64) {
        let counters = &self.operations[operation as usize];
        counters.requests.fetch_add(1, Ordering::Relaxed);
        match result {
            Ok(value) => counters.bytes.fetch_add(bytes(value), Ordering::Relaxed),
            Err(_) => counters.failures.fetch_add(1, Ordering::Relaxed),
        };
    }
}

/// A store that counts.
pub struct CountingStore {
    inner: Arc<dyn ObjectStore>,
    metrics: Arc<StoreMetrics>,
}

impl CountingStore {
    /// Wraps a store; the counts go to `metrics`.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>, metrics: Arc<StoreMetrics>) -> Self {
        Self { inner, metrics }
    }
}

#[async_trait]
impl ObjectStore for CountingStore {
    async fn put(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        let size = bytes.len() as u64;
        let result = self.inner.put(key, bytes).await;
        self.metrics.count(Operation::Put, &result, |()| size);
        result
    }

    async fn put_if_absent(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        let size = bytes.len() as u64;
        let result = self.inner.put_if_absent(key, bytes).await;
        self.metrics.count(Operation::PutIfAbsent, &result, |()| size);
        result
    }

    async fn get(&self, key: &ObjectKey) -> Result<Bytes, StoreError> {
        let result = self.inner.get(key).await;
        self.metrics.count(Operation::Get, &result, |bytes| bytes.len() as u64);
        result
    }

    async fn get_range(&self, key: &ObjectKey, range: Range<u64>) -> Result<Bytes, StoreError> {
        let result = self.inner.get_range(key, range).await;
        self.metrics.count(Operation::GetRange, &result, |bytes| bytes.len() as u64);
        result
    }

    async fn head(&self, key: &ObjectKey) -> Result<u64, StoreError> {
        let result = self.inner.head(key).await;
        self.metrics.count(Operation::Head, &result, |_| 0);
        result
    }

    async fn list(&self, prefix: &str, after: Option<&ObjectKey>) -> Result<ListPage, StoreError> {
        let result = self.inner.list(prefix, after).await;
        self.metrics.count(Operation::List, &result, |_| 0);
        result
    }

    async fn delete(&self, key: &ObjectKey) -> Result<(), StoreError> {
        let result = self.inner.delete(key).await;
        self.metrics.count(Operation::Delete, &result, |()| 0);
        result
    }

    fn place(&self) -> String {
        self.inner.place()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;

    #[tokio::test]
    async fn requests_failures_and_bytes_are_counted() {
        let metrics = Arc::new(StoreMetrics::default());
        let store = CountingStore::new(Arc::new(MemoryStore::new()), Arc::clone(&metrics));
        let (here, missing) = (ObjectKey::parse("here").unwrap(), ObjectKey::parse("missing").unwrap());
        store.put(&here, Bytes::from_static(b"12345")).await.unwrap();
        store.put_if_absent(&here, Bytes::from_static(b"12345")).await.unwrap_err();
        store.get(&here).await.unwrap();
        store.get(&missing).await.unwrap_err();
        store.get_range(&here, 1..3).await.unwrap();
        store.head(&here).await.unwrap();
        store.list("", None).await.unwrap();
        store.delete(&here).await.unwrap();
        assert_eq!(metrics.of(Operation::Put), OperationCounts { requests: 1, failures: 0, bytes: 5 });
        assert_eq!(metrics.of(Operation::PutIfAbsent), OperationCounts { requests: 1, failures: 1, bytes: 0 });
        assert_eq!(metrics.of(Operation::Get), OperationCounts { requests: 2, failures: 1, bytes: 5 });
        assert_eq!(metrics.of(Operation::GetRange), OperationCounts { requests: 1, failures: 0, bytes: 2 });
        for operation in [Operation::Head, Operation::List, Operation::Delete] {
            assert_eq!(metrics.of(operation), OperationCounts { requests: 1, failures: 0, bytes: 0 }, "{operation}");
        }
    }
}
