//! Writes keys in ascending order.

use super::{BLOCK_KEYS, KeyEntry, ROWS_MANY, ROWS_ONE, RowsRef, WORDS_MANY, WORDS_ONE, WordsRef};
use crate::wire::{PAGE_BYTES, compress, put_bytes, put_varint};

/// Writes the dictionary's block: the number of pages; per page its first key, where its entries begin in each stream, and its
/// lengths; then the pages.
#[derive(Default)]
pub(crate) struct DictionaryWriter {
    pages: u64,
    directory: Vec<u8>,
    packed: Vec<u8>,
    /// The page at hand.
    restarts: Vec<(u32, u32)>,
    keys: Vec<u8>,
    values: Vec<u8>,
    count: u32,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    base: Bases,
    page_base: Bases,
}

/// A place in each stream.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Bases {
    pub(super) words: u64,
    pub(super) rows: u64,
    pub(super) slots: u64,
}

impl DictionaryWriter {
    /// Adds a key, greater than all before. Entries of each stream lie behind one another in the order of their keys, without gaps: so their
    /// lengths alone are written, and the place of the first in each block.
    pub(crate) fn push(&mut self, key: &[u8], entry: &KeyEntry) {
        debug_assert!(self.last_key.as_slice() < key || self.count == 0, "keys ascend");
        if self.keys.len() + self.values.len() >= PAGE_BYTES {
            self.flush();
        }
        if self.count == 0 {
            self.first_key.clear();
            self.first_key.extend_from_slice(key);
            self.page_base = self.base;
        }
        let shared = if self.count as usize % BLOCK_KEYS == 0 {
            self.restarts.push((self.keys.len() as u32, self.values.len() as u32));
            put_varint(&mut self.values, self.base.words - self.page_base.words);
            put_varint(&mut self.values, self.base.rows - self.page_base.rows);
            put_varint(&mut self.values, self.base.slots - self.page_base.slots);
            0
        } else {
            self.last_key.iter().zip(key).take_while(|(left, right)| left == right).count()
        };
        put_shared(&mut self.keys, shared, &key[shared..]);
        self.put_value(entry);
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.count += 1;
    }

    fn put_value(&mut self, entry: &KeyEntry) {
        let out = &mut self.values;
        let head = out.len();
        out.push(0);
        match entry.words {
            WordsRef::None => {}
            WordsRef::One(pattern) => {
                out[head] |= WORDS_ONE;
                put_varint(out, u64::from(pattern));
            }
            WordsRef::Many { at, bytes } => {
                out[head] |= WORDS_MANY;
                debug_assert_eq!(at, self.base.words, "entries have no gaps");
                put_varint(out, bytes);
                self.base.words = at + bytes;
            }
        }
        match entry.rows {
            RowsRef::None => {}
            RowsRef::One { row, slot } => {
                out[head] |= ROWS_ONE;
                put_varint(out, u64::from(row));
                put_varint(out, u64::from(slot));
            }
            RowsRef::Many { at, bytes, slots_at, slots_bytes } => {
                out[head] |= ROWS_MANY;
                debug_assert_eq!(at, self.base.rows, "entries have no gaps");
                put_varint(out, bytes);
                self.base.rows = at + bytes;
                put_varint(out, slots_bytes);
                debug_assert!(slots_bytes == 0 || slots_at == self.base.slots, "entries have no gaps");
                self.base.slots += slots_bytes;
            }
        }
    }

    fn flush(&mut self) {
        if self.count == 0 {
            return;
        }
        let mut page = Vec::with_capacity(self.keys.len() + self.values.len() + self.restarts.len() * 8 + 8);
        page.extend_from_slice(&self.count.to_le_bytes());
        page.extend_from_slice(&(self.keys.len() as u32).to_le_bytes());
        for (key, value) in &self.restarts {
            page.extend_from_slice(&key.to_le_bytes());
            page.extend_from_slice(&value.to_le_bytes());
        }
        page.append(&mut self.keys);
        page.append(&mut self.values);
        let packed = compress(&page);
        put_bytes(&mut self.directory, &self.first_key);
        put_varint(&mut self.directory, self.page_base.words);
        put_varint(&mut self.directory, self.page_base.rows);
        put_varint(&mut self.directory, self.page_base.slots);
        put_varint(&mut self.directory, page.len() as u64);
        put_varint(&mut self.directory, packed.len() as u64);
        self.packed.extend_from_slice(&packed);
        self.pages += 1;
        self.restarts.clear();
        self.count = 0;
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.flush();
        let mut out = Vec::with_capacity(self.directory.len() + self.packed.len() + 10);
        put_varint(&mut out, self.pages);
        out.append(&mut self.directory);
        out.append(&mut self.packed);
        out
    }
}

/// How many bytes a key shares with the one before, and the rest of it: both numbers in one byte where they are small, as they mostly are.
fn put_shared(out: &mut Vec<u8>, shared: usize, rest: &[u8]) {
    if shared < 15 && rest.len() < 15 {
        out.push((shared << 4 | rest.len()) as u8);
    } else {
        out.push(0xff);
        put_varint(out, shared as u64);
        put_varint(out, rest.len() as u64);
    }
    out.extend_from_slice(rest);
}
