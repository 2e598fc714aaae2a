//! Sealing: closed chunks leave the batches for packs and segments. A compare-and-swap.

use super::draft::invalid;
use super::parts;
use siltstone_core::ChunkId;
use siltstone_format::{
    command::{CommitSeal, Rejection, Reply, SealPart},
    manifest::{ChunkState, Manifest, NamespaceManifest, PackChunk, Totals},
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn commit(draft: &mut Manifest, commit: &CommitSeal) -> Result<Reply, Rejection> {
    parts::commit(
        draft,
        commit.epoch,
        &commit.object,
        &commit.parts,
        |part| part.namespace,
        |part, owner, namespace, released| {
            for pack in &part.packs {
                parts::take_pack(owner, &commit.object, pack)?;
            }
            for segment in &part.segments {
                parts::take_segment(owner, &commit.object, segment)?;
            }
            let sealed = check(namespace, part)?;
            for chunk in sealed.keys() {
                let record = namespace.chunks.get(chunk).expect("it was just checked").clone();
                released.batches.extend(record.slices.iter().map(|slice| slice.batch));
                namespace.totals.subtract(&Totals::of_chunk(&record));
                namespace.chunks.remove_mut(chunk);
            }
            put_parts(namespace, part);
            Ok(part.packs.len() + part.segments.len())
        },
    )
}

fn put_parts(namespace: &mut NamespaceManifest, part: &SealPart) {
    for pack in &part.packs {
        namespace.totals.add_pack(pack);
        namespace.packs.insert_mut(pack.id, Arc::new(pack.clone()));
    }
    for segment in &part.segments {
        namespace.totals.add_segment(segment);
        namespace.segments.insert_mut(segment.id, Arc::new(segment.clone()));
    }
}

/// Checks that the inputs are as named, and that packs and segments hold them: all of them, once, and nothing else (NS-1, AK-2).
fn check(namespace: &NamespaceManifest, part: &SealPart) -> Result<BTreeMap<ChunkId, PackChunk>, Rejection> {
    let mut inputs = BTreeMap::new();
    for input in &part.inputs {
        let chunk = input.chunk;
        let record = namespace.chunks.get(&chunk).filter(|record| record.state == ChunkState::Closed && record.next_offset == input.end_offset);
        let record = record.ok_or(Rejection::ChunkConflict { chunk })?;
        if inputs.insert(chunk, record.sealed(chunk)).is_some() {
            return Err(invalid(format!("chunk {chunk} is sealed twice")));
        }
    }
    let mut packed = BTreeSet::new();
    for chunk in part.packs.iter().flat_map(|pack| pack.chunks.iter()) {
        if inputs.get(&chunk.chunk) != Some(&chunk) {
            return Err(invalid(format!("chunk {} is packed with other rows, times or bytes than it has, or is no input", chunk.chunk)));
        }
        if !packed.insert(chunk.chunk) {
            return Err(invalid(format!("chunk {} is packed twice", chunk.chunk)));
        }
    }
    if packed.is_empty() || packed.len() != inputs.len() {
        return Err(invalid("AK-1: every chunk that is sealed is packed, and there is at least one"));
    }
    let mut covered = BTreeSet::new();
    for segment in &part.segments {
        let mut rows = 0;
        for chunk in segment.chunks.iter() {
            rows += inputs.get(&chunk).map(|sealed| u64::from(sealed.rows)).ok_or(Rejection::CoverConflict { chunk })?;
            if !covered.insert((segment.definition_version, chunk)) {
                return Err(Rejection::CoverConflict { chunk });
            }
        }
        if rows != segment.rows {
            return Err(invalid(format!("segment {} says {} rows, its chunks have {rows}", segment.id, segment.rows)));
        }
    }
    Ok(inputs)
}
