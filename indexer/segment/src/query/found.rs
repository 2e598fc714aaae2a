//! What a part of an expression found: whole patterns, and single rows besides.
//!
//! Most words of log lines are words of patterns. As long as a set is made of whole patterns, AND, OR, NOT and COUNT work on patterns alone and
//! no row is looked at.

use super::PatternSet;
use crate::error::SegmentError;
use crate::reader::SegmentReader;
use siltstone_core::bitmap::{Offsets, RowSet, RowSetBuilder, kernels};

/// The rows of `patterns` and the rows of `rows` (which may meet).
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) patterns: PatternSet,
    pub(crate) rows: RowSet,
}

/// Which cells of a chunk belong to chosen patterns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Share {
    None,
    Some,
    All,
}

/// Below this many rows of a chunk each is looked up; from it on, the cells' rows are made as bits. A look-up takes some 2 ns, the bits of a
/// whole chunk some 1,000.
pub(super) const LOOKUP_ROWS_MAX: u32 = 300;

impl Found {
    pub(crate) fn nothing(reader: &SegmentReader) -> Self {
        Self { patterns: PatternSet::empty(reader.patterns.len()), rows: RowSet::new() }
    }

    pub(crate) fn of_patterns(patterns: PatternSet) -> Self {
        Self { patterns, rows: RowSet::new() }
    }

    pub(crate) fn of_rows(rows: RowSet, reader: &SegmentReader) -> Self {
        Self { patterns: PatternSet::empty(reader.patterns.len()), rows }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.patterns.is_empty()
    }

    pub(crate) fn and(&self, other: &Self, reader: &SegmentReader) -> Result<Self, SegmentError> {
        let patterns = self.patterns.and(&other.patterns);
        let mut rows = self.rows.and(&other.rows);
        for (with_patterns, with_rows) in [(self, other), (other, self)] {
            if !with_patterns.patterns.is_empty() && !with_rows.rows.is_empty() {
                rows = rows.or(&filter(&with_rows.rows, &with_patterns.patterns, true, reader)?);
            }
        }
        Ok(Self { patterns, rows })
    }

    pub(crate) fn and_not(&self, other: &Self, reader: &SegmentReader) -> Result<Self, SegmentError> {
        let patterns = self.patterns.and_not(&other.patterns);
        let mut rows = if other.patterns.is_empty() { self.rows.clone() } else { filter(&self.rows, &other.patterns, false, reader)? };
        rows = rows.and_not(&other.rows);
        if other.rows.is_empty() || patterns.is_empty() {
            return Ok(Self { patterns, rows });
        }
        // Only patterns that the other's rows have must be taken apart.
        let hit = PatternSet::from_sorted(patterns_of(&other.rows, reader)?, reader.patterns.len()).and(&patterns);
        if hit.is_empty() {
            return Ok(Self { patterns, rows });
        }
        let taken_apart = rows_of(&hit, reader)?.and_not(&other.rows);
        Ok(Self { patterns: patterns.and_not(&hit), rows: rows.or(&taken_apart) })
    }

    /// How many rows there are.
    pub(crate) fn count(&self, reader: &SegmentReader) -> Result<u64, SegmentError> {
        let by_patterns = self.patterns.count_rows(&reader.pattern_rows);
        if self.rows.is_empty() || by_patterns == 0 {
            return Ok(by_patterns + self.rows.count());
        }
        Ok(by_patterns + self.rows.count() - count_common(&self.rows, &self.patterns, reader)?)
    }

    /// All rows as one set.
    pub(crate) fn to_rows(&self, reader: &SegmentReader) -> Result<RowSet, SegmentError> {
        if self.patterns.is_empty() {
            return Ok(self.rows.clone());
        }
        let rows = rows_of(&self.patterns, reader)?;
        Ok(if self.rows.is_empty() { rows } else { rows.or(&self.rows) })
    }
}

/// Marks the cells of a chunk whose patterns are chosen.
pub(super) fn choose(chunk: u32, patterns: &PatternSet, reader: &SegmentReader, is_chosen: &mut Vec<bool>) -> Share {
    let cells = reader.layout.cells.patterns(chunk);
    is_chosen.clear();
    let mut chosen = 0;
    match patterns.as_list() {
        Some(list) if list.len() * 8 < cells.len() => {
            is_chosen.resize(cells.len(), false);
            for pattern in list {
                if let Ok(cell) = cells.binary_search(pattern) {
                    is_chosen[cell] = true;
                    chosen += 1;
                }
            }
        }
        _ => is_chosen.extend(cells.iter().map(|pattern| {
            let contains = patterns.contains(*pattern);
            chosen += usize::from(contains);
            contains
        })),
    }
    match chosen {
        0 => Share::None,
        _ if chosen == cells.len() => Share::All,
        _ => Share::Some,
    }
}

fn corrupt_rows() -> SegmentError {
    SegmentError::corrupt("postings", "rows do not ascend")
}

