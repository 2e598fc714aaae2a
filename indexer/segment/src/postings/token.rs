//! A variable token: the rows whose variables have it, chunk by chunk and cell by cell, and in which slots.

use super::slots::{CellSlots, SlotsView, take_code};
use super::{CellRows, GroupRef, PostingView};
use crate::dictionary::RowsRef;
use crate::error::SegmentError;
use crate::layout::Layout;
use crate::reader::SegmentReader;
use crate::wire::Cursor;
use siltstone_core::CHUNK_ROWS_MAX;
use siltstone_core::address::CHUNK_ROWS_BITS;

/// What the dictionary has of a token's rows.
#[derive(Default)]
pub(crate) struct TokenRows<'a> {
    /// Rows that do not come by chunk, with where the codes of each begin.
    flat: Vec<(u32, u32)>,
    flat_codes: Vec<u8>,
    groups: Vec<(GroupRef<'a>, GroupSlots<'a>)>,
}

#[derive(Clone, Copy)]
enum GroupSlots<'a> {
    Constant(u32),
    Codes(&'a [u8]),
}

impl<'a> TokenRows<'a> {
    pub(crate) fn open(reader: &'a SegmentReader, rows: &RowsRef) -> Result<Self, SegmentError> {
        let mut token = Self::default();
        match *rows {
            RowsRef::None => {}
            RowsRef::One { row, slot } => {
                token.flat.push((row, 0));
                super::put_code(&mut token.flat_codes, &[slot]);
            }
            RowsRef::Many { at, bytes, slots_at, slots_bytes } => {
                let posting = reader.posting(at, bytes)?;
                let slots = reader.slots(&posting, slots_at, slots_bytes)?;
                if posting.is_flat() {
                    token.open_flat(&posting, slots)?;
                } else {
                    let groups = posting.groups()?;
                    token.groups = match slots {
                        SlotsView::Constant(slot) => groups.into_iter().map(|group| (group, GroupSlots::Constant(slot))).collect(),
                        SlotsView::Chunks(codes) => groups.into_iter().zip(codes.into_iter().map(GroupSlots::Codes)).collect(),
                        SlotsView::Flat(codes) => return Err(codes.corrupt("a form is not that of its posting")),
                    };
                }
            }
        }
        Ok(token)
    }

