//! Writing the bodies of a chunk.

use super::column::ColumnWriter;
use super::streams::Streams;
use crate::columns::{put_planes, width_of};
use crate::rows::Rows;
use crate::wire::put_varint;

/// The variables of a pattern with fewer rows are written row by row: heads would cost more than columns save.
pub(super) const COLUMN_ROWS_MIN: usize = 4;

/// Writes bodies into streams, in memory that is used again.
#[derive(Default)]
pub(super) struct BodyWriter {
    columns: ColumnWriter,
    /// Rows by pattern: `order[starts[p]..starts[p + 1]]` are those of pattern `p`.
    order: Vec<u32>,
    starts: Vec<u32>,
}

impl BodyWriter {
    pub(super) fn put(&mut self, rows: &Rows, streams: &mut Streams) {
        self.group(rows);
        let ids = rows.pattern_ids.iter().map(|id| u64::from(*id)).collect::<Vec<_>>();
        put_planes(&mut streams.ids, &ids, width_of(rows.patterns.len().saturating_sub(1) as u64));
        let mut values = Vec::new();
        for (pattern, range) in self.starts.windows(2).enumerate() {
            let members = &self.order[range[0] as usize..range[1] as usize];
            if members.len() < COLUMN_ROWS_MIN {
                for row in members {
                    for value in rows.variables(*row as usize) {
                        put_varint(&mut streams.lengths, value.len() as u64);
                        streams.text.extend_from_slice(value);
                    }
                }
                continue;
            }
            self.columns.begin_pattern();
            let value_of = |slot: usize, index: usize| rows.variable_of(members[index] as usize, slot);
            for slot in 0..rows.patterns[pattern].slots as usize {
                values.clear();
                values.extend((0..members.len()).map(|index| value_of(slot, index)));
                self.columns.put(&values, value_of, streams);
            }
        }
    }

    /// Sorts the rows by pattern, in order within each.
    fn group(&mut self, rows: &Rows) {
        self.starts.clear();
        self.starts.resize(rows.patterns.len() + 1, 0);
        for id in &rows.pattern_ids {
            self.starts[*id as usize + 1] += 1;
        }
        for pattern in 0..rows.patterns.len() {
            self.starts[pattern + 1] += self.starts[pattern];
        }
        let mut next = self.starts.clone();
        self.order.clear();
        self.order.resize(rows.len(), 0);
        for (row, id) in rows.pattern_ids.iter().enumerate() {
            let place = &mut next[*id as usize];
            self.order[*place as usize] = row as u32;
            *place += 1;
        }
    }
}
