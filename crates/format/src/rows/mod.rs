//! Rows in memory: the columns of up to 2,048 entries of one namespace, in arrival order. What ingest builds, a batch and a pack store, the
//! scan of live rows reads and a segment is built from.
//!
//! Bodies are split: a row has the local number of its pattern and its variables. What is not here: row addresses (the owner of the rows knows
//! the chunk and the first offset) and bytes on disk (`batch`, `pack`).

mod builder;
mod check;
mod concat;
mod intern;
mod vectors;

pub use builder::{EntryRef, RowsBuilder};
pub use check::RowsError;
pub use vectors::VectorColumn;

use siltstone_core::pattern::{PatternHash, Piece, join, pieces};
use siltstone_core::{Entry, EntryFlags, EntryVector, NamespaceId, Severity, Value};

/// What a block of rows holds at most, as [`EntryRef::block_bytes`] and [`Rows::block_bytes`] count it: 256 MiB. A reader must be able to hold a
/// block, whoever wrote it. An ingest seals far earlier, so this bounds single giant entries.
pub const ROWS_BYTES_MAX: usize = 256 << 20;

/// What an attribute's value counts for beside its name and its text.
pub(crate) const ATTRIBUTE_BYTES: usize = 16;

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
    /// One column for each vector field that occurs, sorted by name.
    pub vectors: Vec<VectorColumn>,
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

/// A column of strings, each distinct value held once.
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

