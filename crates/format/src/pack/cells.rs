//! Variables read back: an arena of cells, and columns that point into it.

use super::streams::StreamReaders;
use crate::rows::ROWS_BYTES_MAX;
use crate::wire::{DecodeError, Reader};
use std::sync::Arc;

/// Values one after the other.
#[derive(Debug, Default)]
pub(super) struct Cells {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Cells {
    /// The number of the next cell.
    pub(super) fn next(&self) -> u32 {
        self.ends.len() as u32
    }

    pub(super) fn get(&self, cell: u32) -> &[u8] {
        let start = if cell == 0 { 0 } else { self.ends[cell as usize - 1] as usize };
        &self.bytes[start..self.ends[cell as usize] as usize]
    }

    /// Appends a cell: the prefix, what `write` appends, the suffix. The whole arena stays below what a block of rows may hold.
    pub(super) fn push<F>(&mut self, affixes: &Affixes<'_>, reader: &Reader<'_>, write: F) -> Result<(), DecodeError>
    where
        F: FnOnce(&mut Vec<u8>),
    {
        self.bytes.extend_from_slice(affixes.prefix);
        write(&mut self.bytes);
        self.bytes.extend_from_slice(affixes.suffix);
        if self.bytes.len() > ROWS_BYTES_MAX || self.ends.len() >= ROWS_BYTES_MAX {
            return Err(reader.corrupt("more variables than a block of rows may hold"));
        }
        self.ends.push(self.bytes.len() as u32);
        Ok(())
    }

    /// Appends a text whose length is the next one.
    pub(super) fn push_text(&mut self, affixes: &Affixes<'_>, readers: &mut StreamReaders<'_>) -> Result<(), DecodeError> {
        let length = readers.lengths.varint_max(ROWS_BYTES_MAX)?;
        let text = readers.text.bytes(length)?;
        self.push(affixes, &readers.text, |bytes| bytes.extend_from_slice(text))
    }
}

/// What all values of a column begin and end with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Affixes<'a> {
    pub(super) prefix: &'a [u8],
    pub(super) suffix: &'a [u8],
}

/// The values of one slot of one pattern, by the row's index among the pattern's rows.
#[derive(Clone, Debug)]
pub(super) struct CellColumn {
    first: u32,
    /// Cells from one row to the next: 0 if all rows have the same.
    step: u32,
    /// Which cell after `first`, where rows share cells.
    ids: Option<Arc<[u32]>>,
}

impl CellColumn {
    pub(super) const fn constant(first: u32) -> Self {
        Self { first, step: 0, ids: None }
    }

    pub(super) const fn every(first: u32, step: u32) -> Self {
        Self { first, step, ids: None }
    }

    pub(super) const fn dictionary(first: u32, ids: Arc<[u32]>) -> Self {
        Self { first, step: 0, ids: Some(ids) }
    }

    pub(super) fn cell(&self, index: usize) -> u32 {
        match &self.ids {
            Some(ids) => self.first + ids[index],
            None => self.first + self.step * index as u32,
        }
    }
}
