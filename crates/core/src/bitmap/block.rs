//! One chunk's rows as 2,048 bits. Bit `offset % 64` of word `offset / 64` stands for `offset`.

use super::{OFFSETS, Run};
use std::fmt;

/// Words of a block.
pub const BLOCK_WORDS: usize = OFFSETS / 64;

/// 2,048 bits: four AVX-512 registers, aligned so that each load is one cache line.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Block(pub [u64; BLOCK_WORDS]);

/// Bits `0..=last` of a word.
const fn low_mask(last: u32) -> u64 {
    u64::MAX >> (63 - last)
}

impl Block {
    /// No row.
    pub const EMPTY: Self = Self([0; BLOCK_WORDS]);

    /// All 2,048 rows.
    pub const FULL: Self = Self([u64::MAX; BLOCK_WORDS]);

    /// Whether `offset` is set. False for an offset outside the chunk.
    #[must_use]
    pub fn contains(&self, offset: u16) -> bool {
        self.0.get(usize::from(offset) / 64).is_some_and(|word| word >> (offset % 64) & 1 == 1)
    }

    /// The bit of `offset`, which must lie in the chunk.
    #[inline]
    pub(super) fn bit(&self, offset: u16) -> u64 {
        debug_assert!(usize::from(offset) < OFFSETS);
        // The remainder changes nothing, and spares a check.
        self.0[usize::from(offset) / 64 % BLOCK_WORDS] >> (offset % 64) & 1
    }

    /// Sets every offset of an ascending list; how many were not set before.
    ///
    /// Four places of the list by turns: neighbours are often in one word, and would wait for one another.
    ///
    /// # Panics
    /// When an offset is 2,048 or more.
    pub(super) fn insert_list(&mut self, list: &[u16]) -> u32 {
        let mut before = 0;
        let mut insert = |offset: &u16| {
            before += self.bit(*offset) as u32;
            self.insert(*offset);
        };
        let (a, rest) = list.split_at(list.len() / 4);
        let (b, rest) = rest.split_at(a.len());
        let (c, rest) = rest.split_at(a.len());
        let (d, rest) = rest.split_at(a.len());
        for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
            [a, b, c, d].into_iter().for_each(&mut insert);
        }
        rest.iter().for_each(&mut insert);
        list.len() as u32 - before
    }

    /// Sets `offset`.
    ///
    /// # Panics
    /// When `offset` is 2,048 or more.
    pub fn insert(&mut self, offset: u16) {
        self.0[usize::from(offset) / 64] |= 1 << (offset % 64);
    }

    /// Clears `offset`.
    ///
    /// # Panics
    /// When `offset` is 2,048 or more.
    pub fn remove(&mut self, offset: u16) {
        self.0[usize::from(offset) / 64] &= !(1 << (offset % 64));
    }

    /// Sets every offset of `run`.
    ///
    /// # Panics
    /// When the run ends at 2,048 or later.
    pub fn insert_run(&mut self, run: Run) {
        self.for_run(run, |word, mask| *word |= mask);
    }

    /// Clears every offset of `run`.
    ///
    /// # Panics
    /// When the run ends at 2,048 or later.
    pub fn remove_run(&mut self, run: Run) {
        self.for_run(run, |word, mask| *word &= !mask);
    }

    fn for_run<F>(&mut self, run: Run, mut apply: F)
    where
        F: FnMut(&mut u64, u64),
    {
        let (first, last) = (usize::from(run.start) / 64, usize::from(run.last) / 64);
        for word in first..=last {
            apply(&mut self.0[word], run_mask(run, word));
        }
    }

    /// How many offsets of `run` are set.
    #[inline]
    #[must_use]
    pub fn count_run(&self, run: Run) -> u32 {
        let (first, last) = (usize::from(run.start) / 64, usize::from(run.last) / 64);
        (first..=last).map(|word| (self.0[word] & run_mask(run, word)).count_ones()).sum()
    }

    /// Copies the offsets of `run` from `source`.
    pub(super) fn copy_run(&mut self, source: &Self, run: Run) {
        let (first, last) = (usize::from(run.start) / 64, usize::from(run.last) / 64);
        for word in first..=last {
            self.0[word] |= source.0[word] & run_mask(run, word);
        }
    }

    /// How many rows are set.
    #[must_use]
    pub fn count(&self) -> u32 {
        super::kernels::active().count(self)
    }

    /// Whether no row is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// How many maximal runs of set bits there are.
    #[must_use]
    pub fn count_runs(&self) -> u32 {
        let mut before = 0;
        let mut runs = 0;
        for word in self.0 {
            // A run starts where a bit is set and the bit below it is not.
            runs += (word & !(word << 1 | before)).count_ones();
            before = word >> 63;
        }
        runs
    }

    /// The set offsets, ascending.
    #[must_use]
    pub fn iter(&self) -> BlockIter<'_> {
        BlockIter { words: &self.0, word: self.0[0], at: 0 }
    }

    /// The maximal runs, ascending.
    pub fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let mut at = 0_usize;
        std::iter::from_fn(move || {
            let start = self.next_bit(at, 0)?;
            let end = self.next_bit(start, u64::MAX).unwrap_or(OFFSETS);
            at = end;
            Some(Run { start: start as u16, last: (end - 1) as u16 })
        })
    }

    /// The first offset at or after `from` whose bit differs from the bits of `flip`.
    fn next_bit(&self, from: usize, flip: u64) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = (self.0.get(word)? ^ flip) & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = self.0.get(word)? ^ flip;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

/// The bits of `run` that fall into word `word`, which the run must touch.
#[inline]
fn run_mask(run: Run, word: usize) -> u64 {
    let low = if usize::from(run.start) / 64 == word { u64::MAX << (run.start % 64) } else { u64::MAX };
    let high = if usize::from(run.last) / 64 == word { low_mask(u32::from(run.last % 64)) } else { u64::MAX };
    low & high
}

impl Default for Block {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for &'a Block {
    type Item = u16;
    type IntoIter = BlockIter<'a>;

    fn into_iter(self) -> BlockIter<'a> {
        self.iter()
    }
}

impl FromIterator<u16> for Block {
    /// # Panics
    /// When an offset is 2,048 or more.
    fn from_iter<I>(offsets: I) -> Self
    where
        I: IntoIterator<Item = u16>,
    {
        let mut block = Self::EMPTY;
        for offset in offsets {
            block.insert(offset);
        }
        block
    }
}

/// The set offsets of a block, ascending.
#[derive(Clone, Debug)]
pub struct BlockIter<'a> {
    words: &'a [u64; BLOCK_WORDS],
    word: u64,
    at: usize,
}

impl Iterator for BlockIter<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        while self.word == 0 {
            self.at += 1;
            self.word = *self.words.get(self.at)?;
        }
        let bit = self.word.trailing_zeros();
        self.word &= self.word - 1;
        Some((self.at * 64) as u16 + bit as u16)
    }
}
