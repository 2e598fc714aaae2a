//! Codes: each vector as signed bytes with a scale of its own, and how far the true key can be from the one that codes give.
//!
//! A vector is divided by its largest element's magnitude over 127 and rounded; for cosine it is brought to unit length first. No code is −128.
//! A scale per vector (and not one for all: the largest of 384 elements of a unit vector is some 0.2) keeps four bits more.

use crate::kernels::{CODE_LANES, Kernels, LANES, Lanes};
use crate::space::{Metric, VectorSpace};

/// Bytes of the stored numbers of a row.
pub(crate) const TERM_BYTES: usize = 12;

/// What rounding of a key can come to, relative to the product of lengths, twice over: a step for each product of a lane of a sum, then for each
/// fold of the lanes and each factor.
fn rounding(dimension: usize) -> f32 {
    (dimension.div_ceil(LANES) + 16) as f32 * f32::EPSILON
}

/// Registers of a row of codes: the last is padded with zeros.
pub(crate) const fn lanes(dimension: usize) -> usize {
    dimension.div_ceil(CODE_LANES)
}

/// What a row has beside its codes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Term {
    /// A code times this is an element.
    pub(crate) scale: f32,
    /// The vector's length, as it was given.
    pub(crate) length: f32,
    /// The length of what coding lost.
    pub(crate) error: f32,
}

impl Term {
    pub(crate) fn to_bytes(self) -> [u8; TERM_BYTES] {
        let mut bytes = [0; TERM_BYTES];
        for (value, place) in [self.scale, self.length, self.error].into_iter().zip(bytes.as_chunks_mut::<4>().0) {
            *place = value.to_le_bytes();
        }
        bytes
    }

    /// `None` for numbers that no writer wrote.
    pub(crate) fn from_bytes(bytes: &[u8; TERM_BYTES], metric: Metric) -> Option<Self> {
        let at = |index: usize| f32::from_le_bytes(bytes.as_chunks::<4>().0[index]);
        let term = Self { scale: at(0), length: at(1), error: at(2) };
        let is_sound = |value: f32| value.is_finite() && value >= 0.0;
        (is_sound(term.scale) && is_sound(term.length) && is_sound(term.error) && (metric != Metric::Cosine || term.length > 0.0)).then_some(term)
    }
}

/// Codes one vector of this length into `codes`, which has [`lanes`] elements.
pub(crate) fn encode(metric: Metric, vector: &[f32], length: f32, codes: &mut [Lanes]) -> Term {
    let unit = if metric == Metric::Cosine { 1.0 / f64::from(length) } else { 1.0 };
    let largest = vector.iter().fold(0.0_f32, |largest, element| largest.max(element.abs()));
    codes.fill(Lanes::ZERO);
    let scale = (f64::from(largest) * unit / 127.0) as f32;
    if scale == 0.0 {
        // The zero vector, or one whose elements are too small to be coded: the error says so.
        return Term { scale, length, error: length };
    }
    let mut lost = 0.0_f64;
    for (element, code) in vector.iter().zip(codes.iter_mut().flat_map(|lanes| &mut lanes.0)) {
        let element = f64::from(*element) * unit;
        *code = (element / f64::from(scale)).round().clamp(-127.0, 127.0) as i8;
        lost += (element - f64::from(*code) * f64::from(scale)).powi(2);
    }
    // Rounded up: it is a bound.
    Term { scale, length, error: lost.sqrt() as f32 * (1.0 + f32::EPSILON) }
}

/// A query's vector as codes, and as it was given.
#[derive(Clone, Debug)]
pub(crate) struct CodedQuery {
    pub(crate) metric: Metric,
    /// As given, or of unit length for cosine.
    pub(crate) vector: Vec<f32>,
    pub(crate) codes: Vec<Lanes>,
    pub(crate) term: Term,
    /// Its length, or 1 for cosine.
    length: f32,
    rounding: f32,
}

