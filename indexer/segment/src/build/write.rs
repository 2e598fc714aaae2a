//! Puts a segment's blocks together: what building and merging share.

use super::row_slots::RowSlots;
use crate::dictionary::{DictionaryWriter, KeyEntry, RowsRef, WordsRef};
use crate::error::SegmentError;
use crate::irregular::IrregularRows;
use crate::layout::{Cells, ChunkTable, Layout};
use crate::patterns::PatternTableWriter;
use crate::postings::PostingEncoder;
use crate::wire::{BlockKind, EnvelopeWriter, PagesWriter, put_varint};
use siltstone_core::NamespaceId;

/// Takes keys in ascending order, then writes the segment.
#[derive(Default)]
pub(crate) struct SegmentWriter {
    dictionary: DictionaryWriter,
    words: PagesWriter,
    postings: PagesWriter,
    slots: PagesWriter,
    encoder: PostingEncoder,
    scratch: Vec<u8>,
}

/// What a segment has besides keys.
pub(crate) struct SegmentParts<'a> {
    pub(crate) namespace: NamespaceId,
    pub(crate) splitter_version: u32,
    pub(crate) analyzer_version: u32,
    pub(crate) chunks: &'a ChunkTable,
    pub(crate) cells: &'a Cells,
    /// The forward column.
    pub(crate) forward: PagesWriter,
    pub(crate) patterns: PatternTableWriter,
    pub(crate) irregular: &'a IrregularRows,
    /// Tokens of all rows.
    pub(crate) length: u64,
}

impl SegmentWriter {
    /// The patterns of a word: (pattern, times in it), ascending.
    pub(crate) fn put_words(&mut self, patterns: &[(u32, u32)], pattern_rows: &[u32]) -> WordsRef {
        match patterns {
            [] => WordsRef::None,
            [(pattern, 1)] => WordsRef::One(*pattern),
            _ => {
                self.scratch.clear();
                let rows = patterns.iter().map(|(pattern, _)| u64::from(pattern_rows[*pattern as usize])).sum();
                crate::words::encode(patterns, rows, &mut self.scratch);
                WordsRef::Many { at: self.words.append(&self.scratch), bytes: self.scratch.len() as u64 }
            }
        }
    }

    /// The rows of a key that has no slots, ascending and distinct.
    pub(crate) fn put_rows(&mut self, rows: &[u32], layout: &Layout) -> Result<RowsRef, SegmentError> {
        self.scratch.clear();
        self.encoder.encode(rows, layout, &mut self.scratch)?;
        let posting = std::mem::take(&mut self.scratch);
        let rows = self.put_posting(&posting, &[]);
        self.scratch = posting;
        Ok(rows)
    }

    /// The rows of a token, ascending and distinct, with the slots of each.
    pub(crate) fn put_token_rows(&mut self, rows: &[u32], slots: &RowSlots, layout: &Layout) -> Result<RowsRef, SegmentError> {
        self.scratch.clear();
        let is_flat = self.encoder.encode(rows, layout, &mut self.scratch)?;
        let posting = std::mem::take(&mut self.scratch);
        let entry = slots.entry(rows, is_flat, layout)?;
        let rows = self.put_posting(&posting, &entry);
        self.scratch = posting;
        Ok(rows)
    }

    /// A posting and its slots that are encoded already.
    pub(crate) fn put_posting(&mut self, posting: &[u8], slots: &[u8]) -> RowsRef {
        let at = self.postings.append(posting);
        let slots_at = if slots.is_empty() { 0 } else { self.slots.append(slots) };
        RowsRef::Many { at, bytes: posting.len() as u64, slots_at, slots_bytes: slots.len() as u64 }
    }

    /// Adds a key, greater than all before.
    pub(crate) fn put_key(&mut self, key: &[u8], entry: &KeyEntry) {
        self.dictionary.push(key, entry);
    }

    pub(crate) fn finish(self, parts: SegmentParts<'_>) -> Vec<u8> {
        let mut envelope = EnvelopeWriter::new(parts.namespace);
        let rows = parts.chunks.summaries.iter().map(|chunk| u64::from(chunk.rows)).sum::<u64>();
        let mut meta = Vec::new();
        for number in [u64::from(parts.splitter_version), u64::from(parts.analyzer_version), rows, parts.length] {
            put_varint(&mut meta, number);
        }
        let (patterns, pattern_meta) = parts.patterns.finish();
        envelope.push(BlockKind::Meta, &meta);
        envelope.push(BlockKind::Chunks, &parts.chunks.encode());
        envelope.push(BlockKind::Cells, &parts.cells.encode());
        envelope.push(BlockKind::Forward, &parts.forward.finish());
        envelope.push(BlockKind::Patterns, &patterns);
        envelope.push(BlockKind::PatternMeta, &pattern_meta);
        envelope.push(BlockKind::Irregular, &parts.irregular.encode());
        envelope.push(BlockKind::Dictionary, &self.dictionary.finish());
        envelope.push(BlockKind::Words, &self.words.finish());
        envelope.push(BlockKind::Postings, &self.postings.finish());
        envelope.push(BlockKind::Slots, &self.slots.finish());
        envelope.finish()
    }
}
