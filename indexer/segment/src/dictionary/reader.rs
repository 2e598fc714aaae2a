//! Looks keys up, and walks them in order.

use super::KeyEntry;
use super::page::{BLOCK, Page, Values, shared_and_rest};
use super::writer::Bases;
use crate::error::SegmentError;
use crate::wire::{Cursor, decompress};
use bytes::Bytes;
use std::sync::OnceLock;

/// A dictionary that was opened. Pages are unpacked when first needed.
#[derive(Debug)]
pub(crate) struct Dictionary {
    pages: Vec<PageSlot>,
}

#[derive(Debug)]
struct PageSlot {
    first_key: Box<[u8]>,
    base: Bases,
    raw_bytes: u64,
    packed: Bytes,
    page: OnceLock<Page>,
}

impl Dictionary {
    pub(crate) fn open(bytes: &Bytes) -> Result<Self, SegmentError> {
        let mut cursor = Cursor::new(BLOCK, bytes);
        let count = cursor.count()?;
        let mut pages = Vec::with_capacity(count);
        let mut lengths = Vec::with_capacity(count);
        for _ in 0..count {
            let first_key: Box<[u8]> = cursor.bytes()?.into();
            if pages.last().is_some_and(|last: &PageSlot| last.first_key >= first_key) {
                return Err(cursor.corrupt("pages do not ascend"));
            }
            let base = Bases { words: cursor.varint()?, rows: cursor.varint()?, slots: cursor.varint()? };
            let raw_bytes = cursor.varint()?;
            lengths.push(cursor.bounded(bytes.len() as u64, "a page is larger than its block")? as usize);
            pages.push(PageSlot { first_key, base, raw_bytes, packed: Bytes::new(), page: OnceLock::new() });
        }
        let mut at = bytes.len() - cursor.rest().len();
        for (page, length) in pages.iter_mut().zip(lengths) {
            cursor.take(length)?;
            page.packed = bytes.slice(at..at + length);
            at += length;
        }
        cursor.finish()?;
        Ok(Self { pages })
    }

    /// What a key has, if it is there.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<KeyEntry>, SegmentError> {
        let after = self.pages.partition_point(|page| &*page.first_key <= key);
        let Some(slot) = after.checked_sub(1).map(|index| &self.pages[index]) else { return Ok(None) };
        let page = slot.page()?;
        let block = page.block_of(key)?;
        let (index, is_found) = page.find(block, key)?;
        if !is_found {
            return Ok(None);
        }
        let mut values = page.values(block, slot.base)?;
        for _ in 0..index {
            values.next()?;
        }
        values.next().map(Some)
    }

    /// Walks the keys from the first that is not before `key`.
    pub(crate) fn from(&self, key: &[u8]) -> Result<Entries<'_>, SegmentError> {
        let page = self.pages.partition_point(|page| &*page.first_key <= key).saturating_sub(1);
        let mut entries = Entries { dictionary: self, page, block: 0, left: 0, keys: None, key: Vec::new() };
        let Some(slot) = self.pages.get(page) else { return Ok(entries) };
        let opened = slot.page()?;
        entries.block = opened.block_of(key)?;
        let (index, _) = opened.find(entries.block, key)?;
        for _ in 0..index {
            entries.next()?;
        }
        Ok(entries)
    }

    #[cfg(test)]
    pub(super) fn page_count(&self) -> usize {
        self.pages.len()
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.pages.iter().map(|slot| slot.first_key.len() + slot.page.get().map_or(0, Page::heap_bytes)).sum()
    }
}

impl PageSlot {
    fn page(&self) -> Result<&Page, SegmentError> {
        if let Some(page) = self.page.get() {
            return Ok(page);
        }
        let page = Page::parse(decompress(BLOCK, &self.packed, self.raw_bytes)?)?;
        Ok(self.page.get_or_init(|| page))
    }
}

/// Keys in order, each with what it has.
pub(crate) struct Entries<'a> {
    dictionary: &'a Dictionary,
    /// The page and the block that are read next once `left` is 0.
    page: usize,
    block: usize,
    left: usize,
    keys: Option<(Cursor<'a>, Values<'a>)>,
    key: Vec<u8>,
}

impl Entries<'_> {
    /// The next key. (No `Iterator`: the key is lent.)
    pub(crate) fn next(&mut self) -> Result<Option<(&[u8], KeyEntry)>, SegmentError> {
        if self.left == 0 && !self.begin_block()? {
            return Ok(None);
        }
        let Some((keys, values)) = &mut self.keys else { return Ok(None) };
        let (shared, rest) = shared_and_rest(keys)?;
        if shared > self.key.len() {
            return Err(keys.corrupt("a key shares more than there is"));
        }
        self.key.truncate(shared);
        self.key.extend_from_slice(rest);
        self.left -= 1;
        let entry = values.next()?;
        Ok(Some((&self.key, entry)))
    }

    fn begin_block(&mut self) -> Result<bool, SegmentError> {
        let Some(mut slot) = self.dictionary.pages.get(self.page) else { return Ok(false) };
        if self.block >= slot.page()?.blocks() {
            self.page += 1;
            self.block = 0;
            let Some(next) = self.dictionary.pages.get(self.page) else { return Ok(false) };
            slot = next;
        }
        let page = slot.page()?;
        self.keys = Some((page.keys(self.block)?, page.values(self.block, slot.base)?));
        self.left = page.block_keys(self.block);
        self.key.clear();
        self.block += 1;
        Ok(true)
    }
}
