//! The trait of an object store.

use crate::error::StoreError;
use crate::key::ObjectKey;
use async_trait::async_trait;
use bytes::Bytes;
use std::ops::Range;

/// A flat map from keys to immutable bytes, durable and shared by many processes.
///
/// To ensure correctness, an implementation and its callers agree on this:
/// - when a put returned `Ok`, the object is durable and every later read anywhere finds it whole (MF-1); nobody ever sees a part of an object;
/// - when a put failed or was dropped, the object may or may not be there, now or a moment later: the caller repeats the same put, or forgets
///   the key and never uses it for other bytes;
/// - a put replaces what stands under its key; callers write each key once, with one content;
/// - deleting what does not exist is `Ok`;
/// - a list names every object whose put returned before the list began and that was not deleted, in ascending order of the keys' bytes.
///   Some S3 servers sort `a-b` and `a.b` behind `a/b`; no two keys that `paths` makes differ so (conformance tells who keeps the order always).
#[async_trait]
pub trait ObjectStore: Send + Sync + 'static {
    /// Writes an object.
    async fn put(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError>;

    /// Writes an object unless the key is taken. Of many callers at once, one wins.
    ///
    /// The bytes must name who puts them: after a lost answer, equal bytes under the key are how the caller knows that it had won.
    ///
    /// # Errors
    /// `AlreadyExists` when the key is taken; the object is then as it was.
    async fn put_if_absent(&self, key: &ObjectKey, bytes: Bytes) -> Result<(), StoreError>;

    /// Reads a whole object.
    ///
    /// # Errors
    /// `NotFound`.
    async fn get(&self, key: &ObjectKey) -> Result<Bytes, StoreError>;

    /// Reads the bytes of a range, all of them. An empty range inside the object, or at its end, gives no bytes.
    ///
    /// # Errors
    /// `NotFound`; `RangeBeyondEnd` when the object ends before the range does; `InvalidRange` when the range ends before it starts.
    async fn get_range(&self, key: &ObjectKey, range: Range<u64>) -> Result<Bytes, StoreError>;

    /// An object's size in bytes.
    ///
    /// # Errors
    /// `NotFound`.
    async fn head(&self, key: &ObjectKey) -> Result<u64, StoreError>;

    /// Lists objects whose keys start with `prefix` (bytes, not whole parts; empty for all) and come after `after`: one page of them, in
    /// ascending order of the keys' bytes. A page may be empty and still have a next one.
    async fn list(&self, prefix: &str, after: Option<&ObjectKey>) -> Result<ListPage, StoreError>;

    /// Deletes an object. Deleting what does not exist is `Ok`.
    async fn delete(&self, key: &ObjectKey) -> Result<(), StoreError>;

    /// Where the objects lie, for messages: never with secrets.
    fn place(&self) -> String;
}

/// One page of a list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListPage {
    /// Objects, in ascending order of their keys.
    pub objects: Vec<ObjectMeta>,
    /// What to give as `after` for the next page; `None` at the end.
    pub next: Option<ObjectKey>,
}

/// An object's name and size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectMeta {
    /// The object's key.
    pub key: ObjectKey,
    /// Its size in bytes.
    pub size: u64,
}

/// Lists all objects under a prefix, page after page. For lists that may be long, walk the pages instead.
///
/// # Errors
/// The first error of a page.
pub async fn list_all(store: &dyn ObjectStore, prefix: &str) -> Result<Vec<ObjectMeta>, StoreError> {
    let mut objects = Vec::new();
    let mut after = None;
    loop {
        let page = store.list(prefix, after.as_ref()).await?;
        objects.extend(page.objects);
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(objects),
        }
    }
}
