//! What holds for every block of rows, checked on each block that comes from bytes.

use super::{AttributeColumn, AttributeValues, Rows, TagColumn, VectorColumn};
use siltstone_core::pattern::slot_count;
use siltstone_core::{CHUNK_ROWS_MAX, ErrorKind, NamespaceId};

/// What went wrong with rows in memory.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RowsError {
    /// The block holds as much as a block may: finish it and begin another.
    #[error("push a row: the block is full")]
    Full,
    /// No block can hold the entry.
    #[error("push a row: the entry counts for {bytes} bytes, more than any block holds")]
    EntryTooLong {
        /// What it counts for.
        bytes: usize,
    },
    /// A vector of another length than those of its field, or without numbers, or with too many.
    #[error("push a row: a vector of {found} numbers does not fit its field")]
    Dimension {
        /// How many it has.
        found: usize,
    },
    /// There was nothing to join.
    #[error("join blocks of rows: there are none")]
    NoParts,
    /// NS-1: blocks of different namespaces.
    #[error("join blocks of rows: NS-1: one is of namespace {left}, another of {right}")]
    Namespaces {
        /// The first block's.
        left: NamespaceId,
        /// Another one's.
        right: NamespaceId,
    },
    /// The columns contradict each other.
    #[error("check a block of rows: {what}")]
    Inconsistent {
        /// Which part, and how.
        what: &'static str,
    },
}

impl RowsError {
    /// What the caller should do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Full => ErrorKind::Exhausted,
            Self::EntryTooLong { .. } | Self::Dimension { .. } => ErrorKind::InvalidInput,
            Self::NoParts | Self::Namespaces { .. } => ErrorKind::Internal,
            Self::Inconsistent { .. } => ErrorKind::Corrupt,
        }
    }
}

impl Rows {
    /// Whether every number points somewhere, so that no accessor can panic.
    ///
    /// # Errors
    /// [`RowsError::Inconsistent`] names the first part that does not hold.
    pub fn check(&self) -> Result<(), RowsError> {
        let rows = self.len();
        hold(rows <= CHUNK_ROWS_MAX, "more rows than a chunk holds")?;
        hold(self.patterns.len() <= CHUNK_ROWS_MAX, "more patterns than a chunk has rows")?;
        let lengths = [self.variable_starts.len(), self.timestamps_ns.len(), self.severities.len(), self.flags.len()];
        hold(lengths.iter().all(|length| *length == rows), "a column has another length than the rows")?;
        let is_pattern_true = |pattern: &super::Pattern| slot_count(&pattern.bytes) == pattern.slots as usize;
        hold(self.patterns.iter().all(is_pattern_true), "a pattern's slots were miscounted")?;
        hold(self.pattern_ids.iter().all(|id| (*id as usize) < self.patterns.len()), "a pattern number without a pattern")?;
        let mut next = 0_usize;
        for (row, start) in self.variable_starts.iter().enumerate() {
            hold(*start as usize == next, "a row's variables begin at the wrong place")?;
            next += self.pattern(row).slots as usize;
        }
        hold(next == self.variable_ends.len(), "more or fewer variables than slots")?;
        hold(self.variable_ends.is_sorted(), "variables overlap")?;
        let end = self.variable_ends.last().copied().unwrap_or(0);
        hold(end as usize == self.variable_bytes.len(), "variables and their bytes have different lengths")?;
        for column in [&self.deployment, &self.pod, &self.container] {
            check_tags(column, rows)?;
        }
        hold(self.attributes.is_sorted_by(|left, right| order(left) < order(right)), "attribute columns are out of order")?;
        self.attributes.iter().try_for_each(|column| check_attribute(column, rows))?;
        hold(self.vectors.is_sorted_by(|left, right| left.field < right.field), "vector columns are out of order")?;
        self.vectors.iter().try_for_each(|column| check_vectors(column, rows))
    }
}

fn order(column: &AttributeColumn) -> (&str, u8) {
    (&column.name, column.values.type_order())
}

fn check_tags(column: &TagColumn, rows: usize) -> Result<(), RowsError> {
    hold(column.ids.len() == rows, "a tag column has another length than the rows")?;
    hold(column.ids.iter().all(|id| (*id as usize) < column.values.len()), "a tag number without a value")
}

fn check_attribute(column: &AttributeColumn, rows: usize) -> Result<(), RowsError> {
    hold(column.rows.is_sorted_by(|left, right| left < right), "the rows of an attribute are out of order")?;
    hold(column.rows.last().is_none_or(|row| (*row as usize) < rows), "an attribute of a row that is not there")?;
    hold(column.values.len() == column.rows.len(), "an attribute has more or fewer values than rows")?;
    if let AttributeValues::Str(tags) = &column.values { check_tags(tags, column.rows.len()) } else { Ok(()) }
}

fn check_vectors(column: &VectorColumn, rows: usize) -> Result<(), RowsError> {
    let dimension = column.dimension as usize;
    hold((1..=crate::vectors::DIMENSION_MAX).contains(&dimension), "a vector field has no dimension, or too many")?;
    hold(!column.rows.is_empty() && column.rows.is_sorted_by(|left, right| left < right), "the rows of vectors are out of order")?;
    hold(column.rows.last().is_none_or(|row| (*row as usize) < rows), "a vector of a row that is not there")?;
    hold(!column.is_loaded() || column.values.len() == column.rows.len() * dimension, "more or fewer numbers than vectors")
}

fn hold(truth: bool, what: &'static str) -> Result<(), RowsError> {
    if truth { Ok(()) } else { Err(RowsError::Inconsistent { what }) }
}
