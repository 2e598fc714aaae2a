//! Rows of a Parquet file to entries, without Arrow.
//!
//! Columns outside lists and maps, those of structs included, are read as columns, a few rows at a time; a column of a struct has the path of its
//! names as its name. Lists of floats become vectors, other lists and maps JSON text. Row groups are read one after the other, pages as they are
//! needed.
//!
//! The decoder may panic on damaged files, so every call into it is guarded, and a panic is an error of the file.
//!
//! What is deliberately not here: encrypted files, predicates, the page index, codecs beyond snappy, gzip, zstd and lz4.

mod column;
mod nested;

use crate::batch::RefusalReason;
use crate::entry::{EntryMaker, Outcome, Refused};
use crate::error::ImportError;
use crate::input::{ContentId, HashProgress, fault_to_error, hash_content};
use crate::limits::LINE_BYTES_MAX;
use crate::lines::Place;
use column::FlatColumn;
use nested::NestedColumns;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How many rows are decoded at a time. Small, because a row may hold a body of a megabyte.
const ROWS_AT_A_TIME: usize = 128;

/// The rows of a Parquet file.
pub(crate) struct ParquetRows {
    source_name: String,
    reader: SerializedFileReader<File>,
    file: File,
    expected: Option<ContentId>,
    bytes_total: u64,
    rows_total: u64,
    row_group: usize,
    group: Option<Group>,
    rows_done: u64,
    is_done: bool,
}

/// The columns of the row group that is being read.
struct Group {
    flat: Vec<FlatColumn>,
    nested: Option<NestedColumns>,
    rows_left: usize,
    /// Rows of the flat columns that were decoded and not yet given.
    rows_decoded: usize,
}

impl ParquetRows {
    /// Reads the file's footer.
    pub(crate) fn open(file: File, expected: Option<ContentId>, source_name: &str) -> Result<Self, ImportError> {
        let open_error = |error| ImportError::Open { source_name: source_name.to_owned(), error };
        let twin = file.try_clone().map_err(open_error)?;
        let bytes_total = file.metadata().map_err(open_error)?.len();
        let reader = guard(|| SerializedFileReader::new(file).map_err(|error| error.to_string())).map_err(|detail| ImportError::Parquet {
            source_name: source_name.to_owned(),
            row: 0,
            detail,
        })?;
        let rows_total = u64::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0);
        Ok(Self {
            source_name: source_name.to_owned(),
            reader,
            file: twin,
            expected,
            bytes_total,
            rows_total,
            row_group: 0,
            group: None,
            rows_done: 0,
            is_done: false,
        })
    }

    /// How much of the file the rows so far stand for, in bytes.
    pub(crate) fn raw_bytes_read(&self) -> u64 {
        if self.is_done || self.rows_total == 0 {
            return self.bytes_total;
        }
        let share = u128::from(self.bytes_total) * u128::from(self.rows_done.min(self.rows_total)) / u128::from(self.rows_total);
        u64::try_from(share).unwrap_or(self.bytes_total)
    }

    /// The next row as an entry, or as the reason why it is none.
    pub(crate) fn next(&mut self, maker: &EntryMaker) -> Result<Option<(Outcome, Place)>, ImportError> {
        let fault = |detail, row| ImportError::Parquet { source_name: self.source_name.clone(), row, detail };
        loop {
            if let Some(group) = &mut self.group {
                if group.rows_left > 0 {
                    let rows_done = self.rows_done;
                    let (made, bytes) = guard(|| group.next(maker)).map_err(|detail| fault(detail, rows_done))?;
                    self.rows_done += 1;
                    let place = Place { number: self.rows_done, offset: rows_done, bytes };
                    return Ok(Some((made, place)));
                }
                self.group = None;
            }
            if self.row_group == self.reader.num_row_groups() {
                self.finish()?;
                return Ok(None);
            }
            let (reader, row_group) = (&self.reader, self.row_group);
            let group = guard(|| Group::open(reader, row_group)).map_err(|detail| fault(detail, self.rows_done))?;
            self.group = Some(group);
            self.row_group += 1;
        }
    }

    /// Checks that the file is still the one that was hashed: it was read here and there, so only another pass can tell.
    fn finish(&mut self) -> Result<(), ImportError> {
        if self.is_done {
            return Ok(());
        }
        self.is_done = true;
        let Some(expected) = self.expected else { return Ok(()) };
        let found = hash_content(&mut self.file, &mut |_: HashProgress| {}).map_err(|error| fault_to_error(error, &self.source_name, 0))?;
        if found == expected { Ok(()) } else { Err(ImportError::Changed { source_name: self.source_name.clone() }) }
    }
}

