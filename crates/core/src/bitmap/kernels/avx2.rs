//! Kernels for AVX2 with POPCNT: eight 256-bit registers a block.

use super::{Block, Kernels, LIST_MAX, Level, scalar};
use crate::bitmap::Run;
use std::arch::x86_64::*;

pub(super) static KERNELS: Kernels = Kernels {
    level: Level::Avx2,
    and,
    or,
    and_not,
    count,
    and_count,
    list_and,
    list_and_not,
    list_and_count,
    probe: scalar::probe,
    probe_count: scalar::probe_count,
    count_runs,
};

const LANES: usize = 8;

#[target_feature(enable = "avx2")]
fn load(block: &Block, lane: usize) -> __m256i {
    debug_assert!(lane < LANES);
    // SAFETY: a block is eight lanes of 32 bytes, and aligned to 64.
    unsafe { _mm256_load_si256(block.0.as_ptr().cast::<__m256i>().add(lane)) }
}

#[target_feature(enable = "avx2")]
fn store(block: &mut Block, lane: usize, value: __m256i) {
    debug_assert!(lane < LANES);
    // SAFETY: as in `load`.
    unsafe { _mm256_store_si256(block.0.as_mut_ptr().cast::<__m256i>().add(lane), value) }
}

/// Bits of each byte: a table of the counts of four bits, looked up for either half.
#[target_feature(enable = "avx2")]
fn byte_counts(value: __m256i) -> __m256i {
    let table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    let half = _mm256_set1_epi8(0x0f);
    let low = _mm256_shuffle_epi8(table, _mm256_and_si256(value, half));
    let high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16::<4>(value), half));
    _mm256_add_epi8(low, high)
}

/// The sum of all bytes. A block's eight lanes sum to 64 a byte at most, so bytes do not overflow before this.
#[target_feature(enable = "avx2")]
fn sum_bytes(bytes: __m256i) -> u32 {
    let sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
    let halves = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
    (_mm_cvtsi128_si64(halves) + _mm_extract_epi64::<1>(halves)) as u32
}

macro_rules! combine {
    ($name:ident, |$a:ident, $b:ident| $op:expr) => {
        #[target_feature(enable = "avx2")]
        fn $name(a: &Block, b: &Block, out: &mut Block) -> u32 {
            let mut counts = _mm256_setzero_si256();
            for lane in 0..LANES {
                let ($a, $b) = (load(a, lane), load(b, lane));
                let value = $op;
                store(out, lane, value);
                counts = _mm256_add_epi8(counts, byte_counts(value));
            }
            sum_bytes(counts)
        }
    };
}

combine!(and, |a, b| _mm256_and_si256(a, b));
combine!(or, |a, b| _mm256_or_si256(a, b));
combine!(and_not, |a, b| _mm256_andnot_si256(b, a));

#[target_feature(enable = "avx2")]
fn count(block: &Block) -> u32 {
    let mut counts = _mm256_setzero_si256();
    for lane in 0..LANES {
        counts = _mm256_add_epi8(counts, byte_counts(load(block, lane)));
    }
    sum_bytes(counts)
}

#[target_feature(enable = "avx2")]
fn and_count(a: &Block, b: &Block) -> u32 {
    let mut counts = _mm256_setzero_si256();
    for lane in 0..LANES {
        counts = _mm256_add_epi8(counts, byte_counts(_mm256_and_si256(load(a, lane), load(b, lane))));
    }
    sum_bytes(counts)
}

const LIST_LANES: usize = LIST_MAX / 16;

/// A list in registers; what is left of the last one holds `u16::MAX`, which is no offset.
#[target_feature(enable = "avx2")]
fn load_list(list: &[u16]) -> [__m256i; LIST_LANES] {
    let mut padded = [u16::MAX; LIST_MAX];
    padded[..list.len()].copy_from_slice(list);
    let mut lanes = [_mm256_setzero_si256(); LIST_LANES];
    for (lane, offsets) in lanes.iter_mut().zip(padded.as_chunks::<16>().0) {
        // SAFETY: sixteen offsets are 32 bytes; the load needs no alignment.
        *lane = unsafe { _mm256_loadu_si256(offsets.as_ptr().cast()) };
    }
    lanes
}

/// Whether one of the first `used` registers holds `offset`.
#[target_feature(enable = "avx2")]
fn holds(lanes: &[__m256i; LIST_LANES], used: usize, offset: u16) -> bool {
    let wanted = _mm256_set1_epi16(offset as i16);
    let mut hit = _mm256_cmpeq_epi16(lanes[0], wanted);
    for lane in &lanes[1..used.max(1)] {
        hit = _mm256_or_si256(hit, _mm256_cmpeq_epi16(*lane, wanted));
    }
    _mm256_testz_si256(hit, hit) == 0
}

/// Compares each offset of the shorter list with the whole longer one: no step depends on the data.
#[target_feature(enable = "avx2")]
fn list_and(a: &[u16], b: &[u16], out: &mut [u16]) -> usize {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() > LIST_MAX {
        return scalar::list_and(a, b, out);
    }
    let lanes = load_list(long);
    let used = long.len().div_ceil(16);
    let mut count = 0;
    for offset in short {
        out[count] = *offset;
        count += usize::from(holds(&lanes, used, *offset));
    }
    count
}

#[target_feature(enable = "avx2")]
fn list_and_not(a: &[u16], b: &[u16], out: &mut [u16]) -> usize {
    if b.len() > LIST_MAX {
        return scalar::list_and_not(a, b, out);
    }
    let lanes = load_list(b);
    let used = b.len().div_ceil(16);
    let mut count = 0;
    for offset in a {
        out[count] = *offset;
        count += usize::from(!holds(&lanes, used, *offset));
    }
    count
}

#[target_feature(enable = "avx2")]
fn list_and_count(a: &[u16], b: &[u16]) -> u32 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() > LIST_MAX {
        return scalar::list_and_count(a, b);
    }
    let lanes = load_list(long);
    let used = long.len().div_ceil(16);
    short.iter().map(|offset| u32::from(holds(&lanes, used, *offset))).sum()
}

/// The plain loop, with the instruction that counts a word's bits.
#[target_feature(enable = "popcnt")]
pub(super) fn count_runs(block: &Block, runs: &[Run]) -> u32 {
    scalar::count_runs(block, runs)
}
