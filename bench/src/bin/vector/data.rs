//! The vectors: the real ones, and more that lie as they do.
//!
//! A made vector is a real one, moved up to three tenths of the way towards another real one (a line that shares some of its words), with noise of
//! some three hundredths of its length (other variables), at unit length, rounded to halves as the real ones are. So each real line's neighbourhood
//! gets denser, which is what more of the same logs do.

use anyhow::{Context, ensure};
use siltstone_bench::shared_data;
use siltstone_core::NamespaceId;
use siltstone_vector::{Metric, VectorSpace, Vectors};

pub(crate) const DIMENSION: usize = 384;

/// How far a made vector moves towards another one at most.
const BLEND_MAX: f32 = 0.3;

/// The largest noise of an element.
const NOISE: f32 = 0.003;

/// What is searched, and for what.
pub(crate) struct Data {
    pub(crate) vectors: Vec<Vec<f32>>,
    pub(crate) queries: Vec<Vec<f32>>,
    pub(crate) set: Vectors,
}

impl Data {
    /// The real vectors, and as many made ones as `times` says, the real ones included.
    pub(crate) fn new(times: usize) -> anyhow::Result<Self> {
        let mut vectors = read("vectors.npy")?;
        let queries = read("queries.npy")?;
        let real = vectors.len();
        let mut random = Random(1);
        for _ in 1..times {
            for row in 0..real {
                let other = random.next() as usize % real;
                let blend = BLEND_MAX * random.unit();
                let parts = vectors[row].iter().zip(&vectors[other]);
                let made: Vec<f32> = parts.map(|(own, other)| own * (1.0 - blend) + other * blend + NOISE * (2.0 * random.unit() - 1.0)).collect();
                vectors.push(unit(&made).into_iter().map(to_half).collect());
            }
        }
        let set = set(&vectors)?;
        Ok(Self { vectors, queries, set })
    }
}

/// A set of vectors.
pub(crate) fn set(vectors: &[Vec<f32>]) -> anyhow::Result<Vectors> {
    let mut set = Vectors::new(VectorSpace::new(NamespaceId(1), "all-minilm-l6-v2", DIMENSION, Metric::Cosine)?);
    for vector in vectors {
        set.push(vector)?;
    }
    Ok(set)
}

/// The vector at unit length.
pub(crate) fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|element| element * element).sum::<f32>().sqrt();
    vector.iter().map(|element| element / length).collect()
}

/// The rows of an NPY file of f16.
fn read(name: &str) -> anyhow::Result<Vec<Vec<f32>>> {
    let path = shared_data().join(name);
    let bytes = std::fs::read(&path)
        .with_context(|| format!("read {}: put the shared test data there, or name its folder in SILTSTONE_SHARED", path.display()))?;
    ensure!(bytes.len() > 10, "{} is no NPY file", path.display());
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let rows = bytes[start..].chunks_exact(DIMENSION * 2);
    Ok(rows.map(|row| row.as_chunks::<2>().0.iter().map(|half| single(u16::from_le_bytes(*half))).collect()).collect())
}

fn single(half: u16) -> f32 {
    let magnitude = match half >> 10 & 0x1f {
        0 => f32::from(half & 0x3ff) * 2.0_f32.powi(-24),
        exponent => (1.0 + f32::from(half & 0x3ff) / 1_024.0) * 2.0_f32.powi(i32::from(exponent) - 15),
    };
    if half & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// The nearest half, for what is below 1 in size: normal halves have 11 bits, the others are whole numbers of 2^-24.
fn to_half(element: f32) -> f32 {
    let exponent = ((element.to_bits() >> 23 & 0xff) as i32 - 127).max(-14);
    let step = 2.0_f32.powi(exponent - 10);
    (element / step).round() * step
}

/// Numbers from a seed: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u64 << 24) as f32
    }
}