impl CodedQuery {
    pub(crate) fn new(space: &VectorSpace, vector: &[f32], length: f32) -> Self {
        let metric = space.metric();
        let mut codes = vec![Lanes::ZERO; lanes(vector.len())];
        let term = encode(metric, vector, length, &mut codes);
        let unit = if metric == Metric::Cosine { 1.0 / f64::from(length) } else { 1.0 };
        let length = if metric == Metric::Cosine { 1.0 } else { length };
        let vector: Vec<f32> = vector.iter().map(|element| (f64::from(*element) * unit) as f32).collect();
        let rounding = rounding(vector.len());
        Self { metric, vector, codes, term, length, rounding }
    }

    /// The key that codes give.
    #[inline]
    pub(crate) fn estimate(&self, dot: i32, row: &Term) -> f32 {
        let dot = dot as f32 * self.term.scale * row.scale;
        match self.metric {
            Metric::Cosine | Metric::InnerProduct => -dot,
            Metric::L2 => self.length * self.length + row.length * row.length - 2.0 * dot,
        }
    }

    /// How far the true key is from the estimate at most: ⟨q, v⟩ − ⟨q̂, v̂⟩ = ⟨q, v − v̂⟩ + ⟨q − q̂, v̂⟩, each at most the product of lengths.
    #[inline]
    pub(crate) fn slack(&self, row: &Term) -> f32 {
        let length = if self.metric == Metric::Cosine { 1.0 } else { row.length };
        let dot = self.length * row.error + self.term.error * (length + row.error);
        match self.metric {
            Metric::Cosine | Metric::InnerProduct => dot + self.rounding * self.length * length,
            Metric::L2 => 2.0 * dot + 4.0 * self.rounding * (self.length * self.length + length * length),
        }
    }
}

/// Codes of rows, in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Codes {
    lanes: usize,
    codes: Vec<Lanes>,
    terms: Vec<Term>,
}

impl Codes {
    pub(crate) fn new(dimension: usize) -> Self {
        Self { lanes: lanes(dimension), codes: Vec::new(), terms: Vec::new() }
    }

    pub(crate) fn reserve(&mut self, rows: usize) {
        self.codes.reserve_exact(rows * self.lanes);
        self.terms.reserve_exact(rows);
    }

    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }

    /// Codes a vector as the next row.
    pub(crate) fn push(&mut self, metric: Metric, vector: &[f32], length: f32) {
        let start = self.codes.len();
        self.codes.resize(start + self.lanes, Lanes::ZERO);
        self.terms.push(encode(metric, vector, length, &mut self.codes[start..]));
    }

    /// Takes the next row as it was stored.
    pub(crate) fn push_stored(&mut self, codes: &[u8], term: Term) {
        self.codes.extend(codes.as_chunks::<CODE_LANES>().0.iter().map(|bytes| Lanes(bytes.map(u8::cast_signed))));
        self.terms.push(term);
    }

    pub(crate) fn clear(&mut self) {
        self.codes.clear();
        self.terms.clear();
    }

    #[inline]
    pub(crate) fn row(&self, row: u32) -> &[Lanes] {
        &self.codes[row as usize * self.lanes..][..self.lanes]
    }

    #[inline]
    pub(crate) fn term(&self, row: u32) -> &Term {
        &self.terms[row as usize]
    }

    /// The key of `row` for a query.
    #[inline]
    pub(crate) fn estimate(&self, kernels: &Kernels, query: &CodedQuery, row: u32) -> f32 {
        query.estimate(kernels.dot_codes(&query.codes, self.row(row)), self.term(row))
    }

    /// The key of two rows.
    #[inline]
    pub(crate) fn between(&self, kernels: &Kernels, metric: Metric, a: u32, b: u32) -> f32 {
        let (left, right) = (self.term(a), self.term(b));
        let dot = kernels.dot_codes(self.row(a), self.row(b)) as f32 * left.scale * right.scale;
        match metric {
            Metric::Cosine | Metric::InnerProduct => -dot,
            Metric::L2 => left.length * left.length + right.length * right.length - 2.0 * dot,
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.codes.capacity() * size_of::<Lanes>() + self.terms.capacity() * size_of::<Term>()
    }
}
