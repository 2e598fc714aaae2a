//! A posting's rows of one chunk, sorted by cell.

use crate::error::SegmentError;
use std::ops::Range;

/// Offsets by cell, within each ascending. Keeps its buffers.
#[derive(Clone, Default, Debug)]
pub(crate) struct CellRows {
    /// Per cell: where its rows begin; the last element is their number.
    starts: Vec<u32>,
    /// The offsets, cell by cell.
    offsets: Vec<u16>,
    /// Per offset of `offsets`: its place among the offsets as they were given.
    places: Vec<u16>,
}

impl CellRows {
    /// Sorts ascending offsets of a chunk, of which `column` says the cell of each offset.
    pub(crate) fn fill(&mut self, offsets: &[u16], column: &[u16], cells: usize) -> Result<(), SegmentError> {
        self.starts.clear();
        self.starts.resize(cells + 1, 0);
        for offset in offsets {
            let cell = column.get(usize::from(*offset)).copied().map_or(cells, usize::from);
            if cell >= cells {
                return Err(SegmentError::corrupt("postings", "a row does not exist"));
            }
            self.starts[cell + 1] += 1;
        }
        for cell in 0..cells {
            self.starts[cell + 1] += self.starts[cell];
        }
        self.offsets.clear();
        self.offsets.resize(offsets.len(), 0);
        self.places.clear();
        self.places.resize(offsets.len(), 0);
        // Each start moves to its cell's end, which is the next one's start; afterwards all are moved back by one cell.
        for (place, offset) in (0_u16..).zip(offsets) {
            let next = &mut self.starts[usize::from(column[usize::from(*offset)])];
            self.offsets[*next as usize] = *offset;
            self.places[*next as usize] = place;
            *next += 1;
        }
        self.starts.copy_within(0..cells, 1);
        self.starts[0] = 0;
        Ok(())
    }

    /// The cells, each with where its rows lie.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        self.starts.windows(2).enumerate().map(|(cell, bounds)| (cell, bounds[0] as usize..bounds[1] as usize))
    }

    /// The offsets of a cell's rows.
    pub(crate) fn of(&self, cell: usize) -> &[u16] {
        match self.starts.get(cell..cell + 2) {
            Some(bounds) => &self.offsets[bounds[0] as usize..bounds[1] as usize],
            None => &[],
        }
    }

    /// Drops all rows.
    pub(crate) fn clear(&mut self) {
        self.starts.clear();
    }

    /// The places of all rows, cell by cell.
    pub(crate) fn places(&self) -> &[u16] {
        &self.places
    }
}
