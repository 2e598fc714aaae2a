//! Joins stored sets whose chunks follow one another: what a merge of segments does to every posting list.

use super::chunk_writer::ChunkWriter;
use super::row_set_ref::{ShapeRef, Walk};
use super::varint::put_varint;
use super::{RowSetRef, Shape, put_head};
use crate::bitmap::{BitmapError, RowSet};

/// Appends stored sets one after another. Chunks of the chunked shape are copied as bytes, unread; sets of the flat shape,
/// which have few rows, are read and written again.
#[derive(Default, Debug)]
pub struct RowSetAppender {
    count: u64,
    /// The ordinal that comes after the last one.
    next: u64,
    /// Rows, while all that was appended is flat; else chunks, as stored.
    rows: Vec<u64>,
    chunks: Vec<u8>,
    chunk_count: u64,
    writer: ChunkWriter,
}

impl RowSetAppender {
    /// An empty appender.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many rows were appended.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Forgets what was appended but keeps the memory, for the next term.
    pub fn clear(&mut self) {
        (self.count, self.next, self.chunk_count) = (0, 0, 0);
        self.rows.clear();
        self.chunks.clear();
    }

    /// Appends a stored set whose ordinals are raised by `shift`.
    ///
    /// # Errors
    /// [`BitmapError::OrdinalTooLarge`]; [`BitmapError::NotAscending`] when the first chunk does not come after all before it;
    /// [`BitmapError::Corrupt`]. What was appended is then undefined: clear it.
    pub fn append_with_ordinal_offset(&mut self, bytes: &[u8], shift: u32) -> Result<(), BitmapError> {
        self.append(bytes, |ordinal| ordinal.checked_add(shift).ok_or(BitmapError::OrdinalTooLarge { ordinal, shift }))
    }

    /// Appends a stored set whose ordinals are renumbered; the new ones must ascend, and come after all before them.
    ///
    /// # Errors
    /// Those of `renumber`; [`BitmapError::NotAscending`]; [`BitmapError::Corrupt`]. What was appended is then undefined: clear it.
    pub fn append<F>(&mut self, bytes: &[u8], mut renumber: F) -> Result<(), BitmapError>
    where
        F: FnMut(u32) -> Result<u32, BitmapError>,
    {
        let stored = RowSetRef::new(bytes)?;
        match stored.shape() {
            ShapeRef::Chunked { chunks, reader } => {
                self.flush_rows();
                let mut walk = Walk::new(chunks, reader);
                while let Some(chunk) = walk.next()? {
                    let step = self.step(renumber(chunk.ordinal)?)?;
                    chunk.copy(step, &mut self.chunks);
                }
                self.chunk_count += chunks;
            }
            ShapeRef::One(_) | ShapeRef::Flat(_) => {
                for (ordinal, offsets) in stored.to_set()?.chunks() {
                    let ordinal = renumber(ordinal)?;
                    let step = self.step(ordinal)?;
                    if self.chunk_count == 0 {
                        self.rows.extend(offsets.iter().map(|offset| u64::from(ordinal) << 11 | u64::from(offset)));
                    } else {
                        self.writer.put(offsets, step, &mut self.chunks);
                        self.chunk_count += 1;
                    }
                }
            }
        }
        self.count += stored.count();
        Ok(())
    }

    /// How far `ordinal` is past the next one, which moves past it.
    fn step(&mut self, ordinal: u32) -> Result<u64, BitmapError> {
        let step = u64::from(ordinal).checked_sub(self.next).ok_or(BitmapError::NotAscending { ordinal, offset: 0 })?;
        self.next = u64::from(ordinal) + 1;
        Ok(step)
    }

    /// Turns the rows gathered so far into chunks.
    fn flush_rows(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        let set = RowSet::from_sorted(self.rows.drain(..)).expect("rows were appended in ascending order");
        let mut next = 0;
        for (ordinal, offsets) in set.chunks() {
            self.writer.put(offsets, u64::from(ordinal) - next, &mut self.chunks);
            next = u64::from(ordinal) + 1;
        }
        self.chunk_count = set.chunk_count() as u64;
    }

    /// Appends the stored form of all that was appended to `out`.
    pub fn finish(&self, out: &mut Vec<u8>) {
        if self.chunk_count == 0 {
            RowSet::encode_rows(&self.rows, out).expect("rows were appended in ascending order");
            return;
        }
        put_head(Shape::Chunked, self.count, out);
        put_varint(out, self.chunk_count);
        out.extend_from_slice(&self.chunks);
    }
}
