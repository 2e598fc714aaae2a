//! Kernels for AVX-512: a block is four registers, a list is one. Two tables: with F and BW
//! alone, and with VPOPCNTDQ, VBMI and VBMI2.

use super::{Block, Kernels, LIST_MAX, Level, avx2, scalar};
use std::arch::x86_64::*;

const LANES: usize = 4;

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

/// A list that fits one register; what is left holds `u16::MAX`, which is no offset.
#[target_feature(enable = "avx512f,avx512bw")]
fn load_list(list: &[u16]) -> __m512i {
    debug_assert!(list.len() <= LIST_MAX);
    // SAFETY: the mask keeps the load within `list`; masked lanes are not touched, and the load needs no alignment.
    unsafe { _mm512_mask_loadu_epi16(_mm512_set1_epi16(-1), low_mask(list.len()), list.as_ptr().cast()) }
}

/// The low `count` bits, 32 at most.
const fn low_mask(count: usize) -> u32 {
    ((1_u64 << count) - 1) as u32
}

/// Where the offsets of `long` are that `short` holds too.
///
/// Compares each offset of one list with the whole other one: no step depends on the data.
#[target_feature(enable = "avx512f,avx512bw")]
fn matches(short: &[u16], long: __m512i) -> u32 {
    // Two sums, so that one need not wait for the other.
    let (pairs, odd) = short.as_chunks::<2>();
    let mut hits = odd.iter().fold(0, |hits, offset| hits | _mm512_cmpeq_epi16_mask(long, _mm512_set1_epi16(*offset as i16)));
    let mut more = 0;
    for [a, b] in pairs {
        hits |= _mm512_cmpeq_epi16_mask(long, _mm512_set1_epi16(*a as i16));
        more |= _mm512_cmpeq_epi16_mask(long, _mm512_set1_epi16(*b as i16));
    }
    hits | more
}

#[target_feature(enable = "avx512f,avx512bw,popcnt")]
fn list_and_count(a: &[u16], b: &[u16]) -> u32 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() > LIST_MAX {
        return scalar::list_and_count(a, b);
    }
    matches(short, load_list(long)).count_ones()
}

macro_rules! lists {
    ($features:literal, $pack:ident) => {
        #[target_feature(enable = $features)]
        pub(super) fn list_and(a: &[u16], b: &[u16], out: &mut [u16]) -> usize {
            let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
            if long.len() > LIST_MAX {
                return scalar::list_and(a, b, out);
            }
            let lane = load_list(long);
            $pack(long, lane, matches(short, lane), out)
        }

        #[target_feature(enable = $features)]
        pub(super) fn list_and_not(a: &[u16], b: &[u16], out: &mut [u16]) -> usize {
            if a.len() > LIST_MAX {
                return scalar::list_and_not(a, b, out);
            }
            let lane = load_list(a);
            $pack(a, lane, low_mask(a.len()) & !matches(b, lane), out)
        }
    };
}

macro_rules! blocks {
    ($features:literal, $counts:ident, $sum:ident) => {
        use super::{LANES, load, load_list, low_mask, matches, store};
        use crate::bitmap::kernels::scalar;
        use crate::bitmap::{Block, LIST_MAX};
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

    lists!("avx512f,avx512bw", pack);

    /// Writes the offsets of `list` at the set bits of `keep`.
    fn pack(list: &[u16], _lane: __m512i, mut keep: u32, out: &mut [u16]) -> usize {
        let mut count = 0;
        while keep != 0 {
            out[count] = list[keep.trailing_zeros() as usize];
            count += 1;
            keep &= keep - 1;
        }
        count
    }
}

/// AVX-512 F and BW with VPOPCNTDQ, which counts bits, VBMI, which looks up bytes, and VBMI2, which packs the offsets that match.
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

    lists!("avx512f,avx512bw,avx512vbmi2,popcnt", pack);

    /// Writes the offsets of `lane` at the set bits of `keep`.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    fn pack(_list: &[u16], lane: __m512i, keep: u32, out: &mut [u16]) -> usize {
        let count = keep.count_ones() as usize;
        let room = &mut out[..count];
        // SAFETY: the mask keeps the store within `room`; masked lanes are not touched, and the store needs no alignment.
        unsafe { _mm512_mask_storeu_epi16(room.as_mut_ptr().cast(), low_mask(count), _mm512_maskz_compress_epi16(keep, lane)) };
        count
    }

    /// Which of a register's offsets are set in `block`; for lanes that hold no offset the answer means nothing.
    ///
    /// A block is 256 bytes: two look-ups of 128 bytes each, of which bit 10 of the offset chooses one, then a test of the byte's bit.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn probe_lane(offsets: __m512i, block: &Block) -> u32 {
        let byte = _mm512_srli_epi16::<3>(offsets);
        let low = _mm512_permutex2var_epi8(load(block, 0), byte, load(block, 1));
        let high = _mm512_permutex2var_epi8(load(block, 2), byte, load(block, 3));
        let bytes = _mm512_mask_mov_epi16(low, _mm512_test_epi16_mask(offsets, _mm512_set1_epi16(1_024)), high);
        let bit = _mm512_sllv_epi16(_mm512_set1_epi16(1), _mm512_and_si512(offsets, _mm512_set1_epi16(7)));
        _mm512_test_epi16_mask(bytes, bit)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
    pub(super) fn probe(list: &[u16], block: &Block, keep: bool, out: &mut [u16]) -> usize {
        if list.len() > LIST_MAX {
            return scalar::probe(list, block, keep, out);
        }
        let lane = load_list(list);
        let flip = if keep { 0 } else { u32::MAX };
        pack(list, lane, (probe_lane(lane, block) ^ flip) & low_mask(list.len()), out)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,popcnt")]
    pub(super) fn probe_count(list: &[u16], block: &Block) -> u32 {
        if list.len() > LIST_MAX {
            return scalar::probe_count(list, block);
        }
        (probe_lane(load_list(list), block) & low_mask(list.len())).count_ones()
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
    list_and_not: plain::list_and_not,
    list_and_count,
    probe: scalar::probe,
    probe_count: scalar::probe_count,
    count_runs: avx2::count_runs,
};

pub(super) static KERNELS_POPCNT: Kernels = Kernels {
    level: Level::Avx512Popcnt,
    and: popcnt::and,
    or: popcnt::or,
    and_not: popcnt::and_not,
    count: popcnt::count,
    and_count: popcnt::and_count,
    list_and: popcnt::list_and,
    list_and_not: popcnt::list_and_not,
    list_and_count,
    probe: popcnt::probe,
    probe_count: popcnt::probe_count,
    count_runs: avx2::count_runs,
};

// Every list of a set fits the registers.
const _: () = assert!(size_of::<[u16; LIST_MAX]>() == 64 && size_of::<Block>() == LANES * 64);
