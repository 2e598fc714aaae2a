//! Whether the store holds what the log does not know: then the log has lost what it had acknowledged.
//!
//! Epochs and ids are given out by the log before anything is put under them. So a batch or an object of an epoch, or with an id, that the log has
//! not given out yet was made by a log that had more in it: its tail was torn off by a disk that lies about syncs, or an old copy of the data
//! directory was put back. What former lives of the group left is not looked at: they may well have done more than is known. What is deliberately not
//! here: mending that.

use crate::DevError;
use siltstone_core::{BatchId, Epoch, ErrorKind, ObjectId};
use siltstone_format::manifest::Manifest;
use siltstone_indexer::IndexerError;
use siltstone_metadata_client::{MetadataClient, MetadataClientExt};
use siltstone_store::paths::{ObjectPath, PathKind, epoch_prefix, kind_prefix};
use siltstone_store::{ObjectKey, ObjectStore};

/// How often the two are compared while what is found changes.
const LOOKS: u32 = 3;

/// The first key that the log knows nothing of, though it was asked for all that it knows.
///
/// # Errors
/// [`DevError`]
pub(crate) async fn lost(store: &dyn ObjectStore, metadata: &dyn MetadataClient) -> Result<Option<ObjectKey>, DevError> {
    let mut before = None;
    for _ in 0..LOOKS {
        let manifest = metadata.linearizable_manifest().await.map_err(IndexerError::from)?;
        let found = first_unknown(store, &manifest).await?;
        // Another process of the group may begin an epoch between the look at the log and that at the store. What is lost stays unknown.
        if found.is_none() || found == before {
            return Ok(found);
        }
        before = found;
    }
    Ok(None)
}

/// The first key that the log knows nothing of.
///
/// # Errors
/// [`DevError::Store`]
async fn first_unknown(store: &dyn ObjectStore, manifest: &Manifest) -> Result<Option<ObjectKey>, DevError> {
    let incarnation = manifest.incarnation;
    for kind in [PathKind::Batch, PathKind::Object] {
        let last_of = |epoch: Epoch, id: u64| match kind {
            PathKind::Batch => ObjectPath::Batch { incarnation, epoch, batch: BatchId(id) }.key(),
            _ => ObjectPath::Object { incarnation, epoch, object: ObjectId(id) }.key(),
        };
        let newest_epoch = Epoch(manifest.counters.epoch - 1);
        let mut searches = vec![(kind_prefix(kind, incarnation), last_of(newest_epoch, u64::MAX))];
        let id = manifest.counters.id - 1;
        searches.extend(manifest.epochs.keys().map(|epoch| (epoch_prefix(kind, incarnation, *epoch), last_of(*epoch, id))));
        for (prefix, after) in searches {
            match store.list(&prefix, Some(&after)).await {
                Ok(page) => {
                    if let Some(object) = page.objects.into_iter().next() {
                        return Ok(Some(object.key));
                    }
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(None)
}

/// What to tell about it.
pub(crate) fn message(key: &ObjectKey) -> String {
    format!(
        "the metadata log has lost acknowledged entries: the object store holds {key}, of which the log knows nothing; \
         either the disk lost what it had reported as durable, or an older copy of the data directory was put back: restore the newest copy, or import \
         again what was written last"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use siltstone_core::Incarnation;
    use siltstone_store::MemoryStore;

    #[tokio::test]
    async fn only_what_the_log_has_not_given_out_is_unknown() {
        let mut manifest = Manifest { incarnation: Incarnation(7), ..Manifest::default() };
        manifest.counters.epoch = 3;
        manifest.counters.id = 10;
        let batch = |epoch, id| ObjectPath::Batch { incarnation: Incarnation(7), epoch: Epoch(epoch), batch: BatchId(id) }.key();
        let store = MemoryStore::new();
        for key in [batch(1, 4), batch(2, 9)] {
            store.put(&key, Bytes::from_static(b"x")).await.expect("put");
        }
        assert_eq!(first_unknown(&store, &manifest).await.expect("list"), None);
        store.put(&batch(3, 1), Bytes::from_static(b"x")).await.expect("put");
        let found = first_unknown(&store, &manifest).await.expect("list").expect("an unknown epoch");
        assert_eq!(found, batch(3, 1));
        assert!(message(&found).contains(found.as_str()));
    }
}
