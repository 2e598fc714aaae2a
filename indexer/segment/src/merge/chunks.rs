//! The chunks of all segments in one order, with what belongs to each.

use super::patterns::MergedPatterns;
use crate::error::SegmentError;
use crate::irregular::IrregularRows;
use crate::layout::{CHUNKS_MAX, Cells, ChunkTable};
use crate::reader::SegmentReader;
use crate::wire::PagesWriter;
use siltstone_core::CHUNK_ROWS_MAX;
use siltstone_core::address::CHUNK_ROWS_BITS;

pub(super) struct MergedChunks {
    pub(super) table: ChunkTable,
    pub(super) cells: Cells,
    pub(super) forward: PagesWriter,
    pub(super) irregular: IrregularRows,
    /// Per segment and ordinal there: the ordinal here, ascending.
    ordinals: Vec<Vec<u32>>,
}

impl MergedChunks {
    pub(super) fn new(segments: &[&SegmentReader], patterns: &MergedPatterns) -> Result<Self, SegmentError> {
        let mut order: Vec<(usize, usize)> =
            segments.iter().enumerate().flat_map(|(segment, reader)| (0..reader.chunks().len()).map(move |ordinal| (segment, ordinal))).collect();
        let id = |(segment, ordinal): &(usize, usize)| segments[*segment].chunks()[*ordinal].id;
        order.sort_by_key(id);
        if order.len() > CHUNKS_MAX {
            return Err(SegmentError::TooLarge { what: "the number of chunks", limit: CHUNKS_MAX as u64 });
        }
        if let Some(pair) = order.windows(2).find(|pair| id(&pair[0]) == id(&pair[1])) {
            return Err(SegmentError::Input { chunk: id(&pair[0]), reason: "it is in two segments" });
        }
        let mut merged = Self {
            table: ChunkTable::default(),
            cells: Cells::default(),
            forward: PagesWriter::default(),
            irregular: IrregularRows::default(),
            ordinals: segments.iter().map(|segment| vec![0; segment.chunks().len()]).collect(),
        };
        for (here, (segment, ordinal)) in (0_u32..).zip(order) {
            let layout = &segments[segment].layout;
            merged.table.push_from(&layout.chunks, ordinal);
            let cells = layout.cells.patterns(ordinal as u32).iter().zip(layout.cells.counts(ordinal as u32));
            merged.cells.push_chunk(cells.map(|(pattern, count)| (patterns.number(segment, *pattern), *count)));
            merged.forward.append(layout.forward.stored(ordinal as u32, &layout.chunks, &layout.cells)?);
            merged.ordinals[segment][ordinal] = here;
        }
        merged.merge_irregular(segments)?;
        Ok(merged)
    }

    fn merge_irregular(&mut self, segments: &[&SegmentReader]) -> Result<(), SegmentError> {
        let mut rows = Vec::new();
        for (segment, reader) in segments.iter().enumerate() {
            for (row, extra) in reader.irregular.rows.iter().zip(&reader.irregular.extra_tokens) {
                rows.push((self.row(segment, *row)?, *extra));
            }
        }
        rows.sort_unstable();
        rows.into_iter().for_each(|(row, extra)| self.irregular.push(row, extra));
        Ok(())
    }

    /// The ordinal here of a segment's chunk.
    pub(super) fn ordinal(&self, segment: usize, ordinal: u32) -> Result<u32, SegmentError> {
        self.ordinals[segment].get(ordinal as usize).copied().ok_or(SegmentError::corrupt("postings", "a chunk does not exist"))
    }

    /// The row here of a segment's row.
    pub(super) fn row(&self, segment: usize, row: u32) -> Result<u32, SegmentError> {
        Ok(self.ordinal(segment, row >> CHUNK_ROWS_BITS)? << CHUNK_ROWS_BITS | row & (CHUNK_ROWS_MAX as u32 - 1))
    }
}
