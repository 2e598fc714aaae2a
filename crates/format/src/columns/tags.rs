//! Tag columns.
//!
//! Alone: `values · id varint a row`, where `values` is `count varint · (length varint, bytes) each`. A column of one value has no ids.
//! Together: the values of each column, then the distinct *sets* of one value of each, `count varint · ids, column by column`, then the width of
//! a set's number and those of the rows as byte planes: a pod has one deployment, so sets are hardly more than pods.

use super::{get_planes, put_planes, width_of};
use crate::rows::TagColumn;
use crate::wire::{DecodeError, Reader, put_bytes, put_varint};
use rustc_hash::FxHashMap;

pub(crate) fn put_tags(out: &mut Vec<u8>, column: &TagColumn) {
    put_values(out, &column.values);
    if column.values.len() > 1 {
        for id in &column.ids {
            put_varint(out, u64::from(*id));
        }
    }
}

/// Reads a column of `rows` rows.
pub(crate) fn get_tags(reader: &mut Reader<'_>, rows: usize) -> Result<TagColumn, DecodeError> {
    let values = get_values(reader, rows)?;
    let ids = match values.len() {
        0 => Vec::new(),
        1 => vec![0; rows],
        count => (0..rows).map(|_| get_id(reader, count)).collect::<Result<_, _>>()?,
    };
    Ok(TagColumn { values, ids })
}

pub(crate) fn put_tag_sets<const N: usize>(out: &mut Vec<u8>, columns: [&TagColumn; N]) {
    columns.iter().for_each(|column| put_values(out, &column.values));
    let rows = columns.first().map_or(0, |column| column.ids.len());
    let mut numbers = FxHashMap::default();
    let mut sets = Vec::new();
    let mut ids = Vec::with_capacity(rows);
    for row in 0..rows {
        let set = columns.map(|column| column.ids[row]);
        ids.push(*numbers.entry(set).or_insert_with(|| {
            sets.push(set);
            sets.len() as u64 - 1
        }));
    }
    put_varint(out, sets.len() as u64);
    for column in 0..N {
        sets.iter().for_each(|set| put_varint(out, u64::from(set[column])));
    }
    put_planes(out, &ids, width_of((sets.len() as u64).saturating_sub(1)));
}

/// Reads columns of `rows` rows.
pub(crate) fn get_tag_sets<const N: usize>(reader: &mut Reader<'_>, rows: usize) -> Result<[TagColumn; N], DecodeError> {
    let mut columns = [const { TagColumn { values: Vec::new(), ids: Vec::new() } }; N];
    for column in &mut columns {
        column.values = get_values(reader, rows)?;
    }
    let count = reader.varint_max(rows)?;
    let mut sets = [const { Vec::new() }; N];
    for (set, column) in sets.iter_mut().zip(&columns) {
        *set = (0..count).map(|_| get_id(reader, column.values.len())).collect::<Result<Vec<u32>, _>>()?;
    }
    let ids = get_planes(reader, rows, width_of((count as u64).saturating_sub(1)))?;
    if ids.iter().any(|id| *id >= count as u64) {
        return Err(reader.corrupt("a number of tags that are not there"));
    }
    for (column, set) in columns.iter_mut().zip(&sets) {
        column.ids = ids.iter().map(|id| set[*id as usize]).collect();
    }
    Ok(columns)
}

fn put_values(out: &mut Vec<u8>, values: &[String]) {
    put_varint(out, values.len() as u64);
    values.iter().for_each(|value| put_bytes(out, value.as_bytes()));
}

fn get_values(reader: &mut Reader<'_>, rows: usize) -> Result<Vec<String>, DecodeError> {
    let count = reader.count(1)?;
    if count > rows || (count == 0) != (rows == 0) {
        return Err(reader.corrupt("a tag column has no values for its rows, or too many"));
    }
    (0..count).map(|_| reader.text().map(str::to_owned)).collect()
}

fn get_id(reader: &mut Reader<'_>, count: usize) -> Result<u32, DecodeError> {
    reader.varint_max(count - 1).map(|id| id as u32)
}
