//! Vectors in memory, checked and coded: what an index is written from, and what live rows are searched in.

use crate::codes::{CodedQuery, Codes};
use crate::error::{InputReason, VectorError};
use crate::full::{self, FullVectors, Precision};
use crate::space::VectorSpace;

/// Vectors an index has at most: so that neighbours fit 32 bits with room for a mark.
pub const ROWS_MAX: u64 = 1 << 31;

/// Vectors of one space, numbered from 0 by arrival.
#[derive(Clone, Debug)]
pub struct Vectors {
    space: VectorSpace,
    codes: Codes,
    full: FullVectors,
}

impl Vectors {
    /// No vector yet.
    #[must_use]
    pub fn new(space: VectorSpace) -> Self {
        let (codes, full) = (Codes::new(space.dimension()), FullVectors::new(space.dimension()));
        Self { space, codes, full }
    }

    /// What the vectors have in common.
    #[must_use]
    pub const fn space(&self) -> &VectorSpace {
        &self.space
    }

    /// How many vectors there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How full vectors are kept: halves until the first element that is none.
    #[must_use]
    pub const fn precision(&self) -> Precision {
        self.full.precision()
    }

    /// Takes the next vector; its row.
    ///
    /// # Errors
    /// [`VectorError::Input`] for another dimension, NaN, an infinity, a length that f32 cannot hold, and for cosine a zero vector;
    /// [`VectorError::TooMany`].
    pub fn push(&mut self, vector: &[f32]) -> Result<u32, VectorError> {
        let row = self.len() as u64;
        if row >= ROWS_MAX {
            return Err(VectorError::TooMany { row, limit: ROWS_MAX });
        }
        let length = self.space.check(vector).map_err(|reason| VectorError::Input { row, reason })?;
        self.codes.push(self.space.metric(), vector, length);
        self.full.push(vector, length);
        Ok(row as u32)
    }

    /// The vector of a row, as it was given; `None` past the last.
    #[must_use]
    pub fn vector(&self, row: u32) -> Option<Vec<f32>> {
        ((row as usize) < self.len()).then(|| {
            let mut vector = Vec::with_capacity(self.space.dimension());
            full::decode(self.precision(), self.full.row(row), &mut vector);
            vector
        })
    }

    /// Bytes in memory.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.codes.memory_bytes() + self.full.memory_bytes()
    }

    pub(crate) const fn codes(&self) -> &Codes {
        &self.codes
    }

    pub(crate) const fn full(&self) -> &FullVectors {
        &self.full
    }
}

/// Checks and codes a query's vector.
pub(crate) fn coded_query(space: &VectorSpace, vector: &[f32]) -> Result<CodedQuery, VectorError> {
    // Other metrics take a zero query; its distances are those of the definition.
    let length = space.check(vector).map_err(|reason: InputReason| VectorError::Query { reason })?;
    Ok(CodedQuery::new(space, vector, length))
}
