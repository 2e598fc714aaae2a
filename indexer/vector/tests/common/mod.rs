//! What the tests share: real vectors, made ones, and a referee that compares every vector in f64.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use bytes::Bytes;
use siltstone_core::NamespaceId;
use siltstone_vector::{Answer, ByteRange, Filter, Metric, Request, VectorError, VectorIndex, VectorSpace, Vectors, run};
use std::path::PathBuf;

pub const REAL_DIMENSION: usize = 384;

pub fn space(dimension: usize, metric: Metric) -> VectorSpace {
    VectorSpace::new(NamespaceId(7), "test-model+p1", dimension, metric).expect("a space")
}

pub fn set(dimension: usize, metric: Metric, vectors: &[Vec<f32>]) -> Vectors {
    let mut set = Vectors::new(space(dimension, metric));
    for vector in vectors {
        set.push(vector).expect("a vector");
    }
    set
}

/// Numbers from a seed: SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// From −1 to 1.
    pub fn signed(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    }

    /// Vectors in clusters, of which some are equal and some nearly so, as logs have them.
    pub fn vectors(&mut self, count: usize, dimension: usize) -> Vec<Vec<f32>> {
        let centres: Vec<Vec<f32>> = (0..count.div_ceil(20)).map(|_| (0..dimension).map(|_| self.signed()).collect()).collect();
        (0..count)
            .map(|_| {
                let centre = &centres[self.next() as usize % centres.len()];
                let noise = [0.0, 0.001, 0.1][self.next() as usize % 3];
                centre.iter().map(|element| element + noise * self.signed()).collect()
            })
            .collect()
    }
}

/// The distance by its definition, in f64.
pub fn distance(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    let sum = |f: fn(f64, f64) -> f64| a.iter().zip(b).map(|(a, b)| f(f64::from(*a), f64::from(*b))).sum::<f64>();
    let length = |v: &[f32]| v.iter().map(|e| f64::from(*e) * f64::from(*e)).sum::<f64>().sqrt();
    match metric {
        Metric::Cosine => 1.0 - sum(|a, b| a * b) / (length(a) * length(b)),
        Metric::InnerProduct => -sum(|a, b| a * b),
        Metric::L2 => sum(|a, b| (a - b) * (a - b)).sqrt(),
    }
}

/// Runs a search over the object's bytes.
pub fn ask(index: &dyn VectorIndex, bytes: &Bytes, request: &Request<'_>) -> Result<Answer, VectorError> {
    run(index.search(request)?.as_mut(), |range: &ByteRange| Ok(bytes.slice(range.start as usize..range.end as usize)))
}

pub fn rows_where<F>(rows: u32, keep: F) -> Vec<u32>
where
    F: Fn(u32) -> bool,
{
    (0..rows).filter(|row| keep(*row)).collect()
}

pub fn filter(rows: Option<&[u32]>) -> Filter<'_> {
    rows.map_or(Filter::All, Filter::Rows)
}

fn shared_data() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("SILTSTONE_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from).join("data")
}

/// The rows of an NPY file of f16, as the README of the test material describes it.
pub fn real_f16(name: &str) -> Vec<Vec<f32>> {
    let content = npy(name);
    content
        .chunks_exact(REAL_DIMENSION * 2)
        .map(|row| row.chunks_exact(2).map(|half| single(u16::from_le_bytes([half[0], half[1]]))).collect())
        .collect()
}

/// The elements of an NPY file of f32.
pub fn real_f32(name: &str) -> Vec<f32> {
    npy(name).chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes"))).collect()
}

fn npy(name: &str) -> Vec<u8> {
    let path = shared_data().join(name);
    let bytes = std::fs::read(&path)
        .unwrap_or_else(|error| panic!("read {}: {error}; put the shared test data there, or name its folder in SILTSTONE_SHARED", path.display()));
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[start..].to_vec()
}

fn single(half: u16) -> f32 {
    let magnitude = match half >> 10 & 0x1f {
        0 => f32::from(half & 0x3ff) * 2.0_f32.powi(-24),
        exponent => (1.0 + f32::from(half & 0x3ff) / 1_024.0) * 2.0_f32.powi(i32::from(exponent) - 15),
    };
    if half & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// The lines of a compressed file of JSON objects.
pub fn real_entries(name: &str) -> Vec<serde_json::Value> {
    let path = shared_data().join(name);
    let file = std::fs::File::open(&path)
        .unwrap_or_else(|error| panic!("open {}: {error}; put the shared test data there, or name its folder in SILTSTONE_SHARED", path.display()));
    let lines = std::io::BufRead::lines(std::io::BufReader::new(flate2::read::GzDecoder::new(file)));
    lines.map(|line| serde_json::from_str(&line.expect("a line")).expect("an object")).collect()
}
