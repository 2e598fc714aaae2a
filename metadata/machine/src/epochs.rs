//! Lives of writers and jobs, and the ids that they are given.

use super::{batch::close_chunk, draft};
use siltstone_core::{ChunkId, Epoch, WriterId};
use siltstone_format::{
    command::{ALLOCATION_MAX, NAME_LEN_MAX, Rejection, Reply},
    manifest::{Counters, EpochOwner, EpochRecord, IdBlocks, Manifest, Map},
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
    let first = take(draft, count, "chunk ids", |counters| &mut counters.chunk)?;
    let mut record = draft::epoch(draft, epoch)?;
    record.chunk_ids.add(first, u64::from(count));
    draft::put_epoch(draft, epoch, record);
    Ok(Reply::ChunkIds { first: ChunkId(first), count })
}

pub(super) fn allocate_ids(draft: &mut Manifest, epoch: Epoch, count: u32) -> Result<Reply, Rejection> {
    let first = take(draft, count, "ids of objects", |counters| &mut counters.id)?;
    let mut record = draft::epoch(draft, epoch)?;
    record.ids.add(first, u64::from(count));
    draft::put_epoch(draft, epoch, record);
    Ok(Reply::Ids { first, count })
}

fn begin(draft: &mut Manifest, owner: EpochOwner) -> Result<Epoch, Rejection> {
    let epoch = Epoch(take(draft, 1, "epochs", |counters| &mut counters.epoch)?);
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
pub(super) fn end(draft: &mut Manifest, epoch: Epoch) -> Result<(), Rejection> {
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

/// Takes `count` ids off a counter, none past the end of the life's lane (RA-1).
fn take(draft: &mut Manifest, count: u32, what: &str, counter: impl Fn(&mut Counters) -> &mut u64) -> Result<u64, Rejection> {
    if count == 0 || count > ALLOCATION_MAX {
        return Err(draft::invalid(format!("{count} ids were asked for; 1 to {ALLOCATION_MAX} are given at once")));
    }
    let last = *counter(&mut draft.lives.lane().last());
    let next = counter(&mut draft.counters);
    let (first, end) = (*next, *next + u64::from(count));
    if end > last + 1 {
        return Err(draft::used_up(draft, what));
    }
    *next = end;
    Ok(first)
}
