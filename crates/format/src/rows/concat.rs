//! Blocks of one namespace, one after the other, as one block: the slices of a chunk before it is packed.

use super::intern::{PatternIntern, TagIntern};
use super::vectors::concat_vectors;
use super::{AttributeColumn, AttributeValues, ROWS_BYTES_MAX, Rows, RowsError, TagColumn};
use siltstone_core::CHUNK_ROWS_MAX;
use std::collections::BTreeMap;

impl Rows {
    /// All rows of `parts`, in order. Local numbers of patterns and tags are given anew.
    ///
    /// # Errors
    /// [`RowsError::NoParts`] without parts; [`RowsError::Namespaces`] when they are of different namespaces (NS-1);
    /// [`RowsError::Full`] when they have more rows or bytes than one block may have; [`RowsError::Inconsistent`] when vectors of one field have
    /// different dimensions.
    pub fn concat(parts: &[&Self]) -> Result<Self, RowsError> {
        let Some(first) = parts.first() else { return Err(RowsError::NoParts) };
        if let Some(other) = parts.iter().find(|part| part.namespace != first.namespace) {
            return Err(RowsError::Namespaces { left: first.namespace, right: other.namespace });
        }
        let total = parts.iter().map(|part| part.len()).sum::<usize>();
        // Patterns that parts share are counted more than once; the bound is far from any real chunk.
        if total > CHUNK_ROWS_MAX || parts.iter().map(|part| part.block_bytes()).sum::<usize>() > ROWS_BYTES_MAX {
            return Err(RowsError::Full);
        }
        let mut joined = Self { namespace: first.namespace, ..Self::default() };
        joined.concat_bodies(parts);
        for part in parts {
            joined.timestamps_ns.extend_from_slice(&part.timestamps_ns);
            joined.severities.extend_from_slice(&part.severities);
            joined.flags.extend_from_slice(&part.flags);
        }
        joined.deployment = concat_tags(parts.iter().map(|part| &part.deployment));
        joined.pod = concat_tags(parts.iter().map(|part| &part.pod));
        joined.container = concat_tags(parts.iter().map(|part| &part.container));
        joined.attributes = concat_attributes(parts);
        joined.vectors = concat_vectors(parts.iter().map(|part| (part.len(), part.vectors.as_slice())))?;
        Ok(joined)
    }

    fn concat_bodies(&mut self, parts: &[&Self]) {
        let mut numbers = PatternIntern::default();
        for part in parts {
            let mut number = |pattern: &super::Pattern| numbers.number(&mut self.patterns, pattern.hash, &pattern.bytes, pattern.slots);
            let map = part.patterns.iter().map(&mut number).collect::<Vec<_>>();
            let (bytes, variables) = (self.variable_bytes.len() as u32, self.variable_ends.len() as u32);
            self.pattern_ids.extend(part.pattern_ids.iter().map(|id| map[*id as usize]));
            self.variable_bytes.extend_from_slice(&part.variable_bytes);
            self.variable_ends.extend(part.variable_ends.iter().map(|end| bytes + end));
            self.variable_starts.extend(part.variable_starts.iter().map(|start| variables + start));
        }
    }
}

fn concat_tags<'a>(parts: impl Iterator<Item = &'a TagColumn>) -> TagColumn {
    let mut joined = TagColumn::default();
    let mut numbers = TagIntern::default();
    for part in parts {
        append_tags(&mut joined, &mut numbers, part);
    }
    joined
}

fn append_tags(joined: &mut TagColumn, numbers: &mut TagIntern, part: &TagColumn) {
    let map = part.values.iter().map(|value| numbers.number(&mut joined.values, value)).collect::<Vec<_>>();
    joined.ids.extend(part.ids.iter().map(|id| map[*id as usize]));
}

fn concat_attributes(parts: &[&Rows]) -> Vec<AttributeColumn> {
    let mut columns = BTreeMap::<(&str, u8), (AttributeColumn, TagIntern)>::new();
    let mut first_row = 0;
    for part in parts {
        for column in &part.attributes {
            let key = (column.name.as_str(), column.values.type_order());
            let (joined, numbers) = columns.entry(key).or_insert_with(|| {
                let values = match column.values {
                    AttributeValues::Str(_) => AttributeValues::Str(TagColumn::default()),
                    AttributeValues::Int(_) => AttributeValues::Int(Vec::new()),
                    AttributeValues::Float(_) => AttributeValues::Float(Vec::new()),
                    AttributeValues::Bool(_) => AttributeValues::Bool(Vec::new()),
                };
                (AttributeColumn { name: column.name.clone(), rows: Vec::new(), values }, TagIntern::default())
            });
            joined.rows.extend(column.rows.iter().map(|row| first_row + row));
            match (&mut joined.values, &column.values) {
                (AttributeValues::Str(joined), AttributeValues::Str(part)) => append_tags(joined, numbers, part),
                (AttributeValues::Int(joined), AttributeValues::Int(part)) => joined.extend_from_slice(part),
                (AttributeValues::Float(joined), AttributeValues::Float(part)) => joined.extend_from_slice(part),
                (AttributeValues::Bool(joined), AttributeValues::Bool(part)) => joined.extend_from_slice(part),
                _ => unreachable!("columns meet by type"),
            }
        }
        first_row += part.len() as u32;
    }
    columns.into_values().map(|(column, _)| column).collect()
}
