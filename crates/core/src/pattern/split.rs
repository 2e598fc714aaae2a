//! The cutting side: a body into a pattern and the places of its variables.

use super::scan::{BLOCK_BYTES, classify};
use super::{ESCAPE_BYTE, SLOT_BYTE};

/// The longest body that can be split: places of variables are 32-bit.
pub const BODY_BYTES_MAX: usize = u32::MAX as usize;

/// What a body was split into. Made once, used for many bodies: its buffers are kept.
#[derive(Clone, Debug, Default)]
pub struct Split {
    pattern: Vec<u8>,
    variables: Vec<Variable>,
}

/// The place of a variable in the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Variable {
    start: u32,
    end: u32,
}

impl Split {
    /// The pattern of the body that was split last.
    #[must_use]
    pub fn pattern(&self) -> &[u8] {
        &self.pattern
    }

    /// How many variables it has.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.variables.len()
    }

    /// Its variables, in order, as slices of the same body that was split.
    ///
    /// # Panics
    /// When `body` is shorter than the body that was split.
    pub fn variables<'a>(&'a self, body: &'a [u8]) -> impl ExactSizeIterator<Item = &'a [u8]> {
        self.variables.iter().map(|variable| &body[variable.start as usize..variable.end as usize])
    }
}

/// Splits `body` by the rules of this module's version, into buffers that are used again and again.
///
/// # Panics
/// When `body` is longer than [`BODY_BYTES_MAX`]: whoever takes bodies in has refused it before.
pub fn split(body: &[u8], out: &mut Split) {
    assert!(body.len() <= BODY_BYTES_MAX, "a body of {} bytes was not refused", body.len());
    out.pattern.clear();
    out.variables.clear();
    let mut cutter = Cutter { body, out, copied: 0, run_start: 0, open_with_digit: 0 };
    let (blocks, rest) = body.as_chunks::<BLOCK_BYTES>();
    for (index, block) in blocks.iter().enumerate() {
        cutter.block(index * BLOCK_BYTES, block);
    }
    // Zeros belong to no run: they close the one that is open. There is always at least one.
    let mut last = [0; BLOCK_BYTES];
    last[..rest.len()].copy_from_slice(rest);
    cutter.block(blocks.len() * BLOCK_BYTES, &last);
    cutter.literal_until(body.len());
}

struct Cutter<'a> {
    body: &'a [u8],
    out: &'a mut Split,
    /// How much of the body is in the pattern or in a variable.
    copied: usize,
    /// Where the run begins that reaches the end of the last block; the end of that block if none does.
    run_start: usize,
    /// 1 if a run that has a digit reaches the end of the last block, else 0.
    open_with_digit: u64,
}

impl Cutter<'_> {
    fn block(&mut self, base: usize, block: &[u8; BLOCK_BYTES]) {
        let classes = classify(block);
        // Adding a run's digits to the run carries a bit to the place just after the run's end; a run without digits stays as it is. A run from
        // the block before that had a digit already carries into bit 0.
        let (sum, carry) = classes.run.carrying_add_once(classes.digit, self.open_with_digit);
        let mut ends = sum & !classes.run;
        if classes.special != 0 {
            self.block_with_specials(base, classes.run, classes.special, ends);
        } else {
            while ends != 0 {
                let end = ends.trailing_zeros();
                self.variable(base, classes.run, end);
                ends &= ends - 1;
            }
        }
        self.open_with_digit = carry;
        if classes.run != u64::MAX {
            self.run_start = base + BLOCK_BYTES - classes.run.leading_ones() as usize;
        }
    }

    fn variable(&mut self, base: usize, run: u64, end: u32) {
        // Zeros of `run` below `end`: the highest is just before the run that ends there.
        let before = !run & ((1 << end) - 1);
        let start = if before == 0 { self.run_start } else { base + (u64::BITS - before.leading_zeros()) as usize };
        let end = base + end as usize;
        self.literal_until(start);
        self.out.pattern.push(SLOT_BYTE);
        self.out.variables.push(Variable { start: start as u32, end: end as u32 });
        self.copied = end;
    }

    #[cold]
    fn block_with_specials(&mut self, base: usize, run: u64, special: u64, ends: u64) {
        let mut events = special | ends;
        while events != 0 {
            let event = events.trailing_zeros();
            // A variable may end just where a special byte stands: the variable comes first.
            if ends >> event & 1 == 1 {
                self.variable(base, run, event);
            }
            if special >> event & 1 == 1 {
                self.literal_until(base + event as usize);
                self.out.pattern.push(ESCAPE_BYTE);
            }
            events &= events - 1;
        }
    }

    fn literal_until(&mut self, end: usize) {
        self.out.pattern.extend_from_slice(&self.body[self.copied..end]);
        self.copied = end;
    }
}

trait CarryingAddOnce {
    fn carrying_add_once(self, other: u64, carry: u64) -> (u64, u64);
}

impl CarryingAddOnce for u64 {
    /// The sum with a carry in and a carry out, both 0 or 1.
    fn carrying_add_once(self, other: u64, carry: u64) -> (u64, u64) {
        let (sum, first) = self.overflowing_add(other);
        let (sum, second) = sum.overflowing_add(carry);
        (sum, u64::from(first | second))
    }
}
