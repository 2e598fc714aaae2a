//! The stored form of a set: `docs/formats/bitmap.md`, version 1.

mod varint;

use super::{BitmapError, OFFSETS, RowSet, RowSetBuilder};
use varint::{Reader, put_varint};

impl RowSet {
    /// Appends the stored form to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.count);
        let mut before = 0;
        for row in self.rows() {
            put_varint(out, row - before);
            before = row;
        }
    }

    /// Reads a set from exactly its stored bytes.
    ///
    /// # Errors
    /// [`BitmapError::Corrupt`] whatever else the bytes are.
    pub fn decode(bytes: &[u8]) -> Result<Self, BitmapError> {
        let mut reader = Reader::new(bytes);
        let count = reader.varint()?;
        let mut builder = RowSetBuilder::new();
        let mut row = 0_u64;
        for index in 0..count {
            let delta = reader.varint()?;
            row = row
                .checked_add(delta)
                .filter(|row| *row < (OFFSETS as u64) << 32 && (index == 0 || delta > 0))
                .ok_or_else(|| reader.corrupt("rows do not ascend within 43 bits"))?;
            builder.push_row(row)?;
        }
        reader.end()?;
        Ok(builder.finish())
    }

    /// How many rows a stored set holds, read from its head alone.
    ///
    /// # Errors
    /// [`BitmapError::Corrupt`] when the head is cut off.
    pub fn count_of_bytes(bytes: &[u8]) -> Result<u64, BitmapError> {
        Reader::new(bytes).varint()
    }
}
