//! Reads postings.

use super::Form;
use crate::error::SegmentError;
use crate::layout::Layout;
use crate::wire::Cursor;
use siltstone_core::CHUNK_ROWS_MAX;
use siltstone_core::address::CHUNK_ROWS_BITS;
use siltstone_core::bitmap::{Block, RowSet, RowSetBuilder, Run};

const BLOCK: &str = "postings";

/// A posting as it lies in its stream.
#[derive(Clone, Debug)]
pub(crate) struct PostingView<'a> {
    rows: u64,
    /// Chunks of a posting that goes chunk by chunk; `None` for a flat one.
    groups: Option<usize>,
    cursor: Cursor<'a>,
}

/// One chunk's rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupRef<'a> {
    pub(crate) chunk: u32,
    pub(crate) rows: u32,
    pub(crate) form: Form,
    pub(crate) bytes: &'a [u8],
}

fn corrupt(reason: &'static str) -> SegmentError {
    SegmentError::corrupt(BLOCK, reason)
}

impl<'a> PostingView<'a> {
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, SegmentError> {
        let mut cursor = Cursor::new(BLOCK, bytes);
        let head = cursor.varint()?;
        let groups = if head & 1 == 1 { Some(cursor.count()?) } else { None };
        Ok(Self { rows: head >> 1, groups, cursor })
    }

    /// How many rows there are.
    pub(crate) const fn len(&self) -> u64 {
        self.rows
    }

    /// How many chunks a posting has that goes chunk by chunk.
    pub(crate) const fn group_count(&self) -> Option<usize> {
        self.groups
    }

    /// Whether it does not go chunk by chunk.
    pub(crate) const fn is_flat(&self) -> bool {
        self.groups.is_none()
    }

    /// The rows of a flat posting, as numbers; none of one that goes chunk by chunk.
    pub(crate) fn flat(&self) -> FlatRows<'a> {
        FlatRows { left: if self.is_flat() { self.rows } else { 0 }, next: 0, cursor: self.cursor.clone() }
    }

    /// The chunks of a posting that goes chunk by chunk; empty for a flat one.
    pub(crate) fn groups(&self) -> Result<Vec<GroupRef<'a>>, SegmentError> {
        let count = self.groups.unwrap_or(0);
        let mut cursor = self.cursor.clone();
        let mut groups = Vec::with_capacity(count);
        let mut next = 0_u64;
        for _ in 0..count {
            let chunk = next + cursor.bounded(u64::from(u32::MAX), "a chunk does not exist")?;
            let head = cursor.varint()?;
            let form = Form::from_u8((head & 7) as u8).ok_or(corrupt("a form is not known"))?;
            let rows = (head >> 3).saturating_add(1);
            if chunk > u64::from(u32::MAX) >> CHUNK_ROWS_BITS || rows > CHUNK_ROWS_MAX as u64 {
                return Err(corrupt("a chunk has too many rows"));
            }
            let bytes = if form == Form::Full { 0 } else { cursor.count()? };
            groups.push((GroupRef { chunk: chunk as u32, rows: rows as u32, form, bytes: &[] }, bytes));
            next = chunk + 1;
        }
        groups.into_iter().map(|(group, bytes)| Ok(GroupRef { bytes: cursor.take(bytes)?, ..group })).collect()
    }

    /// All rows as a set. Of a posting that goes chunk by chunk, chunks that `is_wanted` does not take are left out.
    pub(crate) fn row_set<F>(&self, layout: &Layout, is_wanted: F) -> Result<RowSet, SegmentError>
    where
        F: Fn(u32) -> bool,
    {
        let mut set = RowSetBuilder::new();
        if self.is_flat() {
            for row in self.flat() {
                let row = row?;
                if (row & (CHUNK_ROWS_MAX as u32 - 1)) as usize >= layout.chunks.span(row >> CHUNK_ROWS_BITS) {
                    return Err(corrupt("a row does not exist"));
                }
                set.push_row(u64::from(row)).map_err(|_| corrupt("rows do not ascend"))?;
            }
            return Ok(set.finish());
        }
        for group in self.groups()?.iter().filter(|group| is_wanted(group.chunk)) {
            match group.form {
                Form::List | Form::Runs => {
                    group.for_each_run(layout, |run| set.push_run(group.chunk, run).map_err(|_| corrupt("rows do not ascend")))?
                }
                _ => set.push_block(group.chunk, &group.block(layout)?).map_err(|_| corrupt("chunks do not ascend"))?,
            }
        }
        Ok(set.finish())
    }
}

