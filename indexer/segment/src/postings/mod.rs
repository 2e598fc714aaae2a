//! The rows that have a key, and the slots in which a row has a token.
//!
//! A posting of few rows is a flat list of distances. A longer one goes chunk by chunk, with a directory, so that a chunk that a query rules out
//! is skipped and a merge copies what it does not read; each chunk's rows take the smallest of five forms, one of which names whole cells: a
//! field, or a token, that all rows of a pattern share costs a bit for the pattern. Slots lie in a stream of their own, as only phrases and scores
//! read them.

mod cell_rows;
mod encode;
mod slots;
mod token;
mod view;

pub(crate) use cell_rows::CellRows;
pub(crate) use encode::{PostingEncoder, PostingWriter};
pub(crate) use slots::{SlotsView, put_cell_codes, put_code, skip_code};
pub(crate) use token::{TokenChunk, TokenRows};
pub(crate) use view::{GroupRef, PostingView};

/// Postings with fewer rows are always flat: a directory would be most of them.
const FLAT_ROWS: usize = 16;

/// Postings with this many rows or more are never flat: an AND must be able to skip chunks.
const GROUPED_ROWS: usize = 256;

/// How the rows of one chunk lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Form {
    /// Every row of the chunk. No bytes.
    Full = 0,
    /// Distances between offsets.
    List = 1,
    /// Per run: the distance from the run before, and its length − 1.
    Runs = 2,
    /// A bit an offset.
    Bits = 3,
    /// A bit a cell, for cells of which all rows belong; then the other rows as a list.
    Cells = 4,
}

impl Form {
    const fn from_u8(value: u8) -> Option<Self> {
        Some(match value {
            0 => Self::Full,
            1 => Self::List,
            2 => Self::Runs,
            3 => Self::Bits,
            4 => Self::Cells,
            _ => return None,
        })
    }
}

#[cfg(test)]
#[path = "postings_test.rs"]
mod tests;
