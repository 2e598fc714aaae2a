//! Objects in memory, for tests. Nothing survives the process.

use crate::error::{Fault, Operation, StoreError};
use crate::key::{ObjectKey, check_prefix};
use crate::object_store::{ListPage, ObjectMeta, ObjectStore};
use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::ops::{Bound, Range};

/// A page holds this many objects: few, so that tests walk over several pages.
const PAGE_OBJECTS: usize = 16;

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    objects: RwLock<BTreeMap<ObjectKey, Bytes>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn read(&self, operation: Operation, key: &ObjectKey) -> Result<Bytes, StoreError> {
        self.objects.read().get(key).cloned().ok_or_else(|| Fault::NotFound.at(operation, key))
    }
}

/// Checks a range against an object's size and gives it in the machine's integers.
pub(crate) fn check_range(range: &Range<u64>, size: u64) -> Result<Range<usize>, Fault> {
    if range.start > range.end {
        return Err(Fault::InvalidRange { range: range.clone() });
    }
    if range.end > size {
        return Err(Fault::RangeBeyondEnd { range: range.clone(), size });
    }
    match (usize::try_from(range.start), usize::try_from(range.end)) {
        (Ok(start), Ok(end)) => Ok(start..end),
        _ => Err(Fault::InvalidRange { range: range.clone() }),
    }
}

#[async_trait]
impl ObjectStore for MemoryStore {
    async fn put(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        self.objects.write().insert(key.clone(), bytes);
        Ok(())
    }

    async fn put_if_absent(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        let mut objects = self.objects.write();
        if objects.contains_key(key) {
            return Err(Fault::AlreadyExists.at(Operation::PutIfAbsent, key));
        }
        objects.insert(key.clone(), bytes);
        Ok(())
    }

    async fn get(&self, key: &ObjectKey) -> Result<Bytes, StoreError> {
        self.read(Operation::Get, key)
    }

    async fn get_range(&self, key: &ObjectKey, range: Range<u64>) -> Result<Bytes, StoreError> {
        let bytes = self.read(Operation::GetRange, key)?;
        let range = check_range(&range, bytes.len() as u64).map_err(|fault| fault.at(Operation::GetRange, key))?;
        Ok(bytes.slice(range))
    }

    async fn head(&self, key: &ObjectKey) -> Result<u64, StoreError> {
        self.read(Operation::Head, key).map(|bytes| bytes.len() as u64)
    }

    async fn list(&self, prefix: &str, after: Option<&ObjectKey>) -> Result<ListPage, StoreError> {
        check_prefix(prefix).map_err(|error| Fault::Invalid { detail: error.to_string() }.at(Operation::List, &prefix))?;
        let objects = self.objects.read();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut found = objects.range::<ObjectKey, _>((from, Bound::Unbounded)).filter(|(key, _)| key.as_str().starts_with(prefix));
        let page: Vec<_> = found.by_ref().take(PAGE_OBJECTS).map(|(key, bytes)| ObjectMeta { key: key.clone(), size: bytes.len() as u64 }).collect();
        let next = found.next().and(page.last()).map(|last| last.key.clone());
        Ok(ListPage { objects: page, next })
    }

    async fn delete(&self, key: &ObjectKey) -> Result<(), StoreError> {
        self.objects.write().remove(key);
        Ok(())
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PrefixStore;
    use std::sync::Arc;

    #[tokio::test(flavor = "multi_thread")]
    async fn memory_conforms() {
        let store = Arc::new(MemoryStore::new());
        crate::conformance::run(store.clone()).await;
        crate::conformance::lists_are_in_byte_order(&*store).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_prefix_of_memory_conforms() {
        let memory = Arc::new(MemoryStore::new());
        let neighbour = ObjectKey::parse("some/prefix-not").unwrap();
        memory.put(&neighbour, Bytes::from_static(b"x")).await.unwrap();
        crate::conformance::run(Arc::new(PrefixStore::new(memory.clone(), "some/prefix").unwrap())).await;
        assert!(memory.get(&neighbour).await.is_ok());
    }
}
