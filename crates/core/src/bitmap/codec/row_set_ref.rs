//! A stored set, read where and when it is needed.

use super::FIRST_ROW_PARAMETER;
use super::bits::{BitReader, PARAMETER_BITS, ROW_BITS};
use super::stored_chunk::{OFFSET_BITS, StoredChunk};
use super::varint::Reader;
use crate::bitmap::kernels::{self, Kernels};
use crate::bitmap::lowers::Lowers;
use crate::bitmap::{BitmapError, OFFSETS, Offsets, RowSet, RowSetBuilder, pair};
use std::cmp::Ordering;

/// A stored set, borrowed. Making one reads the head alone; the methods read the chunks that they need, and find damage
/// only there.
#[derive(Clone, Copy, Debug)]
pub struct RowSetRef<'a> {
    count: u64,
    shape: ShapeRef<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ShapeRef<'a> {
    One(u64),
    Flat(Reader<'a>),
    Chunked { chunks: u64, reader: Reader<'a> },
}

impl<'a> RowSetRef<'a> {
    /// Reads the head of a stored set that takes exactly `bytes`.
    ///
    /// # Errors
    /// [`BitmapError::Corrupt`] when the head is damaged.
    pub fn new(bytes: &'a [u8]) -> Result<Self, BitmapError> {
        let mut reader = Reader::new(bytes);
        let head = reader.varint()?;
        if head & 1 == 0 {
            let row = head >> 1;
            if row >> ROW_BITS != 0 {
                return Err(reader.corrupt("a row has more than 43 bits"));
            }
            end(&reader)?;
            return Ok(Self { count: 1, shape: ShapeRef::One(row) });
        }
        let count = head >> 2;
        if head & 2 == 0 {
            let codes = reader.rest();
            // Each row takes one bit at least.
            if count == 1 || count > codes.len() as u64 * 8 || (count == 0 && !codes.is_empty()) {
                return Err(reader.corrupt("the count does not fit the bytes"));
            }
            return Ok(Self { count, shape: ShapeRef::Flat(reader) });
        }
        let chunks = reader.varint()?;
        // Each chunk takes one byte at least, and has 1 to 2,048 rows.
        if chunks == 0 || chunks > reader.rest().len() as u64 || count < chunks || count > chunks * crate::CHUNK_ROWS_MAX as u64 {
            return Err(reader.corrupt("the number of chunks does not fit the count or the bytes"));
        }
        Ok(Self { count, shape: ShapeRef::Chunked { chunks, reader } })
    }

    /// How many rows the set holds. Costs nothing.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    pub(super) const fn shape(&self) -> ShapeRef<'a> {
        self.shape
    }

    /// Reads the whole set.
    ///
    /// # Errors
    /// [`BitmapError::Corrupt`].
    pub fn to_set(&self) -> Result<RowSet, BitmapError> {
        match self.shape {
            ShapeRef::One(row) => Ok(RowSet::one((row >> OFFSET_BITS) as u32, (row % OFFSETS as u64) as u16)),
            ShapeRef::Flat(reader) => read_flat(self.count, &reader),
            ShapeRef::Chunked { chunks, reader } => {
                let mut walk = Walk::new(chunks, reader);
                let mut set = RowSet::default();
                while let Some(chunk) = walk.next()? {
                    chunk.read(&mut set.lowers)?;
                    set.note(chunk.ordinal);
                }
                if set.count != self.count {
                    return Err(reader.corrupt("the chunks' rows do not add up to the count"));
                }
                Ok(set)
            }
        }
    }

    /// The rows of `set` that this set holds too. Chunks that `set` has no rows in are skipped unread.
    ///
    /// # Errors
    /// [`BitmapError::Corrupt`] in what was read.
    pub fn and(&self, set: &RowSet) -> Result<RowSet, BitmapError> {
        let ShapeRef::Chunked { chunks, reader } = self.shape else { return Ok(self.to_set()?.and(set)) };
        let kernels = kernels::active();
        let mut out = RowSet::default();
        meet_set(chunks, reader, set, |ordinal, stored, offsets| {
            if pair::and(kernels, stored, offsets, &mut out.lowers) {
                out.note(ordinal);
            }
        })?;
        Ok(out)
    }

    /// How many rows of `set` this set holds too. Chunks that `set` has no rows in are skipped unread.
    ///
    /// # Errors
    /// [`BitmapError::Corrupt`] in what was read.
    pub fn and_count(&self, set: &RowSet) -> Result<u64, BitmapError> {
        let ShapeRef::Chunked { chunks, reader } = self.shape else { return Ok(self.to_set()?.and_count(set)) };
        let kernels = kernels::active();
        let mut count = 0;
        meet_set(chunks, reader, set, |_, stored, offsets| count += u64::from(pair::and_count(kernels, stored, offsets)))?;
        Ok(count)
    }

    /// How many rows both stored sets hold. Chunks that only one has are skipped unread.
    ///
    /// # Errors
    /// [`BitmapError::Corrupt`] in what was read.
    pub fn and_count_stored(&self, other: &RowSetRef<'_>) -> Result<u64, BitmapError> {
        let kernels = kernels::active();
        match (self.shape, other.shape) {
            (ShapeRef::Chunked { chunks, reader }, ShapeRef::Chunked { chunks: other_chunks, reader: other_reader }) => {
                meet_stored(kernels, Walk::new(chunks, reader), Walk::new(other_chunks, other_reader))
            }
            (ShapeRef::Chunked { .. }, _) => self.and_count(&other.to_set()?),
            _ => other.and_count(&self.to_set()?),
        }
    }
}

