//! Bit streams, lowest bit first, and the code for gaps: exponential Golomb codes.
//!
//! A number `x` with the parameter `k` is written as `v = x + 2^k`: `z` zero bits and a one bit, where `v` has `z + k + 1`
//! bits, then the low `z + k` bits of `v`. Numbers below `2^k` take `k + 1` bits. Unlike a Golomb-Rice code its length grows with the logarithm of
//! a number, which suits gaps that are mostly small and now and then large: rows of one term come in bursts.

/// Parameters are 4 bits: a gap above `2^15` costs two bits each time it doubles.
pub(super) const PARAMETER_BITS: u32 = 4;
pub(super) const PARAMETER_MAX: u32 = (1 << PARAMETER_BITS) - 1;

/// Bits of a row, `ordinal << 11 | offset`.
pub(super) const ROW_BITS: u32 = 43;

/// Bits of the code for `x` with parameter `k`.
pub(super) const fn golomb_bits(x: u64, k: u32) -> u32 {
    let bits = 64 - (x + (1 << k)).leading_zeros();
    2 * bits - 1 - k
}

/// The parameter that codes `gaps` in the fewest bits, and how many those are.
///
/// Starts where half of the gaps would fit `k` bits and goes downhill: costs have one valley, but for ripples that do not matter.
pub(super) fn best_parameter<I>(gaps: I) -> (u32, u64)
where
    I: Iterator<Item = u64> + Clone,
{
    let (mut count, mut sum) = (0_u64, 0_u64);
    for gap in gaps.clone() {
        count += 1;
        sum = sum.saturating_add(gap);
    }
    if count == 0 {
        return (0, 0);
    }
    let cost = |k: u32| gaps.clone().map(|gap| u64::from(golomb_bits(gap, k))).sum::<u64>();
    let start = (sum / count).checked_ilog2().unwrap_or(0).min(PARAMETER_MAX);
    let mut best = (start, cost(start));
    for direction in [1, -1] {
        let mut k = start;
        while let Some(next) = k.checked_add_signed(direction).filter(|next| *next <= PARAMETER_MAX) {
            let bits = cost(next);
            if bits > best.1 {
                break;
            }
            (k, best) = (next, (next, bits));
        }
    }
    best
}

/// Appends bits to bytes; what is left of the last byte is zero.
pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    buffer: u64,
    filled: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, buffer: 0, filled: 0 }
    }

    /// Appends the low `count` bits of `value`, 56 at most; the others must be zero.
    pub(super) fn put(&mut self, value: u64, count: u32) {
        debug_assert!(count <= 56 && value >> count == 0);
        self.buffer |= value << self.filled;
        self.filled += count;
        while self.filled >= 8 {
            self.out.push(self.buffer as u8);
            self.buffer >>= 8;
            self.filled -= 8;
        }
    }

    pub(super) fn put_golomb(&mut self, x: u64, k: u32) {
        let v = x + (1 << k);
        let low = 63 - v.leading_zeros();
        let zeros = low - k;
        self.put(1 << zeros, zeros + 1);
        self.put(v & ((1 << low) - 1), low);
    }

    pub(super) fn finish(self) {
        if self.filled > 0 {
            self.out.push(self.buffer as u8);
        }
    }
}

/// Reads bits. Past the end there are zeros, so that a code read there fails or [`BitReader::end`] does.
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next bits, of which the low 57 are good.
    #[inline]
    fn peek(&self) -> u64 {
        let from = self.at / 8;
        let word = match self.bytes.get(from..from + 8) {
            Some(word) => u64::from_le_bytes(word.try_into().expect("the range has eight bytes")),
            None => self.peek_tail(from),
        };
        word >> (self.at % 8)
    }

    fn peek_tail(&self, from: usize) -> u64 {
        let mut word = [0; 8];
        let tail = self.bytes.get(from..).unwrap_or_default();
        word[..tail.len()].copy_from_slice(tail);
        u64::from_le_bytes(word)
    }

    /// The next `count` bits, 57 at most.
    #[inline]
    pub(super) fn get(&mut self, count: u32) -> u64 {
        let value = self.peek() & ((1 << count) - 1);
        self.at += count as usize;
        value
    }

    /// The next number coded with parameter `k`; none when it would have more than [`ROW_BITS`] bits, or the bytes end first.
    #[inline]
    pub(super) fn get_golomb(&mut self, k: u32) -> Option<u64> {
        let word = self.peek();
        let zeros = word.trailing_zeros();
        let low = zeros + k;
        if low > ROW_BITS {
            return None;
        }
        let rest = if zeros + 1 + low <= 57 {
            self.at += (zeros + 1 + low) as usize;
            word >> (zeros + 1) & ((1 << low) - 1)
        } else {
            self.at += zeros as usize + 1;
            self.get(low)
        };
        Some((rest | 1 << low) - (1 << k))
    }

    /// How many bytes the bits read so far take, when they lie within the bytes and the rest of the last byte is zero.
    pub(super) fn end(&self) -> Option<usize> {
        let used = self.at.div_ceil(8);
        let spare = used * 8 - self.at;
        let clean = match spare {
            0 => used <= self.bytes.len(),
            _ => self.bytes.get(used - 1).is_some_and(|last| last >> (8 - spare) == 0),
        };
        clean.then_some(used)
    }
}