impl Group {
    fn open(reader: &SerializedFileReader<File>, row_group: usize) -> Result<Self, String> {
        let group = reader.get_row_group(row_group).map_err(|error| error.to_string())?;
        let rows_left = usize::try_from(group.metadata().num_rows()).map_err(|_| "a row group has less than no rows".to_owned())?;
        let schema = group.metadata().schema_descr_ptr();
        let repeated: Vec<usize> = (0..schema.num_columns()).filter(|&index| schema.column(index).max_rep_level() > 0).collect();
        // A field at the top that has a list or map anywhere in it is read whole, by the reader of rows.
        let is_nested = |index: usize| repeated.iter().any(|&other| schema.get_column_root_idx(other) == schema.get_column_root_idx(index));
        let mut flat = Vec::new();
        for index in (0..schema.num_columns()).filter(|&index| !is_nested(index)) {
            flat.push(FlatColumn::open(group.as_ref(), index)?);
        }
        let nested = if repeated.is_empty() { None } else { Some(NestedColumns::open(group.as_ref(), &schema, &is_nested)?) };
        Ok(Self { flat, nested, rows_left, rows_decoded: 0 })
    }

    /// One row: as an entry or refused, and the bytes of its values.
    fn next(&mut self, maker: &EntryMaker) -> Result<(Outcome, u64), String> {
        if self.rows_decoded == 0 {
            let rows = self.rows_left.min(ROWS_AT_A_TIME);
            for column in &mut self.flat {
                column.decode(rows)?;
            }
            self.rows_decoded = rows;
        }
        self.rows_left -= 1;
        self.rows_decoded -= 1;
        let takes_vector = |name: &str| maker.takes_vector(name);
        let nested = self.nested.as_mut().map(|nested| nested.next(&takes_vector)).transpose()?.unwrap_or_default();
        let mut gather = maker.gather();
        let mut bytes = 0;
        let mut result = Ok(());
        let values = self.flat.iter_mut().filter_map(FlatColumn::next);
        let nested_values = nested.values.iter().map(|(name, value)| (name.as_str(), value.clone()));
        for (name, value) in values.chain(nested_values) {
            bytes += value.bytes() as u64;
            if value.bytes() > 2 * LINE_BYTES_MAX {
                let detail = format!("the column {name} has about {} bytes, more than {LINE_BYTES_MAX}", value.bytes());
                result = Err(Refused { reason: RefusalReason::LineTooLong, detail });
                continue;
            }
            if result.is_ok() {
                result = match gather.slot(name) {
                    Some(slot) => {
                        gather.fill(slot, value);
                        Ok(())
                    }
                    None => gather.attribute(name, &value),
                };
            }
        }
        for (name, values) in nested.vectors {
            bytes += (values.len() * size_of::<f32>()) as u64;
            result = result.and_then(|()| gather.vector(&name, values));
        }
        let made = result.and_then(|()| gather.finish()).and_then(|made| {
            if made.entry.body.len() > LINE_BYTES_MAX {
                let detail = format!("a body of {} bytes, more than {LINE_BYTES_MAX}", made.entry.body.len());
                return Err(Refused { reason: RefusalReason::LineTooLong, detail });
            }
            Ok(made)
        });
        Ok((made, bytes))
    }
}

/// Calls the decoder. What it says of an error or a panic is the error.
fn guard<T>(call: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // Whatever the panic left behind is not used again: the error ends the source.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("the decoder gave up: {}", message.unwrap_or("no reason given")))
    })
}

#[cfg(test)]
#[path = "parquet_test.rs"]
mod tests;
