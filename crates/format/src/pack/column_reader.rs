//! Reading one column of variables, or passing over it.

use super::cells::{Affixes, CellColumn, Cells};
use super::column::{
    CONSTANT, DECIMAL, DECIMAL_DELTA, DIGITS, DIGITS_DELTA, HEX_LOWER, HEX_UPPER, LAYOUT_MASK, SAME, TEXT, TEXT_FIXED, WITH_AFFIXES, WITH_DICTIONARY,
};
use super::shape::write_decimal;
use super::streams::StreamReaders;
use crate::columns::{get_planes, width_of};
use crate::rows::ROWS_BYTES_MAX;
use crate::wire::{DecodeError, unzigzag};

/// Reads the next column, of `rows` rows, into `cells`; with no cells it only moves the readers on. `earlier` are the pattern's columns so far.
pub(super) fn get_column(
    readers: &mut StreamReaders<'_>,
    rows: usize,
    earlier: &[CellColumn],
    mut cells: Option<&mut Cells>,
) -> Result<CellColumn, DecodeError> {
    let head = readers.heads.u8()?;
    let first = cells.as_ref().map_or(0, |cells| cells.next());
    match head {
        CONSTANT => {
            let length = readers.heads.varint_max(ROWS_BYTES_MAX)?;
            let value = readers.text.bytes(length)?;
            if let Some(cells) = cells {
                cells.push(&Affixes::default(), &readers.text, |bytes| bytes.extend_from_slice(value))?;
            }
            return Ok(CellColumn::constant(first));
        }
        SAME => {
            let back = readers.heads.varint_max(earlier.len())?;
            let slot = (earlier.len() - back).checked_sub(1).ok_or_else(|| readers.heads.corrupt("a column like one that is not there"))?;
            return Ok(earlier[slot].clone());
        }
        _ => {}
    }
    let mut affixes = Affixes::default();
    if head & WITH_AFFIXES != 0 {
        let (prefix, suffix) = (readers.heads.varint_max(ROWS_BYTES_MAX)?, readers.heads.varint_max(ROWS_BYTES_MAX)?);
        affixes = Affixes { prefix: readers.text.bytes(prefix)?, suffix: readers.text.bytes(suffix)? };
    }
    let layout = head & LAYOUT_MASK;
    if head & WITH_DICTIONARY != 0 {
        let distinct = readers.heads.varint_max(rows)?;
        // One value would be a constant; without that, few bytes could claim many numbers.
        if distinct < 2 {
            return Err(readers.heads.corrupt("a dictionary of one value or none"));
        }
        let last = distinct as u64 - 1;
        let ids = get_planes(&mut readers.distinct, rows, width_of(last))?;
        if ids.iter().any(|id| *id > last) {
            return Err(readers.distinct.corrupt("a number without a value"));
        }
        get_values(readers, layout, distinct, &affixes, cells.as_deref_mut())?;
        return Ok(CellColumn::dictionary(first, ids.into_iter().map(|id| id as u32).collect()));
    }
    get_values(readers, layout, rows, &affixes, cells)?;
    Ok(CellColumn::every(first, 1))
}

fn get_values(
    readers: &mut StreamReaders<'_>,
    layout: u8,
    count: usize,
    affixes: &Affixes<'_>,
    cells: Option<&mut Cells>,
) -> Result<(), DecodeError> {
    match layout {
        DECIMAL | DECIMAL_DELTA => get_numbers(readers, count, 0, layout == DECIMAL_DELTA, affixes, cells),
        DIGITS | DIGITS_DELTA => {
            let digits = usize::from(readers.heads.u8()?);
            get_numbers(readers, count, digits, layout == DIGITS_DELTA, affixes, cells)
        }
        HEX_LOWER | HEX_UPPER => {
            let digits = if layout == HEX_LOWER { b"0123456789abcdef" } else { b"0123456789ABCDEF" };
            let width = usize::from(readers.heads.u8()? / 2);
            if width == 0 {
                return Err(readers.heads.corrupt("a hexadecimal number without digits"));
            }
            let values = readers.hex.bytes(count * width)?;
            let Some(cells) = cells else { return Ok(()) };
            values.chunks_exact(width).try_for_each(|value| {
                let pair = |byte: &u8| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]];
                cells.push(affixes, &readers.hex, |bytes| bytes.extend(value.iter().flat_map(pair)))
            })
        }
        TEXT_FIXED => {
            let length = usize::from(readers.heads.u8()?);
            if length == 0 {
                return Err(readers.heads.corrupt("texts of no length"));
            }
            let values = readers.text.bytes(count * length)?;
            let Some(cells) = cells else { return Ok(()) };
            values.chunks_exact(length).try_for_each(|value| cells.push(affixes, &readers.text, |bytes| bytes.extend_from_slice(value)))
        }
        TEXT => match cells {
            Some(cells) => (0..count).try_for_each(|_| cells.push_text(affixes, readers)),
            None => skip_texts(readers, count),
        },
        _ => Err(readers.heads.corrupt("an unknown layout of a column")),
    }
}

/// Passes over texts whose lengths are the next ones.
pub(super) fn skip_texts(readers: &mut StreamReaders<'_>, count: usize) -> Result<(), DecodeError> {
    let mut length = 0_usize;
    for _ in 0..count {
        length = length.saturating_add(readers.lengths.varint_max(ROWS_BYTES_MAX)?);
    }
    readers.text.bytes(length).map(|_| ())
}

fn get_numbers(
    readers: &mut StreamReaders<'_>,
    count: usize,
    digits: usize,
    is_delta: bool,
    affixes: &Affixes<'_>,
    cells: Option<&mut Cells>,
) -> Result<(), DecodeError> {
    let base = readers.heads.varint()?;
    let width = readers.heads.u8()?;
    let Some(cells) = cells else {
        return readers.planes.bytes(count.saturating_mul(usize::from(width))).map(|_| ());
    };
    let mut number = base;
    for stored in get_planes(&mut readers.planes, count, width)? {
        number = if is_delta { number.wrapping_add(unzigzag(stored) as u64) } else { base.wrapping_add(stored) };
        cells.push(affixes, &readers.planes, |bytes| write_decimal(number, digits, bytes))?;
    }
    Ok(())
}
