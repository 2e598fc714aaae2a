//! Searches as state machines: each names byte ranges, or is done; the caller does the I/O.

mod bounds;
mod exact;
mod hnsw;
mod rescore;

use exact::ExactSearch;
pub(crate) use exact::append_codes;
pub(crate) use hnsw::{GraphView, Scratches, begin};

use crate::error::VectorError;
use crate::format::ByteRange;
use crate::request::Answer;
use bytes::Bytes;

/// Bytes that one step names at most, but for a single block: bounds what a search holds.
pub(crate) const STEP_BYTES_MAX: u64 = 8 << 20;

/// What a search wants next.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// The bytes of these ranges of the index's object, each as one byte string, in this order. They ascend, and touch where blocks do.
    Fetch(Vec<ByteRange>),
    /// The answer. The search is over.
    Done(Answer),
}

/// A search that is under way.
pub trait Search: Send {
    /// Goes on. The first call brings nothing; each later one the bytes that the step before named.
    ///
    /// # Errors
    /// [`VectorError::Corrupt`] for bytes whose checksum differs, [`VectorError::Fetched`] for others than were named or a search that is over.
    fn advance(&mut self, fetched: &[Bytes]) -> Result<Step, VectorError>;
}

/// Runs a search, fetching with `fetch`.
///
/// # Errors
/// Those of the search and of `fetch`.
pub fn run<E, F>(search: &mut dyn Search, mut fetch: F) -> Result<Answer, E>
where
    F: FnMut(&ByteRange) -> Result<Bytes, E>,
    E: From<VectorError>,
{
    let mut fetched = Vec::new();
    loop {
        match search.advance(&fetched)? {
            Step::Fetch(ranges) => fetched = ranges.iter().map(&mut fetch).collect::<Result<_, E>>()?,
            Step::Done(answer) => return Ok(answer),
        }
    }
}
