//! Writing one column of variables: the values of one slot of one pattern in a chunk.
//!
//! A head byte says how: the low four bits are the layout, the bits above say what surrounds it. `docs/formats/pack.md` lists them.

use super::shape::{Shape, common_affixes, parse_decimal, shape_of};
use super::streams::Streams;
use crate::columns::{put_planes, width_of};
use crate::wire::{put_varint, zigzag};
use hashbrown::HashTable;

/// All rows have the one value.
pub(super) const CONSTANT: u8 = 0;
/// The same values as an earlier slot of the pattern.
pub(super) const SAME: u8 = 1;
/// Decimal numbers above a base.
pub(super) const DECIMAL: u8 = 2;
/// Decimal numbers as differences.
pub(super) const DECIMAL_DELTA: u8 = 3;
/// Decimal numbers of fixed width, above a base.
pub(super) const DIGITS: u8 = 4;
/// Decimal numbers of fixed width, as differences.
pub(super) const DIGITS_DELTA: u8 = 5;
/// Lower-case hexadecimal digits.
pub(super) const HEX_LOWER: u8 = 6;
/// Upper-case hexadecimal digits.
pub(super) const HEX_UPPER: u8 = 7;
/// Texts of one length.
pub(super) const TEXT_FIXED: u8 = 8;
/// Texts.
pub(super) const TEXT: u8 = 9;

/// The layout is of what is left when a common prefix and suffix are taken away.
pub(super) const WITH_AFFIXES: u8 = 0x10;
/// The layout is of the distinct values; numbers of them follow, one a row.
pub(super) const WITH_DICTIONARY: u8 = 0x20;
/// The layout's bits.
pub(super) const LAYOUT_MASK: u8 = 0x0f;

/// Columns with fewer values are not tried as a dictionary.
const DICTIONARY_ROWS_MIN: usize = 8;

/// Writes columns, in memory that is used again.
#[derive(Default)]
pub(super) struct ColumnWriter {
    seen: HashTable<(u32, u32)>,
    distinct: Vec<u32>,
    ids: Vec<u64>,
    numbers: Vec<u64>,
    /// Per column of the pattern: its hash, its distinct values, and where it begins in `values`.
    columns: Vec<u64>,
}

impl ColumnWriter {
    /// Begins the next pattern.
    pub(super) fn begin_pattern(&mut self) {
        self.columns.clear();
    }

    /// Writes the next column of the pattern. `earlier(slot)` gives the value of the first row in an earlier slot, and so on by row.
    pub(super) fn put<'a, F>(&mut self, values: &[&'a [u8]], earlier: F, streams: &mut Streams)
    where
        F: Fn(usize, usize) -> &'a [u8],
    {
        if values[1..].iter().all(|value| *value == values[0]) {
            self.columns.push(0);
            streams.heads.push(CONSTANT);
            put_varint(&mut streams.heads, values[0].len() as u64);
            streams.text.extend_from_slice(values[0]);
            return;
        }
        let hash = self.number_values(values);
        let same = self.columns.iter().rposition(|other| *other == hash);
        let slot = self.columns.len();
        self.columns.push(hash);
        if let Some(same) = same.filter(|same| values.iter().enumerate().all(|(row, value)| *value == earlier(*same, row))) {
            streams.heads.push(SAME);
            put_varint(&mut streams.heads, (slot - same - 1) as u64);
            return;
        }
        let (prefix, suffix) = common_affixes(values);
        let mut head = 0;
        if prefix + suffix > 0 {
            head |= WITH_AFFIXES;
        }
        let middle = |value: &&'a [u8]| &value[prefix..value.len() - suffix];
        let distinct = self.distinct.iter().map(|row| &values[*row as usize]).map(middle);
        let shape = shape_of(distinct.clone());
        let is_dictionary = values.len() >= DICTIONARY_ROWS_MIN && self.is_dictionary_shorter(values.len(), shape, distinct.clone());
        let start = streams.heads.len();
        streams.heads.push(head);
        if prefix + suffix > 0 {
            put_varint(&mut streams.heads, prefix as u64);
            put_varint(&mut streams.heads, suffix as u64);
            streams.text.extend_from_slice(&values[0][..prefix]);
            streams.text.extend_from_slice(&values[0][values[0].len() - suffix..]);
        }
        if is_dictionary {
            head |= WITH_DICTIONARY;
            put_varint(&mut streams.heads, self.distinct.len() as u64);
            put_planes(&mut streams.distinct, &self.ids, width_of(self.distinct.len() as u64 - 1));
            head |= put_values(shape, distinct, &mut self.numbers, streams);
        } else {
            head |= put_values(shape, values.iter().map(middle), &mut self.numbers, streams);
        }
        streams.heads[start] = head;
    }

    /// Numbers the distinct values by first appearance and returns a hash of the whole column.
    fn number_values(&mut self, values: &[&[u8]]) -> u64 {
        self.seen.clear();
        self.distinct.clear();
        self.ids.clear();
        let mut column = values.len() as u64;
        for (row, value) in values.iter().enumerate() {
            let hash = hash_value(value);
            column = (column.rotate_left(5) ^ hash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let short = (hash >> 32) as u32;
            let known = self.seen.find(hash, |(other, first)| *other == short && values[*first as usize] == *value);
            let id = if let Some((_, first)) = known {
                self.ids[*first as usize]
            } else {
                self.seen.insert_unique(hash, (short, row as u32), |(_, first)| hash_value(values[*first as usize]));
                self.distinct.push(row as u32);
                self.distinct.len() as u64 - 1
            };
            self.ids.push(id);
        }
        column
    }

    /// Compares the two in bits, as if neither were compressed any further.
    fn is_dictionary_shorter<'a, I>(&self, rows: usize, shape: Shape, distinct: I) -> bool
    where
        I: Iterator<Item = &'a [u8]>,
    {
        let count = self.distinct.len();
        let bytes = distinct.map(<[u8]>::len).sum::<usize>();
        // Decimal digits hold 3.3 bits, hexadecimal ones 4; texts compress to some 5 bits a byte.
        let eighths = match shape {
            Shape::Decimal | Shape::Digits(_) => bytes * 27,
            Shape::HexLower(_) | Shape::HexUpper(_) => bytes * 32,
            Shape::TextFixed(_) | Shape::Text => bytes * 40,
        };
        let id_bits = (usize::BITS - (count - 1).leading_zeros()) as usize;
        eighths + rows * id_bits * 8 < eighths / count * rows
    }
}

