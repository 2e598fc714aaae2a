//! The bodies of a chunk, read back: all of them, or those of some rows.

use super::body::COLUMN_ROWS_MIN;
use super::cells::{Affixes, CellColumn, Cells};
use super::column_reader::{get_column, skip_texts};
use super::patterns::PackPatterns;
use super::streams::{RawStreams, StreamReaders};
use crate::columns::{get_planes, width_of};
use crate::rows::{Pattern, ROWS_BYTES_MAX, Rows};
use crate::wire::{DecodeError, Reader};
use siltstone_core::pattern::join;

const BLOCK: &str = "a pack's body block";

/// The bodies of a chunk, decompressed, with the columns of those patterns that were asked for.
#[derive(Debug)]
pub struct Bodies {
    patterns: Vec<Pattern>,
    pattern_ids: Vec<u32>,
    /// Per row: how many earlier rows have its pattern.
    indexes: Vec<u32>,
    /// Per pattern: its columns, `None` when nobody asked for them.
    columns: Vec<Option<Vec<CellColumn>>>,
    cells: Cells,
}

impl Bodies {
    /// Reads a body block. With `wanted`, only the patterns of those rows are read, and only their bodies can be rebuilt.
    pub(super) fn decode(bytes: &[u8], shared: &PackPatterns, rows: usize, wanted: Option<&[usize]>) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(BLOCK, bytes);
        let patterns = shared.of_chunk(reader.prefixed()?)?;
        let raw = RawStreams::read(BLOCK, &mut reader)?;
        reader.end()?;
        let mut readers = raw.readers(BLOCK);
        let Some(last) = (patterns.len() as u64).checked_sub(1) else {
            return if rows == 0 { Ok(Self::empty()) } else { Err(reader.corrupt("rows without patterns")) };
        };
        let ids = get_planes(&mut readers.ids, rows, width_of(last))?;
        if ids.iter().any(|id| *id > last) {
            return Err(reader.corrupt("a pattern number without a pattern"));
        }
        let pattern_ids = ids.into_iter().map(|id| id as u32).collect::<Vec<_>>();
        let mut counts = vec![0_u32; patterns.len()];
        let mut indexes = Vec::with_capacity(rows);
        for id in &pattern_ids {
            let count = &mut counts[*id as usize];
            indexes.push(*count);
            *count += 1;
        }
        let mut is_wanted = vec![wanted.is_none(); patterns.len()];
        for row in wanted.unwrap_or_default() {
            if let Some(id) = pattern_ids.get(*row) {
                is_wanted[*id as usize] = true;
            }
        }
        let mut bodies = Self { patterns, pattern_ids, indexes, columns: Vec::new(), cells: Cells::default() };
        for (pattern, count) in counts.into_iter().enumerate() {
            let columns = bodies.get_pattern(&mut readers, pattern, count as usize, is_wanted[pattern])?;
            bodies.columns.push(columns);
        }
        readers.end()?;
        Ok(bodies)
    }

    fn empty() -> Self {
        Self { patterns: Vec::new(), pattern_ids: Vec::new(), indexes: Vec::new(), columns: Vec::new(), cells: Cells::default() }
    }

    fn get_pattern(
        &mut self,
        readers: &mut StreamReaders<'_>,
        pattern: usize,
        rows: usize,
        is_wanted: bool,
    ) -> Result<Option<Vec<CellColumn>>, DecodeError> {
        let slots = self.patterns[pattern].slots as usize;
        let mut columns = Vec::new();
        if rows < COLUMN_ROWS_MIN {
            let variables = slots * rows;
            if !is_wanted {
                return skip_texts(readers, variables).map(|()| None);
            }
            let first = self.cells.next();
            (0..variables).try_for_each(|_| self.cells.push_text(&Affixes::default(), readers))?;
            // Without rows there are no cells, and nobody asks for one.
            columns.extend((0..slots as u32).take(variables).map(|slot| CellColumn::every(first + slot, slots as u32)));
            return Ok(Some(columns));
        }
        for _ in 0..slots {
            let column = get_column(readers, rows, &columns, is_wanted.then_some(&mut self.cells))?;
            columns.push(column);
        }
        Ok(is_wanted.then_some(columns))
    }

    /// How many rows the chunk has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pattern_ids.len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pattern_ids.is_empty()
    }

    /// The pattern of a row.
    ///
    /// # Panics
    /// When there is no such row.
    #[must_use]
    pub fn pattern(&self, row: usize) -> &Pattern {
        &self.patterns[self.pattern_ids[row] as usize]
    }

    /// The variables of a row, slot by slot; `None` when the row is not there or was not asked for.
    pub fn variables(&self, row: usize) -> Option<impl Iterator<Item = &[u8]>> {
        let columns = self.columns[*self.pattern_ids.get(row)? as usize].as_ref()?;
        let index = self.indexes[row] as usize;
        Some(columns.iter().map(move |column| self.cells.get(column.cell(index))))
    }

    /// Appends the exact body of a row to `out`. `false` when the row is not there, was not asked for, or is longer than a row can be.
    #[must_use]
    pub fn append(&self, row: usize, out: &mut Vec<u8>) -> bool {
        let Some(variables) = self.variables(row) else { return false };
        // Slots share cells, so few stored bytes can claim a body without bound.
        let bytes = variables.fold(0_usize, |bytes, variable| bytes.saturating_add(variable.len()));
        let variables = self.variables(row).filter(|_| bytes <= ROWS_BYTES_MAX);
        variables.is_some_and(|variables| join(&self.pattern(row).bytes, variables, out).is_ok())
    }

    /// Moves patterns and variables of all rows into `rows`.
    pub(super) fn into_rows(self, rows: &mut Rows) -> Result<(), DecodeError> {
        let corrupt = |what| DecodeError::Corrupt { block: BLOCK, what };
        for row in 0..self.len() {
            rows.variable_starts.push(rows.variable_ends.len() as u32);
            for variable in self.variables(row).ok_or_else(|| corrupt("a row was not read"))? {
                // Rows and slots share cells, so there can be more bytes than the arena holds.
                if rows.variable_bytes.len() + variable.len() > ROWS_BYTES_MAX || rows.variable_ends.len() >= ROWS_BYTES_MAX {
                    return Err(corrupt("more variables than a block of rows may hold"));
                }
                rows.variable_bytes.extend_from_slice(variable);
                rows.variable_ends.push(rows.variable_bytes.len() as u32);
            }
        }
        rows.pattern_ids = self.pattern_ids;
        rows.patterns = self.patterns;
        Ok(())
    }
}
