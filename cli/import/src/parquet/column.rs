//! One column outside lists and maps.

use crate::entry::Given;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{AsBytes, ByteArray, DataType, FixedLenByteArray, Int96};
use parquet::file::reader::RowGroupReader;
use parquet::record::Field;
use parquet::schema::types::ColumnDescPtr;
use std::borrow::Cow;

/// A column of a row group, decoded some rows at a time.
pub(super) struct FlatColumn {
    /// The names of the structs above it and its own, with dots between.
    pub(super) name: String,
    description: ColumnDescPtr,
    meaning: Meaning,
    reader: ColumnReader,
    /// For each decoded row, whether it has a value. Empty for a required column.
    levels: Vec<i16>,
    values: Values,
    next_level: usize,
    next_value: usize,
}

/// What the values stand for, where the physical type does not say it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Plain,
    /// Text, or bytes that claim to be.
    Text,
    /// A point in time: the number counts units of this many nanoseconds.
    Time(i64),
    Unsigned32,
    Unsigned64,
    /// Whatever the decoder's own conversion makes of it: decimals, dates, half floats.
    Converted,
}

enum Values {
    Bool(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<Int96>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
    FixedBytes(Vec<FixedLenByteArray>),
}

impl FlatColumn {
    pub(super) fn open(group: &dyn RowGroupReader, index: usize) -> Result<Self, String> {
        let description = group.metadata().column(index).column_descr_ptr();
        let reader = group.get_column_reader(index).map_err(|error| error.to_string())?;
        let values = match &reader {
            ColumnReader::BoolColumnReader(_) => Values::Bool(Vec::new()),
            ColumnReader::Int32ColumnReader(_) => Values::Int32(Vec::new()),
            ColumnReader::Int64ColumnReader(_) => Values::Int64(Vec::new()),
            ColumnReader::Int96ColumnReader(_) => Values::Int96(Vec::new()),
            ColumnReader::FloatColumnReader(_) => Values::Float(Vec::new()),
            ColumnReader::DoubleColumnReader(_) => Values::Double(Vec::new()),
            ColumnReader::ByteArrayColumnReader(_) => Values::Bytes(Vec::new()),
            ColumnReader::FixedLenByteArrayColumnReader(_) => Values::FixedBytes(Vec::new()),
        };
        let name = description.path().parts().join(".");
        let meaning = Meaning::of(&description);
        Ok(Self { name, description, meaning, reader, levels: Vec::new(), values, next_level: 0, next_value: 0 })
    }

    /// Decodes this many rows. All earlier ones must have been taken.
    pub(super) fn decode(&mut self, rows: usize) -> Result<(), String> {
        let levels = &mut self.levels;
        levels.clear();
        (self.next_level, self.next_value) = (0, 0);
        let is_optional = self.description.max_def_level() > 0;
        let read = match (&mut self.reader, &mut self.values) {
            (ColumnReader::BoolColumnReader(reader), Values::Bool(values)) => read(reader, rows, levels, values),
            (ColumnReader::Int32ColumnReader(reader), Values::Int32(values)) => read(reader, rows, levels, values),
            (ColumnReader::Int64ColumnReader(reader), Values::Int64(values)) => read(reader, rows, levels, values),
            (ColumnReader::Int96ColumnReader(reader), Values::Int96(values)) => read(reader, rows, levels, values),
            (ColumnReader::FloatColumnReader(reader), Values::Float(values)) => read(reader, rows, levels, values),
            (ColumnReader::DoubleColumnReader(reader), Values::Double(values)) => read(reader, rows, levels, values),
            (ColumnReader::ByteArrayColumnReader(reader), Values::Bytes(values)) => read(reader, rows, levels, values),
            (ColumnReader::FixedLenByteArrayColumnReader(reader), Values::FixedBytes(values)) => read(reader, rows, levels, values),
            _ => return Err(format!("the column {} changed its type", self.name)),
        }
        .map_err(|error| format!("column {}: {error}", self.name))?;
        if read != rows || (is_optional && levels.len() != rows) {
            return Err(format!("column {}: {read} rows where {rows} are expected", self.name));
        }
        Ok(())
    }

