//! Where lies what a manifest names: under the life of the group that gave its maker's epoch. A restored group thus reads what its predecessors put,
//! and puts its own beside it.

use siltstone_core::{BatchId, Epoch, ObjectId};
use siltstone_format::manifest::Manifest;
use siltstone_store::ObjectKey;
use siltstone_store::paths::ObjectPath;

/// A batch's key.
pub(crate) fn of_batch(manifest: &Manifest, epoch: Epoch, batch: BatchId) -> ObjectKey {
    ObjectPath::Batch { incarnation: manifest.incarnation_of(epoch), epoch, batch }.key()
}

/// An object's key.
pub(crate) fn of_object(manifest: &Manifest, epoch: Epoch, object: ObjectId) -> ObjectKey {
    ObjectPath::Object { incarnation: manifest.incarnation_of(epoch), epoch, object }.key()
}
