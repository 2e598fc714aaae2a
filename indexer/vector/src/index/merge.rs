//! One set from several indexes: its index is built anew from the stored vectors, so that many small ones merged are as good as one big one.
//!
//! Stored vectors are what was given, and building depends on nothing else: merged in the order of arrival, the bytes are those of one import.

use super::VectorIndex;
use crate::error::VectorError;
use crate::filter::{Filter, Selection};
use crate::format::ByteRange;
use crate::vectors::Vectors;
use bytes::Bytes;

/// An index that goes into a merge.
#[derive(Clone, Copy)]
pub struct MergeInput<'a> {
    /// The index.
    pub index: &'a dyn VectorIndex,
    /// The rows that are taken: those that are still alive.
    pub rows: Filter<'a>,
}

/// The vectors of all inputs, in their order, each input's rows ascending. `fetch` gets ranges of the input of that number; a block of full vectors
/// is in memory at a time.
///
/// # Errors
/// [`VectorError::Spaces`] for inputs of two spaces (NS-1), [`VectorError::Request`] for none; else those of the inputs and of `fetch`.
pub fn merge<E, F>(inputs: &[MergeInput<'_>], mut fetch: F) -> Result<Vectors, E>
where
    F: FnMut(usize, &ByteRange) -> Result<Bytes, E>,
    E: From<VectorError>,
{
    let first = inputs.first().ok_or(VectorError::Request { reason: "a merge needs an index" })?;
    let space = first.index.space();
    if let Some(other) = inputs.iter().find(|input| input.index.space() != space) {
        return Err(VectorError::Spaces { left: space.to_string(), right: other.index.space().to_string() }.into());
    }
    let mut set = Vectors::new(space.clone());
    for (number, input) in inputs.iter().enumerate() {
        let mut block: Option<(ByteRange, Bytes)> = None;
        for row in Selection::new(input.rows, input.index.rows()).iter() {
            if let Some(range) = input.index.vector_range(row)
                && block.as_ref().is_none_or(|(of, _)| *of != range)
            {
                let bytes = fetch(number, &range)?;
                block = Some((range, bytes));
            }
            set.push(&input.index.vector(row, block.as_ref().map(|(_, bytes)| bytes))?)?;
        }
    }
    Ok(set)
}