    /// The column's name and the value of the next decoded row; `None` when it has none.
    pub(super) fn next(&mut self) -> Option<(&str, Given<'_>)> {
        let level_max = self.description.max_def_level();
        if level_max > 0 {
            let level = *self.levels.get(self.next_level)?;
            self.next_level += 1;
            if level < level_max {
                return None;
            }
        }
        let index = self.next_value;
        self.next_value += 1;
        let value = match &self.values {
            Values::Bool(values) => values.get(index).map(|&value| Given::Bool(value)),
            Values::Int32(values) => self.int32(*values.get(index)?),
            Values::Int64(values) => self.int64(*values.get(index)?),
            Values::Int96(values) => values.get(index).map(|value| Given::Time(int96_ns(value))),
            Values::Float(values) => values.get(index).map(|&value| Given::Float(f64::from(value))),
            Values::Double(values) => values.get(index).map(|&value| Given::Float(value)),
            Values::Bytes(values) => self.bytes(values.get(index)?),
            Values::FixedBytes(values) => self.bytes(values.get(index)?),
        };
        value.map(|value| (self.name.as_str(), value))
    }

    fn int32(&self, value: i32) -> Option<Given<'static>> {
        match self.meaning {
            Meaning::Unsigned32 => Some(Given::Int(i64::from(value.cast_unsigned()))),
            Meaning::Converted => given_of_field(&Field::convert_int32(&self.description, value)),
            _ => Some(Given::Int(i64::from(value))),
        }
    }

    fn int64(&self, value: i64) -> Option<Given<'static>> {
        match self.meaning {
            Meaning::Time(unit_ns) => Some(Given::Time(value.checked_mul(unit_ns))),
            Meaning::Unsigned64 if value < 0 => Some(Given::Text(Cow::Owned(value.cast_unsigned().to_string()))),
            Meaning::Converted => given_of_field(&Field::convert_int64(&self.description, value)),
            _ => Some(Given::Int(value)),
        }
    }

    fn bytes<'v>(&self, value: &'v ByteArray) -> Option<Given<'v>> {
        match self.meaning {
            Meaning::Converted => given_of_field(&Field::convert_byte_array(&self.description, value.clone()).ok()?),
            Meaning::Text => Some(match std::str::from_utf8(value.as_bytes()) {
                Ok(text) => Given::Text(Cow::Borrowed(text)),
                Err(_) => Given::Bytes(Cow::Borrowed(value.as_bytes())),
            }),
            _ => Some(Given::Bytes(Cow::Borrowed(value.as_bytes()))),
        }
    }
}

fn read<T>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> Result<usize, parquet::errors::ParquetError>
where
    T: DataType,
{
    values.clear();
    reader.read_records(rows, Some(levels), None, values).map(|(records, _, _)| records)
}

impl Meaning {
    fn of(description: &ColumnDescPtr) -> Self {
        if let Some(LogicalType::Timestamp(timestamp)) = description.logical_type_ref() {
            return Self::Time(match timestamp.unit {
                TimeUnit::MILLIS => 1_000_000,
                TimeUnit::MICROS => 1_000,
                TimeUnit::NANOS => 1,
            });
        }
        match description.converted_type() {
            ConvertedType::TIMESTAMP_MILLIS => Self::Time(1_000_000),
            ConvertedType::TIMESTAMP_MICROS => Self::Time(1_000),
            ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON => Self::Text,
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 => Self::Unsigned32,
            ConvertedType::UINT_64 => Self::Unsigned64,
            ConvertedType::DECIMAL | ConvertedType::DATE => Self::Converted,
            _ if description.logical_type_ref() == Some(&LogicalType::Float16) => Self::Converted,
            _ => Self::Plain,
        }
    }
}

/// Nanoseconds of the deprecated timestamps of twelve bytes: nanoseconds of the day, then the Julian day. Source: the Parquet format's page
/// about logical types.
fn int96_ns(value: &Int96) -> Option<i64> {
    const JULIAN_DAY_OF_EPOCH: i64 = 2_440_588;
    const DAY_NS: i128 = 86_400_000_000_000;
    let [low, high, day] = *value.data() else { return None };
    let ns_of_day = i128::from((u64::from(high) << 32) | u64::from(low));
    i64::try_from(i128::from(i64::from(day) - JULIAN_DAY_OF_EPOCH) * DAY_NS + ns_of_day).ok()
}

/// What the decoder's own conversion made of a value.
fn given_of_field(field: &Field) -> Option<Given<'static>> {
    match field {
        Field::Null => None,
        Field::Float16(value) => Some(Given::Float(f64::from(*value))),
        other => Some(Given::Text(Cow::Owned(other.to_string().trim_matches('"').to_owned()))),
    }
}
