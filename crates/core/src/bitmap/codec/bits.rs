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

/// The parameter that codes `gaps` in the fewest bits, or nearly, and how many those are.
///
/// A gap is coded best by the parameter that is its own number of bits. For few gaps every parameter between those of the smallest and the
/// largest is tried. For more the search starts below the mean gap's logarithm and goes downhill: costs then have one valley, but
/// for ripples that do not matter.
pub(super) fn best_parameter<T>(gaps: &[T]) -> (u32, u64)
where
    T: Copy + Ord + Into<u64>,
{
    let Some((least, most)) = gaps.iter().min().copied().zip(gaps.iter().max().copied()) else { return (0, 0) };
    let cost = |k: u32| {
        let low: u64 = gaps.iter().map(|gap| u64::from(((*gap).into() + (1 << k)).ilog2())).sum();
        2 * low + gaps.len() as u64 - u64::from(k) * gaps.len() as u64
    };
    let bits_of = |gap: u64| (64 - gap.leading_zeros()).min(PARAMETER_MAX);
    let (least, most) = (bits_of(least.into()), bits_of(most.into()));
    if gaps.len() == 1 {
        return (most, cost(most));
    }
    if gaps.len() <= 8 {
        let costs = (least.saturating_sub(1)..=most).map(|k| (k, cost(k)));
        return costs.min_by_key(|(_, bits)| *bits).expect("the least is not above the most");
    }
    let sum = gaps.iter().fold(0_u64, |sum, gap| sum.saturating_add((*gap).into()));
    // Half the mean: gaps are skewed, so the best parameter lies below the mean's logarithm more often than not.
    let start = (sum / (2 * gaps.len() as u64)).checked_ilog2().unwrap_or(0).min(PARAMETER_MAX);
    let mut best = (start, cost(start));
    for direction in [-1, 1] {
        let (from, mut k) = (best.0, start);
        while let Some(next) = k.checked_add_signed(direction).filter(|next| *next <= PARAMETER_MAX) {
            let bits = cost(next);
            if bits > best.1 {
                break;
            }
            (k, best) = (next, (next, bits));
        }
        // Where the cost fell on one side it rises on the other.
        if best.0 != from {
            break;
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

    /// Appends the low `count` bits of `value`, 32 at most; the others must be zero.
    #[inline]
    pub(super) fn put(&mut self, value: u64, count: u32) {
        debug_assert!(count <= 32 && value >> count == 0);
        self.buffer |= value << self.filled;
        self.filled += count;
        if self.filled >= 32 {
            self.out.extend_from_slice(&(self.buffer as u32).to_le_bytes());
            self.buffer >>= 32;
            self.filled -= 32;
        }
    }

    #[inline]
    pub(super) fn put_golomb(&mut self, x: u64, k: u32) {
        let v = x + (1 << k);
        let low = v.ilog2();
        let zeros = low - k;
        let rest = v & ((1 << low) - 1);
        if zeros + 1 + low <= 32 {
            self.put((rest << 1 | 1) << zeros, zeros + 1 + low);
        } else {
            self.put_long(1 << zeros, zeros + 1);
            self.put_long(rest, low);
        }
    }

    #[cold]
    fn put_long(&mut self, value: u64, count: u32) {
        let low = count.min(32);
        self.put(value & ((1 << low) - 1), low);
        self.put(value >> low, count - low);
    }

    pub(super) fn finish(self) {
        let bytes = self.filled.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.buffer.to_le_bytes()[..bytes]);
    }
}

/// Reads bits. Past the end there are zeros, so that a code read there fails, or the caller's check of [`BitReader::end`] does.
///
/// The seldom taken paths take the reader by value and give it back: a reader whose address they had would live in memory, which
/// doubles the time of a code.
#[derive(Clone, Copy)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The byte that the buffer's next bits come from.
    next: usize,
    /// The next bits, of which `have` are good; those above are zero or those that a refill would put there.
    buffer: u64,
    have: u32,
}

impl<'a> BitReader<'a> {
    /// A reader of the stream that `bytes` begin with. What follows the stream should be left in: whole words are read there.
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, next: 0, buffer: 0, have: 0 }
    }

    /// Makes 56 bits good, or more.
    #[inline]
    fn refill(&mut self) {
        if let Some(word) = self.bytes.get(self.next..).and_then(|rest| rest.first_chunk()) {
            self.buffer |= u64::from_le_bytes(*word) << self.have;
            let bytes = (63 - self.have) / 8;
            self.next += bytes as usize;
            self.have += bytes * 8;
        } else {
            *self = self.refilled_at_end();
        }
    }

    #[cold]
    #[inline(never)]
    fn refilled_at_end(mut self) -> Self {
        while self.have < 56 {
            let byte = self.bytes.get(self.next).copied().unwrap_or(0);
            self.buffer |= u64::from(byte) << self.have;
            self.next += 1;
            self.have += 8;
        }
        self
    }

    #[inline]
    fn skip(&mut self, count: u32) {
        self.buffer >>= count;
        self.have -= count;
    }

    /// The next `count` bits, 56 at most.
    #[inline]
    pub(super) fn get(&mut self, count: u32) -> u64 {
        if self.have < count {
            self.refill();
        }
        let value = self.buffer & ((1 << count) - 1);
        self.skip(count);
        value
    }

    /// The next number coded with parameter `k`; none when it would have more than [`ROW_BITS`] bits.
    #[inline]
    pub(super) fn get_golomb(&mut self, k: u32) -> Option<u64> {
        // Codes of gaps within a chunk have 23 bits at most, so the next test seldom fails. To refill for every other code without a
        // test was slower: it costs more than the tests that are foreseen wrong.
        if self.have < 32 {
            self.refill();
        }
        let zeros = self.buffer.trailing_zeros();
        let low = zeros + k;
        // Also where no bit is set.
        if zeros + 1 + low > self.have {
            let (reader, x) = self.get_long(k);
            *self = reader;
            return x;
        }
        let rest = self.buffer >> (zeros + 1) & ((1 << low) - 1);
        self.skip(zeros + 1 + low);
        Some((rest | 1 << low) - (1 << k))
    }

    /// A code that does not lie in the good bits as a whole.
    #[cold]
    #[inline(never)]
    fn get_long(mut self, k: u32) -> (Self, Option<u64>) {
        self.refill();
        let zeros = self.buffer.trailing_zeros();
        let low = zeros + k;
        if low > ROW_BITS {
            return (self, None);
        }
        self.skip(zeros + 1);
        let x = (self.get(low) | 1 << low) - (1 << k);
        (self, Some(x))
    }

    /// How many bytes the bits read so far take, when they lie within the bytes and the rest of the last byte is zero.
    pub(super) fn end(&self) -> Option<usize> {
        let at = self.next * 8 - self.have as usize;
        let used = at.div_ceil(8);
        let spare = used * 8 - at;
        let clean = match spare {
            0 => used <= self.bytes.len(),
            _ => self.bytes.get(used - 1).is_some_and(|last| last >> (8 - spare) == 0),
        };
        clean.then_some(used)
    }
}
