//! Batches and objects that nothing names any more (MF-1).

use siltstone_core::{BatchId, ObjectId};
use siltstone_format::{
    command::{Rejection, Reply},
    manifest::{BatchRecord, BatchState, Manifest, RetiredBatch},
};
use std::sync::Arc;

/// One slice less is named in a batch; with the last it retires.
pub(super) fn release_batch(draft: &mut Manifest, id: BatchId) {
    let batch = Arc::make_mut(draft.batches.get_mut(&id).expect("MF-1: a slice names a batch that exists"));
    batch.live_slices = batch.live_slices.checked_sub(1).expect("MF-1: a batch has no fewer slices than are named");
    if batch.live_slices == 0 {
        let batch = batch.clone();
        draft.batches.remove_mut(&id);
        retire_batch(draft, &batch);
    }
}

/// A batch that no slice names is kept by its id alone.
pub(super) fn retire_batch(draft: &mut Manifest, batch: &BatchState) {
    let BatchRecord { id, epoch, footer, .. } = batch.record;
    let retired = RetiredBatch { id, epoch, at_ms: draft.state_time_ms, footer_crc32c: footer.crc32c, duplicates: &batch.duplicates };
    draft.retired_batches.insert(retired);
}

/// One pack, segment or vector set less lives in an object; with the last it retires.
pub(super) fn release_object(draft: &mut Manifest, id: ObjectId) {
    let now_ms = draft.state_time_ms;
    let object = draft.objects.get_mut(&id).expect("MF-1: a pack, segment or vector set names an object that exists");
    object.parts = object.parts.checked_sub(1).expect("MF-1: an object has no fewer parts than are named");
    if object.parts == 0 {
        object.retired_at_ms = Some(now_ms);
        draft.retired_objects.insert_mut(id);
    }
}

/// What a backup pins is as good as named.
pub(super) fn forget(draft: &mut Manifest, batches: &[BatchId], objects: &[ObjectId]) -> Result<Reply, Rejection> {
    let pins = draft.pins();
    for id in batches {
        let is_pinned = || draft.retired_batches.get(*id).is_some_and(|batch| pins.keep(id.0, batch.at_ms));
        if draft.batches.contains_key(id) || is_pinned() {
            return Err(Rejection::StillNamed { id: id.0 });
        }
        draft.retired_batches.remove(*id);
    }
    for id in objects {
        if draft.objects.get(id).is_some_and(|object| object.retired_at_ms.is_none_or(|at_ms| pins.keep(id.0, at_ms))) {
            return Err(Rejection::StillNamed { id: id.0 });
        }
        draft.retired_objects.remove_mut(id);
        draft.objects.remove_mut(id);
    }
    Ok(Reply::Done)
}
