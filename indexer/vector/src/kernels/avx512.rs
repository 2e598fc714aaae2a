//! Kernels for AVX-512: four registers are the lanes of a sum; with VNNI a register holds 64 codes.

use super::{Kernels, LANES, Lanes, Level, reduce};
use std::arch::x86_64::*;

pub(super) static KERNELS: Kernels = Kernels { level: Level::Avx512, dot_codes, dot_f32, dot_f16, l2_f32, l2_f16 };

pub(super) static KERNELS_VNNI: Kernels = Kernels { level: Level::Avx512Vnni, dot_codes: dot_codes_vnni, dot_f32, dot_f16, l2_f32, l2_f16 };

/// Elements of a register.
const WIDTH: usize = 16;
const REGISTERS: usize = LANES / WIDTH;

#[target_feature(enable = "avx512f,avx512bw")]
fn load_i16(codes: &[i8; 32]) -> __m512i {
    // SAFETY: 32 codes are 32 bytes; the load needs no alignment.
    _mm512_cvtepi8_epi16(unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) })
}

#[target_feature(enable = "avx512f,avx512bw")]
fn dot_codes(a: &[Lanes], b: &[Lanes]) -> i32 {
    let mut sums = [_mm512_setzero_si512(); 2];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.0.as_chunks::<32>().0.iter().zip(b.0.as_chunks::<32>().0)) {
            *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(load_i16(a), load_i16(b)));
        }
    }
    _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]))
}

#[target_feature(enable = "avx512f")]
fn load_codes(codes: &Lanes) -> __m512i {
    // SAFETY: 64 codes are 64 bytes, and aligned to 64.
    unsafe { _mm512_load_si512(codes.0.as_ptr().cast()) }
}

/// The instruction multiplies unsigned by signed bytes: `a` is shifted up by 128, and 128 times the sum of `b` is taken off again.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn dot_codes_vnni(a: &[Lanes], b: &[Lanes]) -> i32 {
    let shift = _mm512_set1_epi8(-128);
    let mut sums = [_mm512_setzero_si512(); 2];
    let mut shifts = [_mm512_setzero_si512(); 2];
    for (index, (a, b)) in a.iter().zip(b).enumerate() {
        let (a, b) = (load_codes(a), load_codes(b));
        sums[index % 2] = _mm512_dpbusd_epi32(sums[index % 2], _mm512_xor_si512(a, shift), b);
        shifts[index % 2] = _mm512_dpbusd_epi32(shifts[index % 2], shift, b);
    }
    let shifted = _mm512_add_epi32(sums[0], sums[1]);
    _mm512_reduce_add_epi32(_mm512_sub_epi32(shifted, _mm512_add_epi32(shifts[0], shifts[1])))
}

#[target_feature(enable = "avx512f")]
fn load_query(query: &[f32; WIDTH]) -> __m512 {
    // SAFETY: sixteen elements are 64 bytes; the load needs no alignment.
    unsafe { _mm512_loadu_ps(query.as_ptr()) }
}

#[target_feature(enable = "avx512f")]
fn load_f32(row: &[u8; WIDTH * 4]) -> __m512 {
    // SAFETY: sixteen elements are 64 bytes; the load needs no alignment.
    unsafe { _mm512_loadu_ps(row.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn load_f16(row: &[u8; WIDTH * 2]) -> __m512 {
    // SAFETY: sixteen elements are 32 bytes; the load needs no alignment.
    _mm512_cvtph_ps(unsafe { _mm256_loadu_si256(row.as_ptr().cast()) })
}

#[target_feature(enable = "avx512f")]
fn finish(sums: [__m512; REGISTERS]) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    for (sum, lanes) in sums.into_iter().zip(lanes.as_chunks_mut::<WIDTH>().0) {
        // SAFETY: sixteen lanes are 64 bytes; the store needs no alignment.
        unsafe { _mm512_storeu_ps(lanes.as_mut_ptr(), sum) };
    }
    reduce(lanes)
}

macro_rules! sum {
    ($name:ident, $bytes:literal, $load:ident, |$a:ident, $b:ident, $sum:ident| $step:expr) => {
        #[target_feature(enable = "avx512f")]
        fn $name(query: &[f32], row: &[u8]) -> f32 {
            let mut sums = [_mm512_setzero_ps(); REGISTERS];
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
        let difference = _mm512_sub_ps($a, $b);
        _mm512_fmadd_ps(difference, difference, *$sum)
    }};
}

sum!(dot_f32, 4, load_f32, |a, b, sum| _mm512_fmadd_ps(a, b, *sum));
sum!(dot_f16, 2, load_f16, |a, b, sum| _mm512_fmadd_ps(a, b, *sum));
sum!(l2_f32, 4, load_f32, |a, b, sum| difference!(a, b, sum));
sum!(l2_f16, 2, load_f16, |a, b, sum| difference!(a, b, sum));
