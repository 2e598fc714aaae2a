//! Kernels for AVX-512: a block is four registers, a list is two. Two tables: with F and BW alone, and with VPOPCNTDQ and VBMI2.

use super::{Block, Kernels, LIST_MAX, Level};
use std::arch::x86_64::*;

const LANES: usize = 4;

const LIST_LANES: usize = LIST_MAX / 32;

#[target_feature(enable = "avx512f")]
fn load(block: &Block, lane: usize) -> __m512i {
    debug_assert!(lane < LANES);
    // SAFETY: a block is four lanes of 64 bytes, and aligned to 64.
    unsafe { _mm512_load_si512(block.0.as_ptr().cast::<__m512i>().add(lane)) }
}

#[target_feature(enable = "avx512f")]
fn store(block: &mut Block, lane: usize, value: __m512i) {
    debug_assert!(lane < LANES);
    // SAFETY: as in `load`.
    unsafe { _mm512_store_si512(block.0.as_mut_ptr().cast::<__m512i>().add(lane), value) }
}

/// Up to 32 offsets from `list`, from `lane * 32` on; what is left holds `u16::MAX`, which is no offset.
#[target_feature(enable = "avx512f,avx512bw")]
fn load_list(list: &[u16], lane: usize) -> __m512i {
    let rest = list.get(lane * 32..).unwrap_or_default();
    // SAFETY: the mask keeps the load within `rest`; masked lanes are not touched, and the load needs no alignment.
    unsafe { _mm512_mask_loadu_epi16(_mm512_set1_epi16(-1), low_mask(rest.len()), rest.as_ptr().cast()) }
}

const fn low_mask(count: usize) -> u32 {
    if count >= 32 { u32::MAX } else { (1 << count) - 1 }
}

/// Where the offsets of `long` are that `short` holds too.
///
/// Compares each offset of the shorter list with the whole longer one: no step depends on the data.
#[target_feature(enable = "avx512f,avx512bw")]
fn matches(short: &[u16], long: &[__m512i; LIST_LANES], used: usize) -> [u32; LIST_LANES] {
    let mut hits = [0; LIST_LANES];
    if used <= 1 {
        for offset in short {
            hits[0] |= _mm512_cmpeq_epi16_mask(long[0], _mm512_set1_epi16(*offset as i16));
        }
    } else {
        for offset in short {
            let wanted = _mm512_set1_epi16(*offset as i16);
            for (hit, lane) in hits.iter_mut().zip(long) {
                *hit |= _mm512_cmpeq_epi16_mask(*lane, wanted);
            }
        }
    }
    hits
}

/// The shorter list, and the longer one in registers; none when it is too long for them.
#[target_feature(enable = "avx512f,avx512bw")]
fn arrange<'a>(a: &'a [u16], b: &'a [u16]) -> Option<(&'a [u16], [__m512i; LIST_LANES], usize)> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() > LIST_MAX {
        return None;
    }
    let mut lanes = [_mm512_set1_epi16(-1); LIST_LANES];
    let used = long.len().div_ceil(32);
    for (at, lane) in lanes.iter_mut().enumerate().take(used) {
        *lane = load_list(long, at);
    }
    Some((short, lanes, used))
}

#[target_feature(enable = "avx512f,avx512bw,popcnt")]
fn list_and_count(a: &[u16], b: &[u16]) -> u32 {
    match arrange(a, b) {
        Some((short, lanes, used)) => matches(short, &lanes, used).iter().map(|hits| hits.count_ones()).sum(),
        None => super::scalar::list_and_count(a, b),
    }
}

macro_rules! blocks {
    ($features:literal, $counts:ident, $sum:ident) => {
        use super::{LANES, load, store};
        use crate::bitmap::Block;
        use std::arch::x86_64::*;

        macro_rules! combine {
            ($name:ident, |$a:ident, $b:ident| $op:expr) => {
                #[target_feature(enable = $features)]
                pub(super) fn $name(a: &Block, b: &Block, out: &mut Block) -> u32 {
                    let mut counts = _mm512_setzero_si512();
                    for lane in 0..LANES {
                        let ($a, $b) = (load(a, lane), load(b, lane));
                        let value = $op;
                        store(out, lane, value);
                        counts = $counts(counts, value);
                    }
                    $sum(counts)
                }
            };
        }

        combine!(and, |a, b| _mm512_and_si512(a, b));
        combine!(or, |a, b| _mm512_or_si512(a, b));
        combine!(and_not, |a, b| _mm512_andnot_si512(b, a));

        #[target_feature(enable = $features)]
        pub(super) fn count(block: &Block) -> u32 {
            let mut counts = _mm512_setzero_si512();
            for lane in 0..LANES {
                counts = $counts(counts, load(block, lane));
            }
            $sum(counts)
        }

        #[target_feature(enable = $features)]
        pub(super) fn and_count(a: &Block, b: &Block) -> u32 {
            let mut counts = _mm512_setzero_si512();
            for lane in 0..LANES {
                counts = $counts(counts, _mm512_and_si512(load(a, lane), load(b, lane)));
            }
            $sum(counts)
        }
    };
}

