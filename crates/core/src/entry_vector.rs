//! A vector that came with an entry, and what no vector may be.

use std::fmt;

/// Numbers that an entry's vector has at most: above any common model's.
pub const VECTOR_DIMENSION_MAX: usize = 4_096;

/// A vector that came with an entry: made elsewhere, kept exactly.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EntryVector {
    /// The name of the field. All vectors of a field of a namespace have one dimension.
    pub field: String,
    /// Its numbers; none where only the field was read.
    pub values: Vec<f32>,
}

/// Why numbers are no vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VectorFault {
    /// None, or more than [`VECTOR_DIMENSION_MAX`].
    Count {
        /// How many.
        found: usize,
    },
    /// NaN or an infinity.
    NotFinite {
        /// Where the first one is, from 0.
        position: usize,
    },
    /// It has no direction: all numbers are zero, or as good as.
    Zero,
    /// Its length, squared, is beyond what f32 can hold.
    TooLong,
}

impl VectorFault {
    /// What is wrong with these numbers, if anything.
    #[must_use]
    pub fn of(values: &[f32]) -> Option<Self> {
        if values.is_empty() || values.len() > VECTOR_DIMENSION_MAX {
            return Some(Self::Count { found: values.len() });
        }
        if let Some(position) = values.iter().position(|value| !value.is_finite()) {
            return Some(Self::NotFinite { position });
        }
        let squared: f64 = values.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
        if squared < f64::from(f32::MIN_POSITIVE) {
            return Some(Self::Zero);
        }
        // Four times: the squared distance of two vectors must be finite, too.
        (squared * 4.0 > f64::from(f32::MAX)).then_some(Self::TooLong)
    }

    /// A short name for counters and scripts.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Count { .. } => "vector_length",
            Self::NotFinite { .. } => "vector_not_finite",
            Self::Zero => "vector_zero",
            Self::TooLong => "vector_too_long",
        }
    }
}

impl fmt::Display for VectorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { found } => write!(f, "it has {found} numbers: a vector has 1 to {VECTOR_DIMENSION_MAX}"),
            Self::NotFinite { position } => write!(f, "its number at position {position} is NaN or infinite"),
            Self::Zero => f.write_str("it is zero, so it has no direction and nothing is like it: leave it out"),
            Self::TooLong => f.write_str("its length, squared, is beyond what 32-bit floats hold: scale it down"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_vector_may_be_is_named() {
        assert_eq!(VectorFault::of(&[0.5, -0.5]), None);
        assert_eq!(VectorFault::of(&[]), Some(VectorFault::Count { found: 0 }));
        assert_eq!(VectorFault::of(&vec![1.0; VECTOR_DIMENSION_MAX]), None);
        assert_eq!(VectorFault::of(&vec![1.0; VECTOR_DIMENSION_MAX + 1]), Some(VectorFault::Count { found: VECTOR_DIMENSION_MAX + 1 }));
        assert_eq!(VectorFault::of(&[1.0, f32::NAN]), Some(VectorFault::NotFinite { position: 1 }));
        assert_eq!(VectorFault::of(&[f32::NEG_INFINITY]), Some(VectorFault::NotFinite { position: 0 }));
        assert_eq!(VectorFault::of(&[0.0, -0.0]), Some(VectorFault::Zero));
        assert_eq!(VectorFault::of(&[1e-30]), Some(VectorFault::Zero));
        assert_eq!(VectorFault::of(&[1e19]), Some(VectorFault::TooLong));
    }
}
