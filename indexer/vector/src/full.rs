//! Full vectors as little-endian bytes, row after row: what scores are computed from.

use crate::codes::CodedQuery;
use crate::kernels::{Kernels, half_of, single_of};
use crate::space::Metric;

/// How an element of a full vector is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Precision {
    /// 16-bit floating point: where every element of every vector is one, so that nothing is lost.
    Half = 1,
    /// 32-bit floating point.
    Single = 2,
}

impl Precision {
    pub(crate) const fn from_u8(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Half),
            2 => Some(Self::Single),
            _ => None,
        }
    }

    /// Bytes of an element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Half => 2,
            Self::Single => 4,
        }
    }

    /// Its name in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Half => "f16",
            Self::Single => "f32",
        }
    }
}

/// Bytes of a row: its elements and its length as f32, so that a score needs nothing else.
pub(crate) const fn row_bytes(precision: Precision, dimension: usize) -> usize {
    dimension * precision.bytes() + LENGTH_BYTES
}

const LENGTH_BYTES: usize = 4;

/// The key of a query and a row's stored bytes, which have [`row_bytes`].
#[inline]
pub(crate) fn key(kernels: &Kernels, precision: Precision, query: &CodedQuery, row: &[u8]) -> f32 {
    let Some((row, length)) = row.split_last_chunk::<LENGTH_BYTES>() else { return f32::INFINITY };
    let dot = || match precision {
        Precision::Half => kernels.dot_f16(&query.vector, row),
        Precision::Single => kernels.dot_f32(&query.vector, row),
    };
    let key = match (query.metric, precision) {
        (Metric::Cosine, _) => -(dot() / f32::from_le_bytes(*length)).clamp(-1.0, 1.0),
        (Metric::InnerProduct, _) => -dot(),
        (Metric::L2, Precision::Half) => kernels.l2_f16(&query.vector, row),
        (Metric::L2, Precision::Single) => kernels.l2_f32(&query.vector, row),
    };
    // Only bytes that no writer wrote come to NaN.
    if key.is_nan() { f32::INFINITY } else { key }
}

/// Reads a row's elements into `vector`.
pub(crate) fn decode(precision: Precision, row: &[u8], vector: &mut Vec<f32>) {
    let elements = &row[..row.len().saturating_sub(LENGTH_BYTES)];
    vector.clear();
    match precision {
        Precision::Half => vector.extend(elements.as_chunks::<2>().0.iter().map(|bytes| single_of(u16::from_le_bytes(*bytes)))),
        Precision::Single => vector.extend(elements.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes))),
    }
}

/// Full vectors being gathered: halves as long as each element is one, singles from then on.
#[derive(Clone, Debug)]
pub(crate) struct FullVectors {
    dimension: usize,
    precision: Precision,
    bytes: Vec<u8>,
}

impl FullVectors {
    pub(crate) const fn new(dimension: usize) -> Self {
        Self { dimension, precision: Precision::Half, bytes: Vec::new() }
    }

    pub(crate) const fn precision(&self) -> Precision {
        self.precision
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn row(&self, row: u32) -> &[u8] {
        let bytes = row_bytes(self.precision, self.dimension);
        &self.bytes[row as usize * bytes..][..bytes]
    }

    pub(crate) fn push(&mut self, vector: &[f32], length: f32) {
        let start = self.bytes.len();
        let mut push_half = |element: &f32| half_of(*element).map(|half| self.bytes.extend_from_slice(&half.to_le_bytes()));
        if self.precision == Precision::Half && !vector.iter().all(|element| push_half(element).is_some()) {
            self.bytes.truncate(start);
            self.widen();
        }
        if self.precision == Precision::Single {
            self.bytes.extend(vector.iter().flat_map(|element| element.to_le_bytes()));
        }
        self.bytes.extend_from_slice(&length.to_le_bytes());
    }

    fn widen(&mut self) {
        let halves = row_bytes(Precision::Half, self.dimension);
        let rows = self.bytes.len() / halves;
        let mut bytes = Vec::with_capacity((rows + 1) * row_bytes(Precision::Single, self.dimension));
        let mut vector = Vec::new();
        for row in self.bytes.chunks_exact(halves) {
            decode(Precision::Half, row, &mut vector);
            bytes.extend(vector.iter().flat_map(|element| element.to_le_bytes()));
            bytes.extend_from_slice(&row[halves - LENGTH_BYTES..]);
        }
        self.precision = Precision::Single;
        self.bytes = bytes;
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}
