//! OR and AND over many sets at once. A chunk that one set alone has is copied or counted as it is; only chunks that
//! several have are gathered in a block.

use super::upper::{PAGE_ORDINALS, ones};
use super::{Block, RowSet, kernels};

/// What was gathered for one ordinal of the page at hand.
#[derive(Clone, Copy)]
enum Slot {
    /// One set has it: which one, and where its container lies.
    Single(u32, usize),
    /// Several have it: which block holds their rows.
    Gathered(usize),
}

/// The page at hand over all sets.
struct Page {
    present: [u64; PAGE_ORDINALS as usize / 64],
    slots: Vec<Slot>,
    blocks: Vec<Block>,
}

impl Page {
    fn new() -> Self {
        Self { present: [0; PAGE_ORDINALS as usize / 64], slots: vec![Slot::Gathered(0); PAGE_ORDINALS as usize], blocks: Vec::new() }
    }

    fn clear(&mut self) {
        self.present = [0; PAGE_ORDINALS as usize / 64];
        self.blocks.clear();
    }

    fn add(&mut self, sets: &[&RowSet], bit: u32, set: u32, index: usize) {
        let mask = 1_u64 << (bit % 64);
        let word = &mut self.present[bit as usize / 64];
        let slot = &mut self.slots[bit as usize];
        if *word & mask == 0 {
            *word |= mask;
            *slot = Slot::Single(set, index);
            return;
        }
        let block = match *slot {
            Slot::Gathered(block) => block,
            Slot::Single(first, at) => {
                self.blocks.push(sets[first as usize].lowers.get(at).to_block());
                *slot = Slot::Gathered(self.blocks.len() - 1);
                self.blocks.len() - 1
            }
        };
        sets[set as usize].lowers.get(index).or_into(&mut self.blocks[block]);
    }
}

/// Gathers page by page and calls `take` with each page's number.
fn gather<F>(sets: &[&RowSet], mut take: F)
where
    F: FnMut(u32, &Page),
{
    let mut next: Vec<usize> = vec![0; sets.len()];
    let mut gathered = Page::new();
    let page_at = |set: usize, next: &[usize]| sets[set].upper.pages.get(next[set]);
    while let Some(number) = (0..sets.len()).filter_map(|set| page_at(set, &next).map(|page| page.number)).min() {
        gathered.clear();
        for set in 0..sets.len() {
            let Some(page) = page_at(set, &next).filter(|page| page.number == number) else { continue };
            let mut index = page.rank;
            for (word, bits) in (0_u32..).zip(page.bits) {
                for bit in ones(bits) {
                    gathered.add(sets, word * 64 + bit, set as u32, index);
                    index += 1;
                }
            }
            next[set] += 1;
        }
        take(number, &gathered);
    }
}

impl RowSet {
    /// The rows in any of `sets`.
    #[must_use]
    pub fn or_all(sets: &[&Self]) -> Self {
        match sets {
            [] => return Self::default(),
            [one] => return (*one).clone(),
            [a, b] => return a.or(b),
            _ => {}
        }
        let kernels = kernels::active();
        let mut out = Self::default();
        gather(sets, |number, page| {
            for (word, bits) in (0_u32..).zip(page.present) {
                for bit in ones(bits) {
                    match page.slots[(word * 64 + bit) as usize] {
                        Slot::Single(set, index) => out.lowers.push(sets[set as usize].lowers.get(index)),
                        Slot::Gathered(block) => {
                            out.lowers.push_block_with(|out| {
                                *out = page.blocks[block];
                                kernels.count(out)
                            });
                        }
                    }
                    out.note(number * PAGE_ORDINALS + word * 64 + bit);
                }
            }
        });
        out
    }

    /// How many rows are in any of `sets`. Chunks that one set alone has are summed, not opened.
    #[must_use]
    pub fn or_all_count(sets: &[&Self]) -> u64 {
        let kernels = kernels::active();
        let mut count = 0;
        gather(sets, |_, page| {
            for (word, bits) in (0_u32..).zip(page.present) {
                for bit in ones(bits) {
                    count += match page.slots[(word * 64 + bit) as usize] {
                        Slot::Single(set, index) => sets[set as usize].lowers.count(index),
                        Slot::Gathered(block) => u64::from(kernels.count(&page.blocks[block])),
                    };
                }
            }
        });
        count
    }

    /// The rows in all of `sets`, the smallest first; none when there are no sets.
    #[must_use]
    pub fn and_all(sets: &[&Self]) -> Self {
        let mut sorted = sets.to_vec();
        sorted.sort_by_key(|set| set.count());
        match sorted.as_slice() {
            [] => Self::default(),
            [one] => (*one).clone(),
            [a, b, rest @ ..] => {
                let mut out = a.and(b);
                for set in rest {
                    if out.is_empty() {
                        break;
                    }
                    out = out.and(set);
                }
                out
            }
        }
    }

    /// How many rows are in all of `sets`.
    #[must_use]
    pub fn and_all_count(sets: &[&Self]) -> u64 {
        let mut sorted = sets.to_vec();
        sorted.sort_by_key(|set| set.count());
        match sorted.as_slice() {
            [] => 0,
            [one] => one.count(),
            [rest @ .., last] => Self::and_all(rest).and_count(last),
        }
    }
}
