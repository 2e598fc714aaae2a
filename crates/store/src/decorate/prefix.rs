//! A store below a prefix of another.

use crate::error::{Fault, Operation, StoreError};
use crate::key::ObjectKey;
use crate::object_store::{ListPage, ObjectMeta, ObjectStore};
use async_trait::async_trait;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Puts a prefix before every key, so that several users share one store. Errors carry the whole key.
pub struct PrefixStore {
    inner: Arc<dyn ObjectStore>,
    /// Ends with a slash.
    prefix: String,
}

impl PrefixStore {
    /// A store whose keys lie below `prefix`, which is checked as a key is.
    ///
    /// # Errors
    /// `Invalid` where the prefix is no key.
    pub fn new(inner: Arc<dyn ObjectStore>, prefix: &str) -> Result<Self, StoreError> {
        let prefix = ObjectKey::parse(prefix).map_err(|error| Fault::Invalid { detail: error.to_string() }.at(Operation::Open, &prefix))?;
        Ok(Self { inner, prefix: format!("{prefix}/") })
    }

    fn outer(&self, operation: Operation, key: &ObjectKey) -> Result<ObjectKey, StoreError> {
        let whole = format!("{}{key}", self.prefix);
        ObjectKey::parse(&whole).map_err(|error| Fault::Invalid { detail: error.to_string() }.at(operation, &whole))
    }

    fn inner_key(&self, key: &ObjectKey) -> Result<ObjectKey, StoreError> {
        let foreign = || Fault::Other { detail: format!("the store listed a key outside {}", self.prefix) }.at(Operation::List, key);
        let below = key.as_str().strip_prefix(&self.prefix).ok_or_else(foreign)?;
        ObjectKey::parse(below).map_err(|error| Fault::Other { detail: error.to_string() }.at(Operation::List, key))
    }
}

#[async_trait]
impl ObjectStore for PrefixStore {
    async fn put(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        self.inner.put(&self.outer(Operation::Put, key)?, bytes).await
    }

    async fn put_if_absent(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError> {
        self.inner.put_if_absent(&self.outer(Operation::PutIfAbsent, key)?, bytes).await
    }

    async fn get(&self, key: &ObjectKey) -> Result<Bytes, StoreError> {
        self.inner.get(&self.outer(Operation::Get, key)?).await
    }

    async fn get_range(&self, key: &ObjectKey, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.inner.get_range(&self.outer(Operation::GetRange, key)?, range).await
    }

    async fn head(&self, key: &ObjectKey) -> Result<u64, StoreError> {
        self.inner.head(&self.outer(Operation::Head, key)?).await
    }

    async fn list(&self, prefix: &str, after: Option<&ObjectKey>) -> Result<ListPage, StoreError> {
        let after = after.map(|after| self.outer(Operation::List, after)).transpose()?;
        let page = self.inner.list(&format!("{}{prefix}", self.prefix), after.as_ref()).await?;
        let next = page.next.map(|next| self.inner_key(&next)).transpose()?;
        let objects = page.objects.into_iter().map(|object| Ok(ObjectMeta { key: self.inner_key(&object.key)?, size: object.size }));
        Ok(ListPage { objects: objects.collect::<Result<_, StoreError>>()?, next })
    }

    async fn delete(&self, key: &ObjectKey) -> Result<(), StoreError> {
        self.inner.delete(&self.outer(Operation::Delete, key)?).await
    }

    fn place(&self) -> String {
        format!("{}/{}", self.inner.place(), self.prefix)
    }
}
