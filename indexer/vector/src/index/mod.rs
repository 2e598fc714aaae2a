//! Indexes as they are opened: a trait, and the two kinds.

mod exact;
mod hnsw;
mod merge;
mod open;
mod parts;

pub use exact::ExactIndex;
pub use hnsw::HnswIndex;
pub use merge::{MergeInput, merge};
pub use open::{Open, OpenStep, Residence, open_bytes};

use crate::error::VectorError;
use crate::format::{self, ByteRange, IndexKind};
use crate::full::Precision;
use crate::graph::{self, BuildOptions};
use crate::request::{Answer, Request};
use crate::search::{self, Search};
use crate::space::VectorSpace;
use crate::vectors::Vectors;
use crate::view::View;
use bytes::Bytes;

/// An opened vector index, which answers by steps: a search names the byte ranges that it needs and goes on with the bytes. What is in memory it
/// does not name, so that an index that is all in memory is done in one step.
///
/// To ensure correctness:
/// - a distance in an answer is that of the full vector, whatever found the row;
/// - a search whose plan is exact finds what comparing every full vector would find, ties included;
/// - bytes that were fetched are used only once their checksum was found right; nothing that they hold makes a search panic;
/// - vectors of another space are never compared (NS-1).
///
/// Legal edge cases: an index of no rows; a limit of 0; a filter whose rows the index does not have; a distance that nothing is below.
pub trait VectorIndex: Send + Sync {
    /// What the vectors have in common.
    fn space(&self) -> &VectorSpace;

    /// How many rows there are, numbered from 0.
    fn rows(&self) -> u32;

    /// What the index has beside its vectors.
    fn kind(&self) -> IndexKind;

    /// How full vectors are stored.
    fn precision(&self) -> Precision;

    /// Bytes in memory.
    fn memory_bytes(&self) -> usize;

    /// Plans a request and begins.
    ///
    /// # Errors
    /// [`VectorError::Query`] for a vector that cannot be compared, [`VectorError::Request`] for what this index cannot do.
    fn search<'a>(&'a self, request: &Request<'_>) -> Result<Box<dyn Search + 'a>, VectorError>;

    /// Where the vector of a row is, if it must be fetched.
    fn vector_range(&self, row: u32) -> Option<ByteRange>;

    /// The vector of a row; `fetched` are the bytes of [`VectorIndex::vector_range`], where it named some.
    ///
    /// # Errors
    /// [`VectorError::Request`] for a row that is not there, [`VectorError::Corrupt`] and [`VectorError::Fetched`] for wrong bytes.
    fn vector(&self, row: u32, fetched: Option<&Bytes>) -> Result<Vec<f32>, VectorError>;
}

/// Rows from which on there is a graph: below, a scan takes no longer than a walk of the usual effort, and its answers are exact.
pub const GRAPH_ROWS_MIN: usize = 10_000;

/// The stored bytes of an index without a graph.
#[must_use]
pub fn write_exact(set: &Vectors) -> Vec<u8> {
    format::write(set, None)
}

/// The stored bytes of an index with a graph; without one where there is no row.
#[must_use]
pub fn write_hnsw(set: &Vectors, options: &BuildOptions) -> Vec<u8> {
    if set.is_empty() {
        return write_exact(set);
    }
    format::write(set, Some(&graph::build(set.codes(), set.space().metric(), options)))
}

/// The stored bytes of the kind of index that pays for so many rows.
#[must_use]
pub fn write(set: &Vectors, options: &BuildOptions) -> Vec<u8> {
    if set.len() < GRAPH_ROWS_MIN { write_exact(set) } else { write_hnsw(set, options) }
}

impl Vectors {
    /// Searches vectors that no index has yet: exactly, in one go.
    ///
    /// # Errors
    /// Those of [`VectorIndex::search`].
    pub fn search(&self, request: &Request<'_>) -> Result<Answer, VectorError> {
        let mut search = search::begin(View::of_vectors(self), None, request)?;
        search::run(search.as_mut(), |_| Err(VectorError::Fetched { reason: "all vectors are in memory" }))
    }
}
