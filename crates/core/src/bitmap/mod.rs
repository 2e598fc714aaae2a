//! The two-level bitmap over rows `(chunk ordinal, offset)`: what every posting over rows is, whatever it stands for.
//!
//! The upper level says which chunk ordinals have rows, 512 at a time; the lower level holds, for those chunks alone, which of
//! 2,048 offsets: a list, runs, or a block of 2,048 bits. Operations go level by level: a chunk that the upper level rules out costs
//! nothing, and counts of sets whose chunks do not overlap are summed without opening them.
//!
//! - [`RowSet`]: an owned set; [`RowSetBuilder`] makes one from rows in ascending order.
//! - [`Block`]: one chunk's rows as bits, to be filled in any order.
//! - [`Offsets`]: one chunk's rows as they lie in a set.
//! - [`kernels`]: the inner loops, for each instruction set.
//!
//! Not done here: what an ordinal stands for (a segment maps ordinals to chunk ids), ranks, and rows with payloads.

mod block;
mod builder;
mod codec;
mod error;
pub mod kernels;
mod lowers;
mod many;
mod offsets;
mod ops;
mod pair;
mod row_set;
mod upper;

pub use block::{BLOCK_WORDS, Block, BlockIter};
pub use builder::RowSetBuilder;
pub use codec::{RowSetAppender, RowSetRef};
pub use error::BitmapError;
pub use offsets::{Form, LIST_MAX, Offsets, OffsetsIter, RUNS_MAX, Run};
pub use row_set::RowSet;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod ops_test;
#[cfg(test)]
mod sample;

/// Offsets of a chunk.
pub(crate) const OFFSETS: usize = crate::CHUNK_ROWS_MAX;
