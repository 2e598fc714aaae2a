//! The lower containers of one set, in arenas: a chunk costs a 16-byte head and its items, and no allocation of its own.

use super::{Block, Form, LIST_MAX, Offsets, RUNS_MAX, Run};
use std::slice;

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// One row: `inline.start`.
    One,
    /// One run: `inline`.
    Run,
    /// `lists[at..at + count]`.
    List,
    /// `runs[at..at + inline.start]`.
    Runs,
    /// `blocks[at]`.
    Block,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    kind: Kind,
    count: u16,
    inline: Run,
    at: usize,
}

/// Containers in the order of their ordinals. Heads may be dropped or moved; the items they named then stay behind unused.
#[derive(Clone, Default, Debug)]
pub(super) struct Lowers {
    pub(super) heads: Vec<Head>,
    lists: Vec<u16>,
    /// Offsets up to here belong to containers; those after it are being gathered for the next one.
    gathered_from: usize,
    runs: Vec<Run>,
    blocks: Vec<Block>,
}

const NO_RUN: Run = Run { start: 0, last: 0 };

impl Lowers {
    #[inline]
    pub(super) fn get(&self, index: usize) -> Offsets<'_> {
        let head = &self.heads[index];
        let form = match head.kind {
            Kind::One => Form::List(slice::from_ref(&head.inline.start)),
            Kind::Run => Form::Runs(slice::from_ref(&head.inline)),
            Kind::List => Form::List(&self.lists[head.at..head.at + usize::from(head.count)]),
            Kind::Runs => Form::Runs(&self.runs[head.at..head.at + usize::from(head.inline.start)]),
            Kind::Block => Form::Block(&self.blocks[head.at]),
        };
        Offsets { count: head.count, form }
    }

    pub(super) fn count(&self, index: usize) -> u64 {
        u64::from(self.heads[index].count)
    }

    /// Makes room for `containers` containers and `offsets` offsets in lists.
    pub(super) fn reserve(&mut self, containers: usize, offsets: usize) {
        self.heads.reserve(containers);
        self.lists.reserve(offsets);
    }

    /// How many offsets lie in lists.
    pub(super) fn listed(&self) -> usize {
        self.lists.len()
    }

    /// Forgets every container but keeps the memory.
    pub(super) fn clear(&mut self) {
        self.heads.clear();
        self.lists.clear();
        self.gathered_from = 0;
        self.runs.clear();
        self.blocks.clear();
    }

    /// How many rows the containers from `index` on hold.
    pub(super) fn count_from(&self, index: usize) -> u64 {
        self.heads[index..].iter().map(|head| u64::from(head.count)).sum()
    }

    #[inline]
    fn head(&mut self, kind: Kind, count: u32, inline: Run, at: usize) -> bool {
        self.heads.push(Head { kind, count: count as u16, inline, at });
        true
    }

    /// Adds a container as it is.
    pub(super) fn push(&mut self, offsets: Offsets<'_>) {
        match offsets.form {
            Form::List([one]) => self.push_one(*one),
            Form::List(list) => {
                let at = self.lists.len();
                self.lists.extend_from_slice(list);
                self.gathered_from = self.lists.len();
                self.head(Kind::List, offsets.count(), NO_RUN, at);
            }
            Form::Runs([run]) => self.push_run(*run),
            Form::Runs(runs) => {
                let at = self.runs.len();
                self.runs.extend_from_slice(runs);
                self.head(Kind::Runs, offsets.count(), Run { start: runs.len() as u16, last: 0 }, at);
            }
            Form::Block(block) => {
                self.blocks.push(*block);
                self.head(Kind::Block, offsets.count(), NO_RUN, self.blocks.len() - 1);
            }
        }
    }

    pub(super) fn push_one(&mut self, offset: u16) {
        self.head(Kind::One, 1, Run { start: offset, last: offset }, 0);
    }

    pub(super) fn push_run(&mut self, run: Run) {
        if run.start == run.last {
            self.push_one(run.start);
        } else {
            self.head(Kind::Run, run.len(), run, 0);
        }
    }

    /// Takes the next offset, larger than all before it, of the container that [`Lowers::push_gathered`] will add.
    #[inline]
    pub(super) fn gather(&mut self, offset: u16) {
        self.lists.push(offset);
    }

    /// Adds the offsets that were gathered, one or more, which make `runs` runs.
    pub(super) fn push_gathered(&mut self, runs: usize) {
        let at = self.gathered_from;
        let list = &self.lists[at..];
        let (count, span) = (list.len(), Run { start: list[0], last: list[list.len() - 1] });
        match canonical(count, runs) {
            Canonical::List if count > 1 => {
                self.head(Kind::List, count as u32, NO_RUN, at);
                self.gathered_from = self.lists.len();
                return;
            }
            Canonical::List | Canonical::Empty => self.push_one(span.start),
            Canonical::Runs if runs == 1 => self.push_run(span),
            Canonical::Runs => {
                let first = self.runs.len();
                self.runs.push(Run { start: span.start, last: span.start });
                for offset in &self.lists[at + 1..] {
                    match self.runs.last_mut() {
                        Some(run) if run.last + 1 == *offset => run.last = *offset,
                        _ => self.runs.push(Run { start: *offset, last: *offset }),
                    }
                }
                self.head(Kind::Runs, count as u32, Run { start: runs as u16, last: 0 }, first);
            }
            Canonical::Block => {
                let mut block = Block::EMPTY;
                block.insert_list(list);
                self.blocks.push(block);
                self.head(Kind::Block, count as u32, NO_RUN, self.blocks.len() - 1);
            }
        }
        self.lists.truncate(at);
    }

    /// Lets `fill` write up to `room` offsets, ascending, and adds what it wrote. False when it wrote none.
    ///
    /// `room` must be [`LIST_MAX`] at most, but for slack that `fill` may scribble on.
    #[inline]
    pub(super) fn push_list_with<F>(&mut self, room: usize, fill: F) -> bool
    where
        F: FnOnce(&mut [u16]) -> usize,
    {
        let at = self.lists.len();
        self.lists.resize(at + room, 0);
        let count = fill(&mut self.lists[at..]);
        debug_assert!(count <= LIST_MAX, "a list passed LIST_MAX");
        self.lists.truncate(at + count);
        let Some((first, last)) = self.lists[at..].first().copied().zip(self.lists.last().copied()) else { return false };
        let span = Run { start: first, last };
        if count == 1 || (count > 2 && span.len() as usize == count) {
            self.lists.truncate(at);
            self.push_run(span);
            return true;
        }
        self.gathered_from = self.lists.len();
        self.head(Kind::List, count as u32, NO_RUN, at)
    }

    /// Lets `fill` append runs, ascending and apart, and adds them in the form that suits them. False when there are none.
    pub(super) fn push_runs_with<F>(&mut self, fill: F) -> bool
    where
        F: FnOnce(&mut Vec<Run>),
    {
        let at = self.runs.len();
        fill(&mut self.runs);
        let runs = &self.runs[at..];
        let count: u32 = runs.iter().map(|run| run.len()).sum();
        match canonical(count as usize, runs.len()) {
            Canonical::Empty => return false,
            Canonical::Runs if runs.len() > 1 => return self.head(Kind::Runs, count, Run { start: (self.runs.len() - at) as u16, last: 0 }, at),
            Canonical::Runs => {
                let run = runs[0];
                self.push_run(run);
            }
            Canonical::List if count == 1 => {
                let run = runs[0];
                self.push_one(run.start);
            }
            Canonical::List => {
                let start = self.lists.len();
                for run in runs {
                    self.lists.extend(run.start..=run.last);
                }
                self.gathered_from = self.lists.len();
                self.head(Kind::List, count, NO_RUN, start);
            }
            Canonical::Block => {
                let mut block = Block::EMPTY;
                runs.iter().for_each(|run| block.insert_run(*run));
                self.blocks.push(block);
                self.head(Kind::Block, count, NO_RUN, self.blocks.len() - 1);
            }
        }
        self.runs.truncate(at);
        true
    }

    /// Lets `fill` write a block over an empty one and say how many bits it has, and adds it as a block, list or run. False when it is empty.
    #[inline]
    pub(super) fn push_block_with<F>(&mut self, fill: F) -> bool
    where
        F: FnOnce(&mut Block) -> u32,
    {
        let at = self.blocks.len();
        self.blocks.push(Block::EMPTY);
        let count = fill(&mut self.blocks[at]);
        if count as usize > LIST_MAX {
            let span = Offsets { count: count as u16, form: Form::Block(&self.blocks[at]) }.span();
            if span.len() == count {
                self.blocks.truncate(at);
                self.push_run(span);
                return true;
            }
            return self.head(Kind::Block, count, NO_RUN, at);
        }
        let block = self.blocks.pop().expect("pushed above");
        self.push_list_with(count as usize, |out| {
            out.iter_mut().zip(&block).for_each(|(slot, offset)| *slot = offset);
            count as usize
        })
    }

    /// Adds a block in its smallest form. False when it is empty.
    pub(super) fn push_block(&mut self, block: &Block) -> bool {
        let (count, runs) = (block.count(), block.count_runs() as usize);
        match canonical(count as usize, runs) {
            Canonical::Runs => self.push_runs_with(|out| out.extend(block.runs())),
            _ => self.push_block_with(|out| {
                *out = *block;
                count
            }),
        }
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.heads.capacity() * size_of::<Head>()
            + self.lists.capacity() * size_of::<u16>()
            + self.runs.capacity() * size_of::<Run>()
            + self.blocks.capacity() * size_of::<Block>()
    }
}

/// The form that `count` rows in `runs` maximal runs take: the smallest of those allowed, a list before runs where both are as small.
pub(super) enum Canonical {
    Empty,
    List,
    Runs,
    Block,
}

pub(super) const fn canonical(count: usize, runs: usize) -> Canonical {
    if count == 0 {
        Canonical::Empty
    } else if count <= LIST_MAX && count <= 2 * runs {
        Canonical::List
    } else if runs < RUNS_MAX {
        Canonical::Runs
    } else {
        Canonical::Block
    }
}
