//! Lives of writers and jobs, and the ids that they are given.

use super::{batch::close_chunk, draft};
use siltstone_core::{ChunkId, Epoch, WriterId, address::CHUNK_ID_MAX};
use siltstone_format::{
    command::{ALLOCATION_MAX, NAME_LEN_MAX, Rejection, Reply},
    manifest::{EpochOwner, EpochRecord, IdBlocks, Manifest, Map},
};
use std::sync::Arc;

pub(super) fn register_writer(draft: &mut Manifest, writer: WriterId) -> Result<Reply, Rejection> {
    if let Some(&earlier) = draft.writers.get(&writer) {
        end(draft, earlier)?;
    }
    let epoch = begin(draft, EpochOwner::Writer(writer))?;
    draft.writers.insert_mut(writer, epoch);
    Ok(Reply::Registered { epoch })
}

pub(super) fn register_job(draft: &mut Manifest, name: &str) -> Result<Reply, Rejection> {
    if name.is_empty() || name.len() > NAME_LEN_MAX {
        return Err(draft::invalid("a job's name has 1 to 1,024 bytes"));
    }
    if let Some(&earlier) = draft.jobs.get(name) {
        end(draft, earlier)?;
    }
    let epoch = begin(draft, EpochOwner::Job(name.to_owned()))?;
    draft.jobs.insert_mut(Arc::from(name), epoch);
    Ok(Reply::Registered { epoch })
}

pub(super) fn fence(draft: &mut Manifest, epoch: Epoch) -> Result<Reply, Rejection> {
    match draft::check_live(draft, epoch) {
        Ok(()) => end(draft, epoch)?,
        Err(Rejection::FencedEpoch { .. }) => {}
        Err(rejection) => return Err(rejection),
    }
    Ok(Reply::Done)
}

pub(super) fn allocate_chunk_ids(draft: &mut Manifest, epoch: Epoch, count: u32) -> Result<Reply, Rejection> {
    let first = take(&mut draft.counters.chunk, count, CHUNK_ID_MAX)?;
    let mut record = draft::epoch(draft, epoch)?;
    record.chunk_ids.add(first, u64::from(count));
    draft::put_epoch(draft, epoch, record);
    Ok(Reply::ChunkIds { first: ChunkId(first), count })
}

pub(super) fn allocate_ids(draft: &mut Manifest, epoch: Epoch, count: u32) -> Result<Reply, Rejection> {
    let first = take(&mut draft.counters.id, count, u64::MAX - 1)?;
    let mut record = draft::epoch(draft, epoch)?;
    record.ids.add(first, u64::from(count));
    draft::put_epoch(draft, epoch, record);
    Ok(Reply::Ids { first, count })
}

fn begin(draft: &mut Manifest, owner: EpochOwner) -> Result<Epoch, Rejection> {
    let epoch = Epoch(take(&mut draft.counters.epoch, 1, u64::MAX - 1)?);
    let record = EpochRecord {
        owner,
        registered_at_ms: draft.state_time_ms,
        chunk_ids: IdBlocks::default(),
        ids: IdBlocks::default(),
        open_chunks: Map::new_sync(),
    };
    draft::put_epoch(draft, epoch, record);
    Ok(epoch)
}

/// Ends a live epoch: its open chunks are closed where they are, the ids that it had left are never used.
fn end(draft: &mut Manifest, epoch: Epoch) -> Result<(), Rejection> {
    let record = draft::epoch(draft, epoch)?;
    let mut touched = draft::Touched::default();
    for (&chunk, &namespace) in &record.open_chunks {
        close_chunk(touched.namespace(draft, namespace)?, chunk);
    }
    touched.put_back(draft);
    draft.epochs.remove_mut(&epoch);
    match &record.owner {
        EpochOwner::Writer(writer) => draft.writers.remove_mut(writer),
        EpochOwner::Job(name) => draft.jobs.remove_mut(name.as_str()),
    };
    Ok(())
}

/// Takes `count` ids off a counter, none above `max`.
fn take(counter: &mut u64, count: u32, max: u64) -> Result<u64, Rejection> {
    if count == 0 || count > ALLOCATION_MAX {
        return Err(draft::invalid(format!("{count} ids were asked for; 1 to {ALLOCATION_MAX} are given at once")));
    }
    let first = *counter;
    let next = first.checked_add(u64::from(count)).filter(|&next| next - 1 <= max).ok_or_else(|| draft::invalid("the ids are used up"))?;
    *counter = next;
    Ok(first)
}
