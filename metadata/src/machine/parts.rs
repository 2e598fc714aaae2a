//! What the commits of objects share: the object, and its packs, segments and vector sets.

use super::draft::{check_footer, check_range, invalid};
use siltstone_core::{Epoch, ObjectId};
use siltstone_format::{
    command::Rejection,
    manifest::{EpochRecord, Manifest, ObjectRecord, ObjectState, PackRecord, SegmentRecord, VectorIndexRecord, VectorSetRecord},
};

/// Whether the object was committed before, by this very command: an object is named by one command only, so it is its key.
pub(super) fn is_repeat(draft: &Manifest, epoch: Epoch, object: &ObjectRecord) -> Result<bool, Rejection> {
    match draft.objects.get(&object.id) {
        None => Ok(false),
        Some(known) if known.record == *object && object.epoch == epoch => Ok(true),
        Some(_) => Err(Rejection::ObjectConflict { object: object.id }),
    }
}

/// Checks a new object, and uses up its id.
pub(super) fn take_object(owner: &mut EpochRecord, epoch: Epoch, object: &ObjectRecord) -> Result<(), Rejection> {
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

/// Notes an object with this many packs, segments and vector sets.
pub(super) fn put_object(draft: &mut Manifest, record: ObjectRecord, parts: usize) -> Result<(), Rejection> {
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
