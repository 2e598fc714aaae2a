//! Rows in memory: the columns of up to 2,048 entries of one namespace, in arrival order. What ingest builds, a batch and a pack store, the
//! scan of live rows reads and a segment is built from.
//!
//! Bodies are split: a row has the local number of its pattern and its variables. What is not here: row addresses (the owner of the rows knows
//! the chunk and the first offset) and bytes on disk (`batch`, `pack`).

use siltstone_core::{NamespaceId, Value, pattern::PatternHash};

/// Columns of entries of one namespace (NS-1). Every per-row vector has `len` elements.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rows {
    /// The one namespace.
    pub namespace: NamespaceId,
    /// Distinct patterns in order of first appearance; the position is the local number.
    pub patterns: Vec<Pattern>,
    /// Per row: the local number of its pattern.
    pub pattern_ids: Vec<u32>,
    /// All variables' bytes, row by row, slot by slot, back to back.
    pub variable_bytes: Vec<u8>,
    /// The end of each variable in `variable_bytes`; the start is the end of the one before.
    pub variable_ends: Vec<u32>,
    /// Per row: the number of its first variable in `variable_ends`. Its count is its pattern's slot count.
    pub variable_starts: Vec<u32>,
    /// Per row: nanoseconds since the Unix epoch.
    pub timestamps_ns: Vec<i64>,
    /// Per row: OpenTelemetry's severity number.
    pub severities: Vec<u8>,
    /// Per row: the bits of `EntryFlags`.
    pub flags: Vec<u8>,
    /// The deployment of each row, empty if unknown.
    pub deployment: TagColumn,
    /// The pod of each row, empty if unknown.
    pub pod: TagColumn,
    /// The container of each row, empty if unknown.
    pub container: TagColumn,
    /// One column for each (name, type) that occurs, sorted by name, then by type in the order of [`AttributeValues`]'s variants.
    pub attributes: Vec<AttributeColumn>,
}

/// A pattern and its identity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// The 128-bit hash of (splitter version, bytes).
    pub hash: PatternHash,
    /// The words that stay, with a placeholder for each slot, as `siltstone_core::pattern` writes them.
    pub bytes: Box<[u8]>,
    /// How many variables a row of this pattern has.
    pub slots: u32,
}

/// A column of strings with few distinct values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TagColumn {
    /// Distinct values in order of first appearance.
    pub values: Vec<String>,
    /// Per row: the position of its value in `values`.
    pub ids: Vec<u32>,
}

/// The rows that have an attribute with values of one type.
#[derive(Clone, PartialEq, Debug)]
pub struct AttributeColumn {
    /// The attribute's name.
    pub name: String,
    /// The rows that have it, ascending.
    pub rows: Vec<u32>,
    /// Their values, as many as `rows`.
    pub values: AttributeValues,
}

/// Values of one type.
#[derive(Clone, PartialEq, Debug)]
pub enum AttributeValues {
    /// Text.
    Str(TagColumn),
    /// Whole numbers.
    Int(Vec<i64>),
    /// Floating-point numbers.
    Float(Vec<f64>),
    /// Truth values.
    Bool(Vec<bool>),
}

impl AttributeColumn {
    /// The value at position `index` of `rows`.
    #[must_use]
    pub fn value(&self, index: usize) -> Value {
        match &self.values {
            AttributeValues::Str(column) => Value::Str(column.values[column.ids[index] as usize].clone()),
            AttributeValues::Int(values) => Value::Int(values[index]),
            AttributeValues::Float(values) => Value::Float(values[index]),
            AttributeValues::Bool(values) => Value::Bool(values[index]),
        }
    }
}

impl TagColumn {
    /// The value of a row.
    #[must_use]
    pub fn value(&self, row: usize) -> &str {
        &self.values[self.ids[row] as usize]
    }
}

impl Rows {
    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pattern_ids.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pattern_ids.is_empty()
    }

    /// The pattern of a row.
    #[must_use]
    pub fn pattern(&self, row: usize) -> &Pattern {
        &self.patterns[self.pattern_ids[row] as usize]
    }

    /// The variables of a row, slot by slot.
    pub fn variables(&self, row: usize) -> impl Iterator<Item = &[u8]> {
        let first = self.variable_starts[row] as usize;
        (first..first + self.pattern(row).slots as usize).map(|variable| self.variable(variable))
    }

    fn variable(&self, variable: usize) -> &[u8] {
        let start = if variable == 0 { 0 } else { self.variable_ends[variable - 1] as usize };
        &self.variable_bytes[start..self.variable_ends[variable] as usize]
    }
}
