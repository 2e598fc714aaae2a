//! The patterns of the rows that match.

use super::{Evaluator, Found};
use crate::error::SegmentError;
use crate::source::PatternCount;
use rustc_hash::FxHashMap;
use siltstone_core::RowAddress;
use siltstone_query::Expr;

/// What is known so far of a pattern's matching rows.
#[derive(Clone, Copy)]
struct Seen {
    count: u64,
    first_ns: i64,
    last_ns: i64,
    example: RowAddress,
}

impl Evaluator<'_> {
    pub(crate) fn patterns(&self, expr: &Expr) -> Result<Vec<PatternCount>, SegmentError> {
        let found = self.found(expr)?;
        let mut seen = self.single_rows(&found)?;
        self.whole_patterns(&found, &mut seen)?;
        let mut out = Vec::with_capacity(seen.len());
        for (pattern, Seen { count, first_ns, last_ns, example }) in seen {
            let bytes = self.reader.patterns.bytes(pattern)?;
            out.push(PatternCount { hash: self.reader.patterns.hash(pattern)?, bytes: bytes.into(), count, first_ns, last_ns, example });
        }
        Ok(out)
    }

    /// Patterns of rows that were found one by one.
    fn single_rows(&self, found: &Found) -> Result<FxHashMap<u32, Seen>, SegmentError> {
        let mut seen: FxHashMap<u32, Seen> = FxHashMap::default();
        let rows =
            if found.patterns.is_empty() { found.rows.clone() } else { super::found::filter(&found.rows, &found.patterns, false, self.reader)? };
        for (ordinal, offsets) in rows.chunks() {
            let times = self.timestamps(ordinal)?;
            let chunk = self.reader.chunks()[ordinal as usize].id;
            for offset in offsets {
                let time = self.time_of(ordinal, offset, &times)?;
                let address = RowAddress::new(chunk, usize::from(offset));
                let pattern = self.reader.layout.pattern_of(ordinal, offset)?;
                let one = || Seen { count: 0, first_ns: time, last_ns: time, example: address };
                let seen = seen.entry(pattern).or_insert_with(one);
                seen.count += 1;
                seen.first_ns = seen.first_ns.min(time);
                seen.last_ns = seen.last_ns.max(time);
                seen.example = seen.example.max(address);
            }
        }
        Ok(seen)
    }

    /// Patterns that were found whole: all is known but an example, which is the last row of the last cell.
    fn whole_patterns(&self, found: &Found, seen: &mut FxHashMap<u32, Seen>) -> Result<(), SegmentError> {
        let cells = &self.reader.layout.cells;
        let mut wanted: FxHashMap<u32, Vec<u16>> = FxHashMap::default();
        for pattern in found.patterns.iter() {
            // A pattern without rows is none that matches.
            if let Some((chunk, cell)) = cells.of_pattern(pattern).last() {
                wanted.entry(*chunk).or_default().push(*cell);
            }
        }
        for (ordinal, wanted) in wanted {
            let column = self.reader.layout.cell_of_offset(ordinal)?;
            let patterns = cells.patterns(ordinal);
            let mut last = vec![None; patterns.len()];
            for (offset, cell) in column.iter().enumerate() {
                if let Some(last) = last.get_mut(usize::from(*cell)) {
                    *last = Some(offset);
                }
            }
            let chunk = self.reader.chunks()[ordinal as usize].id;
            for cell in wanted {
                let offset = last[usize::from(cell)].ok_or(SegmentError::corrupt("forward", "a cell has no rows"))?;
                let pattern = patterns[usize::from(cell)];
                let meta = self.reader.patterns.meta(pattern);
                let count = u64::from(self.reader.pattern_rows[pattern as usize]);
                let example = RowAddress::new(chunk, offset);
                seen.insert(pattern, Seen { count, first_ns: meta.first_ns, last_ns: meta.last_ns, example });
            }
        }
        Ok(())
    }
}
