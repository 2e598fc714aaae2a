//! Sets of pattern vectors: what the embedder stores of one namespace (NS-1) and one model. See `docs/formats/pattern-vectors.md`.
//!
//! A vector is kept as whole numbers of 8 bits and a scale: on unit vectors that moves a cosine by some 0.003, and takes a quarter of the bytes. What
//! is not here: vectors of entries (`siltstone-vector`), models, and which pattern is like which.

use crate::envelope::{EnvelopeError, Kind};
use serde::{Deserialize, Serialize};
use siltstone_core::pattern::PatternHash;
use siltstone_core::{ErrorKind, ModelId};

const VECTORS: Kind = Kind { what: "pattern vectors", magic: *b"SLpv", version: 1 };

/// The largest whole number of a vector.
const NUMBER_MAX: f32 = 127.0;

/// The most numbers that a vector has.
pub const DIMENSION_MAX: usize = 4_096;

/// Vectors of patterns, by rising hash.
#[derive(Clone, PartialEq, Debug)]
pub struct PatternVectors {
    stored: Stored,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Stored {
    model: ModelId,
    dimension: u16,
    hashes: Vec<PatternHash>,
    /// What a vector's whole numbers are multiplied with.
    scales: Vec<f32>,
    /// Row by row.
    numbers: Vec<i8>,
}

/// Why vectors cannot be kept or read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PatternVectorsError {
    /// The bytes are no record.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// The parts do not fit each other.
    #[error("read pattern vectors: {detail}")]
    Inconsistent {
        /// What does not fit.
        detail: &'static str,
    },
    /// A vector has another number of numbers.
    #[error("keep the vector of pattern {pattern}: it has {found} numbers, the model {model} gives {dimension}")]
    Dimension {
        /// The pattern.
        pattern: PatternHash,
        /// The model.
        model: ModelId,
        /// What a vector has.
        dimension: usize,
        /// What this one has.
        found: usize,
    },
    /// NaN or infinity.
    #[error("keep the vector of pattern {pattern}: the model {model} gave a number that is not finite")]
    NotFinite {
        /// The pattern.
        pattern: PatternHash,
        /// The model.
        model: ModelId,
    },
}

impl PatternVectorsError {
    /// What the caller should do about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Envelope(error) => error.kind(),
            Self::Inconsistent { .. } => ErrorKind::Corrupt,
            Self::Dimension { .. } | Self::NotFinite { .. } => ErrorKind::InvalidInput,
        }
    }
}

impl PatternVectors {
    /// Vectors of a model, in any order; of a pattern that comes twice the first is kept.
    ///
    /// # Errors
    /// [`PatternVectorsError::Dimension`], [`PatternVectorsError::NotFinite`]; [`PatternVectorsError::Inconsistent`] for a dimension of 0 or above
    /// [`DIMENSION_MAX`].
    pub fn new(model: &ModelId, dimension: usize, vectors: &[(PatternHash, &[f32])]) -> Result<Self, PatternVectorsError> {
        let mut stored = Stored::empty(model, dimension)?;
        let mut order: Vec<usize> = (0..vectors.len()).collect();
        order.sort_by_key(|at| vectors[*at].0);
        order.dedup_by_key(|at| vectors[*at].0);
        for at in order {
            let (pattern, vector) = vectors[at];
            if vector.len() != dimension {
                return Err(PatternVectorsError::Dimension { pattern, model: model.clone(), dimension, found: vector.len() });
            }
            if !vector.iter().all(|number| number.is_finite()) {
                return Err(PatternVectorsError::NotFinite { pattern, model: model.clone() });
            }
            let scale = vector.iter().fold(0_f32, |most, number| most.max(number.abs())) / NUMBER_MAX;
            stored.hashes.push(pattern);
            stored.scales.push(scale);
            stored.numbers.extend(vector.iter().map(|number| if scale == 0.0 { 0 } else { (number / scale).round() as i8 }));
        }
        Ok(Self { stored })
    }

    /// The vectors of several sets of one model (VE-1); of a pattern that stands twice the first is kept.
    ///
    /// # Errors
    /// [`PatternVectorsError::Inconsistent`] where the sets are of different models or dimensions, or there is none.
    pub fn join(sets: &[&Self]) -> Result<Self, PatternVectorsError> {
        let Some(first) = sets.first() else {
            return Err(PatternVectorsError::Inconsistent { detail: "there is nothing to join" });
        };
        if sets.iter().any(|set| set.model() != first.model() || set.dimension() != first.dimension()) {
            return Err(PatternVectorsError::Inconsistent { detail: "vectors of two models never meet" });
        }
        let mut stored = Stored::empty(first.model(), first.dimension())?;
        let mut rows: Vec<(PatternHash, usize, usize)> =
            sets.iter().enumerate().flat_map(|(at, set)| set.hashes().iter().enumerate().map(move |(row, hash)| (*hash, at, row))).collect();
        rows.sort_unstable();
        rows.dedup_by_key(|(hash, ..)| *hash);
        for (hash, at, row) in rows {
            stored.hashes.push(hash);
            stored.scales.push(sets[at].stored.scales[row]);
            stored.numbers.extend_from_slice(sets[at].numbers(row));
        }
        Ok(Self { stored })
    }

