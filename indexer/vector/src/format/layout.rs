//! Where each block lies, worked out from the head, and whether fetched bytes are the ones that were written.

use super::head::{BlockRecord, Head};
use super::{ByteRange, GRAPH_BLOCK_ROWS};
use crate::codes::{TERM_BYTES, lanes};
use crate::error::VectorError;
use crate::full;
use crate::kernels::CODE_LANES;
use std::ops::Range;

/// The blocks of an index.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    rows: u32,
    code_block_rows: u32,
    full_block_rows: u32,
    blocks: Vec<(ByteRange, u32)>,
    /// Blocks of codes, of full vectors, of levels above 0, of level 0.
    counts: [usize; 4],
}

/// Bytes of a row in a block of codes.
pub(super) fn code_row_bytes(dimension: usize) -> usize {
    lanes(dimension) * CODE_LANES + TERM_BYTES
}

impl Layout {
    /// Where the blocks of an object of `length` bytes lie.
    pub(crate) fn new(head: &Head, head_bytes: u64, length: u64) -> Result<Self, VectorError> {
        let corrupt = |reason| VectorError::corrupt("head", reason);
        let (levels, graph_blocks) = head.graph.map_or((0, 0), |graph| (graph.levels - 1, head.rows.div_ceil(GRAPH_BLOCK_ROWS) as usize));
        let counts = [head.rows.div_ceil(head.code_block_rows) as usize, head.rows.div_ceil(head.full_block_rows) as usize, levels, graph_blocks];
        if counts.iter().sum::<usize>() != head.blocks.len() {
            return Err(corrupt("it has another number of blocks than its rows need"));
        }
        let mut start = head_bytes;
        let blocks: Vec<(ByteRange, u32)> = head
            .blocks
            .iter()
            .map(|BlockRecord { length, checksum }| {
                let range = start..start + u64::from(*length);
                start = range.end;
                (range, *checksum)
            })
            .collect();
        if start != length {
            return Err(corrupt("its blocks end elsewhere than the object"));
        }
        let layout = Self { rows: head.rows, code_block_rows: head.code_block_rows, full_block_rows: head.full_block_rows, blocks, counts };
        let dimension = head.space.dimension();
        let has_length = |range: Option<ByteRange>, rows: Range<u32>, row_bytes: usize| {
            range.is_some_and(|range| range.end - range.start == u64::from(rows.end - rows.start) * row_bytes as u64)
        };
        let codes = (0..counts[0] as u32).all(|block| has_length(layout.code_range(block), layout.code_rows(block), code_row_bytes(dimension)));
        let full_bytes = full::row_bytes(head.precision, dimension);
        let full = (0..counts[1] as u32).all(|block| has_length(layout.full_range(block), layout.full_rows(block), full_bytes));
        if codes && full { Ok(layout) } else { Err(corrupt("a block has another length than its rows need")) }
    }

    pub(crate) const fn code_block_of(&self, row: u32) -> u32 {
        row / self.code_block_rows
    }

    pub(crate) const fn full_block_of(&self, row: u32) -> u32 {
        row / self.full_block_rows
    }

    pub(crate) const fn full_block_rows(&self) -> u32 {
        self.full_block_rows
    }

    fn block_of(&self, section: usize, block: u32) -> Option<&(ByteRange, u32)> {
        let first: usize = self.counts[..section].iter().sum();
        ((block as usize) < self.counts[section]).then(|| &self.blocks[first + block as usize])
    }

    fn rows_of(&self, block: u32, block_rows: u32) -> Range<u32> {
        let start = block.saturating_mul(block_rows).min(self.rows);
        start..start.saturating_add(block_rows).min(self.rows)
    }

    fn check(&self, section: usize, name: &str, block: u32, bytes: &[u8]) -> Result<(), VectorError> {
        let corrupt = |reason| VectorError::corrupt(format!("{name} {block}"), reason);
        let (range, checksum) = self.block_of(section, block).ok_or_else(|| corrupt("there is no such block"))?;
        if range.end - range.start != bytes.len() as u64 {
            return Err(corrupt("it has another length"));
        }
        if crc32c::crc32c(bytes) != *checksum {
            return Err(corrupt("its checksum differs"));
        }
        Ok(())
    }

    pub(crate) fn code_blocks(&self) -> Range<u32> {
        0..self.counts[0] as u32
    }

    pub(crate) fn code_rows(&self, block: u32) -> Range<u32> {
        self.rows_of(block, self.code_block_rows)
    }

    pub(crate) fn code_range(&self, block: u32) -> Option<ByteRange> {
        self.block_of(0, block).map(|(range, _)| range.clone())
    }

    pub(crate) fn check_codes(&self, block: u32, bytes: &[u8]) -> Result<(), VectorError> {
        self.check(0, "codes", block, bytes)
    }

    pub(crate) fn full_blocks(&self) -> Range<u32> {
        0..self.counts[1] as u32
    }

    pub(crate) fn full_rows(&self, block: u32) -> Range<u32> {
        self.rows_of(block, self.full_block_rows)
    }

    pub(crate) fn full_range(&self, block: u32) -> Option<ByteRange> {
        self.block_of(1, block).map(|(range, _)| range.clone())
    }

    pub(crate) fn check_full(&self, block: u32, bytes: &[u8]) -> Result<(), VectorError> {
        self.check(1, "full", block, bytes)
    }

    /// Blocks of the levels above 0: block `i` is level `i + 1`.
    pub(crate) fn level_blocks(&self) -> Range<u32> {
        0..self.counts[2] as u32
    }

    pub(crate) fn level_range(&self, block: u32) -> Option<ByteRange> {
        self.block_of(2, block).map(|(range, _)| range.clone())
    }

    pub(crate) fn check_level(&self, block: u32, bytes: &[u8]) -> Result<(), VectorError> {
        self.check(2, "level", block, bytes)
    }

    pub(crate) fn graph_blocks(&self) -> Range<u32> {
        0..self.counts[3] as u32
    }

    pub(crate) fn graph_rows(&self, block: u32) -> Range<u32> {
        self.rows_of(block, GRAPH_BLOCK_ROWS)
    }

    pub(crate) fn graph_range(&self, block: u32) -> Option<ByteRange> {
        self.block_of(3, block).map(|(range, _)| range.clone())
    }

    pub(crate) fn check_graph(&self, block: u32, bytes: &[u8]) -> Result<(), VectorError> {
        self.check(3, "graph", block, bytes)
    }
}
