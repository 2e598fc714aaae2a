//! Which vectors may be compared: one namespace, one source, one dimension, one metric.

use crate::error::{InputReason, VectorError};
use siltstone_core::NamespaceId;
use std::fmt;

/// The largest dimension: far above any model's, and a row stays within a few blocks.
pub const DIMENSION_MAX: usize = 8_192;

/// The longest name of a source, in bytes.
pub const SOURCE_BYTES_MAX: usize = 255;

/// How two vectors are compared. Distances are smaller for what is more alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Metric {
    /// 1 − cosine: 0 for the same direction, 2 for opposite ones. A zero vector has none.
    Cosine = 1,
    /// The inner product, negated.
    InnerProduct = 2,
    /// The Euclidean distance (not squared).
    L2 = 3,
}

impl Metric {
    /// The metric of a stored number.
    #[must_use]
    pub const fn from_u8(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Cosine),
            2 => Some(Self::InnerProduct),
            3 => Some(Self::L2),
            _ => None,
        }
    }

    /// Its name in configuration and output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::InnerProduct => "inner_product",
            Self::L2 => "l2",
        }
    }

    /// A *key* orders rows as the distance does, and is cheaper: −cosine, −inner product, or the squared distance.
    pub(crate) fn distance(self, key: f32) -> f32 {
        match self {
            Self::Cosine => 1.0 + key,
            Self::InnerProduct => key,
            Self::L2 => key.max(0.0).sqrt(),
        }
    }

    /// The least key whose distance is `distance` or more, but for rounding: [`Metric::distance`] decides.
    pub(crate) fn key(self, distance: f32) -> f32 {
        match self {
            Self::Cosine => distance - 1.0,
            Self::InnerProduct => distance,
            Self::L2 => {
                if distance <= 0.0 {
                    0.0
                } else {
                    distance * distance
                }
            }
        }
    }
}

/// What the vectors of an index have in common. Vectors of two spaces never meet (NS-1; and so for models).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct VectorSpace {
    namespace: NamespaceId,
    source: Box<str>,
    dimension: usize,
    metric: Metric,
}

impl VectorSpace {
    /// A space. `source` is the model's id, or the name of the field that brought the vectors.
    ///
    /// # Errors
    /// [`VectorError::Space`] where the name is empty or too long, or the dimension is none of 1 to [`DIMENSION_MAX`].
    pub fn new(namespace: NamespaceId, source: &str, dimension: usize, metric: Metric) -> Result<Self, VectorError> {
        if source.is_empty() || source.len() > SOURCE_BYTES_MAX {
            return Err(VectorError::Space { reason: "the name of a source has 1 to 255 bytes" });
        }
        if dimension == 0 || dimension > DIMENSION_MAX {
            return Err(VectorError::Space { reason: "a dimension is 1 to 8,192" });
        }
        Ok(Self { namespace, source: source.into(), dimension, metric })
    }

    /// Whose vectors these are.
    #[must_use]
    pub const fn namespace(&self) -> NamespaceId {
        self.namespace
    }

    /// The model or field.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Elements of a vector.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.dimension
    }

    /// How vectors are compared.
    #[must_use]
    pub const fn metric(&self) -> Metric {
        self.metric
    }

    /// The length of a vector that can be taken.
    pub(crate) fn check(&self, vector: &[f32]) -> Result<f32, InputReason> {
        if vector.len() != self.dimension {
            return Err(InputReason::Dimension { got: vector.len(), expected: self.dimension });
        }
        if let Some(element) = vector.iter().position(|element| !element.is_finite()) {
            return Err(InputReason::NotFinite { element });
        }
        let squared: f64 = vector.iter().map(|element| f64::from(*element) * f64::from(*element)).sum();
        // Four times: the squared distance of two vectors must be finite, too.
        if !(squared as f32 * 4.0).is_finite() {
            return Err(InputReason::Length);
        }
        if self.metric == Metric::Cosine {
            if vector.iter().all(|element| *element == 0.0) {
                return Err(InputReason::Zero);
            }
            // A reciprocal must be finite.
            if squared < f64::from(f32::MIN_POSITIVE) {
                return Err(InputReason::Length);
            }
        }
        Ok(squared.sqrt() as f32)
    }
}

impl fmt::Display for VectorSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of namespace {} ({}, {} elements)", self.source, self.namespace, self.metric.as_str(), self.dimension)
    }
}
