//! What a builder keeps of each chunk until it writes the layout.

use crate::error::SegmentError;
use crate::layout::{BURNED, Cells, ChunkSummary, ChunkTable, Forward, Layout};
use siltstone_core::{CHUNK_ROWS_MAX, ChunkId};
use siltstone_format::Rows;

/// A chunk that was added.
pub(super) struct BuiltChunk {
    pub(super) summary: ChunkSummary,
    pub(super) offsets: Vec<u16>,
    /// Per row: the builder's number of its pattern.
    pub(super) patterns: Vec<u32>,
}

/// Whether a chunk can be added.
pub(super) fn check(chunk: ChunkId, rows: &Rows, offsets: &[u16]) -> Result<(), SegmentError> {
    let refuse = |reason| Err(SegmentError::Input { chunk, reason });
    if rows.is_empty() {
        return refuse("it has no rows");
    }
    if offsets.len() != rows.len() {
        return refuse("there are not as many offsets as rows");
    }
    if !offsets.is_sorted_by(|left, right| left < right) {
        return refuse("its offsets do not ascend");
    }
    if offsets.last().is_some_and(|last| usize::from(*last) >= CHUNK_ROWS_MAX) {
        return refuse("RA-1: an offset is outside it");
    }
    Ok(())
}

/// The layout of chunks, once patterns have their final numbers.
pub(super) fn layout(chunks: &[BuiltChunk], final_pattern: &[u32]) -> Layout {
    let mut table = ChunkTable::default();
    let mut cells = Cells::default();
    let mut columns = Vec::with_capacity(chunks.len());
    // Per pattern: rows in the chunk at hand, then the number of its cell.
    let mut scratch = vec![0_u16; final_pattern.len()];
    for chunk in chunks {
        table.push(chunk.summary, &chunk.offsets);
        let mut present = Vec::new();
        for pattern in &chunk.patterns {
            let pattern = final_pattern[*pattern as usize];
            if scratch[pattern as usize] == 0 {
                present.push(pattern);
            }
            scratch[pattern as usize] += 1;
        }
        present.sort_unstable();
        cells.push_chunk(present.iter().map(|pattern| (*pattern, scratch[*pattern as usize])));
        for (cell, pattern) in present.iter().enumerate() {
            scratch[*pattern as usize] = cell as u16;
        }
        let span = chunk.offsets.last().map_or(0, |last| usize::from(*last) + 1);
        let mut column = vec![BURNED; span];
        for (offset, pattern) in chunk.offsets.iter().zip(&chunk.patterns) {
            column[usize::from(*offset)] = scratch[final_pattern[*pattern as usize] as usize];
        }
        columns.push(column.into());
        present.iter().for_each(|pattern| scratch[*pattern as usize] = 0);
    }
    Layout { chunks: table, cells, forward: Forward::from_columns(columns) }
}