fn end(reader: &Reader<'_>) -> Result<(), BitmapError> {
    if reader.rest().is_empty() { Ok(()) } else { Err(reader.corrupt("bytes are left over")) }
}

fn read_flat(count: u64, reader: &Reader<'_>) -> Result<RowSet, BitmapError> {
    let damaged = reader.corrupt("rows do not follow from their codes");
    let codes = reader.rest();
    let mut builder = RowSetBuilder::with_room(count as usize);
    if count > 0 {
        let mut bits = BitReader::new(codes);
        let k = bits.get(PARAMETER_BITS) as u32;
        let mut row = bits.get_golomb(FIRST_ROW_PARAMETER).ok_or(damaged)?;
        builder.push_row(row)?;
        for _ in 1..count {
            row += bits.get_golomb(k).ok_or(damaged)? + 1;
            // Also keeps the sum from overflowing: a code has no more bits than a row.
            if row >> ROW_BITS != 0 {
                return Err(damaged);
            }
            builder.push_row(row)?;
        }
        if bits.end() != Some(codes.len()) {
            return Err(damaged);
        }
    }
    Ok(builder.finish())
}

/// The chunks of a chunked set, found one after the other.
pub(super) struct Walk<'a> {
    left: u64,
    reader: Reader<'a>,
    next: u64,
}

impl<'a> Walk<'a> {
    pub(super) const fn new(chunks: u64, reader: Reader<'a>) -> Self {
        Self { left: chunks, reader, next: 0 }
    }

    /// The next chunk; after the last one, a check that nothing is left over.
    pub(super) fn next(&mut self) -> Result<Option<StoredChunk<'a>>, BitmapError> {
        if self.left == 0 {
            return end(&self.reader).map(|()| None);
        }
        self.left -= 1;
        StoredChunk::find(&mut self.reader, &mut self.next).map(Some)
    }
}

/// Reads the chunks of a stored set that `set` has too, and calls `take` with both sides' rows.
fn meet_set<F>(chunks: u64, reader: Reader<'_>, set: &RowSet, mut take: F) -> Result<(), BitmapError>
where
    F: FnMut(u32, Offsets<'_>, Offsets<'_>),
{
    let mut walk = Walk::new(chunks, reader);
    let mut scratch = Lowers::default();
    let last = set.last_ordinal();
    while let Some(chunk) = walk.next()? {
        if last.is_none_or(|last| last < chunk.ordinal) {
            break;
        }
        if let Some(offsets) = set.offsets(chunk.ordinal) {
            scratch.clear();
            chunk.read(&mut scratch)?;
            take(chunk.ordinal, scratch.get(0), offsets);
        }
    }
    Ok(())
}

fn meet_stored(kernels: &Kernels, mut a: Walk<'_>, mut b: Walk<'_>) -> Result<u64, BitmapError> {
    let mut count = 0;
    let mut scratch = Lowers::default();
    let (mut x, mut y) = (a.next()?, b.next()?);
    while let (Some(left), Some(right)) = (x, y) {
        let order = left.ordinal.cmp(&right.ordinal);
        if order == Ordering::Equal {
            scratch.clear();
            left.read(&mut scratch)?;
            right.read(&mut scratch)?;
            count += u64::from(pair::and_count(kernels, scratch.get(0), scratch.get(1)));
        }
        if order.is_le() {
            x = a.next()?;
        }
        if order.is_ge() {
            y = b.next()?;
        }
    }
    Ok(count)
}
