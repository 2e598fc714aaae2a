//! Tag columns: `values varint · (length varint, bytes) each · id varint a row`. A column of one value has no ids.

use crate::rows::TagColumn;
use crate::wire::{DecodeError, Reader, put_bytes, put_varint};

pub(crate) fn put_tags(out: &mut Vec<u8>, column: &TagColumn) {
    put_varint(out, column.values.len() as u64);
    for value in &column.values {
        put_bytes(out, value.as_bytes());
    }
    if column.values.len() > 1 {
        for id in &column.ids {
            put_varint(out, u64::from(*id));
        }
    }
}

/// Reads a column of `rows` rows.
pub(crate) fn get_tags(reader: &mut Reader<'_>, rows: usize) -> Result<TagColumn, DecodeError> {
    let count = reader.count(1)?;
    if count > rows || (count == 0) != (rows == 0) {
        return Err(reader.corrupt("a tag column has no values for its rows, or too many"));
    }
    let values = (0..count).map(|_| reader.text().map(str::to_owned)).collect::<Result<Vec<_>, _>>()?;
    let ids = match count {
        0 => Vec::new(),
        1 => vec![0; rows],
        _ => (0..rows).map(|_| reader.varint_max(count - 1).map(|id| id as u32)).collect::<Result<_, _>>()?,
    };
    Ok(TagColumn { values, ids })
}
