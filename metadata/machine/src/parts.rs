//! What the commits of objects share: how they change the draft, the object, and what lies in it.

use super::draft::{self, Touched, check_footer, check_range, invalid};
use super::retire;
use siltstone_core::{BatchId, Epoch, NamespaceId, ObjectId};
use siltstone_format::{
    command::{Rejection, Reply},
    manifest::{EpochRecord, Manifest, NamespaceManifest, ObjectRecord, ObjectState, PackRecord, SegmentRecord, VectorIndexRecord, VectorSetRecord},
};
use std::collections::BTreeSet;

/// Whether the object was committed before, by this very command: an object is named by one command only, so it is its key.
fn is_repeat(draft: &Manifest, epoch: Epoch, object: &ObjectRecord) -> Result<bool, Rejection> {
    match draft.objects.get(&object.id) {
        None => Ok(false),
        Some(known) if known.record == *object && object.epoch == epoch => Ok(true),
        Some(_) => Err(Rejection::ObjectConflict { object: object.id }),
    }
}

/// Checks a new object, and uses up its id.
fn take_object(owner: &mut EpochRecord, epoch: Epoch, object: &ObjectRecord) -> Result<(), Rejection> {
    if object.epoch != epoch {
        return Err(invalid("the object is of another epoch than its command"));
    }
    check_range(object.len_bytes, object.footer.range())?;
    take_id(owner, object.id.0)
}

/// Checks a new pack, and uses up its id.
pub(super) fn take_pack(owner: &mut EpochRecord, object: &ObjectRecord, pack: &PackRecord) -> Result<(), Rejection> {
    if pack.object != object.id || pack.chunks.is_empty() {
        return Err(invalid(format!("pack {} has no chunks, or lies in another object than its command's", pack.id)));
    }
    check_range(object.len_bytes, pack.range)?;
    check_footer(pack.range, pack.footer)?;
    take_id(owner, pack.id.0)
}

/// Checks a new segment, and uses up its id.
pub(super) fn take_segment(owner: &mut EpochRecord, object: &ObjectRecord, segment: &SegmentRecord) -> Result<(), Rejection> {
    if segment.object != object.id || segment.chunks.is_empty() {
        return Err(invalid(format!("segment {} has no chunks, or lies in another object than its command's", segment.id)));
    }
    check_range(object.len_bytes, segment.range)?;
    check_footer(segment.range, segment.footer)?;
    take_id(owner, segment.id.0)
}

/// Checks a new set of pattern vectors, and uses up its id.
pub(super) fn take_vectors(owner: &mut EpochRecord, object: &ObjectRecord, set: &VectorSetRecord) -> Result<(), Rejection> {
    if set.object != object.id || set.patterns == 0 || set.dimension == 0 {
        return Err(invalid(format!("vector set {} is empty, or lies in another object than its command's", set.id)));
    }
    check_range(object.len_bytes, set.byte_range())?;
    take_id(owner, set.id.0)
}

/// Checks a new index over vectors of entries, and uses up its id.
pub(super) fn take_index(owner: &mut EpochRecord, object: &ObjectRecord, index: &VectorIndexRecord) -> Result<(), Rejection> {
    if index.object != object.id || index.vectors == 0 || index.chunks.is_empty() {
        return Err(invalid(format!("vector index {} is empty, or lies in another object than its command's", index.id)));
    }
    check_range(object.len_bytes, index.range)?;
    check_range(object.len_bytes, index.addresses.range())?;
    take_id(owner, index.id.0)
}

/// What a commit no longer names.
#[derive(Default)]
pub(super) struct Released {
    /// Batches, once a slice.
    pub(super) batches: Vec<BatchId>,
    /// Objects, once a part.
    pub(super) objects: Vec<ObjectId>,
}

/// A compare-and-swap that names a new object, namespace by namespace: all of it, or nothing. `apply` carries out the part of one namespace, and
/// says how many things of it lie in the object.
pub(super) fn commit<P, F>(
    draft: &mut Manifest,
    epoch: Epoch,
    object: &ObjectRecord,
    parts: &[P],
    namespace_of: fn(&P) -> NamespaceId,
    mut apply: F,
) -> Result<Reply, Rejection>
where
    F: FnMut(&P, &mut EpochRecord, &mut NamespaceManifest, &mut Released) -> Result<usize, Rejection>,
{
    if is_repeat(draft, epoch, object)? {
        return Ok(Reply::Done);
    }
    let mut owner = draft::epoch(draft, epoch)?;
    take_object(&mut owner, epoch, object)?;
    let mut touched = Touched::default();
    let mut released = Released::default();
    let mut seen = BTreeSet::new();
    let mut count = 0;
    for part in parts {
        let namespace = namespace_of(part);
        if !seen.insert(namespace) {
            return Err(invalid(format!("namespace {namespace} is named twice")));
        }
        count += apply(part, &mut owner, touched.namespace(draft, namespace)?, &mut released)?;
    }
    touched.put_back(draft);
    draft::put_epoch(draft, epoch, owner);
    put_object(draft, *object, count)?;
    released.batches.into_iter().for_each(|batch| retire::release_batch(draft, batch));
    released.objects.into_iter().for_each(|object| retire::release_object(draft, object));
    Ok(Reply::Done)
}

/// Notes an object with this many packs, segments and vector sets.
fn put_object(draft: &mut Manifest, record: ObjectRecord, parts: usize) -> Result<(), Rejection> {
    let parts = u32::try_from(parts).ok().filter(|&parts| parts != 0);
    let parts = parts.ok_or_else(|| invalid("an object has at least one pack, segment or vector set"))?;
    let earlier: Option<&ObjectState> = draft.objects.get(&ObjectId(record.id.0));
    assert!(earlier.is_none(), "MF-1: object {} is named by one command", record.id);
    draft.objects.insert_mut(record.id, ObjectState { record, parts, retired_at_ms: None });
    Ok(())
}

fn take_id(owner: &mut EpochRecord, id: u64) -> Result<(), Rejection> {
    if owner.ids.take(id) { Ok(()) } else { Err(Rejection::IdNotAllocated { id }) }
}