/// The rows of patterns.
pub(crate) fn rows_of(patterns: &PatternSet, reader: &SegmentReader) -> Result<RowSet, SegmentError> {
    let mut out = RowSetBuilder::new();
    let mut is_chosen = Vec::new();
    let mut one_chunk = |chunk: u32| -> Result<(), SegmentError> {
        let block = match choose(chunk, patterns, reader, &mut is_chosen) {
            Share::None => return Ok(()),
            Share::All => reader.layout.chunks.block(chunk),
            Share::Some => reader.layout.rows_of_cells(chunk, &is_chosen)?,
        };
        out.push_block(chunk, &block).map_err(|_| corrupt_rows())
    };
    match patterns.as_list() {
        // The chunks of few patterns are known without looking at all chunks.
        Some(list) if list.len() < 64 => {
            let mut chunks: Vec<u32> = list.iter().flat_map(|pattern| reader.layout.cells.of_pattern(*pattern)).map(|(chunk, _)| *chunk).collect();
            chunks.sort_unstable();
            chunks.dedup();
            chunks.into_iter().try_for_each(one_chunk)?;
        }
        _ => (0..reader.layout.chunks.len() as u32).try_for_each(&mut one_chunk)?,
    }
    Ok(out.finish())
}

/// The patterns that rows have, ascending.
pub(crate) fn patterns_of(rows: &RowSet, reader: &SegmentReader) -> Result<Vec<u32>, SegmentError> {
    let mut patterns = Vec::new();
    for (chunk, offsets) in rows.chunks() {
        let cells = reader.layout.cells.patterns(chunk);
        if offsets.count() == reader.layout.chunks.rows(chunk) {
            patterns.extend_from_slice(cells);
            continue;
        }
        let mut is_hit = vec![false; cells.len()];
        let column = reader.layout.cell_of_offset(chunk)?;
        for offset in offsets {
            *column.get(usize::from(offset)).and_then(|cell| is_hit.get_mut(usize::from(*cell))).ok_or_else(missing_row)? = true;
        }
        patterns.extend(cells.iter().zip(is_hit).filter(|(_, is_hit)| *is_hit).map(|(pattern, _)| *pattern));
    }
    patterns.sort_unstable();
    patterns.dedup();
    Ok(patterns)
}

fn missing_row() -> SegmentError {
    SegmentError::corrupt("postings", "a row does not exist")
}

/// Those of `rows` that are of one of `patterns` (`keep`), or those that are not.
pub(crate) fn filter(rows: &RowSet, patterns: &PatternSet, keep: bool, reader: &SegmentReader) -> Result<RowSet, SegmentError> {
    let mut out = RowSetBuilder::new();
    let mut is_chosen = Vec::new();
    for (chunk, offsets) in rows.chunks() {
        match (choose(chunk, patterns, reader, &mut is_chosen), keep) {
            (Share::None, true) | (Share::All, false) => {}
            (Share::None, false) | (Share::All, true) => out.push_offsets(chunk, offsets).map_err(|_| corrupt_rows())?,
            (Share::Some, _) if offsets.count() <= LOOKUP_ROWS_MAX => {
                let column = reader.layout.cell_of_offset(chunk)?;
                for offset in offsets {
                    let cell = usize::from(*column.get(usize::from(offset)).ok_or_else(missing_row)?);
                    if *is_chosen.get(cell).ok_or_else(missing_row)? == keep {
                        out.push(chunk, offset).map_err(|_| corrupt_rows())?;
                    }
                }
            }
            (Share::Some, _) => {
                let mut block = reader.layout.rows_of_cells(chunk, &is_chosen)?;
                let rows = offsets.to_block();
                for (word, rows) in block.0.iter_mut().zip(rows.0) {
                    *word = if keep { *word & rows } else { rows & !*word };
                }
                out.push_block(chunk, &block).map_err(|_| corrupt_rows())?;
            }
        }
    }
    Ok(out.finish())
}

/// How many of `rows` are of one of `patterns`.
pub(crate) fn count_common(rows: &RowSet, patterns: &PatternSet, reader: &SegmentReader) -> Result<u64, SegmentError> {
    let mut count = 0;
    let mut is_chosen = Vec::new();
    for (chunk, offsets) in rows.chunks() {
        count += match choose(chunk, patterns, reader, &mut is_chosen) {
            Share::None => 0,
            Share::All => u64::from(offsets.count()),
            Share::Some => count_common_in_chunk(chunk, offsets, &is_chosen, reader)?,
        };
    }
    Ok(count)
}

fn count_common_in_chunk(chunk: u32, offsets: Offsets<'_>, is_chosen: &[bool], reader: &SegmentReader) -> Result<u64, SegmentError> {
    if offsets.count() == reader.layout.chunks.rows(chunk) {
        // All rows of the chunk: the cells' counts say it.
        return Ok(reader.layout.cells.counts(chunk).iter().zip(is_chosen).filter(|(_, chosen)| **chosen).map(|(count, _)| u64::from(*count)).sum());
    }
    if offsets.count() <= LOOKUP_ROWS_MAX {
        let column = reader.layout.cell_of_offset(chunk)?;
        let mut count = 0;
        for offset in offsets {
            let cell = usize::from(*column.get(usize::from(offset)).ok_or_else(missing_row)?);
            count += u64::from(*is_chosen.get(cell).ok_or_else(missing_row)?);
        }
        return Ok(count);
    }
    let block = reader.layout.rows_of_cells(chunk, is_chosen)?;
    Ok(u64::from(kernels::active().and_count(&block, &offsets.to_block())))
}
