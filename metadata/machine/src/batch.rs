//! The commit of a flush, and the closing of chunks.

use super::draft::{self, Touched, check_range, invalid};
use super::retire;
use siltstone_core::{CHUNK_ROWS_MAX, ChunkId, Epoch, NamespaceId, WriterId, address::CHUNK_ID_MAX};
use siltstone_format::{
    command::{ClientKey, CommitBatch, NAME_LEN_MAX, Rejection, Reply, SliceCommit, SliceOutcome},
    manifest::{
        BatchState, ChunkRecord, ChunkState, EpochOwner, EpochRecord, Manifest, NamespaceManifest, ProducerKey, ProducerState, SliceList, SliceRef,
    },
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn commit(draft: &mut Manifest, commit: &CommitBatch) -> Result<Reply, Rejection> {
    let batch = commit.batch;
    if let Some(reply) = repeat(draft, commit) {
        return reply;
    }
    let mut owner = draft::epoch(draft, commit.epoch)?;
    let EpochOwner::Writer(writer) = owner.owner else {
        return Err(invalid("only a writer commits batches"));
    };
    check_batch(commit)?;
    if !owner.ids.take(batch.id.0) {
        return Err(Rejection::IdNotAllocated { id: batch.id.0 });
    }

    let mut touched = Touched::default();
    let mut decided = BTreeMap::<(NamespaceId, &ClientKey), SliceOutcome>::new();
    let mut outcomes = Vec::with_capacity(commit.slices.len());
    for slice in &commit.slices {
        check_slice(commit, slice)?;
        let namespace = touched.namespace(draft, slice.namespace)?;
        let chunk = chunk_at(namespace, &mut owner, slice, writer, commit.epoch, draft.state_time_ms)?;
        chunk.next_offset += slice.rows;
        let outcome = match &slice.key {
            None => SliceOutcome::Accepted,
            Some(key) => *decided.entry((slice.namespace, key)).or_insert_with(|| decide(namespace, key, draft.state_time_ms)),
        };
        if outcome == SliceOutcome::Accepted {
            append(namespace, commit, slice);
        }
        outcomes.push(outcome);
    }
    let close: BTreeSet<ChunkId> = commit.close.iter().copied().collect();
    for chunk in commit.slices.iter().map(|slice| slice.chunk).chain(close.iter().copied()) {
        let Some(&id) = owner.open_chunks.get(&chunk) else { continue };
        let namespace = touched.namespace(draft, id)?;
        let is_full = namespace.chunks.get(&chunk).is_some_and(|record| record.is_full());
        if is_full || close.contains(&chunk) {
            owner.open_chunks.remove_mut(&chunk);
            close_chunk(namespace, chunk);
        }
    }
    touched.put_back(draft);
    draft::put_epoch(draft, commit.epoch, owner);
    put_batch(draft, commit, &outcomes);
    Ok(Reply::BatchCommitted { outcomes })
}

pub(super) fn close(draft: &mut Manifest, epoch: Epoch, chunks: &[ChunkId]) -> Result<Reply, Rejection> {
    let mut owner = draft::epoch(draft, epoch)?;
    let mut touched = Touched::default();
    for &chunk in chunks {
        let Some(&namespace) = owner.open_chunks.get(&chunk) else { continue };
        owner.open_chunks.remove_mut(&chunk);
        close_chunk(touched.namespace(draft, namespace)?, chunk);
    }
    touched.put_back(draft);
    draft::put_epoch(draft, epoch, owner);
    Ok(Reply::Done)
}

/// Closes an open chunk. One without rows is gone: its offsets were all burned, so there is nothing to seal, and its id was used up when it was
/// opened (RA-1).
pub(super) fn close_chunk(namespace: &mut NamespaceManifest, chunk: ChunkId) {
    let record = Arc::make_mut(namespace.chunks.get_mut(&chunk).expect("an epoch's open chunk is its namespace's"));
    assert_eq!(record.state, ChunkState::Open, "chunk {chunk} is in the list of open ones");
    record.state = ChunkState::Closed;
    let has_rows = record.rows != 0;
    namespace.totals.chunks_open -= 1;
    if has_rows {
        namespace.totals.chunks_closed += 1;
    } else {
        namespace.chunks.remove_mut(&chunk);
    }
}

/// The answer to a command that was applied before; `None` for a new one.
fn repeat(draft: &Manifest, commit: &CommitBatch) -> Option<Result<Reply, Rejection>> {
    let (is_same, duplicates) = match (draft.batches.get(&commit.batch.id), draft.retired_batches.get(commit.batch.id)) {
        (Some(known), _) => (known.record == commit.batch && known.slices as usize == commit.slices.len(), &known.duplicates[..]),
        // Of a retired batch no more is known than its id, its epoch, its footer's checksum and its duplicates.
        (None, Some(known)) => (known.epoch == commit.batch.epoch && known.footer_crc32c == commit.batch.footer.crc32c, known.duplicates),
        (None, None) => return None,
    };
    let mut outcomes = vec![SliceOutcome::Accepted; commit.slices.len()];
    let are_there = duplicates.last().is_none_or(|&last| (last as usize) < outcomes.len());
    if !is_same || commit.batch.epoch != commit.epoch || !are_there {
        return Some(Err(Rejection::BatchConflict { batch: commit.batch.id }));
    }
    duplicates.iter().for_each(|&position| outcomes[position as usize] = SliceOutcome::Duplicate);
    Some(Ok(Reply::BatchCommitted { outcomes }))
}

fn check_batch(commit: &CommitBatch) -> Result<(), Rejection> {
    if commit.batch.epoch != commit.epoch {
        return Err(invalid("the batch is of another epoch than its command"));
    }
    if commit.slices.is_empty() || u32::try_from(commit.slices.len()).is_err() {
        return Err(invalid("a batch has at least one slice"));
    }
    check_range(commit.batch.len_bytes, commit.batch.footer.range())
}

fn check_slice(commit: &CommitBatch, slice: &SliceCommit) -> Result<(), Rejection> {
    let chunk = slice.chunk;
    if slice.rows == 0 || usize::from(slice.first_offset) + usize::from(slice.rows) > CHUNK_ROWS_MAX || chunk.0 > CHUNK_ID_MAX {
        return Err(invalid(format!("RA-1: {} rows from offset {} of chunk {chunk} do not fit it", slice.rows, slice.first_offset)));
    }
    if slice.timestamp_min_ns > slice.timestamp_max_ns {
        return Err(invalid(format!("a slice of chunk {chunk} ends before it begins")));
    }
    if slice.key.as_ref().is_some_and(|key| key.principal.len() > NAME_LEN_MAX || key.producer.len() > NAME_LEN_MAX) {
        return Err(invalid("a principal's and a producer's name have at most 1,024 bytes"));
    }
    check_range(commit.batch.len_bytes, slice.range.range())
}

/// The chunk that a slice goes on, opened if it is new.
fn chunk_at<'a>(
    namespace: &'a mut NamespaceManifest,
    owner: &mut EpochRecord,
    slice: &SliceCommit,
    writer: WriterId,
    epoch: Epoch,
    now_ms: i64,
) -> Result<&'a mut ChunkRecord, Rejection> {
    let id = slice.chunk;
    if !namespace.chunks.contains_key(&id) {
        if owner.open_chunks.contains_key(&id) {
            return Err(Rejection::WrongNamespace { chunk: id, namespace: namespace.id });
        }
        if !owner.chunk_ids.take(id.0) {
            return Err(Rejection::ChunkNotOpen { chunk: id });
        }
        owner.open_chunks.insert_mut(id, namespace.id);
        namespace.chunks.insert_mut(id, Arc::new(empty_chunk(writer, epoch, now_ms)));
        namespace.totals.chunks_open += 1;
    }
    let chunk = namespace.chunks.get_mut(&id).expect("it is there or was just put there");
    if chunk.epoch != epoch || chunk.state != ChunkState::Open {
        return Err(Rejection::ChunkNotOpen { chunk: id });
    }
    if chunk.next_offset != slice.first_offset {
        return Err(Rejection::OffsetMismatch { chunk: id, next_offset: chunk.next_offset, first_offset: slice.first_offset });
    }
    Ok(Arc::make_mut(chunk))
}

