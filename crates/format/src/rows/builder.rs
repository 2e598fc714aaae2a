//! Rows from entries, one at a time, at the speed of the splitter.

use super::intern::{PatternIntern, TagIntern, hash_of};
use super::vectors::{check_vectors, push_vectors, vector_bytes};
use super::{ATTRIBUTE_BYTES, AttributeColumn, AttributeValues, ROWS_BYTES_MAX, Rows, RowsError, TagColumn};
use hashbrown::HashTable;
use siltstone_core::pattern::{PatternHash, Split, split};
use siltstone_core::{CHUNK_ROWS_MAX, EntryFlags, EntryVector, NamespaceId, Severity, Value};

/// An entry as ingest has it when its namespace and time are settled: borrowed parts.
#[derive(Clone, Copy, Debug)]
pub struct EntryRef<'a> {
    /// The line, byte for byte.
    pub body: &'a [u8],
    /// Nanoseconds since the Unix epoch.
    pub timestamp_ns: i64,
    /// How bad it is.
    pub severity: Severity,
    /// What was noticed at arrival.
    pub flags: EntryFlags,
    /// The workload, empty if unknown.
    pub deployment: &'a str,
    /// The pod, empty if unknown.
    pub pod: &'a str,
    /// The container, empty if unknown.
    pub container: &'a str,
    /// Everything else. Where a name repeats, the last value wins.
    pub attributes: &'a [(String, Value)],
    /// Vectors that came with it. Where a field repeats, the last one wins.
    pub vectors: &'a [EntryVector],
}

impl EntryRef<'_> {
    /// What the entry counts for against [`ROWS_BYTES_MAX`] at most. A body counts twice: each byte of it may need an escape in a pattern.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        let attribute = |(name, value): &(String, Value)| {
            let text = if let Value::Str(text) = value { text.len() } else { 0 };
            name.len() + text + ATTRIBUTE_BYTES
        };
        let tags = self.deployment.len() + self.pod.len() + self.container.len();
        let vectors = self.vectors.iter().map(|vector| vector_bytes(&vector.field, vector.values.len())).sum::<usize>();
        2 * self.body.len() + tags + self.attributes.iter().map(attribute).sum::<usize>() + vectors
    }
}

/// Collects the entries of one namespace (NS-1) into [`Rows`]. Made once, used for many blocks: its tables keep their memory.
#[derive(Default)]
pub struct RowsBuilder {
    rows: Rows,
    /// At least what [`Rows::block_bytes`] will say.
    bytes: usize,
    split: Split,
    patterns: PatternIntern,
    deployment: TagIntern,
    pod: TagIntern,
    container: TagIntern,
    names: HashTable<u32>,
    columns: Vec<NamedColumns>,
}

/// The columns of one attribute name, by type.
struct NamedColumns {
    name: String,
    /// One more than the last row that has the attribute.
    rows_seen: u32,
    strings: TagIntern,
    /// By [`AttributeValues::type_order`].
    by_type: [Option<AttributeColumn>; 4],
}

impl RowsBuilder {
    /// A builder of blocks of one namespace.
    #[must_use]
    pub fn new(namespace: NamespaceId) -> Self {
        Self { rows: Rows { namespace, ..Rows::default() }, ..Self::default() }
    }

    /// Drops what was pushed and begins a block of `namespace`.
    pub fn restart(&mut self, namespace: NamespaceId) {
        self.rows = Rows { namespace, ..Rows::default() };
        self.bytes = 0;
        self.patterns.clear();
        for tags in [&mut self.deployment, &mut self.pod, &mut self.container] {
            tags.clear();
        }
        self.names.clear();
        self.columns.clear();
    }

