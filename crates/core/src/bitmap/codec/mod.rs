//! The stored form of a set: `docs/formats/bitmap.md`, version 1.
//!
//! One row is its number. A few rows are one stream of gaps (the flat shape). Many rows are one payload a chunk (the chunked
//! shape), which a reader may skip and a merge copies without reading.

mod append;
mod bits;
mod chunk_writer;
mod encode;
mod row_set_ref;
mod stored_chunk;
mod varint;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod codec_test;

pub use append::RowSetAppender;
pub use row_set_ref::RowSetRef;

use super::{BitmapError, RowSet};
use varint::put_varint;

/// How the rows of a stored set of two rows or more lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Flat = 0,
    Chunked = 1,
}

/// The parameter that the flat shape's first row is coded with: rows of the first four chunks take 14 bits.
const FIRST_ROW_PARAMETER: u32 = 13;

/// Writes the head of a set that is not one row: bit 0 is one, bit 1 the shape, above them the count.
fn put_head(shape: Shape, count: u64, out: &mut Vec<u8>) {
    put_varint(out, count << 2 | (shape as u64) << 1 | 1);
}

impl RowSet {
    /// Reads a set from exactly its stored bytes.
    ///
    /// # Errors
    /// [`BitmapError::Corrupt`] whatever else the bytes are. Memory stays within some 60 times the bytes (a chunk of 3 bytes may open a page of its
    /// own).
    pub fn decode(bytes: &[u8]) -> Result<Self, BitmapError> {
        RowSetRef::new(bytes)?.to_set()
    }

    /// How many rows a stored set holds, read from its head alone.
    ///
    /// # Errors
    /// [`BitmapError::Corrupt`] when the head is damaged.
    pub fn count_of_bytes(bytes: &[u8]) -> Result<u64, BitmapError> {
        Ok(RowSetRef::new(bytes)?.count())
    }
}