    fn open_flat(&mut self, posting: &PostingView<'_>, slots: SlotsView<'_>) -> Result<(), SegmentError> {
        let mut codes = match slots {
            SlotsView::Flat(codes) => Some(codes),
            SlotsView::Constant(slot) => {
                super::put_code(&mut self.flat_codes, &[slot]);
                None
            }
            SlotsView::Chunks(_) => return Err(SegmentError::corrupt("slots", "a form is not that of its posting")),
        };
        let mut scratch = Vec::new();
        let before = codes.as_ref().map_or(0, |codes| codes.rest().len());
        if let Some(codes) = &codes {
            self.flat_codes.extend_from_slice(codes.rest());
        }
        for row in posting.flat() {
            let start = codes.as_ref().map_or(0, |codes| before - codes.rest().len());
            if let Some(codes) = &mut codes {
                scratch.clear();
                take_code(codes, &mut scratch)?;
            }
            self.flat.push((row?, start as u32));
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.flat.is_empty() && self.groups.is_empty()
    }

    /// Whether a chunk has rows.
    pub(crate) fn has_chunk(&self, chunk: u32) -> bool {
        !self.flat_of(chunk).is_empty() || self.groups.binary_search_by_key(&chunk, |(group, _)| group.chunk).is_ok()
    }

    /// Calls `each` with the offsets of a chunk's rows and how often each has the token; false, and no call, where there are more than `few`.
    pub(crate) fn few_of_chunk<F>(&self, chunk: u32, few: usize, mut each: F) -> Result<bool, SegmentError>
    where
        F: FnMut(u16, u32),
    {
        if self.groups.binary_search_by_key(&chunk, |(group, _)| group.chunk).is_ok() {
            return Ok(false);
        }
        let flat = self.flat_of(chunk);
        if flat.len() > few {
            return Ok(false);
        }
        let mut slots = Vec::new();
        for (row, codes) in flat {
            slots.clear();
            take_code(&mut Cursor::new("slots", &self.flat_codes[*codes as usize..]), &mut slots)?;
            each((row & (CHUNK_ROWS_MAX as u32 - 1)) as u16, slots.len() as u32);
        }
        Ok(true)
    }

    /// The rows of a chunk that do not come by chunk.
    fn flat_of(&self, chunk: u32) -> &[(u32, u32)] {
        let first = self.flat.partition_point(|(row, _)| row >> CHUNK_ROWS_BITS < chunk);
        &self.flat[first..first + self.flat[first..].partition_point(|(row, _)| row >> CHUNK_ROWS_BITS == chunk)]
    }

    /// The chunks that have rows, ascending.
    pub(crate) fn chunks(&self) -> Vec<u32> {
        let mut chunks: Vec<u32> = self.groups.iter().map(|(group, _)| group.chunk).collect();
        chunks.extend(self.flat.iter().map(|(row, _)| row >> CHUNK_ROWS_BITS));
        chunks.dedup();
        chunks
    }

    /// Reads a chunk's rows; empty if it has none.
    pub(crate) fn read(&self, chunk: u32, layout: &Layout, out: &mut TokenChunk) -> Result<(), SegmentError> {
        let cells = layout.cells.patterns(chunk).len();
        out.given.clear();
        let flat = self.flat_of(chunk);
        if !flat.is_empty() {
            out.slots.clear(cells);
            out.given.extend(flat.iter().map(|(row, _)| (row & (CHUNK_ROWS_MAX as u32 - 1)) as u16));
            out.rows.fill(&out.given, layout.cell_of_offset(chunk)?, cells)?;
            out.codes.clear();
            let mut of_cell = Vec::new();
            for (cell, range) in out.rows.cells().filter(|(_, range)| !range.is_empty()) {
                of_cell.clear();
                for place in &out.rows.places()[range.clone()] {
                    let mut codes = Cursor::new("slots", &self.flat_codes[flat[usize::from(*place)].1 as usize..]);
                    out.codes.clear();
                    take_code(&mut codes, &mut out.codes)?;
                    super::put_code(&mut of_cell, &out.codes);
                }
                out.slots.list(cell, range.len(), &mut Cursor::new("slots", &of_cell))?;
            }
            return Ok(());
        }
        let Ok(place) = self.groups.binary_search_by_key(&chunk, |(group, _)| group.chunk) else {
            out.rows.clear();
            return Ok(());
        };
        out.slots.clear(cells);
        let (group, slots) = &self.groups[place];
        group.for_each(layout, |offset| out.given.push(offset))?;
        out.rows.fill(&out.given, layout.cell_of_offset(chunk)?, cells)?;
        match slots {
            GroupSlots::Constant(slot) => out.slots.set_constant(*slot),
            GroupSlots::Codes(bytes) => out.slots.read(bytes, &out.rows)?,
        }
        Ok(())
    }
}

/// A token's rows of one chunk. Keeps its buffers.
#[derive(Default, Debug)]
pub(crate) struct TokenChunk {
    rows: CellRows,
    slots: CellSlots,
    /// The offsets, ascending.
    given: Vec<u16>,
    codes: Vec<u32>,
}

impl TokenChunk {
    /// The offsets of the rows, ascending.
    pub(crate) fn offsets(&self) -> &[u16] {
        &self.given
    }

    /// The cells that have rows.
    pub(crate) fn cells(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows.cells().filter(|(_, range)| !range.is_empty()).map(|(cell, _)| cell)
    }

    /// The offsets of a cell's rows, ascending.
    pub(crate) fn rows_of(&self, cell: usize) -> &[u16] {
        self.rows.of(cell)
    }

    /// The slots of all of a cell's rows, if they have the same.
    pub(crate) fn same_slots(&self, cell: usize) -> Option<&[u32]> {
        self.slots.same(cell)
    }

    /// The slots of a cell's row by its place in the cell.
    pub(crate) fn slots_of(&self, cell: usize, place: usize) -> &[u32] {
        self.slots.of(cell, place)
    }

    /// The most often that one of a cell's rows has the token; 0 if the cell has no rows.
    pub(crate) fn count_max(&self, cell: usize) -> u32 {
        let rows = self.rows.of(cell).len();
        if rows == 0 {
            return 0;
        }
        match self.slots.same(cell) {
            Some(slots) => slots.len() as u32,
            None => (0..rows).map(|place| self.slots.of(cell, place).len() as u32).max().unwrap_or(0),
        }
    }
}
