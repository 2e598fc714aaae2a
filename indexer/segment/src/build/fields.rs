//! The rows of each field value, severity and field.

use crate::key;
use rustc_hash::FxHashMap;
use siltstone_core::Value;
use siltstone_core::address::CHUNK_ROWS_BITS;
use siltstone_format::{AttributeValues, Rows, TagColumn};
use siltstone_query::Field;

/// Rows by key, ascending.
#[derive(Default)]
pub(super) struct FieldRows {
    rows: FxHashMap<Vec<u8>, Vec<u32>>,
}

impl FieldRows {
    pub(super) fn add_rows(&mut self, rows: &Rows, offsets: &[u16], first_row: u32) {
        let row = |index: usize| first_row | u32::from(offsets[index]);
        for (field, column) in [(Field::Deployment, &rows.deployment), (Field::Pod, &rows.pod), (Field::Container, &rows.container)] {
            self.add_tags(&key::field(&field), column, (0..rows.len()).map(row), true);
        }
        let mut by_severity: [Vec<u32>; 256] = std::array::from_fn(|_| Vec::new());
        for (index, severity) in rows.severities.iter().enumerate() {
            by_severity[usize::from(*severity)].push(row(index));
        }
        for (number, rows) in by_severity.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            self.extend(&key::severity(number as u8), rows);
        }
        for column in &rows.attributes {
            let prefix = key::attribute(&column.name);
            let present = column.rows.iter().map(|index| row(*index as usize));
            match &column.values {
                AttributeValues::Str(tags) => self.add_tags(&prefix, tags, present, false),
                AttributeValues::Int(values) => self.add_values(&prefix, values.iter().map(|value| Value::Int(*value)), present),
                AttributeValues::Float(values) => self.add_values(&prefix, values.iter().map(|value| Value::Float(*value)), present),
                AttributeValues::Bool(values) => self.add_values(&prefix, values.iter().map(|value| Value::Bool(*value)), present),
            }
        }
    }

    /// Text values. A tag is absent where it is empty; an attribute is not.
    fn add_tags<I>(&mut self, prefix: &[u8], column: &TagColumn, rows: I, is_empty_absent: bool)
    where
        I: Iterator<Item = u32>,
    {
        let mut by_value: Vec<Vec<u32>> = vec![Vec::new(); column.values.len()];
        let mut exists = Vec::with_capacity(column.ids.len());
        for (id, row) in column.ids.iter().zip(rows) {
            if !(is_empty_absent && column.values[*id as usize].is_empty()) {
                by_value[*id as usize].push(row);
                exists.push(row);
            }
        }
        for (value, rows) in column.values.iter().zip(by_value).filter(|(_, rows)| !rows.is_empty()) {
            let mut key = prefix.to_vec();
            key::push_str(&mut key, value);
            self.extend(&key, rows);
        }
        self.add_exists(prefix, exists);
    }

    fn add_values<V, I>(&mut self, prefix: &[u8], values: V, rows: I)
    where
        V: Iterator<Item = Value>,
        I: Iterator<Item = u32>,
    {
        let mut exists = Vec::new();
        let mut key = prefix.to_vec();
        for (value, row) in values.zip(rows) {
            exists.push(row);
            key.truncate(prefix.len());
            if key::push_value(&mut key, &value) {
                match self.rows.get_mut(&key) {
                    Some(rows) => rows.push(row),
                    None => drop(self.rows.insert(key.clone(), vec![row])),
                }
            }
        }
        self.add_exists(prefix, exists);
    }

    fn add_exists(&mut self, prefix: &[u8], rows: Vec<u32>) {
        if !rows.is_empty() {
            let mut key = prefix.to_vec();
            key.push(key::EXISTS);
            self.extend(&key, rows);
        }
    }

    fn extend(&mut self, key: &[u8], rows: Vec<u32>) {
        match self.rows.get_mut(key) {
            Some(known) => known.extend_from_slice(&rows),
            None => drop(self.rows.insert(key.to_vec(), rows)),
        }
    }

    /// The keys in order, each with its rows, ascending and distinct.
    pub(super) fn into_sorted(self) -> Vec<(Vec<u8>, Vec<u32>)> {
        let mut sorted: Vec<_> = self.rows.into_iter().collect();
        sorted.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        for (_, rows) in &mut sorted {
            order_within_chunks(rows);
        }
        sorted
    }
}

/// An attribute with values of several types gives its rows type by type, chunk by chunk: within a chunk they are not in order.
fn order_within_chunks(rows: &mut Vec<u32>) {
    if !rows.is_sorted_by(|left, right| left < right) {
        debug_assert!(rows.is_sorted_by_key(|row| row >> CHUNK_ROWS_BITS), "chunks ascend");
        rows.sort_unstable();
        rows.dedup();
    }
}
