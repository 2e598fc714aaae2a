//! One unpacked page: blocks of front-coded keys, and their values.

use super::writer::Bases;
use super::{BLOCK_KEYS, KeyEntry, ROWS_MANY, ROWS_MASK, ROWS_ONE, RowsRef, WORDS_MANY, WORDS_MASK, WORDS_ONE, WordsRef};
use crate::error::SegmentError;
use crate::wire::Cursor;
use std::cmp::Ordering;

pub(super) const BLOCK: &str = "dictionary";

/// Number of keys u32, bytes of keys u32, per block the places of its keys and values (u32 each), keys, values.
#[derive(Debug)]
pub(super) struct Page {
    bytes: Box<[u8]>,
    count: usize,
    keys_start: usize,
    values_start: usize,
}

impl Page {
    pub(super) fn parse(bytes: Box<[u8]>) -> Result<Self, SegmentError> {
        let error = |reason| SegmentError::corrupt(BLOCK, reason);
        if bytes.len() < 8 {
            return Err(error("a page is too short"));
        }
        let (count, keys_bytes) = (u32_at(&bytes, 0) as usize, u32_at(&bytes, 4) as usize);
        let keys_start = 8 + count.div_ceil(BLOCK_KEYS) * 8;
        let values_start = keys_start + keys_bytes;
        if count == 0 || values_start > bytes.len() {
            return Err(error("a page is too short"));
        }
        Ok(Self { bytes, count, keys_start, values_start })
    }

    pub(super) fn blocks(&self) -> usize {
        self.count.div_ceil(BLOCK_KEYS)
    }

    /// How many keys a block has.
    pub(super) fn block_keys(&self, block: usize) -> usize {
        (self.count - block * BLOCK_KEYS).min(BLOCK_KEYS)
    }

    pub(super) fn keys(&self, block: usize) -> Result<Cursor<'_>, SegmentError> {
        let start = u32_at(&self.bytes, 8 + block * 8) as usize;
        let keys = &self.bytes[self.keys_start..self.values_start];
        Ok(Cursor::new(BLOCK, keys.get(start..).ok_or(SegmentError::corrupt(BLOCK, "a block lies outside its page"))?))
    }

    /// Reads the values of a block in order.
    pub(super) fn values(&self, block: usize, page_base: Bases) -> Result<Values<'_>, SegmentError> {
        let start = u32_at(&self.bytes, 8 + block * 8 + 4) as usize;
        let values = &self.bytes[self.values_start..];
        let mut cursor = Cursor::new(BLOCK, values.get(start..).ok_or(SegmentError::corrupt(BLOCK, "a block lies outside its page"))?);
        let mut place = |base: u64| base.checked_add(cursor.varint()?).ok_or(SegmentError::corrupt(BLOCK, "a number does not fit"));
        let base = Bases { words: place(page_base.words)?, rows: place(page_base.rows)?, slots: place(page_base.slots)? };
        Ok(Values { cursor, base })
    }

    /// The last block whose first key is not after `key`; 0 if there is none.
    pub(super) fn block_of(&self, key: &[u8]) -> Result<usize, SegmentError> {
        let (mut low, mut high) = (0, self.blocks());
        while high - low > 1 {
            let middle = low.midpoint(high);
            if shared_and_rest(&mut self.keys(middle)?)?.1 <= key {
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
        self.bytes.len()
    }
}

/// How many bytes the next key shares with the one before, and its rest.
#[inline]
pub(super) fn shared_and_rest<'a>(keys: &mut Cursor<'a>) -> Result<(usize, &'a [u8]), SegmentError> {
    let head = keys.u8()?;
    let (shared, rest) = if head == 0xff { (keys.u32()? as usize, keys.u32()? as usize) } else { (usize::from(head >> 4), usize::from(head & 15)) };
    Ok((shared, keys.take(rest)?))
}

/// Reads values one after another.
pub(super) struct Values<'a> {
    cursor: Cursor<'a>,
    base: Bases,
}

impl Values<'_> {
    pub(super) fn next(&mut self) -> Result<KeyEntry, SegmentError> {
        let head = self.cursor.u8()?;
        let mut entry = KeyEntry::default();
        match head & WORDS_MASK {
            WORDS_ONE => entry.words = WordsRef::One(self.cursor.u32()?),
            WORDS_MANY => {
                let bytes = self.cursor.varint()?;
                entry.words = WordsRef::Many { at: self.base.words, bytes };
                self.base.words = self.advance(self.base.words, bytes)?;
            }
            _ => {}
        }
        match head & ROWS_MASK {
            ROWS_ONE => entry.rows = RowsRef::One { row: self.cursor.u32()?, slot: self.cursor.u32()? },
            ROWS_MANY => {
                let (bytes, slots_bytes) = (self.cursor.varint()?, self.cursor.varint()?);
                entry.rows = RowsRef::Many { at: self.base.rows, bytes, slots_at: self.base.slots, slots_bytes };
                self.base.rows = self.advance(self.base.rows, bytes)?;
                self.base.slots = self.advance(self.base.slots, slots_bytes)?;
            }
            _ => {}
        }
        Ok(entry)
    }

    fn advance(&self, at: u64, bytes: u64) -> Result<u64, SegmentError> {
        at.checked_add(bytes).ok_or(self.cursor.corrupt("a number does not fit"))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}
