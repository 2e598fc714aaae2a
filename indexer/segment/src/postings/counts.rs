//! How often a token stands in the variables of rows.

use super::{GroupRef, PostingView, SlotsView};
use crate::error::SegmentError;
use crate::layout::Layout;
use siltstone_core::CHUNK_ROWS_MAX;
use siltstone_core::address::CHUNK_ROWS_BITS;

/// The rows that have a token in their variables, with how often, by chunk.
#[derive(Default)]
pub(crate) struct SlotCounts<'a> {
    /// Rows of a flat posting: (row, times).
    flat: Vec<(u32, u32)>,
    /// The chunks of another, each with its slots.
    groups: Vec<(GroupRef<'a>, SlotsView<'a>)>,
    count_max: u32,
}

impl<'a> SlotCounts<'a> {
    /// One row, once.
    pub(crate) fn one(row: u32) -> Self {
        Self { flat: vec![(row, 1)], groups: Vec::new(), count_max: 1 }
    }

    pub(crate) fn open(posting: &PostingView<'a>, mut slots: SlotsView<'a>) -> Result<Self, SegmentError> {
        let mut counts = Self { flat: Vec::new(), groups: Vec::new(), count_max: 1 };
        if let Some(rows) = posting.flat() {
            for row in rows {
                let times = slots.next_count()?;
                counts.count_max = counts.count_max.max(times);
                counts.flat.push((row?, times));
            }
            return Ok(counts);
        }
        for group in posting.groups()? {
            counts.groups.push((group, slots.clone()));
            counts.count_max = counts.count_max.max(slots.skip(group.rows)?);
        }
        Ok(counts)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.flat.is_empty() && self.groups.is_empty()
    }

    /// No row has it more often.
    pub(crate) const fn count_max(&self) -> u32 {
        if self.flat.is_empty() && self.groups.is_empty() { 0 } else { self.count_max }
    }

    /// The offsets of a chunk's rows that have it, ascending, with how often.
    pub(crate) fn of_chunk(&self, chunk: u32, layout: &Layout, out: &mut Vec<(u16, u32)>) -> Result<(), SegmentError> {
        out.clear();
        let first = self.flat.partition_point(|(row, _)| row >> CHUNK_ROWS_BITS < chunk);
        let rows = self.flat[first..].iter().take_while(|(row, _)| row >> CHUNK_ROWS_BITS == chunk);
        out.extend(rows.map(|(row, times)| ((row & (CHUNK_ROWS_MAX as u32 - 1)) as u16, *times)));
        if let Ok(place) = self.groups.binary_search_by_key(&chunk, |(group, _)| group.chunk) {
            let (group, slots) = &self.groups[place];
            let mut slots = slots.clone();
            let mut result = Ok(());
            group.for_each(layout, |offset| match slots.next_count() {
                Ok(times) => out.push((offset, times)),
                Err(error) => result = Err(error),
            })?;
            result?;
        }
        Ok(())
    }

    /// How often a row has it.
    pub(crate) fn count_of(&self, row: u32, layout: &Layout) -> Result<u32, SegmentError> {
        let mut of_chunk = Vec::new();
        self.of_chunk(row >> CHUNK_ROWS_BITS, layout, &mut of_chunk)?;
        let offset = (row & (CHUNK_ROWS_MAX as u32 - 1)) as u16;
        Ok(of_chunk.iter().find(|(other, _)| *other == offset).map_or(0, |(_, times)| *times))
    }
}