    /// The stored form.
    ///
    /// # Errors
    /// [`PatternVectorsError::Envelope`] past 4 GiB.
    pub fn encode(&self) -> Result<Vec<u8>, PatternVectorsError> {
        Ok(VECTORS.encode(&self.stored)?)
    }

    /// Vectors from their stored form.
    ///
    /// # Errors
    /// [`PatternVectorsError`] for any bytes that are not one whole set.
    pub fn decode(bytes: &[u8]) -> Result<Self, PatternVectorsError> {
        let stored: Stored = VECTORS.decode(bytes)?;
        let inconsistent = |detail| PatternVectorsError::Inconsistent { detail };
        let (rows, dimension) = (stored.hashes.len(), usize::from(stored.dimension));
        if dimension == 0 || dimension > DIMENSION_MAX || stored.scales.len() != rows || Some(stored.numbers.len()) != rows.checked_mul(dimension) {
            return Err(inconsistent("hashes, scales and numbers are not of one length"));
        }
        if !stored.hashes.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err(inconsistent("the hashes do not rise"));
        }
        if !stored.scales.iter().all(|scale| scale.is_finite() && *scale >= 0.0) {
            return Err(inconsistent("a scale is no positive number"));
        }
        Ok(Self { stored })
    }

    /// The model that made the vectors.
    #[must_use]
    pub const fn model(&self) -> &ModelId {
        &self.stored.model
    }

    /// Numbers in a vector.
    #[must_use]
    pub fn dimension(&self) -> usize {
        usize::from(self.stored.dimension)
    }

    /// The patterns, rising; row by row.
    #[must_use]
    pub fn hashes(&self) -> &[PatternHash] {
        &self.stored.hashes
    }

    /// The row of a pattern.
    #[must_use]
    pub fn row_of(&self, pattern: PatternHash) -> Option<usize> {
        self.stored.hashes.binary_search(&pattern).ok()
    }

    /// Bytes that it takes in memory.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.stored.numbers.len() + self.stored.hashes.len() * (size_of::<PatternHash>() + size_of::<f32>())
    }

    /// The inner product of a row's vector and a query's.
    #[must_use]
    pub fn similarity(&self, row: usize, query: &QueryVector) -> f32 {
        let products = self.numbers(row).iter().zip(&query.numbers).map(|(left, right)| i32::from(*left) * i32::from(*right));
        products.sum::<i32>() as f32 * self.stored.scales[row] * query.scale
    }

    fn numbers(&self, row: usize) -> &[i8] {
        &self.stored.numbers[row * self.dimension()..][..self.dimension()]
    }
}

impl Stored {
    fn empty(model: &ModelId, dimension: usize) -> Result<Self, PatternVectorsError> {
        match u16::try_from(dimension) {
            Ok(stored @ 1..) if dimension <= DIMENSION_MAX => {
                Ok(Self { model: model.clone(), dimension: stored, hashes: Vec::new(), scales: Vec::new(), numbers: Vec::new() })
            }
            _ => Err(PatternVectorsError::Inconsistent { detail: "a vector has 1 to 4096 numbers" }),
        }
    }
}

/// A query's vector, in whole numbers of which [`DIMENSION_MAX`] products with a stored one fit 32 bits.
#[derive(Clone, PartialEq, Debug)]
pub struct QueryVector {
    numbers: Vec<i16>,
    scale: f32,
}

/// The largest whole number of a query: 4,096 × 127 × 4,000 < 2³¹.
const QUERY_NUMBER_MAX: f32 = 4_000.0;

impl QueryVector {
    /// The vector of a query; numbers that are not finite count as 0.
    #[must_use]
    pub fn new(vector: &[f32]) -> Self {
        let finite = |number: &f32| if number.is_finite() { *number } else { 0.0 };
        let scale = vector.iter().map(finite).fold(0_f32, |most, number| most.max(number.abs())) / QUERY_NUMBER_MAX;
        let numbers = vector.iter().map(finite).map(|number| if scale == 0.0 { 0 } else { (number / scale).round() as i16 }).collect();
        Self { numbers, scale }
    }

    /// Whether it says nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.numbers.iter().all(|number| *number == 0)
    }
}

#[cfg(test)]
#[path = "vectors_test.rs"]
mod tests;
