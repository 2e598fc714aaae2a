//! The chunks of a segment: ids, rows, burned offsets, time bounds.

use super::CHUNKS_MAX;
use crate::error::SegmentError;
use crate::wire::{Cursor, put_varint, unzigzag, zigzag};
use siltstone_core::address::CHUNK_ID_MAX;
use siltstone_core::bitmap::{Block, Run};
use siltstone_core::{CHUNK_ROWS_MAX, ChunkId};

const BLOCK: &str = "chunks";

/// What a segment knows of one of its chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkSummary {
    /// The chunk.
    pub id: ChunkId,
    /// How many rows it has, 1 or more.
    pub rows: u32,
    /// The earliest timestamp.
    pub first_ns: i64,
    /// The latest.
    pub last_ns: i64,
}

/// The chunks, ascending by id; the position is the chunk's ordinal.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChunkTable {
    pub(crate) summaries: Vec<ChunkSummary>,
    /// Per chunk: the offsets of its rows, where burned offsets leave gaps; `None` where rows are `0..rows`.
    offsets: Vec<Option<Box<[u16]>>>,
}

impl ChunkTable {
    pub(crate) fn push(&mut self, summary: ChunkSummary, offsets: &[u16]) {
        debug_assert_eq!(summary.rows as usize, offsets.len(), "an offset a row");
        let is_dense = offsets.last().is_some_and(|last| usize::from(*last) + 1 == offsets.len());
        self.summaries.push(summary);
        self.offsets.push((!is_dense).then(|| offsets.into()));
    }

    pub(crate) fn push_from(&mut self, other: &Self, ordinal: usize) {
        self.summaries.push(other.summaries[ordinal]);
        self.offsets.push(other.offsets[ordinal].clone());
    }

    pub(crate) fn len(&self) -> usize {
        self.summaries.len()
    }

    pub(crate) fn rows(&self, chunk: u32) -> u32 {
        self.summaries.get(chunk as usize).map_or(0, |summary| summary.rows)
    }

    /// One more than the last offset of a chunk.
    pub(crate) fn span(&self, chunk: u32) -> usize {
        match self.offsets.get(chunk as usize) {
            Some(Some(offsets)) => offsets.last().map_or(0, |last| usize::from(*last) + 1),
            _ => self.rows(chunk) as usize,
        }
    }

    /// The offset of the row with this number among a chunk's rows.
    pub(crate) fn offset_of_rank(&self, chunk: u32, rank: usize) -> u16 {
        match &self.offsets[chunk as usize] {
            Some(offsets) => offsets[rank],
            None => rank as u16,
        }
    }

    /// The number of the row at an offset among a chunk's rows. The row must exist.
    pub(crate) fn rank_of_offset(&self, chunk: u32, offset: u16) -> usize {
        match self.offsets.get(chunk as usize) {
            Some(Some(offsets)) => offsets.partition_point(|other| *other < offset),
            _ => usize::from(offset),
        }
    }

    /// All rows of a chunk.
    pub(crate) fn block(&self, chunk: u32) -> Block {
        match self.offsets.get(chunk as usize) {
            Some(Some(offsets)) => offsets.iter().copied().collect(),
            _ => {
                let mut block = Block::EMPTY;
                if let Some(last) = self.rows(chunk).checked_sub(1) {
                    block.insert_run(Run { start: 0, last: last as u16 });
                }
                block
            }
        }
    }

    /// Per chunk: id as distance, rows − 1, runs of burned offsets, first time as distance, length of time.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.len() as u64);
        let (mut id, mut first_ns) = (0, 0_i64);
        for (summary, offsets) in self.summaries.iter().zip(&self.offsets) {
            put_varint(&mut out, summary.id.0 - id);
            put_varint(&mut out, u64::from(summary.rows - 1));
            match offsets {
                None => put_varint(&mut out, 0),
                Some(offsets) => put_gaps(&mut out, offsets),
            }
            put_varint(&mut out, zigzag(summary.first_ns.wrapping_sub(first_ns)));
            put_varint(&mut out, summary.last_ns.wrapping_sub(summary.first_ns) as u64);
            (id, first_ns) = (summary.id.0 + 1, summary.first_ns);
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, SegmentError> {
        let mut cursor = Cursor::new(BLOCK, bytes);
        let count = cursor.count()?;
        if count > CHUNKS_MAX {
            return Err(cursor.corrupt("there are too many chunks"));
        }
        let mut table = Self::default();
        let (mut next_id, mut first_ns) = (0_u64, 0_i64);
        for _ in 0..count {
            let id = next_id.checked_add(cursor.varint()?).filter(|id| *id <= CHUNK_ID_MAX).ok_or(cursor.corrupt("a chunk id is too large"))?;
            next_id = id + 1;
            let rows = cursor.bounded(CHUNK_ROWS_MAX as u64 - 1, "a chunk has too many rows")? as u32 + 1;
            let offsets = take_gaps(&mut cursor, rows)?;
            first_ns = first_ns.wrapping_add(unzigzag(cursor.varint()?));
            let last_ns = first_ns.wrapping_add(cursor.varint()? as i64);
            if last_ns < first_ns {
                return Err(cursor.corrupt("a chunk's times are reversed"));
            }
            table.summaries.push(ChunkSummary { id: ChunkId(id), rows, first_ns, last_ns });
            table.offsets.push(offsets);
        }
        cursor.finish()?;
        Ok(table)
    }
}

/// The runs of burned offsets before the last row: their number; per run the rows before it since the last run, and its length − 1.
fn put_gaps(out: &mut Vec<u8>, offsets: &[u16]) {
    let mut gaps = Vec::new();
    let mut next = 0;
    let mut rows = 0;
    for offset in offsets {
        if *offset > next {
            gaps.push((rows, offset - next - 1));
            rows = 0;
        }
        rows += 1;
        next = offset + 1;
    }
    put_varint(out, gaps.len() as u64);
    for (rows, length) in gaps {
        put_varint(out, rows);
        put_varint(out, u64::from(length));
    }
}

fn take_gaps(cursor: &mut Cursor<'_>, rows: u32) -> Result<Option<Box<[u16]>>, SegmentError> {
    let gaps = cursor.count()?;
    if gaps == 0 {
        return Ok(None);
    }
    let mut offsets = Vec::with_capacity(rows as usize);
    let mut next = 0_u64;
    for _ in 0..gaps {
        let before = cursor.bounded(u64::from(rows) - offsets.len() as u64, "a gap lies behind the last row")?;
        offsets.extend((next..next + before).map(|offset| offset as u16));
        next += before + 1 + cursor.bounded(CHUNK_ROWS_MAX as u64, "a gap is too long")?;
        if next > CHUNK_ROWS_MAX as u64 {
            return Err(cursor.corrupt("a gap leaves its chunk"));
        }
    }
    let rest = u64::from(rows) - offsets.len() as u64;
    if rest == 0 || next + rest > CHUNK_ROWS_MAX as u64 {
        return Err(cursor.corrupt("rows leave their chunk"));
    }
    offsets.extend((next..next + rest).map(|offset| offset as u16));
    Ok(Some(offsets.into()))
}
