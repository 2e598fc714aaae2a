//! The postings of one key in all segments as one.

use super::chunks::MergedChunks;
use crate::build::SegmentWriter;
use crate::dictionary::RowsRef;
use crate::error::SegmentError;
use crate::postings::{CellRows, Form, PostingWriter, SlotsView, put_cell_codes, put_code};
use crate::reader::SegmentReader;
use crate::wire::Cursor;
use siltstone_core::CHUNK_ROWS_MAX;
use siltstone_core::address::CHUNK_ROWS_BITS;
use std::ops::Range;

/// Gathers the rows of one key after another; keeps its buffers.
#[derive(Default)]
pub(super) struct MergedRows {
    /// Rows that came one by one.
    singles: Vec<Single>,
    /// Chunks that came whole.
    groups: Vec<Group>,
    /// Bytes of the groups' rows.
    lowers: Vec<u8>,
    codes: Vec<u8>,
    /// The one slot of every row so far, if it is so.
    constant: Option<u32>,
    has_slots: bool,
    is_constant: bool,
    posting: PostingWriter,
    slots: Vec<u8>,
    cell_rows: CellRows,
    offsets: Vec<u16>,
}

#[derive(Clone)]
struct Single {
    row: u32,
    /// Where it came from.
    segment: usize,
    chunk_there: u32,
    codes: Range<usize>,
}

/// One chunk's rows.
#[derive(Clone)]
struct Group {
    chunk: u32,
    rows: u32,
    form: Form,
    lower: Range<usize>,
    codes: Range<usize>,
}

impl MergedRows {
    /// Begins the next key; `has_slots` says whether its rows have slots.
    pub(super) fn begin(&mut self, has_slots: bool) {
        self.singles.clear();
        self.groups.clear();
        self.lowers.clear();
        self.codes.clear();
        self.constant = None;
        self.has_slots = has_slots;
        self.is_constant = true;
    }

