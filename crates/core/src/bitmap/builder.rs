//! Builds a set from rows in ascending order.

use super::{BitmapError, Block, OFFSETS, Offsets, RowSet, Run};

/// Takes rows in ascending order and stores each chunk in its smallest form. The rows of the chunk at hand are gathered as
/// a list where lists lie in the set, so a chunk that stays a list is never copied.
///
/// A row that was just given may be given again: it counts once.
#[derive(Default, Debug)]
pub struct RowSetBuilder {
    set: RowSet,
    /// The chunk at hand, once it has a row.
    ordinal: u32,
    /// The offset that would lengthen the last run of the chunk at hand; 0 while it has no row.
    next: u16,
    /// How many runs its rows make.
    runs: u32,
}

impl RowSetBuilder {
    /// An empty builder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty builder with room for `rows` rows that are far apart, or for some such rows when they are many.
    pub(super) fn with_room(rows: usize) -> Self {
        let mut builder = Self::default();
        builder.set.lowers.reserve(rows.min(64), rows.min(64));
        builder
    }

    /// Adds the row at `offset` of the chunk `ordinal`.
    ///
    /// # Errors
    /// [`BitmapError::NotAscending`] or [`BitmapError::OffsetTooLarge`]; the set is then as it was.
    #[inline]
    pub fn push(&mut self, ordinal: u32, offset: u16) -> Result<(), BitmapError> {
        if self.next > 0 && ordinal == self.ordinal && offset >= self.next && usize::from(offset) < OFFSETS {
            self.runs += u32::from(offset > self.next);
            self.next = offset + 1;
            self.set.lowers.gather(offset);
            return Ok(());
        }
        self.push_run(ordinal, Run { start: offset, last: offset })
    }

    /// Adds the row `ordinal << 11 | offset`.
    ///
    /// # Errors
    /// As [`RowSetBuilder::push`], and [`BitmapError::RowTooLarge`].
    #[inline]
    pub fn push_row(&mut self, row: u64) -> Result<(), BitmapError> {
        let ordinal = u32::try_from(row / OFFSETS as u64).map_err(|_| BitmapError::RowTooLarge { row })?;
        self.push(ordinal, (row % OFFSETS as u64) as u16)
    }

    /// Adds the rows of `run`, whose start must not come before the last row given.
    ///
    /// # Errors
    /// As [`RowSetBuilder::push`].
    pub fn push_run(&mut self, ordinal: u32, run: Run) -> Result<(), BitmapError> {
        if usize::from(run.last) >= OFFSETS {
            return Err(BitmapError::OffsetTooLarge { offset: u32::from(run.last) });
        }
        let late = BitmapError::NotAscending { ordinal, offset: run.start };
        if run.start > run.last {
            return Err(late);
        }
        let mut first = run.start;
        if self.next == 0 || ordinal > self.ordinal {
            self.begin(ordinal, late)?;
            self.runs = 1;
        } else if ordinal < self.ordinal || run.start + 1 < self.next {
            return Err(late);
        } else {
            // The last row given may come again.
            first = first.max(self.next);
            self.runs += u32::from(run.start > self.next);
        }
        (first..=run.last).for_each(|offset| self.set.lowers.gather(offset));
        self.next = self.next.max(run.last + 1);
        Ok(())
    }

    /// Adds a whole chunk's rows; the chunk must come after all before it. An empty block adds nothing.
    ///
    /// # Errors
    /// [`BitmapError::NotAscending`].
    pub fn push_block(&mut self, ordinal: u32, block: &Block) -> Result<(), BitmapError> {
        self.begin(ordinal, BitmapError::NotAscending { ordinal, offset: 0 })?;
        if self.set.lowers.push_block(block) {
            self.set.note(ordinal);
        }
        Ok(())
    }

    /// Adds a whole chunk's rows as they are held in another set; the chunk must come after all before it.
    ///
    /// # Errors
    /// [`BitmapError::NotAscending`].
    pub fn push_offsets(&mut self, ordinal: u32, offsets: Offsets<'_>) -> Result<(), BitmapError> {
        self.begin(ordinal, BitmapError::NotAscending { ordinal, offset: 0 })?;
        self.set.lowers.push(offsets);
        self.set.note(ordinal);
        Ok(())
    }

    /// Ends the chunk at hand and begins `ordinal`, which must come after it; else nothing changes.
    fn begin(&mut self, ordinal: u32, late: BitmapError) -> Result<(), BitmapError> {
        let last = if self.next == 0 { self.set.last_ordinal() } else { Some(self.ordinal) };
        if last.is_some_and(|last| ordinal <= last) {
            return Err(late);
        }
        self.flush();
        self.ordinal = ordinal;
        Ok(())
    }

    fn flush(&mut self) {
        if self.next > 0 {
            self.set.lowers.push_gathered(self.runs as usize);
            self.set.note(self.ordinal);
            self.next = 0;
        }
    }

    /// The set.
    #[must_use]
    pub fn finish(mut self) -> RowSet {
        self.flush();
        self.set
    }
}
