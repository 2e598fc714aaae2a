//! Fields with lists or maps in them: lists of floats as vectors, all others as JSON text.

use crate::entry::{Given, text_or_hexadecimal};
use parquet::basic::{LogicalType, Type as PhysicalType};
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
    /// The fields that are lists of floats.
    float_lists: Vec<String>,
}

/// What a row has in its lists and maps.
#[derive(Default)]
pub(super) struct NestedValues {
    /// As JSON text, by name.
    pub(super) values: Vec<(String, Given<'static>)>,
    /// Vectors, by name. A number that is missing is NaN.
    pub(super) vectors: Vec<(String, Vec<f32>)>,
}

impl NestedColumns {
    pub(super) fn open(group: &dyn RowGroupReader, schema: &SchemaDescPtr, is_nested: &dyn Fn(usize) -> bool) -> Result<Self, String> {
        let mut roots: Vec<usize> =
            (0..schema.num_columns()).filter(|&index| is_nested(index)).map(|index| schema.get_column_root_idx(index)).collect();
        roots.dedup();
        let fields = roots.iter().filter_map(|&root| schema.root_schema().get_fields().get(root).cloned()).collect();
        let float_lists = float_lists(schema);
        let projected = Type::group_type_builder(schema.root_schema().name()).with_fields(fields).build().map_err(|error| error.to_string())?;
        let projected = Arc::new(SchemaDescriptor::new(Arc::new(projected)));
        let rows = TreeBuilder::new().with_batch_size(super::ROWS_AT_A_TIME).as_iter(projected, group).map_err(|error| error.to_string())?;
        Ok(Self { rows, float_lists })
    }

    /// The values of the next row. `takes_vector` says of a list of floats whether it is one.
    pub(super) fn next(&mut self, takes_vector: &dyn Fn(&str) -> bool) -> Result<NestedValues, String> {
        let row = self.rows.next().ok_or("the lists and maps have fewer rows than the other columns")?.map_err(|error| error.to_string())?;
        let mut nested = NestedValues::default();
        for (name, field) in row.get_column_iter() {
            if let Field::ListInternal(list) = field
                && self.float_lists.contains(name)
                && takes_vector(name)
            {
                // A list without numbers is no vector, as null is none.
                if !list.elements().is_empty() {
                    nested.vectors.push((name.clone(), list.elements().iter().map(number_of).collect()));
                }
            } else if !matches!(field, Field::Null) {
                let mut text = String::new();
                write_json(field, &mut text);
                nested.values.push((name.clone(), Given::Json(Cow::Owned(text))));
            }
        }
        Ok(nested)
    }
}

/// The fields at the top that are plain lists of floats.
fn float_lists(schema: &SchemaDescPtr) -> Vec<String> {
    let mut lists = Vec::new();
    for (root, field) in schema.root_schema().get_fields().iter().enumerate() {
        let mut leaves = (0..schema.num_columns()).filter(|&index| schema.get_column_root_idx(index) == root);
        let (Some(leaf), None) = (leaves.next(), leaves.next()) else { continue };
        let leaf = schema.column(leaf);
        let is_float =
            matches!(leaf.physical_type(), PhysicalType::FLOAT | PhysicalType::DOUBLE) || leaf.logical_type_ref() == Some(&LogicalType::Float16);
        if is_float && leaf.max_rep_level() == 1 {
            lists.push(field.name().to_owned());
        }
    }
    lists
}

fn number_of(field: &Field) -> f32 {
    match field {
        Field::Float16(number) => f32::from(*number),
        Field::Float(number) => *number,
        Field::Double(number) => *number as f32,
        _ => f32::NAN,
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
