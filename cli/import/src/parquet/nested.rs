//! Fields with lists or maps in them, as JSON text.

use crate::entry::{Given, text_or_hexadecimal};
use parquet::file::reader::RowGroupReader;
use parquet::record::Field;
use parquet::record::reader::{ReaderIter, TreeBuilder};
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor, Type};
use std::borrow::Cow;
use std::fmt::{Display, Write};
use std::sync::Arc;

/// The fields of a row group that have lists or maps in them, read row by row.
pub(super) struct NestedColumns {
    rows: ReaderIter,
}

impl NestedColumns {
    pub(super) fn open(group: &dyn RowGroupReader, schema: &SchemaDescPtr, is_nested: &dyn Fn(usize) -> bool) -> Result<Self, String> {
        let mut roots: Vec<usize> =
            (0..schema.num_columns()).filter(|&index| is_nested(index)).map(|index| schema.get_column_root_idx(index)).collect();
        roots.dedup();
        let fields = roots.iter().filter_map(|&root| schema.root_schema().get_fields().get(root).cloned()).collect();
        let projected = Type::group_type_builder(schema.root_schema().name()).with_fields(fields).build().map_err(|error| error.to_string())?;
        let projected = Arc::new(SchemaDescriptor::new(Arc::new(projected)));
        let rows = TreeBuilder::new().with_batch_size(super::ROWS_AT_A_TIME).as_iter(projected, group).map_err(|error| error.to_string())?;
        Ok(Self { rows })
    }

    /// The values of the next row, by name.
    pub(super) fn next(&mut self) -> Result<Vec<(String, Given<'static>)>, String> {
        let row = self.rows.next().ok_or("the lists and maps have fewer rows than the other columns")?.map_err(|error| error.to_string())?;
        let mut values = Vec::new();
        for (name, field) in row.get_column_iter() {
            if !matches!(field, Field::Null) {
                let mut text = String::new();
                write_json(field, &mut text);
                values.push((name.clone(), Given::Json(Cow::Owned(text))));
            }
        }
        Ok(values)
    }
}

fn write_json(field: &Field, to: &mut String) {
    match field {
        Field::Null => to.push_str("null"),
        Field::Str(text) => write_string(text, to),
        Field::Bytes(bytes) => write_string(&text_or_hexadecimal(bytes.data()), to),
        Field::Float16(number) => write_float(f64::from(*number), to),
        Field::Float(number) => write_float(f64::from(*number), to),
        Field::Double(number) => write_float(*number, to),
        Field::Bool(truth) => write_display(truth, to),
        Field::Byte(number) => write_display(number, to),
        Field::Short(number) => write_display(number, to),
        Field::Int(number) => write_display(number, to),
        Field::Long(number) => write_display(number, to),
        Field::UByte(number) => write_display(number, to),
        Field::UShort(number) => write_display(number, to),
        Field::UInt(number) => write_display(number, to),
        Field::ULong(number) => write_display(number, to),
        Field::Decimal(_) | Field::Date(_) | Field::TimeMillis(_) | Field::TimeMicros(_) | Field::TimestampMillis(_) | Field::TimestampMicros(_) => {
            write_string(&field.to_string(), to);
        }
        Field::Group(row) => write_members(row.get_column_iter().map(|(name, value)| (Cow::Borrowed(name.as_str()), value)), to),
        Field::MapInternal(map) => write_members(map.entries().iter().map(|(key, value)| (key_text(key), value)), to),
        Field::ListInternal(list) => {
            to.push('[');
            for (index, element) in list.elements().iter().enumerate() {
                if index > 0 {
                    to.push(',');
                }
                write_json(element, to);
            }
            to.push(']');
        }
    }
}

fn write_members<'f>(members: impl Iterator<Item = (Cow<'f, str>, &'f Field)>, to: &mut String) {
    to.push('{');
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            to.push(',');
        }
        write_string(&name, to);
        to.push(':');
        write_json(value, to);
    }
    to.push('}');
}

fn key_text(key: &Field) -> Cow<'_, str> {
    match key {
        Field::Str(text) => Cow::Borrowed(text),
        Field::Bytes(bytes) => Cow::Owned(text_or_hexadecimal(bytes.data())),
        other => Cow::Owned(other.to_string()),
    }
}

fn write_string(text: &str, to: &mut String) {
    // A string always has a JSON form.
    to.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// JSON has no NaN and no infinity: they become text.
fn write_float(number: f64, to: &mut String) {
    if number.is_finite() { write_display(&number, to) } else { write_string(&number.to_string(), to) }
}

fn write_display(value: &dyn Display, to: &mut String) {
    let _ = write!(to, "{value}");
}
