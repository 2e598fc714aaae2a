//! Kernels for AVX2 with FMA and F16C: eight registers are the lanes of a sum.

use super::{Kernels, LANES, Lanes, Level, reduce};
use std::arch::x86_64::*;

pub(super) static KERNELS: Kernels = Kernels { level: Level::Avx2, dot_codes, dot_f32, dot_f16, l2_f32, l2_f16 };

/// Elements of a register.
const WIDTH: usize = 8;
const REGISTERS: usize = LANES / WIDTH;

#[target_feature(enable = "avx2")]
fn load_i16(codes: &[i8; 16]) -> __m256i {
    // SAFETY: sixteen codes are 16 bytes; the load needs no alignment.
    _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(codes.as_ptr().cast()) })
}

#[target_feature(enable = "avx2")]
fn dot_codes(a: &[Lanes], b: &[Lanes]) -> i32 {
    let mut sums = [_mm256_setzero_si256(); 2];
    for (a, b) in a.iter().zip(b) {
        for (index, (a, b)) in a.0.as_chunks::<16>().0.iter().zip(b.0.as_chunks::<16>().0).enumerate() {
            sums[index % 2] = _mm256_add_epi32(sums[index % 2], _mm256_madd_epi16(load_i16(a), load_i16(b)));
        }
    }
    let sum = _mm256_add_epi32(sums[0], sums[1]);
    let halves = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let quarters = _mm_add_epi32(halves, _mm_unpackhi_epi64(halves, halves));
    _mm_cvtsi128_si32(quarters).wrapping_add(_mm_extract_epi32::<1>(quarters))
}

#[target_feature(enable = "avx2")]
fn load_query(query: &[f32; WIDTH]) -> __m256 {
    // SAFETY: eight elements are 32 bytes; the load needs no alignment.
    unsafe { _mm256_loadu_ps(query.as_ptr()) }
}

#[target_feature(enable = "avx2")]
fn load_f32(row: &[u8; WIDTH * 4]) -> __m256 {
    // SAFETY: eight elements are 32 bytes; the load needs no alignment.
    unsafe { _mm256_loadu_ps(row.as_ptr().cast()) }
}

#[target_feature(enable = "avx2,f16c")]
fn load_f16(row: &[u8; WIDTH * 2]) -> __m256 {
    // SAFETY: eight elements are 16 bytes; the load needs no alignment.
    _mm256_cvtph_ps(unsafe { _mm_loadu_si128(row.as_ptr().cast()) })
}

#[target_feature(enable = "avx2")]
fn finish(sums: [__m256; REGISTERS]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    for (sum, lanes) in sums.into_iter().zip(lanes.as_chunks_mut::<WIDTH>().0) {
        // SAFETY: eight lanes are 32 bytes; the store needs no alignment.
        unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), sum) };
    }
    reduce(lanes)
}

macro_rules! sum {
    ($name:ident, $bytes:literal, $load:ident, |$a:ident, $b:ident, $sum:ident| $step:expr) => {
        #[target_feature(enable = "avx2,fma,f16c")]
        fn $name(query: &[f32], row: &[u8]) -> f32 {
            let mut sums = [_mm256_setzero_ps(); REGISTERS];
            let (queries, query_tail) = query.as_chunks::<LANES>();
            let (rows, row_tail) = row.as_chunks::<{ LANES * $bytes }>();
            let mut add = |query: &[f32; LANES], row: &[u8; LANES * $bytes]| {
                let parts = query.as_chunks::<WIDTH>().0.iter().zip(row.as_chunks::<{ WIDTH * $bytes }>().0);
                for ($sum, (query, row)) in sums.iter_mut().zip(parts) {
                    let ($a, $b) = (load_query(query), $load(row));
                    *$sum = $step;
                }
            };
            for (query, row) in queries.iter().zip(rows) {
                add(query, row);
            }
            if !query_tail.is_empty() {
                let (mut query, mut row) = ([0.0; LANES], [0; LANES * $bytes]);
                query[..query_tail.len()].copy_from_slice(query_tail);
                row[..row_tail.len()].copy_from_slice(row_tail);
                add(&query, &row);
            }
            finish(sums)
        }
    };
}

macro_rules! difference {
    ($a:ident, $b:ident, $sum:ident) => {{
        let difference = _mm256_sub_ps($a, $b);
        _mm256_fmadd_ps(difference, difference, *$sum)
    }};
}

sum!(dot_f32, 4, load_f32, |a, b, sum| _mm256_fmadd_ps(a, b, *sum));
sum!(dot_f16, 2, load_f16, |a, b, sum| _mm256_fmadd_ps(a, b, *sum));
sum!(l2_f32, 4, load_f32, |a, b, sum| difference!(a, b, sum));
sum!(l2_f16, 2, load_f16, |a, b, sum| difference!(a, b, sum));
