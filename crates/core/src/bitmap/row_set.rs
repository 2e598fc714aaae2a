//! The set of rows: an upper level over chunk ordinals, and a container for each chunk that has rows.

use super::lowers::Lowers;
use super::upper::Upper;
use super::{BitmapError, Block, OFFSETS, Offsets, RowSetBuilder, Run};
use std::fmt;

/// A set of rows `(chunk ordinal, offset)`, two-level, in memory. Ordinals number a segment's chunks densely; offsets are
/// below 2,048. Two sets are equal when they hold the same rows.
#[derive(Clone, Default)]
pub struct RowSet {
    pub(super) upper: Upper,
    pub(super) lowers: Lowers,
    pub(super) count: u64,
}

impl RowSet {
    /// No row.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Every row of the chunks `0..lengths.len()`, where chunk `i` has `lengths[i]` rows: the universe of a segment.
    ///
    /// # Errors
    /// [`BitmapError::OffsetTooLarge`] when a length is above 2,048.
    pub fn full<I>(lengths: I) -> Result<Self, BitmapError>
    where
        I: IntoIterator<Item = u16>,
    {
        let mut set = Self::default();
        for (ordinal, length) in (0_u32..).zip(lengths) {
            if usize::from(length) > OFFSETS {
                return Err(BitmapError::OffsetTooLarge { offset: u32::from(length) });
            }
            if length > 0 {
                set.lowers.push_run(Run { start: 0, last: length - 1 });
                set.note(ordinal);
            }
        }
        Ok(set)
    }

    /// The rows `ordinal << 11 | offset`, given in ascending order; repeats count once.
    ///
    /// # Errors
    /// [`BitmapError::NotAscending`] or [`BitmapError::RowTooLarge`].
    pub fn from_sorted<I>(rows: I) -> Result<Self, BitmapError>
    where
        I: IntoIterator<Item = u64>,
    {
        let mut builder = RowSetBuilder::new();
        rows.into_iter().try_for_each(|row| builder.push_row(row))?;
        Ok(builder.finish())
    }

    /// One row.
    pub(super) fn one(ordinal: u32, offset: u16) -> Self {
        let mut set = Self::default();
        set.lowers.push_one(offset);
        set.note(ordinal);
        set
    }

    /// One chunk's rows.
    #[must_use]
    pub fn from_block(ordinal: u32, block: &Block) -> Self {
        let mut set = Self::default();
        if set.lowers.push_block(block) {
            set.note(ordinal);
        }
        set
    }

    /// Enters the ordinal of the container that was pushed last into the upper level.
    pub(super) fn note(&mut self, ordinal: u32) {
        let index = self.lowers.heads.len() - 1;
        self.upper.push(ordinal, index);
        self.count += self.lowers.count(index);
    }

    pub(super) fn last_ordinal(&self) -> Option<u32> {
        let page = self.upper.pages.last()?;
        let word = page.bits.iter().rposition(|word| *word != 0)?;
        Some(page.number * super::upper::PAGE_ORDINALS + word as u32 * 64 + 63 - page.bits[word].leading_zeros())
    }

    /// How many rows there are. Costs nothing.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many chunks have rows.
    #[must_use]
    pub fn chunk_count(&self) -> usize {
        self.lowers.heads.len()
    }

    /// Whether the row at `offset` of chunk `ordinal` is in the set.
    #[must_use]
    pub fn contains(&self, ordinal: u32, offset: u16) -> bool {
        self.offsets(ordinal).is_some_and(|offsets| offsets.contains(offset))
    }

    /// The rows of chunk `ordinal`, if it has any.
    #[must_use]
    pub fn offsets(&self, ordinal: u32) -> Option<Offsets<'_>> {
        self.upper.index(ordinal).map(|index| self.lowers.get(index))
    }

    /// The ordinals of the chunks that have rows, ascending.
    pub fn ordinals(&self) -> impl Iterator<Item = u32> + '_ {
        self.upper.iter()
    }

    /// The chunks that have rows, ascending, each with its rows.
    pub fn chunks(&self) -> impl Iterator<Item = (u32, Offsets<'_>)> {
        self.upper.iter().enumerate().map(|(index, ordinal)| (ordinal, self.lowers.get(index)))
    }

    /// The rows `(ordinal, offset)`, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u16)> + '_ {
        self.chunks().flat_map(|(ordinal, offsets)| offsets.iter().map(move |offset| (ordinal, offset)))
    }

    /// The rows as `ordinal << 11 | offset`, ascending.
    pub fn rows(&self) -> impl Iterator<Item = u64> + '_ {
        self.iter().map(|(ordinal, offset)| u64::from(ordinal) * OFFSETS as u64 + u64::from(offset))
    }

    /// Adds the rows of `run` in chunk `ordinal`. Rewrites the set: to add many rows, build a set and [`RowSet::or`] it.
    ///
    /// # Errors
    /// [`BitmapError::OffsetTooLarge`], or [`BitmapError::NotAscending`] for a run whose start is after its last offset.
    pub fn insert_run(&mut self, ordinal: u32, run: Run) -> Result<(), BitmapError> {
        let mut builder = RowSetBuilder::new();
        builder.push_run(ordinal, run)?;
        *self = self.or(&builder.finish());
        Ok(())
    }

    /// Keeps the chunks that `keep` takes, without touching their containers.
    pub fn retain_ordinals<F>(&mut self, mut keep: F)
    where
        F: FnMut(u32) -> bool,
    {
        let old = std::mem::take(&mut self.upper);
        let heads = std::mem::take(&mut self.lowers.heads);
        self.count = 0;
        for (ordinal, head) in old.iter().zip(heads) {
            if keep(ordinal) {
                self.lowers.heads.push(head);
                self.note(ordinal);
            }
        }
    }

    /// Gives each chunk the ordinal that `renumber` names, and drops those that it names none for. Containers are not touched:
    /// this is what a merge of segments does to a set.
    ///
    /// # Errors
    /// [`BitmapError::OrdinalTaken`] when two chunks would get one ordinal.
    pub fn remap_ordinals<F>(mut self, mut renumber: F) -> Result<Self, BitmapError>
    where
        F: FnMut(u32) -> Option<u32>,
    {
        let heads = std::mem::take(&mut self.lowers.heads);
        let mut renumbered: Vec<_> = self.upper.iter().zip(heads).filter_map(|(ordinal, head)| Some((renumber(ordinal)?, head))).collect();
        // Stable and quick where the order stays, which is the usual case.
        renumbered.sort_by_key(|(ordinal, _)| *ordinal);
        if let Some(pair) = renumbered.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(BitmapError::OrdinalTaken { ordinal: pair[0].0 });
        }
        self.upper = Upper::default();
        self.count = 0;
        for (ordinal, head) in renumbered {
            self.lowers.heads.push(head);
            self.note(ordinal);
        }
        Ok(self)
    }

    /// Bytes that the set holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.lowers.heap_bytes() + self.upper.pages.capacity() * size_of::<super::upper::Page>()
    }
}

impl PartialEq for RowSet {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count
            && self.ordinals().eq(other.ordinals())
            && (0..self.chunk_count()).all(|index| self.lowers.get(index).same_rows(&other.lowers.get(index)))
    }
}

impl Eq for RowSet {}

impl fmt::Debug for RowSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
