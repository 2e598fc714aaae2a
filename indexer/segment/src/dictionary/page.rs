//! One unpacked page: blocks of front-coded keys, and their values.

use super::writer::Bases;
use super::{BLOCK_KEYS, KeyEntry, ROWS_MANY, ROWS_MASK, ROWS_ONE, RowsRef, WORDS_MANY, WORDS_MASK, WORDS_ONE, WordsRef};
use crate::error::SegmentError;
use crate::wire::Cursor;
use std::cmp::Ordering;
use std::ops::Range;

pub(super) const BLOCK: &str = "dictionary";

/// Numbers of keys, bytes of the table of blocks, bytes of keys, single rows, bytes of numbers (u32 each).
const HEAD_BYTES: usize = 20;

/// Head, table of blocks, then a column each of keys, heads (what a key has), single rows (a plane a byte), numbers and slots.
#[derive(Debug)]
pub(super) struct Page {
    bytes: Box<[u8]>,
    count: usize,
    blocks: Vec<BlockStart>,
    /// Per block: the first eight bytes of its first key, which decide most comparisons.
    first_bytes: Vec<u64>,
    keys: Range<usize>,
    heads: Range<usize>,
    single_rows: Range<usize>,
    numbers: Range<usize>,
    slots: Range<usize>,
}

/// Where a block's part of each column begins, and where its entries begin in each stream, as distance from the page's.
#[derive(Clone, Copy, Debug)]
struct BlockStart {
    columns: [u32; 4],
    base: Bases,
}

impl Page {
    pub(super) fn parse(bytes: Box<[u8]>) -> Result<Self, SegmentError> {
        let error = SegmentError::corrupt(BLOCK, "a page is too short");
        if bytes.len() < HEAD_BYTES {
            return Err(error);
        }
        let [count, blocks_bytes, keys_bytes, single_rows, numbers_bytes] = [0, 4, 8, 12, 16].map(|at| u32_at(&bytes, at) as usize);
        let mut at = HEAD_BYTES;
        let [table, keys, heads, single_rows, numbers] = [blocks_bytes, keys_bytes, count, single_rows * 4, numbers_bytes].map(|length| {
            at += length;
            at - length..at
        });
        if count == 0 || at > bytes.len() {
            return Err(error);
        }
        let blocks = blocks(&bytes[table], count.div_ceil(BLOCK_KEYS))?;
        let slots = at..bytes.len();
        let mut page = Self { bytes, count, blocks, first_bytes: Vec::new(), keys, heads, single_rows, numbers, slots };
        page.first_bytes = (0..page.blocks()).map(|block| Ok(first_bytes(page.first_key(block)?))).collect::<Result<_, SegmentError>>()?;
        Ok(page)
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// How many keys a block has.
    pub(super) fn block_keys(&self, block: usize) -> usize {
        (self.count - block * BLOCK_KEYS).min(BLOCK_KEYS)
    }

    /// A column from `start` on.
    fn column(&self, column: &Range<usize>, start: u32) -> Result<Cursor<'_>, SegmentError> {
        let bytes = self.bytes[column.clone()].get(start as usize..).ok_or(SegmentError::corrupt(BLOCK, "a block lies outside its page"))?;
        Ok(Cursor::new(BLOCK, bytes))
    }

