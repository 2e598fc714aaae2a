//! The postings of one key in all segments as one.

use super::chunks::MergedChunks;
use crate::build::SegmentWriter;
use crate::dictionary::RowsRef;
use crate::error::SegmentError;
use crate::postings::{Form, PostingWriter, SlotsView, put_slot_codes};
use crate::reader::SegmentReader;
use siltstone_core::CHUNK_ROWS_MAX;
use siltstone_core::address::CHUNK_ROWS_BITS;
use std::ops::Range;

/// Gathers the rows of one key after another; keeps its buffers.
#[derive(Default)]
pub(super) struct MergedRows {
    /// Rows that came one by one, with the place of their slot codes.
    singles: Vec<(u32, Range<usize>)>,
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
                let start = self.codes.len();
                put_slot_codes(&mut self.codes, &[slot]);
                self.singles.push((chunks.row(segment, row)?, start..self.codes.len()));
                Ok(())
            }
            RowsRef::Many { at, bytes, slots_at, slots_bytes } => {
                let posting = reader.posting(at, bytes)?;
                let mut slots = if self.has_slots { Some(reader.slots(slots_at, slots_bytes)?) } else { None };
                self.note_constant(slots.as_ref().and_then(SlotsView::constant));
                if let Some(rows) = posting.flat() {
                    for row in rows {
                        let codes = self.take_codes(&mut slots, 1)?;
                        self.singles.push((chunks.row(segment, row?)?, codes));
                    }
                    return Ok(());
                }
                for group in posting.groups()? {
                    let codes = self.take_codes(&mut slots, group.rows)?;
                    let start = self.lowers.len();
                    self.lowers.extend_from_slice(group.bytes);
                    let chunk = chunks.ordinal(segment, group.chunk)?;
                    self.groups.push(Group { chunk, rows: group.rows, form: group.form, lower: start..self.lowers.len(), codes });
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

    fn take_codes(&mut self, slots: &mut Option<SlotsView<'_>>, rows: u32) -> Result<Range<usize>, SegmentError> {
        let start = self.codes.len();
        if let Some(slots) = slots {
            slots.take_codes(rows, &mut self.codes)?;
        }
        Ok(start..self.codes.len())
    }

    /// Writes the key's posting.
    pub(super) fn write(&mut self, writer: &mut SegmentWriter) -> Result<RowsRef, SegmentError> {
        if let ([(row, codes)], []) = (self.singles.as_slice(), self.groups.as_slice()) {
            if !self.has_slots {
                return Ok(RowsRef::One { row: *row, slot: 0 });
            }
            if let [slot @ 0..0x80] = self.codes[codes.clone()] {
                return Ok(RowsRef::One { row: *row, slot: u32::from(slot) });
            }
            if let (true, Some(slot)) = (self.is_constant, self.constant) {
                return Ok(RowsRef::One { row: *row, slot });
            }
        }
        if self.singles.is_empty() && self.groups.is_empty() {
            return Ok(RowsRef::None);
        }
        self.singles.sort_unstable_by_key(|(row, _)| *row);
        if self.singles.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(SegmentError::corrupt("postings", "rows do not ascend"));
        }
        if self.groups.is_empty() && PostingWriter::is_flat(self.singles.len()) {
            self.write_flat();
        } else {
            self.write_grouped()?;
        }
        Ok(writer.put_posting(self.posting.bytes(), &self.slots))
    }

    fn write_flat(&mut self) {
        self.posting.flat(self.singles.iter().map(|(row, _)| *row), self.singles.len() as u64);
        let codes = self.singles.iter().map(|(_, codes)| codes.clone());
        put_slots(&mut self.slots, self.has_slots, self.is_constant.then_some(self.constant).flatten(), &self.codes, codes);
    }

    fn write_grouped(&mut self) -> Result<(), SegmentError> {
        for of_chunk in self.singles.chunk_by(|left, right| left.0 >> CHUNK_ROWS_BITS == right.0 >> CHUNK_ROWS_BITS) {
            let start = self.lowers.len();
            PostingWriter::list(of_chunk.iter().map(|(row, _)| (row & (CHUNK_ROWS_MAX as u32 - 1)) as u16), &mut self.lowers);
            // Codes of neighbours lie in the order of their segments, not of their rows.
            let codes_start = self.codes.len();
            for (_, codes) in of_chunk {
                self.codes.extend_from_within(codes.clone());
            }
            self.groups.push(Group {
                chunk: of_chunk[0].0 >> CHUNK_ROWS_BITS,
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
        let lowers = &self.lowers;
        self.posting.grouped(self.groups.iter().map(|group| (group.chunk, group.rows, group.form, &lowers[group.lower.clone()])));
        let codes = self.groups.iter().map(|group| group.codes.clone());
        put_slots(&mut self.slots, self.has_slots, self.is_constant.then_some(self.constant).flatten(), &self.codes, codes);
        Ok(())
    }
}

/// The slots entry of a posting: empty for what has no slots.
fn put_slots<I>(out: &mut Vec<u8>, has_slots: bool, constant: Option<u32>, codes: &[u8], order: I)
where
    I: Iterator<Item = Range<usize>>,
{
    out.clear();
    if !has_slots {
        return;
    }
    match constant {
        Some(slot) => SlotsView::put_constant(out, slot),
        None => {
            SlotsView::put_listed(out, &[]);
            order.for_each(|range| out.extend_from_slice(&codes[range]));
        }
    }
}