fn empty_chunk(writer: WriterId, epoch: Epoch, now_ms: i64) -> ChunkRecord {
    ChunkRecord {
        writer,
        epoch,
        state: ChunkState::Open,
        next_offset: 0,
        rows: 0,
        opened_at_ms: now_ms,
        timestamp_min_ns: i64::MAX,
        timestamp_max_ns: i64::MIN,
        body_bytes: 0,
        slices: SliceList::default(),
    }
}

/// AK-2: whether a client batch is new, noting it if so.
fn decide(namespace: &mut NamespaceManifest, key: &ClientKey, now_ms: i64) -> SliceOutcome {
    let producer = ProducerKey { principal: key.principal.clone(), producer: key.producer.clone() };
    match namespace.producers.get_mut(&producer) {
        Some(state) if state.is_duplicate(key.sequence) => return SliceOutcome::Duplicate,
        Some(state) => state.accept(key.sequence, now_ms),
        None => namespace.producers.insert_mut(producer, ProducerState::first(key.sequence, now_ms)),
    }
    SliceOutcome::Accepted
}

/// Adds an accepted slice's rows to its chunk, whose next offset has moved on already.
fn append(namespace: &mut NamespaceManifest, commit: &CommitBatch, slice: &SliceCommit) {
    let chunk = Arc::make_mut(namespace.chunks.get_mut(&slice.chunk).expect("the slice's chunk was just looked up"));
    chunk.rows += slice.rows;
    chunk.timestamp_min_ns = chunk.timestamp_min_ns.min(slice.timestamp_min_ns);
    chunk.timestamp_max_ns = chunk.timestamp_max_ns.max(slice.timestamp_max_ns);
    chunk.body_bytes = chunk.body_bytes.wrapping_add(slice.body_bytes);
    chunk.slices.push(SliceRef {
        batch: commit.batch.id,
        range: slice.range,
        first_offset: slice.first_offset,
        rows: slice.rows,
        timestamp_min_ns: slice.timestamp_min_ns,
        timestamp_max_ns: slice.timestamp_max_ns,
    });
    assert!(chunk.rows <= chunk.next_offset, "RA-1: chunk {} has more rows than offsets", slice.chunk);
    let totals = &mut namespace.totals;
    totals.rows = totals.rows.wrapping_add(u64::from(slice.rows));
    totals.body_bytes = totals.body_bytes.wrapping_add(slice.body_bytes);
    totals.slices += 1;
    totals.slice_bytes = totals.slice_bytes.wrapping_add(u64::from(slice.range.len));
}

fn put_batch(draft: &mut Manifest, commit: &CommitBatch, outcomes: &[SliceOutcome]) {
    let positions = (0_u32..).zip(outcomes).filter(|(_, outcome)| **outcome == SliceOutcome::Duplicate);
    let duplicates: Box<[u32]> = positions.map(|(position, _)| position).collect();
    let slices = outcomes.len() as u32;
    let live_slices = slices - duplicates.len() as u32;
    let state = BatchState { record: commit.batch, live_slices, slices, duplicates };
    if live_slices == 0 {
        retire::retire_batch(draft, &state);
    } else {
        draft.batches.insert_mut(commit.batch.id, Arc::new(state));
    }
}