    pub(super) fn keys(&self, block: usize) -> Result<Cursor<'_>, SegmentError> {
        self.column(&self.keys, self.blocks[block].columns[0])
    }

    /// Reads the values of a block in order.
    pub(super) fn values(&self, block: usize, page_base: Bases) -> Result<Values<'_>, SegmentError> {
        let BlockStart { columns: [_, single_row, numbers, slots], base } = self.blocks[block];
        let place = |page: u64, block: u64| page.checked_add(block).ok_or(SegmentError::corrupt(BLOCK, "a number does not fit"));
        Ok(Values {
            page: self,
            heads: Cursor::new(BLOCK, &self.bytes[self.heads.start + block * BLOCK_KEYS..self.heads.end]),
            single_row: single_row as usize,
            numbers: self.column(&self.numbers, numbers)?,
            slots: self.column(&self.slots, slots)?,
            base: Bases {
                words: place(page_base.words, base.words)?,
                rows: place(page_base.rows, base.rows)?,
                slots: place(page_base.slots, base.slots)?,
            },
        })
    }

    fn single_row(&self, index: usize) -> Option<u32> {
        let planes = &self.bytes[self.single_rows.clone()];
        let count = planes.len() / 4;
        (index < count).then(|| u32::from_le_bytes([0, 1, 2, 3].map(|plane| planes[plane * count + index])))
    }

    fn first_key(&self, block: usize) -> Result<&[u8], SegmentError> {
        Ok(shared_and_rest(&mut self.keys(block)?)?.1)
    }

    /// The last block whose first key is not after `key`; 0 if there is none.
    pub(super) fn block_of(&self, key: &[u8]) -> Result<usize, SegmentError> {
        let wanted = first_bytes(key);
        let mut low = self.first_bytes.partition_point(|first| *first < wanted).saturating_sub(1);
        let mut high = self.first_bytes.partition_point(|first| *first <= wanted).max(low + 1);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.first_key(middle)? <= key {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Where `key` is in a block: the number of the first key that is not before it, and whether it is that key.
    pub(super) fn find(&self, block: usize, key: &[u8]) -> Result<(usize, bool), SegmentError> {
        let mut keys = self.keys(block)?;
        // How many bytes the last key that was read shares with `key`; all keys so far are before it.
        let mut matched = 0;
        for index in 0..self.block_keys(block) {
            let (shared, rest) = shared_and_rest(&mut keys)?;
            match shared.cmp(&matched) {
                // It shares more with its predecessor than the predecessor with `key`: it is before it too.
                Ordering::Greater => {}
                // It leaves the predecessor where that still agreed with `key`, upwards: it is after.
                Ordering::Less => return Ok((index, false)),
                Ordering::Equal => {
                    let wanted = &key[matched..];
                    let common = rest.iter().zip(wanted).take_while(|(left, right)| left == right).count();
                    if rest[common..] >= wanted[common..] {
                        return Ok((index, rest.len() == wanted.len() && common == rest.len()));
                    }
                    matched += common;
                }
            }
        }
        Ok((self.block_keys(block), false))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.bytes.len() + self.blocks.len() * (size_of::<BlockStart>() + 8)
    }
}

/// The first eight bytes as a number of the same order; zeros stand for what is missing.
fn first_bytes(key: &[u8]) -> u64 {
    let mut word = [0; 8];
    let length = key.len().min(8);
    word[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(word)
}

/// How many bytes the next key shares with the one before, and its rest.
#[inline]
pub(super) fn shared_and_rest<'a>(keys: &mut Cursor<'a>) -> Result<(usize, &'a [u8]), SegmentError> {
    let head = keys.u8()?;
    let (shared, rest) = if head == 0xff { (keys.u32()? as usize, keys.u32()? as usize) } else { (usize::from(head >> 4), usize::from(head & 15)) };
    Ok((shared, keys.take(rest)?))
}

fn blocks(bytes: &[u8], count: usize) -> Result<Vec<BlockStart>, SegmentError> {
    let mut cursor = Cursor::new(BLOCK, bytes);
    let mut blocks = Vec::with_capacity(count.min(bytes.len()));
    let mut columns = [0_u32; 4];
    for _ in 0..count {
        for column in &mut columns {
            *column = column.checked_add(cursor.u32()?).ok_or(SegmentError::corrupt(BLOCK, "a number does not fit"))?;
        }
        let base = Bases { words: cursor.varint()?, rows: cursor.varint()?, slots: cursor.varint()? };
        blocks.push(BlockStart { columns, base });
    }
    cursor.finish()?;
    Ok(blocks)
}

/// Reads values one after another.
pub(super) struct Values<'a> {
    page: &'a Page,
    heads: Cursor<'a>,
    /// The number of the next single row.
    single_row: usize,
    numbers: Cursor<'a>,
    slots: Cursor<'a>,
    base: Bases,
}

impl Values<'_> {
    pub(super) fn next(&mut self) -> Result<KeyEntry, SegmentError> {
        let head = self.heads.u8()?;
        let mut entry = KeyEntry::default();
        match head & WORDS_MASK {
            WORDS_ONE => entry.words = WordsRef::One(self.numbers.u32()?),
            WORDS_MANY => {
                let bytes = self.numbers.varint()?;
                entry.words = WordsRef::Many { at: self.base.words, bytes };
                self.base.words = self.advance(self.base.words, bytes)?;
            }
            _ => {}
        }
        match head & ROWS_MASK {
            ROWS_ONE => {
                let row = self.page.single_row(self.single_row).ok_or(self.numbers.corrupt("a single row is missing"))?;
                self.single_row += 1;
                entry.rows = RowsRef::One { row, slot: self.slots.u32()? };
            }
            ROWS_MANY => {
                let (bytes, slots_bytes) = (self.numbers.varint()?, self.slots.varint()?);
                entry.rows = RowsRef::Many { at: self.base.rows, bytes, slots_at: self.base.slots, slots_bytes };
                self.base.rows = self.advance(self.base.rows, bytes)?;
                self.base.slots = self.advance(self.base.slots, slots_bytes)?;
            }
            _ => {}
        }
        Ok(entry)
    }

    fn advance(&self, at: u64, bytes: u64) -> Result<u64, SegmentError> {
        at.checked_add(bytes).ok_or(self.numbers.corrupt("a number does not fit"))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}
