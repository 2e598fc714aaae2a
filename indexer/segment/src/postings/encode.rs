//! Writes postings.

use super::{FLAT_ROWS, Form, GROUPED_ROWS};
use crate::error::SegmentError;
use crate::layout::Layout;
use crate::wire::put_varint;
use siltstone_core::CHUNK_ROWS_MAX;
use siltstone_core::address::CHUNK_ROWS_BITS;

/// Writes one posting after another; keeps its buffers.
#[derive(Default)]
pub(crate) struct PostingEncoder {
    flat: Vec<u8>,
    directory: Vec<u8>,
    lowers: Vec<u8>,
    lower: Vec<u8>,
    best: Vec<u8>,
    hits: Vec<u16>,
    offsets: Vec<u16>,
}

impl PostingEncoder {
    /// Writes the posting of `rows` (ascending, distinct) to `out`; whether it is flat.
    pub(crate) fn encode(&mut self, rows: &[u32], layout: &Layout, out: &mut Vec<u8>) -> Result<bool, SegmentError> {
        if rows.len() < GROUPED_ROWS {
            self.flat.clear();
            encode_flat(rows, &mut self.flat);
            if rows.len() < FLAT_ROWS {
                out.extend_from_slice(&self.flat);
                return Ok(true);
            }
        }
        self.directory.clear();
        self.lowers.clear();
        let mut groups = 0;
        let mut next = 0;
        for group in rows.chunk_by(|left, right| left >> CHUNK_ROWS_BITS == right >> CHUNK_ROWS_BITS) {
            let chunk = group[0] >> CHUNK_ROWS_BITS;
            let form = self.encode_group(chunk, group, layout)?;
            put_group(&mut self.directory, chunk - next, group.len() as u32, form, self.best.len());
            self.lowers.extend_from_slice(&self.best);
            next = chunk + 1;
            groups += 1;
        }
        // A directory costs a look at each chunk: where it saves nothing, flat is quicker too.
        if rows.len() < GROUPED_ROWS && self.flat.len() <= self.directory.len() + self.lowers.len() + 4 {
            out.extend_from_slice(&self.flat);
            return Ok(true);
        }
        put_head(out, rows.len() as u64, true);
        put_varint(out, groups);
        out.extend_from_slice(&self.directory);
        out.extend_from_slice(&self.lowers);
        Ok(false)
    }

    /// Writes one chunk's rows to `self.best` in the smallest form.
    fn encode_group(&mut self, chunk: u32, rows: &[u32], layout: &Layout) -> Result<Form, SegmentError> {
        self.best.clear();
        if rows.len() == layout.chunks.rows(chunk) as usize {
            return Ok(Form::Full);
        }
        self.offsets.clear();
        self.offsets.extend(rows.iter().map(|row| (row & (CHUNK_ROWS_MAX as u32 - 1)) as u16));
        put_list(&mut self.best, &self.offsets);
        let mut form = Form::List;
        // Below this nothing is smaller than a list by more than a byte or two.
        if rows.len() < 4 {
            return Ok(form);
        }
        self.lower.clear();
        put_runs(&mut self.lower, &self.offsets);
        form = self.keep_smaller(form, Form::Runs);
        let bits_bytes = usize::from(self.offsets[self.offsets.len() - 1]) / 8 + 1;
        if bits_bytes < self.best.len() {
            self.lower.clear();
            self.lower.resize(bits_bytes, 0);
            for offset in &self.offsets {
                self.lower[usize::from(*offset) / 8] |= 1 << (offset % 8);
            }
            form = self.keep_smaller(form, Form::Bits);
        }
        if layout.cells.patterns(chunk).len().div_ceil(8) < self.best.len() {
            self.put_cells(chunk, layout)?;
            form = self.keep_smaller(form, Form::Cells);
        }
        Ok(form)
    }

    fn keep_smaller(&mut self, best: Form, other: Form) -> Form {
        if self.lower.len() < self.best.len() {
            std::mem::swap(&mut self.best, &mut self.lower);
            return other;
        }
        best
    }

