//! The forward column: per row, the number of its cell.

use super::{Cells, ChunkTable};
use crate::error::SegmentError;
use crate::wire::{Pages, PagesWriter};
use bytes::Bytes;
use std::sync::OnceLock;

const BLOCK: &str = "forward";

/// Stands for an offset that has no row.
pub(crate) const BURNED: u16 = u16::MAX;

/// The column of every chunk, unpacked when first needed.
#[derive(Debug)]
pub(crate) struct Forward {
    pages: Option<Pages>,
    /// Where each chunk's part begins in the stream.
    starts: Vec<u64>,
    chunks: Vec<OnceLock<Box<[u16]>>>,
}

/// Bytes of one cell number: one if a chunk's cells allow it.
const fn width(cells: usize) -> usize {
    if cells <= 256 { 1 } else { 2 }
}

impl Forward {
    /// A column that is all in memory: per chunk and offset the number of the cell.
    pub(crate) fn from_columns(columns: Vec<Box<[u16]>>) -> Self {
        Self { pages: None, starts: Vec::new(), chunks: columns.into_iter().map(OnceLock::from).collect() }
    }

    pub(crate) fn open(bytes: &Bytes, chunks: &ChunkTable, cells: &Cells) -> Result<Self, SegmentError> {
        let pages = Pages::open(BLOCK, bytes)?;
        let mut start = 0;
        let mut starts = Vec::with_capacity(chunks.len());
        for chunk in 0..chunks.len() as u32 {
            starts.push(start);
            start += Self::bytes(chunk, chunks, cells);
        }
        Ok(Self { pages: Some(pages), starts, chunks: (0..chunks.len()).map(|_| OnceLock::new()).collect() })
    }

    fn bytes(chunk: u32, chunks: &ChunkTable, cells: &Cells) -> u64 {
        u64::from(chunks.rows(chunk)) * width(cells.patterns(chunk).len()) as u64
    }

    /// Per offset of a chunk: the number of its cell, or [`BURNED`].
    pub(super) fn chunk(&self, chunk: u32, chunks: &ChunkTable, cells: &Cells) -> Result<&[u16], SegmentError> {
        let missing = || SegmentError::corrupt(BLOCK, "a chunk does not exist");
        let cell = self.chunks.get(chunk as usize).ok_or_else(missing)?;
        if let Some(column) = cell.get() {
            return Ok(column);
        }
        let bytes = self.stored(chunk, chunks, cells)?;
        let count = cells.patterns(chunk).len();
        let mut column = vec![BURNED; chunks.span(chunk)];
        let width = width(count);
        for (rank, bytes) in bytes.chunks_exact(width).enumerate() {
            let number = if width == 1 { u16::from(bytes[0]) } else { u16::from_le_bytes([bytes[0], bytes[1]]) };
            if usize::from(number) >= count {
                return Err(SegmentError::corrupt(BLOCK, "a cell does not exist"));
            }
            column[usize::from(chunks.offset_of_rank(chunk, rank))] = number;
        }
        Ok(cell.get_or_init(|| column.into()))
    }

    /// A chunk's part of the stream.
    pub(crate) fn stored(&self, chunk: u32, chunks: &ChunkTable, cells: &Cells) -> Result<&[u8], SegmentError> {
        match (&self.pages, self.starts.get(chunk as usize)) {
            (Some(pages), Some(start)) => pages.entry(*start, Self::bytes(chunk, chunks, cells)),
            _ => Err(SegmentError::corrupt(BLOCK, "a chunk does not exist")),
        }
    }

    /// Appends a chunk's column to a stream.
    pub(crate) fn encode(column: &[u16], cells: usize, out: &mut PagesWriter) {
        let rows = column.iter().filter(|cell| **cell != BURNED);
        let bytes: Vec<u8> = match width(cells) {
            1 => rows.map(|cell| *cell as u8).collect(),
            _ => rows.flat_map(|cell| cell.to_le_bytes()).collect(),
        };
        out.append(&bytes);
    }
}