impl AttributeValues {
    /// The order of columns of one name: the position of the variant.
    #[must_use]
    pub fn type_order(&self) -> u8 {
        match self {
            Self::Str(_) => 0,
            Self::Int(_) => 1,
            Self::Float(_) => 2,
            Self::Bool(_) => 3,
        }
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Str(column) => column.ids.len(),
            Self::Int(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Bool(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
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

    /// The variable of a slot of a row.
    ///
    /// # Panics
    /// When the row's pattern has no such slot.
    #[must_use]
    pub fn variable_of(&self, row: usize, slot: usize) -> &[u8] {
        assert!(slot < self.pattern(row).slots as usize, "slot {slot} of a pattern with fewer");
        self.variable(self.variable_starts[row] as usize + slot)
    }

    fn variable(&self, variable: usize) -> &[u8] {
        let start = if variable == 0 { 0 } else { self.variable_ends[variable - 1] as usize };
        &self.variable_bytes[start..self.variable_ends[variable] as usize]
    }

    /// Appends the exact body of a row to `out`.
    pub fn body(&self, row: usize, out: &mut Vec<u8>) {
        join(&self.pattern(row).bytes, self.variables(row), out).expect("a row has as many variables as its pattern has slots");
    }

    /// A row as an entry of the namespace that is called `namespace`.
    #[must_use]
    pub fn entry(&self, row: usize, namespace: &str) -> Entry {
        let mut body = Vec::new();
        self.body(row, &mut body);
        Entry {
            namespace: namespace.to_owned(),
            deployment: self.deployment.value(row).to_owned(),
            pod: self.pod.value(row).to_owned(),
            container: self.container.value(row).to_owned(),
            timestamp_ns: Some(self.timestamps_ns[row]),
            severity: self.severity(row),
            body,
            attributes: self.attributes_of(row).map(|(name, value)| (name.to_owned(), value)).collect(),
            vectors: self.vectors_of(row).collect(),
        }
    }

    /// The severity of a row.
    #[must_use]
    pub fn severity(&self, row: usize) -> Severity {
        Severity::from_number(self.severities[row])
    }

    /// What was noticed about a row at arrival.
    #[must_use]
    pub fn flags(&self, row: usize) -> EntryFlags {
        EntryFlags(self.flags[row])
    }

    /// The attributes of a row, by name.
    pub fn attributes_of(&self, row: usize) -> impl Iterator<Item = (&str, Value)> {
        self.attributes.iter().filter_map(move |column| {
            let index = column.rows.binary_search(&u32::try_from(row).ok()?).ok()?;
            Some((column.name.as_str(), column.value(index)))
        })
    }

    /// The vectors of a row, by field; without numbers where only the fields were read.
    pub fn vectors_of(&self, row: usize) -> impl Iterator<Item = EntryVector> {
        let row = u32::try_from(row).ok();
        self.vectors.iter().filter_map(move |column| {
            let values = column.of_row(row?)?.to_vec();
            Some(EntryVector { field: column.field.clone(), values })
        })
    }

    /// The smallest and the largest timestamp; `None` without rows.
    #[must_use]
    pub fn time_range_ns(&self) -> Option<(i64, i64)> {
        Some((*self.timestamps_ns.iter().min()?, *self.timestamps_ns.iter().max()?))
    }

    /// The bytes of all bodies together.
    #[must_use]
    pub fn body_bytes(&self) -> u64 {
        let literals = self.patterns.iter().map(Pattern::literal_bytes).collect::<Vec<_>>();
        self.pattern_ids.iter().map(|id| literals[*id as usize]).sum::<u64>() + self.variable_bytes.len() as u64
    }

    /// What the block counts for against [`ROWS_BYTES_MAX`]: patterns, variables, distinct tags, attributes with their names, and
    /// vectors.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        let patterns = self.patterns.iter().map(|pattern| pattern.bytes.len()).sum::<usize>();
        let text = |column: &TagColumn| column.values.iter().map(String::len).sum::<usize>();
        let tags = [&self.deployment, &self.pod, &self.container].into_iter().map(text).sum::<usize>();
        let attributes = self.attributes.iter().map(|column| {
            let texts = if let AttributeValues::Str(values) = &column.values { text(values) } else { 0 };
            texts + column.rows.len() * (column.name.len() + ATTRIBUTE_BYTES)
        });
        let vectors = self.vectors.iter().map(VectorColumn::block_bytes).sum::<usize>();
        self.variable_bytes.len() + patterns + tags + attributes.sum::<usize>() + vectors
    }

    /// About how much memory the columns take, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        // Per row: a pattern number, a variable start, a timestamp, severity, flags and three tag numbers.
        const ROW_BYTES: usize = 4 + 4 + 8 + 1 + 1 + 3 * 4;
        let patterns = self.patterns.iter().map(|pattern| size_of::<Pattern>() + pattern.bytes.len()).sum::<usize>();
        let tags = [&self.deployment, &self.pod, &self.container].iter().map(|column| column.value_bytes()).sum::<usize>();
        let attributes = self.attributes.iter().map(AttributeColumn::memory_bytes).sum::<usize>();
        let vectors = self.vectors.iter().map(VectorColumn::memory_bytes).sum::<usize>();
        let variables = self.variable_bytes.len() + self.variable_ends.len() * 4;
        size_of::<Self>() + self.len() * ROW_BYTES + variables + patterns + tags + attributes + vectors
    }
}

impl Pattern {
    /// The bytes of a body that are not variables.
    #[must_use]
    pub fn literal_bytes(&self) -> u64 {
        let literal = |piece| if let Piece::Literal(bytes) = piece { bytes.len() as u64 } else { 0 };
        pieces(&self.bytes).map(literal).sum()
    }
}

impl TagColumn {
    fn value_bytes(&self) -> usize {
        self.values.iter().map(|value| size_of::<String>() + value.len()).sum()
    }
}

impl AttributeColumn {
    fn memory_bytes(&self) -> usize {
        let values = match &self.values {
            AttributeValues::Str(column) => column.ids.len() * 4 + column.value_bytes(),
            AttributeValues::Int(_) | AttributeValues::Float(_) => self.values.len() * 8,
            AttributeValues::Bool(_) => self.values.len(),
        };
        size_of::<Self>() + self.name.len() + self.rows.len() * 4 + values
    }
}

#[cfg(test)]
#[path = "rows_test.rs"]
pub(crate) mod tests;
