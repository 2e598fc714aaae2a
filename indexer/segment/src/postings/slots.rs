//! In which slots of its row's pattern a token stands: as often as the variables of the row have it.
//!
//! A *code* is one byte for one slot below 127; else `0x80 | n` and n slots. A posting whose rows all have one and the same slot says just that. A
//! flat posting has a code a row. One that goes chunk by chunk has, in each chunk, codes cell by cell, since rows of one pattern mostly have a
//! token in the same slot: one code for all of a cell's rows, or [`LISTED`] and a code a row. Where the first code is all there is, it is that of
//! the whole chunk.

use super::CellRows;
use crate::error::SegmentError;
use crate::wire::{Cursor, put_varint};

const BLOCK: &str = "slots";

const CONSTANT: u8 = 0;
const FLAT: u8 = 1;
const CHUNKS: u8 = 2;

/// A cell's rows have codes of their own.
const LISTED: u8 = 0x7f;

/// From here on the number of slots follows as a varint.
const MANY: u8 = 0x7f;

/// Appends a code.
pub(crate) fn put_code(out: &mut Vec<u8>, slots: &[u32]) {
    match slots {
        [slot] if *slot < u32::from(LISTED) => out.push(*slot as u8),
        _ => {
            if slots.len() < usize::from(MANY) {
                out.push(0x80 | slots.len() as u8);
            } else {
                out.push(0x80 | MANY);
                put_varint(out, slots.len() as u64);
            }
            slots.iter().for_each(|slot| put_varint(out, u64::from(*slot)));
        }
    }
}

/// Reads a code's slots, behind those that `out` has.
#[inline]
pub(super) fn take_code(codes: &mut Cursor<'_>, out: &mut Vec<u32>) -> Result<(), SegmentError> {
    let code = codes.u8()?;
    if code < LISTED {
        out.push(u32::from(code));
        return Ok(());
    }
    if code < 0x80 {
        return Err(codes.corrupt("a code is not known"));
    }
    let count = if code & 0x7f == MANY { codes.count()? } else { usize::from(code & 0x7f) };
    if count == 0 {
        return Err(codes.corrupt("a row has no slots"));
    }
    for _ in 0..count {
        out.push(codes.u32()?);
    }
    Ok(())
}

/// Passes over a code.
pub(crate) fn skip_code(codes: &mut Cursor<'_>) -> Result<(), SegmentError> {
    let code = codes.u8()?;
    if code < LISTED {
        return Ok(());
    }
    let count = if code & 0x7f == MANY { codes.count()? } else { usize::from(code & 0x7f) };
    (0..count).try_for_each(|_| codes.varint().map(|_| ()))
}

