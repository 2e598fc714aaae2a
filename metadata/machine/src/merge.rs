//! Merging and repacking: other structures and other places for the same chunks. A compare-and-swap; no address changes (RA-1).

use super::draft::invalid;
use super::parts;
use siltstone_core::{ChunkId, ObjectId};
use siltstone_format::{
    command::{CommitMerge, MergePart, Rejection, Reply},
    manifest::{Manifest, NamespaceManifest, PackChunk, PackRecord, SegmentRecord, Totals},
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn commit(draft: &mut Manifest, commit: &CommitMerge) -> Result<Reply, Rejection> {
    parts::commit(
        draft,
        commit.epoch,
        &commit.object,
        &commit.parts,
        |part| part.namespace,
        |part, owner, namespace, released| {
            for pack in &part.packs_out {
                parts::take_pack(owner, &commit.object, pack)?;
            }
            for segment in &part.segments_out {
                parts::take_segment(owner, &commit.object, segment)?;
            }
            replace_packs(namespace, part, &mut released.objects)?;
            replace_segments(namespace, part, &mut released.objects)?;
            Ok(part.packs_out.len() + part.segments_out.len())
        },
    )
}

fn replace_packs(namespace: &mut NamespaceManifest, part: &MergePart, released: &mut Vec<ObjectId>) -> Result<(), Rejection> {
    let mut gone = Vec::<Arc<PackRecord>>::new();
    for &id in &part.packs_in {
        gone.push(namespace.packs.get(&id).cloned().ok_or(Rejection::PackConflict { pack: id })?);
        namespace.packs.remove_mut(&id);
    }
    let sorted = |chunks: &mut dyn Iterator<Item = PackChunk>| {
        let mut chunks: Vec<_> = chunks.collect();
        chunks.sort_unstable_by_key(|chunk| chunk.chunk);
        chunks
    };
    let before = sorted(&mut gone.iter().flat_map(|pack| pack.chunks.iter()));
    let after = sorted(&mut part.packs_out.iter().flat_map(|pack| pack.chunks.iter()));
    if before != after {
        return Err(invalid("AK-1, AK-2: the packs that come hold exactly the chunks of those that go"));
    }
    for pack in gone {
        namespace.totals.subtract(&Totals::of_pack(&pack));
        released.push(pack.object);
    }
    for pack in &part.packs_out {
        namespace.totals.add_pack(pack);
        namespace.packs.insert_mut(pack.id, Arc::new(pack.clone()));
    }
    Ok(())
}

fn replace_segments(namespace: &mut NamespaceManifest, part: &MergePart, released: &mut Vec<ObjectId>) -> Result<(), Rejection> {
    let mut gone = Vec::<Arc<SegmentRecord>>::new();
    for &id in &part.segments_in {
        gone.push(namespace.segments.get(&id).cloned().ok_or(Rejection::SegmentConflict { segment: id })?);
        namespace.segments.remove_mut(&id);
    }
    check_cover(namespace, part, &gone)?;
    for segment in gone {
        namespace.totals.subtract(&Totals::of_segment(&segment));
        released.push(segment.object);
    }
    for segment in &part.segments_out {
        namespace.totals.add_segment(segment);
        namespace.segments.insert_mut(segment.id, Arc::new(segment.clone()));
    }
    Ok(())
}

/// Checks that no chunk loses its cover, that none is covered twice, and that each segment's row count is that of its chunks. `namespace` is without
/// the segments that go, and has its packs after the merge.
fn check_cover(namespace: &NamespaceManifest, part: &MergePart, gone: &[Arc<SegmentRecord>]) -> Result<(), Rejection> {
    if gone.is_empty() && part.segments_out.is_empty() {
        return Ok(());
    }
    let Some(version) = part.segments_out.first().map(|segment| segment.definition_version) else {
        return Err(invalid("segments that go are replaced by at least one"));
    };
    if part.segments_out.iter().any(|segment| segment.definition_version != version)
        || gone.iter().any(|segment| segment.definition_version > version)
    {
        return Err(invalid("the segments of one merge have one definition version, no older than those that they replace"));
    }
    let mut after = BTreeSet::new();
    for chunk in part.segments_out.iter().flat_map(|segment| segment.chunks.iter()) {
        if !after.insert(chunk) {
            return Err(Rejection::CoverConflict { chunk });
        }
    }
    let before: BTreeSet<ChunkId> = gone.iter().flat_map(|segment| segment.chunks.iter()).collect();
    if !before.is_subset(&after) {
        return Err(invalid("the segments that come cover every chunk of those that go"));
    }
    // A plain merge, whose chunks have been checked when the segments that go came, need not look at anything else of the namespace.
    let is_plain = before.len() == after.len() && gone.iter().all(|segment| segment.definition_version == version);
    if is_plain {
        let rows = |segments: &mut dyn Iterator<Item = u64>| segments.fold(0_u64, u64::wrapping_add);
        let rows_before = rows(&mut gone.iter().map(|segment| segment.rows));
        let rows_after = rows(&mut part.segments_out.iter().map(|segment| segment.rows));
        return if rows_before == rows_after { Ok(()) } else { Err(invalid("a merge keeps the number of rows")) };
    }
    check_new_cover(namespace, part, version, &after)
}

fn check_new_cover(namespace: &NamespaceManifest, part: &MergePart, version: u32, after: &BTreeSet<ChunkId>) -> Result<(), Rejection> {
    let stays = namespace.segments.values().filter(|segment| segment.definition_version >= version);
    if let Some(chunk) = stays.flat_map(|segment| segment.chunks.iter()).find(|chunk| after.contains(chunk)) {
        return Err(Rejection::CoverConflict { chunk });
    }
    let sealed: BTreeMap<ChunkId, u64> = namespace.sealed_chunks().map(|(_, chunk)| (chunk.chunk, u64::from(chunk.rows))).collect();
    for segment in &part.segments_out {
        let mut rows = 0;
        for chunk in segment.chunks.iter() {
            rows += sealed.get(&chunk).ok_or(Rejection::CoverConflict { chunk })?;
        }
        if rows != segment.rows {
            return Err(invalid(format!("segment {} says {} rows, its chunks have {rows}", segment.id, segment.rows)));
        }
    }
    Ok(())
}
