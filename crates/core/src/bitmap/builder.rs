//! Builds a set from rows in ascending order.

use super::lowers::Canonical;
use super::lowers::canonical;
use super::{BitmapError, Block, OFFSETS, Offsets, RowSet, Run};

/// Takes rows in ascending order, gathers each chunk's as runs, and stores each chunk in its smallest form.
///
/// A row that was just given may be given again: it counts once.
#[derive(Default, Debug)]
pub struct RowSetBuilder {
    set: RowSet,
    /// The chunk at hand; its runs so far are in `runs`, which is empty before the first row.
    ordinal: u32,
    runs: Vec<Run>,
}

impl RowSetBuilder {
    /// An empty builder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the row at `offset` of the chunk `ordinal`.
    ///
    /// # Errors
    /// [`BitmapError::NotAscending`] or [`BitmapError::OffsetTooLarge`]; the set is then as it was.
    pub fn push(&mut self, ordinal: u32, offset: u16) -> Result<(), BitmapError> {
        self.push_run(ordinal, Run { start: offset, last: offset })
    }

    /// Adds the row `ordinal << 11 | offset`.
    ///
    /// # Errors
    /// As [`RowSetBuilder::push`], and [`BitmapError::RowTooLarge`].
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
        if self.runs.is_empty() || ordinal > self.ordinal {
            self.begin(ordinal, late)?;
            self.runs.push(run);
            return Ok(());
        }
        match self.runs.last_mut() {
            Some(before) if ordinal == self.ordinal && run.start >= before.last => {
                if run.start <= before.last + 1 {
                    before.last = run.last;
                } else {
                    self.runs.push(run);
                }
                Ok(())
            }
            _ => Err(late),
        }
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
        let last = if self.runs.is_empty() { self.set.last_ordinal() } else { Some(self.ordinal) };
        if last.is_some_and(|last| ordinal <= last) {
            return Err(late);
        }
        self.flush();
        self.ordinal = ordinal;
        Ok(())
    }

    fn flush(&mut self) {
        let count: u32 = self.runs.iter().map(|run| run.len()).sum();
        let added = match (self.runs.as_slice(), canonical(count as usize, self.runs.len())) {
            (_, Canonical::Empty) => false,
            ([run], _) => {
                self.set.lowers.push_run(*run);
                true
            }
            (runs, _) => self.set.lowers.push_runs_with(|out| out.extend_from_slice(runs)),
        };
        if added {
            self.set.note(self.ordinal);
        }
        self.runs.clear();
    }

    /// The set.
    #[must_use]
    pub fn finish(mut self) -> RowSet {
        self.flush();
        self.set
    }
}