/// The slots of a posting's rows as they lie in their stream.
#[derive(Clone, Debug)]
pub(crate) enum SlotsView<'a> {
    /// Each row has the token once, in this slot.
    Constant(u32),
    /// A code a row.
    Flat(Cursor<'a>),
    /// Per chunk: codes by cell.
    Chunks(Vec<&'a [u8]>),
}

impl<'a> SlotsView<'a> {
    /// The entry of a posting of which every row has just `slot`.
    pub(crate) fn put_constant(out: &mut Vec<u8>, slot: u32) {
        out.push(CONSTANT);
        put_varint(out, u64::from(slot));
    }

    /// The entry of a flat posting with the codes of its rows in order.
    pub(crate) fn put_flat(out: &mut Vec<u8>, codes: &[u8]) {
        out.push(FLAT);
        out.extend_from_slice(codes);
    }

    /// The entry of a posting that goes chunk by chunk, with the codes of its chunks.
    pub(crate) fn put_chunks<'c, I>(out: &mut Vec<u8>, chunks: I)
    where
        I: Iterator<Item = &'c [u8]> + Clone,
    {
        out.push(CHUNKS);
        chunks.clone().for_each(|codes| put_varint(out, codes.len() as u64));
        chunks.for_each(|codes| out.extend_from_slice(codes));
    }

    /// Opens the entry of a posting with so many chunks (none for a flat one).
    pub(crate) fn open(bytes: &'a [u8], chunks: Option<usize>) -> Result<Self, SegmentError> {
        let mut codes = Cursor::new(BLOCK, bytes);
        match (codes.u8()?, chunks) {
            (CONSTANT, _) => Ok(Self::Constant(codes.u32()?)),
            (FLAT, None) => Ok(Self::Flat(codes)),
            (CHUNKS, Some(chunks)) => {
                let mut lengths = Vec::with_capacity(chunks.min(bytes.len()));
                for _ in 0..chunks {
                    lengths.push(codes.count()?);
                }
                Ok(Self::Chunks(lengths.into_iter().map(|length| codes.take(length)).collect::<Result<_, _>>()?))
            }
            _ => Err(codes.corrupt("a form is not known")),
        }
    }

    /// The one slot of every row, if it is so.
    pub(crate) const fn constant(&self) -> Option<u32> {
        if let Self::Constant(slot) = self { Some(*slot) } else { None }
    }
}

/// Writes a chunk's codes cell by cell; `code_of` gives the code of a row by its place among the posting's rows of the chunk.
pub(crate) fn put_cell_codes<'c, F>(out: &mut Vec<u8>, cells: &CellRows, code_of: F)
where
    F: Fn(usize) -> &'c [u8],
{
    let start = out.len();
    let mut first: Option<&[u8]> = None;
    let mut is_one = true;
    for places in cells.cells().map(|(_, range)| &cells.places()[range]).filter(|places| !places.is_empty()) {
        let code = code_of(usize::from(places[0]));
        if places.iter().all(|place| code_of(usize::from(*place)) == code) {
            out.extend_from_slice(code);
            is_one &= *first.get_or_insert(code) == code;
        } else {
            is_one = false;
            out.push(LISTED);
            places.iter().for_each(|place| out.extend_from_slice(code_of(usize::from(*place))));
        }
    }
    if let (true, Some(code)) = (is_one, first) {
        out.truncate(start + code.len());
    }
}

/// The slots of a chunk's rows, by cell.
#[derive(Default, Debug)]
pub(super) struct CellSlots {
    pool: Vec<u32>,
    /// Per cell: what its rows have.
    cells: Vec<CellCode>,
    /// Per listed row: where its slots end in the pool.
    ends: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CellCode {
    None,
    /// Every row has these of the pool.
    Same(u32, u32),
    /// The rows' ends begin here; the first row's slots begin there in the pool.
    Listed {
        ends: u32,
        start: u32,
    },
}

impl CellSlots {
    pub(super) fn clear(&mut self, cells: usize) {
        self.pool.clear();
        self.ends.clear();
        self.cells.clear();
        self.cells.resize(cells, CellCode::None);
    }

    /// Every row has just this slot.
    pub(super) fn set_constant(&mut self, slot: u32) {
        self.pool.push(slot);
        self.cells.fill(CellCode::Same(0, 1));
    }

    /// Reads a chunk's codes.
    pub(super) fn read(&mut self, bytes: &[u8], rows: &CellRows) -> Result<(), SegmentError> {
        let mut codes = Cursor::new(BLOCK, bytes);
        if bytes.first() != Some(&LISTED) {
            take_code(&mut codes, &mut self.pool)?;
            if codes.is_empty() {
                self.cells.fill(CellCode::Same(0, self.pool.len() as u32));
                return Ok(());
            }
            self.pool.clear();
            codes = Cursor::new(BLOCK, bytes);
        }
        for (cell, range) in rows.cells() {
            if range.is_empty() {
                continue;
            }
            if codes.rest().first() == Some(&LISTED) {
                codes.u8()?;
                self.list(cell, range.len(), &mut codes)?;
            } else {
                let start = self.pool.len() as u32;
                take_code(&mut codes, &mut self.pool)?;
                self.cells[cell] = CellCode::Same(start, self.pool.len() as u32);
            }
        }
        codes.finish()
    }

    /// Reads a code for each of a cell's rows.
    pub(super) fn list(&mut self, cell: usize, rows: usize, codes: &mut Cursor<'_>) -> Result<(), SegmentError> {
        self.cells[cell] = CellCode::Listed { ends: self.ends.len() as u32, start: self.pool.len() as u32 };
        for _ in 0..rows {
            take_code(codes, &mut self.pool)?;
            self.ends.push(self.pool.len() as u32);
        }
        Ok(())
    }

    /// The slots of all of a cell's rows, if they have the same.
    pub(super) fn same(&self, cell: usize) -> Option<&[u32]> {
        match self.cells[cell] {
            CellCode::Same(start, end) => Some(&self.pool[start as usize..end as usize]),
            _ => None,
        }
    }

    /// The slots of a cell's row by its place in the cell.
    pub(super) fn of(&self, cell: usize, place: usize) -> &[u32] {
        match self.cells[cell] {
            CellCode::None => &[],
            CellCode::Same(start, end) => &self.pool[start as usize..end as usize],
            CellCode::Listed { ends, start } => {
                let ends = &self.ends[ends as usize..];
                let start = if place == 0 { start } else { ends[place - 1] };
                &self.pool[start as usize..ends[place] as usize]
            }
        }
    }
}