fn hash_value(value: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(value)
}

/// Writes values in the layout of their shape, which is returned.
fn put_values<'a, I>(shape: Shape, values: I, numbers: &mut Vec<u64>, streams: &mut Streams) -> u8
where
    I: Iterator<Item = &'a [u8]>,
{
    match shape {
        Shape::Decimal | Shape::Digits(_) => {
            numbers.clear();
            numbers.extend(values.map(parse_decimal));
            if let Shape::Digits(digits) = shape {
                streams.heads.push(digits);
                DIGITS + put_numbers(numbers, streams)
            } else {
                DECIMAL + put_numbers(numbers, streams)
            }
        }
        Shape::HexLower(digits) | Shape::HexUpper(digits) => {
            streams.heads.push(digits);
            for value in values {
                streams.hex.extend(value.chunks_exact(2).map(|pair| nibble(pair[0]) << 4 | nibble(pair[1])));
            }
            if matches!(shape, Shape::HexLower(_)) { HEX_LOWER } else { HEX_UPPER }
        }
        Shape::TextFixed(length) => {
            streams.heads.push(length);
            values.for_each(|value| streams.text.extend_from_slice(value));
            TEXT_FIXED
        }
        Shape::Text => {
            for value in values {
                put_varint(&mut streams.lengths, value.len() as u64);
                streams.text.extend_from_slice(value);
            }
            TEXT
        }
    }
}

/// Writes numbers above the least of them, or as differences from the one before: what is narrower on average. Returns 1 for differences.
fn put_numbers(numbers: &mut [u64], streams: &mut Streams) -> u8 {
    let base = numbers.iter().copied().min().unwrap_or(0);
    let bits = |value: u64| u64::from(u64::BITS - value.leading_zeros());
    let mut before = base;
    let (mut above_bits, mut delta_bits, mut above_max, mut delta_max) = (0, 0, 0, 0);
    for number in numbers.iter() {
        let (above, delta) = (number - base, zigzag(number.wrapping_sub(before) as i64));
        above_bits += bits(above);
        delta_bits += bits(delta);
        above_max = above.max(above_max);
        delta_max = delta.max(delta_max);
        before = *number;
    }
    put_varint(&mut streams.heads, base);
    let is_delta = delta_bits < above_bits;
    let mut before = base;
    for number in numbers.iter_mut() {
        let value = *number;
        *number = if is_delta { zigzag(value.wrapping_sub(before) as i64) } else { value - base };
        before = value;
    }
    let width = width_of(if is_delta { delta_max } else { above_max });
    streams.heads.push(width);
    put_planes(&mut streams.planes, numbers, width);
    u8::from(is_delta)
}

fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit & 0xdf) - b'A' + 10,
    }
}
