//! The slots of one token's rows, on their way to the slots stream.

use crate::error::SegmentError;
use crate::layout::Layout;
use crate::postings::{CellRows, SlotsView, put_cell_codes, put_code};
use siltstone_core::CHUNK_ROWS_MAX;
use siltstone_core::address::CHUNK_ROWS_BITS;

/// The code of each row, in order.
#[derive(Default)]
pub(crate) struct RowSlots {
    codes: Vec<u8>,
    /// Per row: where its code ends.
    ends: Vec<u32>,
    first: Option<u32>,
    is_constant: bool,
}

impl RowSlots {
    pub(crate) fn clear(&mut self) {
        self.codes.clear();
        self.ends.clear();
        self.first = None;
        self.is_constant = true;
    }

    /// Adds the next row.
    pub(crate) fn push(&mut self, slots: &[u32]) {
        put_code(&mut self.codes, slots);
        self.ends.push(self.codes.len() as u32);
        match slots {
            [slot] => self.is_constant &= *self.first.get_or_insert(*slot) == *slot,
            _ => self.is_constant = false,
        }
    }

    fn code(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.codes[start..self.ends[row] as usize]
    }

    /// The entry of the slots stream for a posting of these rows.
    pub(super) fn entry(&self, rows: &[u32], is_flat: bool, layout: &Layout) -> Result<Vec<u8>, SegmentError> {
        let mut entry = Vec::new();
        if let (true, Some(slot)) = (self.is_constant, self.first) {
            SlotsView::put_constant(&mut entry, slot);
            return Ok(entry);
        }
        if is_flat {
            SlotsView::put_flat(&mut entry, &self.codes);
            return Ok(entry);
        }
        let mut codes = Vec::new();
        let mut ends = Vec::new();
        let (mut cell_rows, mut offsets) = (CellRows::default(), Vec::new());
        let mut first_row = 0;
        for group in rows.chunk_by(|left, right| left >> CHUNK_ROWS_BITS == right >> CHUNK_ROWS_BITS) {
            let chunk = group[0] >> CHUNK_ROWS_BITS;
            offsets.clear();
            offsets.extend(group.iter().map(|row| (row & (CHUNK_ROWS_MAX as u32 - 1)) as u16));
            cell_rows.fill(&offsets, layout.cell_of_offset(chunk)?, layout.cells.patterns(chunk).len())?;
            put_cell_codes(&mut codes, &cell_rows, |place| self.code(first_row + place));
            ends.push(codes.len());
            first_row += group.len();
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        SlotsView::put_chunks(&mut entry, starts.zip(&ends).map(|(start, end)| &codes[start..*end]));
        Ok(entry)
    }
}
