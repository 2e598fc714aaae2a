//! The vectors that a search runs over, wherever they are: in memory, or to be fetched block by block.

use crate::codes::Codes;
use crate::error::VectorError;
use crate::format::{ByteRange, Layout};
use crate::full::{self, FullVectors, Precision};
use crate::space::VectorSpace;
use crate::vectors::Vectors;
use bytes::Bytes;

/// Borrowed vectors. What is `None` is fetched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) space: &'a VectorSpace,
    pub(crate) rows: u32,
    pub(crate) precision: Precision,
    pub(crate) codes: Option<&'a Codes>,
    pub(crate) full: FullView<'a>,
    pub(crate) layout: Option<&'a Layout>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum FullView<'a> {
    Whole(&'a FullVectors),
    Blocks(&'a [Bytes]),
    Stored,
}

impl<'a> View<'a> {
    pub(crate) fn of_vectors(set: &'a Vectors) -> Self {
        Self {
            space: set.space(),
            rows: set.len() as u32,
            precision: set.precision(),
            codes: Some(set.codes()),
            full: FullView::Whole(set.full()),
            layout: None,
        }
    }

    /// A row's full vector, where it is in memory.
    #[inline]
    pub(crate) fn full_row(&self, row: u32) -> Option<&'a [u8]> {
        match self.full {
            FullView::Whole(full) => Some(full.row(row)),
            FullView::Blocks(blocks) => {
                let layout = self.layout?;
                let bytes = full::row_bytes(self.precision, self.space.dimension());
                let (block, at) = (row / layout.full_block_rows(), row % layout.full_block_rows());
                blocks.get(block as usize)?.get(at as usize * bytes..)?.get(..bytes)
            }
            FullView::Stored => None,
        }
    }

    pub(crate) fn has_full(&self) -> bool {
        !matches!(self.full, FullView::Stored)
    }

    /// Where blocks are to be fetched from.
    pub(crate) fn layout(&self) -> Result<&'a Layout, VectorError> {
        self.layout.ok_or(VectorError::Fetched { reason: "all of the index is in memory" })
    }
}

/// Checks that what the caller brought is what was named.
pub(crate) fn check_fetched(named: &[ByteRange], fetched: &[Bytes]) -> Result<u64, VectorError> {
    if named.len() != fetched.len() {
        return Err(VectorError::Fetched { reason: "as many byte strings as ranges were named must be brought" });
    }
    if named.iter().zip(fetched).any(|(range, bytes)| range.end - range.start != bytes.len() as u64) {
        return Err(VectorError::Fetched { reason: "a byte string has another length than its range" });
    }
    Ok(fetched.iter().map(|bytes| bytes.len() as u64).sum())
}
