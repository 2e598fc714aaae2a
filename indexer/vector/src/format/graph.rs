//! The graph's bytes. Every number is checked: a list never leads outside of its level, whatever the bytes say.

use super::cursor::{Cursor, push_varint};
use crate::error::VectorError;
use crate::graph::Layer;
use std::ops::Range;

/// The bytes of the lists of `slots`.
pub(super) fn encode_lists(layer: &Layer, slots: Range<u32>, bytes: &mut Vec<u8>) {
    for slot in slots {
        let links = layer.links(slot);
        push_varint(bytes, links.len() as u32);
        push_ascending(links, bytes);
    }
}

/// The bytes of a level above 0: its rows, then its lists.
pub(super) fn encode_level(layer: &Layer) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_varint(&mut bytes, layer.rows.len() as u32);
    push_ascending(&layer.rows, &mut bytes);
    encode_lists(layer, 0..layer.slots() as u32, &mut bytes);
    bytes
}

fn push_ascending(numbers: &[u32], bytes: &mut Vec<u8>) {
    let mut next = 0;
    for number in numbers {
        push_varint(bytes, number - next);
        next = number + 1;
    }
}

/// Numbers that ascend and are below `end`.
fn ascending(cursor: &mut Cursor<'_>, count: usize, end: u32, numbers: &mut Vec<u32>) -> Result<(), VectorError> {
    let mut next = 0_u64;
    for _ in 0..count {
        let number = next + u64::from(cursor.varint()?);
        if number >= u64::from(end) {
            return Err(cursor.corrupt("a number is past the last row"));
        }
        numbers.push(number as u32);
        next = number + 1;
    }
    Ok(())
}

fn decode_lists(cursor: &mut Cursor<'_>, layer: &mut Layer, slots: Range<u32>) -> Result<(), VectorError> {
    let end = layer.slots() as u32;
    let mut links = Vec::with_capacity(layer.degree);
    for slot in slots {
        let count = cursor.varint()? as usize;
        if count > layer.degree {
            return Err(cursor.corrupt("a row has more neighbours than the degree"));
        }
        links.clear();
        ascending(cursor, count, end, &mut links)?;
        layer.set_links(slot, &links);
    }
    Ok(())
}

/// Reads a level above 0.
pub(crate) fn decode_level(block: &str, bytes: &[u8], degree: usize, rows: u32) -> Result<Layer, VectorError> {
    let mut cursor = Cursor::new(block, bytes);
    let count = cursor.varint()? as usize;
    // A row takes two bytes at least: a wrong count reserves no memory.
    if count == 0 || count > bytes.len() {
        return Err(cursor.corrupt("its number of rows cannot be"));
    }
    let mut members = Vec::with_capacity(count);
    ascending(&mut cursor, count, rows, &mut members)?;
    let mut layer = Layer::new(degree, members, count);
    decode_lists(&mut cursor, &mut layer, 0..count as u32)?;
    cursor.finish()?;
    Ok(layer)
}

/// Reads the lists of `slots` of level 0.
pub(crate) fn decode_base(block: &str, bytes: &[u8], layer: &mut Layer, slots: Range<u32>) -> Result<(), VectorError> {
    let mut cursor = Cursor::new(block, bytes);
    decode_lists(&mut cursor, layer, slots)?;
    cursor.finish()
}
