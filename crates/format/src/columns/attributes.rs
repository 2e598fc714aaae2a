//! Attribute columns, in their order: `columns varint`, then each `name · type u8 · rows varint · (row delta varint) each · values`.
//!
//! Values by type: 0 text, a tag column; 1 whole numbers, zigzag differences; 2 floating-point, 8 bytes each; 3 truth, a byte each.
//! A column that all rows have writes no row numbers.

use super::{get_deltas, get_tags, put_deltas, put_tags};
use crate::rows::{ATTRIBUTE_BYTES, AttributeColumn, AttributeValues, ROWS_BYTES_MAX};
use crate::wire::{DecodeError, Reader, put_bytes, put_varint};

pub(crate) fn put_attributes(out: &mut Vec<u8>, columns: &[AttributeColumn], rows: usize) {
    put_varint(out, columns.len() as u64);
    for column in columns {
        put_bytes(out, column.name.as_bytes());
        out.push(column.values.type_order());
        put_varint(out, column.rows.len() as u64);
        if column.rows.len() < rows {
            let mut next = 0;
            for row in &column.rows {
                put_varint(out, u64::from(row - next));
                next = row + 1;
            }
        }
        match &column.values {
            AttributeValues::Str(tags) => put_tags(out, tags),
            AttributeValues::Int(values) => put_deltas(out, values),
            AttributeValues::Float(values) => values.iter().for_each(|value| out.extend_from_slice(&value.to_bits().to_le_bytes())),
            AttributeValues::Bool(values) => out.extend(values.iter().map(|value| u8::from(*value))),
        }
    }
}

/// Values that the attributes of a block of rows have at most.
const VALUES_MAX: usize = ROWS_BYTES_MAX / ATTRIBUTE_BYTES;

/// Reads the columns of a block of `rows` rows. Their order is for the caller to check.
pub(crate) fn get_attributes(reader: &mut Reader<'_>, rows: usize) -> Result<Vec<AttributeColumn>, DecodeError> {
    // A name's length, a type, a count and one row's value.
    const COLUMN_BYTES_MIN: usize = 4;
    let count = reader.count(COLUMN_BYTES_MIN)?;
    let mut values = 0;
    let mut next = || {
        let column = get_attribute(reader, rows)?;
        values += column.rows.len();
        // Columns of one value take few bytes, so that they are bounded by number.
        if values <= VALUES_MAX { Ok(column) } else { Err(reader.corrupt("more attributes than a block of rows may hold")) }
    };
    (0..count).map(|_| next()).collect()
}

fn get_attribute(reader: &mut Reader<'_>, rows: usize) -> Result<AttributeColumn, DecodeError> {
    let name = reader.text()?.to_owned();
    let kind = reader.u8()?;
    let length = reader.varint_max(rows)?;
    if length == 0 {
        return Err(reader.corrupt("an attribute that no row has"));
    }
    let rows = if length == rows { (0..rows as u32).collect() } else { get_rows(reader, length, rows)? };
    let values = match kind {
        0 => AttributeValues::Str(get_tags(reader, length)?),
        1 => AttributeValues::Int(get_deltas(reader, length)?),
        2 => {
            let float = |reader: &mut Reader<'_>| reader.u64().map(f64::from_bits);
            AttributeValues::Float((0..length).map(|_| float(reader)).collect::<Result<_, _>>()?)
        }
        3 => AttributeValues::Bool(reader.bytes(length)?.iter().map(|byte| truth(reader, *byte)).collect::<Result<_, _>>()?),
        _ => return Err(reader.corrupt("an unknown type of attribute")),
    };
    Ok(AttributeColumn { name, rows, values })
}

pub(super) fn get_rows(reader: &mut Reader<'_>, length: usize, rows: usize) -> Result<Vec<u32>, DecodeError> {
    let mut next = 0;
    (0..length)
        .map(|_| {
            let row = reader.varint_max(rows)?.saturating_add(next);
            next = row + 1;
            if row < rows { Ok(row as u32) } else { Err(reader.corrupt("a value of a row that is not there")) }
        })
        .collect()
}

fn truth(reader: &Reader<'_>, byte: u8) -> Result<bool, DecodeError> {
    match byte {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(reader.corrupt("a truth value that is neither")),
    }
}
