//! One chunk's rows as they lie in a set: a list, runs or a block, borrowed.

use super::{Block, BlockIter, OFFSETS};

/// Offsets `start..=last`. Never empty: `start <= last < 2,048`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The first offset.
    pub start: u16,
    /// The last offset, inclusive.
    pub last: u16,
}

impl Run {
    /// How many offsets the run holds.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.last as u32 - self.start as u32 + 1
    }

    /// Never: a run holds one offset at least.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        false
    }
}

/// How one chunk's rows are held. A list has at most [`LIST_MAX`] offsets and runs number at most [`RUNS_MAX`]: past
/// that a block is no larger, and quicker.
#[derive(Clone, Copy, Debug)]
pub enum Form<'a> {
    /// Ascending offsets, 2 bytes each.
    List(&'a [u16]),
    /// Ascending runs that neither meet nor touch, 4 bytes each.
    Runs(&'a [Run]),
    /// 2,048 bits, 256 bytes.
    Block(&'a Block),
}

/// Offsets in a list at most: those of one AVX-512 register. A list gets as large as a block at 128, but a block's operations
/// take some 10 ns whatever it holds, and a list's grow with it.
pub const LIST_MAX: usize = 32;

/// Runs in a run list at most: where it (4 bytes a run) gets as large as a block.
pub const RUNS_MAX: usize = std::mem::size_of::<Block>() / std::mem::size_of::<Run>();

/// One chunk's rows and how many they are.
#[derive(Clone, Copy, Debug)]
pub struct Offsets<'a> {
    pub(super) count: u16,
    pub(super) form: Form<'a>,
}

impl<'a> Offsets<'a> {
    /// How many rows there are, 1 to 2,048.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count as u32
    }

    /// How they are held.
    #[must_use]
    pub const fn form(&self) -> Form<'a> {
        self.form
    }

    /// Whether the chunk's row at `offset` is in the set.
    #[must_use]
    pub fn contains(&self, offset: u16) -> bool {
        match self.form {
            Form::List(list) => list.binary_search(&offset).is_ok(),
            Form::Runs(runs) => {
                let after = runs.partition_point(|run| run.start <= offset);
                after > 0 && offset <= runs[after - 1].last
            }
            Form::Block(block) => block.contains(offset),
        }
    }

    /// The offsets, ascending.
    #[must_use]
    pub fn iter(&self) -> OffsetsIter<'a> {
        match self.form {
            Form::List(list) => OffsetsIter::List(list.iter()),
            Form::Runs(runs) => OffsetsIter::Runs { runs: runs.iter(), at: 0, end: 0 },
            Form::Block(block) => OffsetsIter::Block(block.iter()),
        }
    }

    /// Sets these rows in `block`.
    pub fn or_into(&self, block: &mut Block) {
        match self.form {
            Form::List(list) => {
                block.insert_list(list);
            }
            Form::Runs(runs) => runs.iter().for_each(|run| block.insert_run(*run)),
            Form::Block(other) => block.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more),
        }
    }

    /// The rows as a block.
    #[must_use]
    pub fn to_block(&self) -> Block {
        if let Form::Block(block) = self.form {
            return *block;
        }
        let mut block = Block::EMPTY;
        self.or_into(&mut block);
        block
    }

    /// The first and the last offset.
    #[must_use]
    pub fn span(&self) -> Run {
        match self.form {
            Form::List(list) => Run { start: list[0], last: list[list.len() - 1] },
            Form::Runs(runs) => Run { start: runs[0].start, last: runs[runs.len() - 1].last },
            Form::Block(block) => {
                let (mut first, mut last) = (0, block.0.len() - 1);
                while block.0[first] == 0 && first < last {
                    first += 1;
                }
                while block.0[last] == 0 && last > first {
                    last -= 1;
                }
                let start = first * 64 + block.0[first].trailing_zeros() as usize;
                Run { start: start as u16, last: (last * 64 + 63 - block.0[last].leading_zeros() as usize) as u16 }
            }
        }
    }

    /// Whether both hold the same rows, in whatever form.
    #[must_use]
    pub fn same_rows(&self, other: &Offsets<'_>) -> bool {
        self.count == other.count
            && match (self.form, other.form) {
                (Form::List(a), Form::List(b)) => a == b,
                (Form::Runs(a), Form::Runs(b)) => a == b,
                (Form::Block(a), Form::Block(b)) => a == b,
                _ => self.iter().eq(other.iter()),
            }
    }
}

impl<'a> IntoIterator for Offsets<'a> {
    type Item = u16;
    type IntoIter = OffsetsIter<'a>;

    fn into_iter(self) -> OffsetsIter<'a> {
        self.iter()
    }
}

/// One chunk's offsets, ascending.
#[derive(Clone, Debug)]
pub enum OffsetsIter<'a> {
    /// From a list.
    List(std::slice::Iter<'a, u16>),
    /// From runs.
    Runs {
        /// The runs not begun.
        runs: std::slice::Iter<'a, Run>,
        /// The next offset of the run at hand.
        at: u16,
        /// Where the run at hand ends, exclusive.
        end: u16,
    },
    /// From a block.
    Block(BlockIter<'a>),
}

impl Iterator for OffsetsIter<'_> {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        match self {
            Self::List(list) => list.next().copied(),
            Self::Runs { runs, at, end } => {
                if at == end {
                    let run = runs.next()?;
                    (*at, *end) = (run.start, run.last + 1);
                }
                *at += 1;
                Some(*at - 1)
            }
            Self::Block(block) => block.next(),
        }
    }
}

// Offsets and their exclusive ends fit a u16.
const _: () = assert!(OFFSETS < u16::MAX as usize);
