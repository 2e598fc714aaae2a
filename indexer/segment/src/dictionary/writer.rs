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
    blocks: Vec<u8>,
    block_start: [usize; 4],
    keys: Vec<u8>,
    heads: Vec<u8>,
    single_rows: Vec<u32>,
    numbers: Vec<u8>,
    slots: Vec<u8>,
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

impl Bases {
    const fn as_array(self) -> [u64; 3] {
        [self.words, self.rows, self.slots]
    }
}

impl DictionaryWriter {
    /// Adds a key, greater than all before. Entries of each stream lie behind one another in the order of their keys, without gaps: so their
    /// lengths alone are written, and the place of the first in each block.
    pub(crate) fn push(&mut self, key: &[u8], entry: &KeyEntry) {
        debug_assert!(self.last_key.as_slice() < key || self.count == 0, "keys ascend");
        if self.keys.len() + self.single_rows.len() * 4 + self.numbers.len() >= PAGE_BYTES {
            self.flush();
        }
        if self.count == 0 {
            self.first_key.clear();
            self.first_key.extend_from_slice(key);
            self.page_base = self.base;
        }
        let shared = if (self.count as usize).is_multiple_of(BLOCK_KEYS) {
            self.begin_block();
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

    /// Where the block's keys, single rows, numbers and slots begin, each as distance from the block before; then where its entries begin in
    /// each stream, as distance from the page's.
    fn begin_block(&mut self) {
        let start = [self.keys.len(), self.single_rows.len(), self.numbers.len(), self.slots.len()];
        for (start, before) in start.iter().zip(self.block_start) {
            put_varint(&mut self.blocks, (start - before) as u64);
        }
        self.block_start = start;
        for (base, page_base) in self.base.as_array().into_iter().zip(self.page_base.as_array()) {
            put_varint(&mut self.blocks, base - page_base);
        }
    }

    fn put_value(&mut self, entry: &KeyEntry) {
        let mut head = 0;
        match entry.words {
            WordsRef::None => {}
            WordsRef::One(pattern) => {
                head |= WORDS_ONE;
                put_varint(&mut self.numbers, u64::from(pattern));
            }
            WordsRef::Many { at, bytes } => {
                debug_assert_eq!(at, self.base.words, "entries have no gaps");
                head |= WORDS_MANY;
                put_varint(&mut self.numbers, bytes);
                self.base.words = at + bytes;
            }
        }
        match entry.rows {
            RowsRef::None => {}
            RowsRef::One { row, slot } => {
                head |= ROWS_ONE;
                self.single_rows.push(row);
                put_varint(&mut self.slots, u64::from(slot));
            }
            RowsRef::Many { at, bytes, slots_at, slots_bytes } => {
                debug_assert_eq!(at, self.base.rows, "entries have no gaps");
                debug_assert!(slots_bytes == 0 || slots_at == self.base.slots, "entries have no gaps");
                head |= ROWS_MANY;
                put_varint(&mut self.numbers, bytes);
                put_varint(&mut self.slots, slots_bytes);
                self.base.rows = at + bytes;
                self.base.slots += slots_bytes;
            }
        }
        self.heads.push(head);
    }

    fn flush(&mut self) {
        if self.count == 0 {
            return;
        }
        let mut page = Vec::with_capacity(2 * PAGE_BYTES);
        let sizes = [self.count as usize, self.blocks.len(), self.keys.len(), self.single_rows.len(), self.numbers.len()];
        for size in sizes {
            page.extend_from_slice(&(size as u32).to_le_bytes());
        }
        page.append(&mut self.blocks);
        page.append(&mut self.keys);
        page.append(&mut self.heads);
        // Byte by byte of all rows: high bytes are alike and compress, low ones do not and are left in peace.
        for byte in 0..4 {
            page.extend(self.single_rows.iter().map(|row| row.to_le_bytes()[byte]));
        }
        page.append(&mut self.numbers);
        page.append(&mut self.slots);
        self.single_rows.clear();
        self.block_start = [0; 4];
        let packed = compress(&page);
        put_bytes(&mut self.directory, &self.first_key);
        for base in self.page_base.as_array() {
            put_varint(&mut self.directory, base);
        }
        put_varint(&mut self.directory, page.len() as u64);
        put_varint(&mut self.directory, packed.len() as u64);
        self.packed.extend_from_slice(&packed);
        self.pages += 1;
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