    fn put_cells(&mut self, chunk: u32, layout: &Layout) -> Result<(), SegmentError> {
        let counts = layout.cells.counts(chunk);
        let column = layout.cell_of_offset(chunk)?;
        self.hits.clear();
        self.hits.resize(counts.len(), 0);
        for offset in &self.offsets {
            self.hits[usize::from(column[usize::from(*offset)])] += 1;
        }
        self.lower.clear();
        self.lower.resize(counts.len().div_ceil(8), 0);
        for (cell, (hits, count)) in self.hits.iter().zip(counts).enumerate() {
            if hits == count {
                self.lower[cell / 8] |= 1 << (cell % 8);
            }
        }
        self.offsets.retain(|offset| {
            let cell = usize::from(column[usize::from(*offset)]);
            self.hits[cell] != counts[cell]
        });
        put_list(&mut self.lower, &self.offsets);
        Ok(())
    }
}

/// The number of rows and whether they go chunk by chunk.
fn put_head(out: &mut Vec<u8>, rows: u64, is_grouped: bool) {
    put_varint(out, rows << 1 | u64::from(is_grouped));
}

/// Writes postings whose parts are encoded already; keeps its buffers.
#[derive(Default)]
pub(crate) struct PostingWriter {
    bytes: Vec<u8>,
    lowers: Vec<u8>,
}

impl PostingWriter {
    /// Whether so many rows may be flat.
    pub(crate) const fn is_flat(rows: usize) -> bool {
        rows < GROUPED_ROWS
    }

    /// The posting that was written last.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A flat posting of ascending, distinct rows.
    pub(crate) fn flat<I>(&mut self, rows: I, count: u64)
    where
        I: Iterator<Item = u32>,
    {
        self.bytes.clear();
        put_head(&mut self.bytes, count, false);
        let mut next = 0;
        for row in rows {
            put_varint(&mut self.bytes, u64::from(row - next));
            next = row + 1;
        }
    }

    /// A posting chunk by chunk: (chunk, rows, form, bytes), ascending.
    pub(crate) fn grouped<'a, I>(&mut self, groups: I)
    where
        I: Iterator<Item = (u32, u32, Form, &'a [u8])> + Clone,
    {
        self.bytes.clear();
        self.lowers.clear();
        let (rows, count) = groups.clone().fold((0, 0), |(rows, count), (_, more, ..)| (rows + u64::from(more), count + 1));
        put_head(&mut self.bytes, rows, true);
        put_varint(&mut self.bytes, count);
        let mut next = 0;
        for (chunk, rows, form, bytes) in groups {
            put_group(&mut self.bytes, chunk - next, rows, form, bytes.len());
            self.lowers.extend_from_slice(bytes);
            next = chunk + 1;
        }
        self.bytes.extend_from_slice(&self.lowers);
    }

    /// Appends one chunk's rows as a list.
    pub(crate) fn list<I>(offsets: I, out: &mut Vec<u8>)
    where
        I: Iterator<Item = u16>,
    {
        let mut next = 0;
        for offset in offsets {
            put_varint(out, u64::from(offset - next));
            next = offset + 1;
        }
    }
}

fn encode_flat(rows: &[u32], out: &mut Vec<u8>) {
    put_head(out, rows.len() as u64, false);
    let mut next = 0;
    for row in rows {
        put_varint(out, u64::from(row - next));
        next = row + 1;
    }
}

/// Distance from the chunk after the one before; rows − 1 and form; bytes, but for forms that have none.
fn put_group(out: &mut Vec<u8>, distance: u32, rows: u32, form: Form, bytes: usize) {
    put_varint(out, u64::from(distance));
    put_varint(out, u64::from(rows - 1) << 3 | form as u64);
    if form != Form::Full {
        put_varint(out, bytes as u64);
    }
}

fn put_list(out: &mut Vec<u8>, offsets: &[u16]) {
    PostingWriter::list(offsets.iter().copied(), out);
}

fn put_runs(out: &mut Vec<u8>, offsets: &[u16]) {
    let mut next = 0;
    for run in offsets.chunk_by(|left, right| left + 1 == *right) {
        put_varint(out, u64::from(run[0] - next));
        put_varint(out, run.len() as u64 - 1);
        next = run[run.len() - 1] + 1;
    }
}