/// AVX-512 F and BW: bits are counted by table, four at a time.
pub(super) mod plain {
    blocks!("avx512f,avx512bw", add_counts, sum_counts);

    #[target_feature(enable = "avx512f,avx512bw")]
    fn add_counts(counts: __m512i, value: __m512i) -> __m512i {
        // The counts of 0 to 15, a byte each, as four 32-bit words.
        let table = _mm512_set4_epi32(0x0403_0302, 0x0302_0201, 0x0302_0201, 0x0201_0100);
        let half = _mm512_set1_epi8(0x0f);
        let low = _mm512_shuffle_epi8(table, _mm512_and_si512(value, half));
        let high = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16::<4>(value), half));
        _mm512_add_epi8(counts, _mm512_add_epi8(low, high))
    }

    /// Four lanes sum to 32 a byte at most, so bytes do not overflow before this.
    #[target_feature(enable = "avx512f,avx512bw")]
    fn sum_counts(counts: __m512i) -> u32 {
        _mm512_reduce_add_epi64(_mm512_sad_epu8(counts, _mm512_setzero_si512())) as u32
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn list_and(a: &[u16], b: &[u16], out: &mut [u16]) -> usize {
        let Some((short, lanes, used)) = super::arrange(a, b) else { return super::super::scalar::list_and(a, b, out) };
        let long = if a.len() <= b.len() { b } else { a };
        let mut count = 0;
        for (first, mut hits) in (0..).step_by(32).zip(super::matches(short, &lanes, used)) {
            while hits != 0 {
                out[count] = long[first + hits.trailing_zeros() as usize];
                count += 1;
                hits &= hits - 1;
            }
        }
        count
    }
}

/// AVX-512 F and BW with VPOPCNTDQ, which counts bits, and VBMI2, which packs the offsets that match.
pub(super) mod popcnt {
    blocks!("avx512f,avx512bw,avx512vpopcntdq", add_counts, sum_counts);

    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    fn add_counts(counts: __m512i, value: __m512i) -> __m512i {
        _mm512_add_epi64(counts, _mm512_popcnt_epi64(value))
    }

    #[target_feature(enable = "avx512f")]
    fn sum_counts(counts: __m512i) -> u32 {
        _mm512_reduce_add_epi64(counts) as u32
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    pub(super) fn list_and(a: &[u16], b: &[u16], out: &mut [u16]) -> usize {
        let Some((short, lanes, used)) = super::arrange(a, b) else { return super::super::scalar::list_and(a, b, out) };
        let mut count = 0;
        for (hits, lane) in super::matches(short, &lanes, used).into_iter().zip(lanes) {
            let found = hits.count_ones() as usize;
            let room = &mut out[count..count + found];
            // SAFETY: the mask keeps the store within `room`; masked lanes are not touched, and the store needs no alignment.
            unsafe { _mm512_mask_storeu_epi16(room.as_mut_ptr().cast(), super::low_mask(found), _mm512_maskz_compress_epi16(hits, lane)) };
            count += found;
        }
        count
    }
}

pub(super) static KERNELS: Kernels = Kernels {
    level: Level::Avx512,
    and: plain::and,
    or: plain::or,
    and_not: plain::and_not,
    count: plain::count,
    and_count: plain::and_count,
    list_and: plain::list_and,
    list_and_count,
};

pub(super) static KERNELS_POPCNT: Kernels = Kernels {
    level: Level::Avx512Popcnt,
    and: popcnt::and,
    or: popcnt::or,
    and_not: popcnt::and_not,
    count: popcnt::count,
    and_count: popcnt::and_count,
    list_and: popcnt::list_and,
    list_and_count,
};

// Every list of a set fits the registers.
const _: () = assert!(LIST_LANES * 32 == LIST_MAX && size_of::<Block>() == LANES * 64);