    /// How many rows were pushed since the last block.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether none were.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What the block counts for against [`ROWS_BYTES_MAX`] so far: about what it takes in memory beyond some 60 bytes a row.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// [`RowsError::Full`] when the block has [`CHUNK_ROWS_MAX`] rows or would pass [`ROWS_BYTES_MAX`]: finish it and push again;
    /// [`RowsError::EntryTooLong`] when no block can hold the entry; [`RowsError::Dimension`] when a vector has another length
    /// than those of its field. Nothing is changed then.
    pub fn push(&mut self, entry: &EntryRef<'_>) -> Result<(), RowsError> {
        let bytes = entry.block_bytes();
        if bytes > ROWS_BYTES_MAX {
            return Err(RowsError::EntryTooLong { bytes });
        }
        if self.len() == CHUNK_ROWS_MAX || self.bytes + bytes > ROWS_BYTES_MAX {
            return Err(RowsError::Full);
        }
        check_vectors(&self.rows.vectors, entry.vectors)?;
        // The body's share is known better once it is split.
        self.bytes += bytes - 2 * entry.body.len();
        let row = self.len() as u32;
        self.push_body(entry.body);
        self.rows.timestamps_ns.push(entry.timestamp_ns);
        self.rows.severities.push(entry.severity.number());
        self.rows.flags.push(entry.flags.0);
        self.deployment.push(&mut self.rows.deployment, entry.deployment);
        self.pod.push(&mut self.rows.pod, entry.pod);
        self.container.push(&mut self.rows.container, entry.container);
        // Backwards, so that the last value of a name is the first one seen.
        for (name, value) in entry.attributes.iter().rev() {
            self.push_attribute(row, name, value);
        }
        push_vectors(&mut self.rows.vectors, row, entry.vectors);
        Ok(())
    }

    fn push_body(&mut self, body: &[u8]) {
        split(body, &mut self.split);
        let pattern = self.split.pattern();
        let rows = &mut self.rows;
        let known = rows.patterns.len();
        let number = self.patterns.number(&mut rows.patterns, PatternHash::of(pattern), pattern, self.split.slots() as u32);
        if rows.patterns.len() > known {
            self.bytes += pattern.len();
        }
        rows.pattern_ids.push(number);
        rows.variable_starts.push(rows.variable_ends.len() as u32);
        let bytes = rows.variable_bytes.len();
        for variable in self.split.variables(body) {
            rows.variable_bytes.extend_from_slice(variable);
            rows.variable_ends.push(rows.variable_bytes.len() as u32);
        }
        self.bytes += rows.variable_bytes.len() - bytes;
    }

    fn push_attribute(&mut self, row: u32, name: &str, value: &Value) {
        let hash = hash_of(name.as_bytes());
        let columns = &mut self.columns;
        let number = match self.names.find(hash, |number| columns[*number as usize].name == name) {
            Some(number) => *number,
            None => {
                let number = columns.len() as u32;
                columns.push(NamedColumns { name: name.to_owned(), rows_seen: 0, strings: TagIntern::default(), by_type: [const { None }; 4] });
                self.names.insert_unique(hash, number, |number| hash_of(columns[*number as usize].name.as_bytes()));
                number
            }
        };
        self.columns[number as usize].push(row, value);
    }

    /// The rows that were pushed. The builder is empty then, for the same namespace.
    #[must_use]
    pub fn finish(&mut self) -> Rows {
        let mut rows = std::mem::take(&mut self.rows);
        self.columns.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        rows.attributes = self.columns.drain(..).flat_map(|columns| columns.by_type.into_iter().flatten()).collect();
        rows.vectors.sort_unstable_by(|left, right| left.field.cmp(&right.field));
        self.restart(rows.namespace);
        rows
    }
}

impl NamedColumns {
    fn push(&mut self, row: u32, value: &Value) {
        if self.rows_seen > row {
            return;
        }
        self.rows_seen = row + 1;
        let empty = match value {
            Value::Str(_) => AttributeValues::Str(TagColumn::default()),
            Value::Int(_) => AttributeValues::Int(Vec::new()),
            Value::Float(_) => AttributeValues::Float(Vec::new()),
            Value::Bool(_) => AttributeValues::Bool(Vec::new()),
        };
        let column = self.by_type[empty.type_order() as usize].get_or_insert_with(|| AttributeColumn {
            name: self.name.clone(),
            rows: Vec::new(),
            values: empty,
        });
        column.rows.push(row);
        match (&mut column.values, value) {
            (AttributeValues::Str(column), Value::Str(text)) => self.strings.push(column, text),
            (AttributeValues::Int(values), Value::Int(number)) => values.push(*number),
            (AttributeValues::Float(values), Value::Float(number)) => values.push(*number),
            (AttributeValues::Bool(values), Value::Bool(truth)) => values.push(*truth),
            _ => unreachable!("a column is chosen by the type of the value"),
        }
    }
}
