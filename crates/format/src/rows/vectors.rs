//! Vectors that came with entries, as columns: a field's vectors side by side.

use super::{ATTRIBUTE_BYTES, RowsError};
use siltstone_core::EntryVector;

/// The rows that have a vector of one field.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct VectorColumn {
    /// The field's name.
    pub field: String,
    /// Numbers in each vector, 1..=[`DIMENSION_MAX`](crate::vectors::DIMENSION_MAX).
    pub dimension: u32,
    /// The rows that have one, ascending; one at least.
    pub rows: Vec<u32>,
    /// Their vectors, back to back; empty where only the fields were read.
    pub values: Vec<f32>,
}

impl VectorColumn {
    /// Whether the vectors themselves are here.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        !self.values.is_empty()
    }

    /// The vector at position `index` of `rows`; no numbers where only the fields were read.
    ///
    /// # Panics
    /// When the vectors are here and there are fewer.
    #[must_use]
    pub fn vector(&self, index: usize) -> &[f32] {
        let dimension = self.dimension as usize;
        if self.is_loaded() { &self.values[index * dimension..][..dimension] } else { &[] }
    }

    /// The vector of a row: no numbers where only the fields were read, `None` where the row has none.
    #[must_use]
    pub fn of_row(&self, row: u32) -> Option<&[f32]> {
        self.rows.binary_search(&row).ok().map(|index| self.vector(index))
    }

    /// What the column counts for against [`ROWS_BYTES_MAX`](super::ROWS_BYTES_MAX), whether its vectors are here or not.
    #[must_use]
    pub(super) fn block_bytes(&self) -> usize {
        self.rows.len() * vector_bytes(&self.field, self.dimension as usize)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.field.len() + 4 * (self.rows.len() + self.values.len())
    }
}

/// What a vector counts for.
pub(super) const fn vector_bytes(field: &str, dimension: usize) -> usize {
    field.len() + dimension * 4 + ATTRIBUTE_BYTES
}

/// Whether vectors can be pushed as a row that follows all others: of each field the dimension of the column.
pub(super) fn check_vectors(columns: &[VectorColumn], vectors: &[EntryVector]) -> Result<(), RowsError> {
    for (at, vector) in vectors.iter().enumerate() {
        let found = vector.values.len();
        let known = columns.iter().find(|column| column.field == vector.field).map(|column| column.dimension as usize);
        let dimension = known.or_else(|| vectors[..at].iter().find(|other| other.field == vector.field).map(|other| other.values.len()));
        if found == 0 || found > crate::vectors::DIMENSION_MAX || dimension.is_some_and(|dimension| dimension != found) {
            return Err(RowsError::Dimension { found });
        }
    }
    Ok(())
}

/// Pushes vectors that were checked. The last one of a field wins.
pub(super) fn push_vectors(columns: &mut Vec<VectorColumn>, row: u32, vectors: &[EntryVector]) {
    for vector in vectors.iter().rev() {
        let place = columns.iter().position(|column| column.field == vector.field).unwrap_or_else(|| {
            columns.push(VectorColumn { field: vector.field.clone(), dimension: vector.values.len() as u32, ..VectorColumn::default() });
            columns.len() - 1
        });
        let column = &mut columns[place];
        if column.rows.last() != Some(&row) {
            column.rows.push(row);
            column.values.extend_from_slice(&vector.values);
        }
    }
}

/// The columns of blocks, one after the other. `parts`: the number of rows of each block, and its columns.
pub(super) fn concat_vectors<'a, I>(parts: I) -> Result<Vec<VectorColumn>, RowsError>
where
    I: Iterator<Item = (usize, &'a [VectorColumn])>,
{
    let mut joined = std::collections::BTreeMap::<&str, VectorColumn>::new();
    let mut first_row = 0;
    for (rows, columns) in parts {
        for column in columns {
            let empty = || VectorColumn { field: column.field.clone(), dimension: column.dimension, ..VectorColumn::default() };
            let into = joined.entry(&column.field).or_insert_with(empty);
            if into.dimension != column.dimension {
                return Err(RowsError::Inconsistent { what: "vectors of one field have different dimensions" });
            }
            if !into.rows.is_empty() && into.is_loaded() != column.is_loaded() {
                return Err(RowsError::Inconsistent { what: "vectors of some blocks were read, of others only their fields" });
            }
            into.rows.extend(column.rows.iter().map(|row| first_row + row));
            into.values.extend_from_slice(&column.values);
        }
        first_row += rows as u32;
    }
    Ok(joined.into_values().collect())
}