impl GroupRef<'_> {
    /// Calls `each` with each run of a list or of runs, ascending.
    fn for_each_run<F>(&self, layout: &Layout, mut each: F) -> Result<(), SegmentError>
    where
        F: FnMut(Run) -> Result<(), SegmentError>,
    {
        let span = layout.chunks.span(self.chunk) as u64;
        let mut cursor = Cursor::new(BLOCK, self.bytes);
        let mut next = 0_u64;
        while !cursor.is_empty() {
            let start = next + cursor.bounded(span, "a row leaves its chunk")?;
            let last = if self.form == Form::Runs { start + cursor.bounded(span, "a run leaves its chunk")? } else { start };
            if last >= span {
                return Err(corrupt("a row leaves its chunk"));
            }
            each(Run { start: start as u16, last: last as u16 })?;
            next = last + 1;
        }
        Ok(())
    }

    /// Calls `each` with each offset, ascending.
    pub(crate) fn for_each<F>(&self, layout: &Layout, mut each: F) -> Result<(), SegmentError>
    where
        F: FnMut(u16),
    {
        match self.form {
            Form::List | Form::Runs => self.for_each_run(layout, |run| {
                (run.start..=run.last).for_each(&mut each);
                Ok(())
            }),
            _ => {
                self.block(layout)?.iter().for_each(each);
                Ok(())
            }
        }
    }

    /// The rows as bits.
    pub(crate) fn block(&self, layout: &Layout) -> Result<Block, SegmentError> {
        let mut block = Block::EMPTY;
        match self.form {
            Form::Full => block = layout.chunks.block(self.chunk),
            Form::List | Form::Runs => self.for_each_run(layout, |run| {
                block.insert_run(run);
                Ok(())
            })?,
            Form::Bits => {
                if self.bytes.len() * 8 > CHUNK_ROWS_MAX || self.bytes.len() > layout.chunks.span(self.chunk).div_ceil(8) {
                    return Err(corrupt("bits leave their chunk"));
                }
                for (word, bytes) in block.0.iter_mut().zip(self.bytes.chunks(8)) {
                    let mut little = [0; 8];
                    little[..bytes.len()].copy_from_slice(bytes);
                    *word = u64::from_le_bytes(little);
                }
            }
            Form::Cells => {
                let cells = layout.cells.patterns(self.chunk).len();
                let (bits, rest) = self.bytes.split_at_checked(cells.div_ceil(8)).ok_or(corrupt("its bytes end early"))?;
                let is_chosen: Vec<bool> = (0..cells).map(|cell| bits[cell / 8] >> (cell % 8) & 1 == 1).collect();
                block = layout.rows_of_cells(self.chunk, &is_chosen)?;
                GroupRef { form: Form::List, bytes: rest, ..*self }.for_each_run(layout, |run| {
                    block.insert_run(run);
                    Ok(())
                })?;
            }
        }
        Ok(block)
    }
}

/// Rows of a flat posting.
pub(crate) struct FlatRows<'a> {
    left: u64,
    next: u64,
    cursor: Cursor<'a>,
}

impl Iterator for FlatRows<'_> {
    type Item = Result<u32, SegmentError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let row = match self.cursor.varint() {
            Ok(distance) => self.next.checked_add(distance),
            Err(error) => {
                self.left = 0;
                return Some(Err(error));
            }
        };
        let Some(row) = row.and_then(|row| u32::try_from(row).ok()) else {
            self.left = 0;
            return Some(Err(corrupt("a row does not exist")));
        };
        self.next = u64::from(row) + 1;
        Some(Ok(row))
    }
}