    /// Adds what a segment has.
    pub(super) fn add(&mut self, segment: usize, reader: &SegmentReader, rows: &RowsRef, chunks: &MergedChunks) -> Result<(), SegmentError> {
        match *rows {
            RowsRef::None => Ok(()),
            RowsRef::One { row, slot } => {
                self.note_constant(Some(slot));
                let codes = self.put_slot(slot);
                self.push_single(segment, row, codes, chunks)
            }
            RowsRef::Many { at, bytes, slots_at, slots_bytes } => {
                let posting = reader.posting(at, bytes)?;
                let slots = if self.has_slots { reader.slots(&posting, slots_at, slots_bytes)? } else { SlotsView::Constant(0) };
                self.note_constant(slots.constant());
                match slots {
                    SlotsView::Constant(slot) => {
                        let codes = self.put_slot(slot);
                        for row in posting.flat() {
                            self.push_single(segment, row?, codes.clone(), chunks)?;
                        }
                        for group in posting.groups()? {
                            self.push_group(chunks.ordinal(segment, group.chunk)?, group.rows, group.form, group.bytes, codes.clone());
                        }
                    }
                    SlotsView::Flat(mut codes) => {
                        for row in posting.flat() {
                            let start = self.codes.len();
                            self.copy_code(&mut codes)?;
                            self.push_single(segment, row?, start..self.codes.len(), chunks)?;
                        }
                    }
                    SlotsView::Chunks(codes) => {
                        for (group, codes) in posting.groups()?.into_iter().zip(codes) {
                            let start = self.codes.len();
                            self.codes.extend_from_slice(codes);
                            let range = start..self.codes.len();
                            self.push_group(chunks.ordinal(segment, group.chunk)?, group.rows, group.form, group.bytes, range);
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn note_constant(&mut self, constant: Option<u32>) {
        let is_first = self.singles.is_empty() && self.groups.is_empty();
        self.is_constant &= constant.is_some() && (is_first || constant == self.constant);
        self.constant = constant;
    }

    fn put_slot(&mut self, slot: u32) -> Range<usize> {
        let start = self.codes.len();
        put_code(&mut self.codes, &[slot]);
        start..self.codes.len()
    }

    fn copy_code(&mut self, codes: &mut Cursor<'_>) -> Result<(), SegmentError> {
        let before = codes.rest();
        crate::postings::skip_code(codes)?;
        self.codes.extend_from_slice(&before[..before.len() - codes.rest().len()]);
        Ok(())
    }

    fn push_single(&mut self, segment: usize, row: u32, codes: Range<usize>, chunks: &MergedChunks) -> Result<(), SegmentError> {
        self.singles.push(Single { row: chunks.row(segment, row)?, segment, chunk_there: row >> CHUNK_ROWS_BITS, codes });
        Ok(())
    }

    fn push_group(&mut self, chunk: u32, rows: u32, form: Form, bytes: &[u8], codes: Range<usize>) {
        let start = self.lowers.len();
        self.lowers.extend_from_slice(bytes);
        self.groups.push(Group { chunk, rows, form, lower: start..self.lowers.len(), codes });
    }

    /// Writes the key's posting.
    pub(super) fn write(&mut self, segments: &[&SegmentReader], writer: &mut SegmentWriter) -> Result<RowsRef, SegmentError> {
        let constant = if self.is_constant { self.constant } else { None };
        if self.singles.is_empty() && self.groups.is_empty() {
            return Ok(RowsRef::None);
        }
        if let ([single], [], Some(slot)) = (self.singles.as_slice(), self.groups.as_slice(), constant) {
            return Ok(RowsRef::One { row: single.row, slot });
        }
        self.singles.sort_unstable_by_key(|single| single.row);
        if self.singles.windows(2).any(|pair| pair[0].row == pair[1].row) {
            return Err(SegmentError::corrupt("postings", "rows do not ascend"));
        }
        self.slots.clear();
        if self.groups.is_empty() && PostingWriter::is_flat(self.singles.len()) {
            self.posting.flat(self.singles.iter().map(|single| single.row), self.singles.len() as u64);
            match constant {
                Some(slot) => SlotsView::put_constant(&mut self.slots, slot),
                None => {
                    SlotsView::put_flat(&mut self.slots, &[]);
                    self.singles.iter().for_each(|single| self.slots.extend_from_slice(&self.codes[single.codes.clone()]));
                }
            }
        } else {
            self.group_singles(segments)?;
            let (lowers, codes) = (&self.lowers, &self.codes);
            self.posting.grouped(self.groups.iter().map(|group| (group.chunk, group.rows, group.form, &lowers[group.lower.clone()])));
            match constant {
                Some(slot) => SlotsView::put_constant(&mut self.slots, slot),
                None => SlotsView::put_chunks(&mut self.slots, self.groups.iter().map(|group| &codes[group.codes.clone()])),
            }
        }
        Ok(writer.put_posting(self.posting.bytes(), if self.has_slots { &self.slots } else { &[] }))
    }

    /// Makes a group of the single rows of each chunk, and sorts the groups.
    fn group_singles(&mut self, segments: &[&SegmentReader]) -> Result<(), SegmentError> {
        let mut in_cells = Vec::new();
        for of_chunk in self.singles.chunk_by(|left, right| left.row >> CHUNK_ROWS_BITS == right.row >> CHUNK_ROWS_BITS) {
            let first = &of_chunk[0];
            self.offsets.clear();
            self.offsets.extend(of_chunk.iter().map(|single| (single.row & (CHUNK_ROWS_MAX as u32 - 1)) as u16));
            let start = self.lowers.len();
            PostingWriter::list(self.offsets.iter().copied(), &mut self.lowers);
            in_cells.clear();
            if self.has_slots {
                // A chunk comes from one segment, and keeps its cells.
                let layout = &segments[first.segment].layout;
                let cells = layout.cells.patterns(first.chunk_there).len();
                self.cell_rows.fill(&self.offsets, layout.cell_of_offset(first.chunk_there)?, cells)?;
                put_cell_codes(&mut in_cells, &self.cell_rows, |place| &self.codes[of_chunk[place].codes.clone()]);
            }
            let codes_start = self.codes.len();
            self.codes.extend_from_slice(&in_cells);
            self.groups.push(Group {
                chunk: first.row >> CHUNK_ROWS_BITS,
                rows: of_chunk.len() as u32,
                form: Form::List,
                lower: start..self.lowers.len(),
                codes: codes_start..self.codes.len(),
            });
        }
        self.groups.sort_unstable_by_key(|group| group.chunk);
        if self.groups.windows(2).any(|pair| pair[0].chunk == pair[1].chunk) {
            return Err(SegmentError::corrupt("postings", "chunks do not ascend"));
        }
        Ok(())
    }
}
