//! Vector columns, by field: heads `columns varint`, then each `field · dimension varint · rows varint · (row delta varint) each`; values, column by
//! column, as planes: the lowest byte of every number, then the second, and so on.
//!
//! A column that all rows have writes no row numbers. Numbers are kept exactly; those that were half as long have planes of zeros, which vanish in
//! the compression that follows.

use super::attributes::get_rows;
use crate::rows::{ROWS_BYTES_MAX, VectorColumn};
use crate::vectors::DIMENSION_MAX;
use crate::wire::{DecodeError, Reader, put_bytes, put_varint};

/// Bytes of a number, which are its planes.
const PLANES: usize = size_of::<f32>();

pub(crate) fn put_vector_heads(out: &mut Vec<u8>, columns: &[VectorColumn], rows: usize) {
    put_varint(out, columns.len() as u64);
    for column in columns {
        put_bytes(out, column.field.as_bytes());
        put_varint(out, u64::from(column.dimension));
        put_varint(out, column.rows.len() as u64);
        if column.rows.len() < rows {
            let mut next = 0;
            for row in &column.rows {
                put_varint(out, u64::from(row - next));
                next = row + 1;
            }
        }
    }
}

pub(crate) fn put_vector_values(out: &mut Vec<u8>, columns: &[VectorColumn]) {
    for column in columns {
        for plane in 0..PLANES {
            out.extend(column.values.iter().map(|value| value.to_bits().to_le_bytes()[plane]));
        }
    }
}

/// Reads heads: columns without their values. Their order is for the caller to check.
pub(crate) fn get_vector_heads(reader: &mut Reader<'_>, rows: usize) -> Result<Vec<VectorColumn>, DecodeError> {
    // A name's length, a dimension, a count.
    const COLUMN_BYTES_MIN: usize = 3;
    let count = reader.count(COLUMN_BYTES_MIN)?;
    let (mut columns, mut bytes) = (Vec::new(), 0_usize);
    for _ in 0..count {
        let field = reader.text()?.to_owned();
        let dimension = reader.varint_max(DIMENSION_MAX)?;
        let length = reader.varint_max(rows)?;
        if dimension == 0 || length == 0 {
            return Err(reader.corrupt("a vector field without numbers or without rows"));
        }
        let rows = if length == rows { (0..rows as u32).collect() } else { get_rows(reader, length, rows)? };
        bytes = bytes.saturating_add(length * dimension * PLANES);
        if bytes > ROWS_BYTES_MAX {
            return Err(reader.corrupt("more vectors than a block of rows may hold"));
        }
        columns.push(VectorColumn { field, dimension: dimension as u32, rows, values: Vec::new() });
    }
    Ok(columns)
}

/// Reads the values of columns whose heads were read.
pub(crate) fn get_vector_values(reader: &mut Reader<'_>, columns: &mut [VectorColumn]) -> Result<(), DecodeError> {
    for column in columns {
        let count = column.rows.len() * column.dimension as usize;
        let planes: [&[u8]; PLANES] = [reader.bytes(count)?, reader.bytes(count)?, reader.bytes(count)?, reader.bytes(count)?];
        column.values = (0..count).map(|at| f32::from_le_bytes([planes[0][at], planes[1][at], planes[2][at], planes[3][at]])).collect();
        if !column.values.iter().all(|value| value.is_finite()) {
            return Err(reader.corrupt("a vector has a number that is not finite"));
        }
    }
    Ok(())
}
