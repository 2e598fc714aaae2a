//! The dictionaries of all segments as one.

use super::chunks::MergedChunks;
use super::patterns::MergedPatterns;
use super::postings::MergedRows;
use crate::build::SegmentWriter;
use crate::dictionary::{Entries, KeyEntry, RowsRef, WordsRef};
use crate::error::SegmentError;
use crate::key;
use crate::reader::SegmentReader;

/// Where a segment's dictionary has been read to.
struct Head<'a> {
    segment: usize,
    entries: Entries<'a>,
    key: Vec<u8>,
    entry: KeyEntry,
    is_done: bool,
}

impl Head<'_> {
    fn advance(&mut self) -> Result<(), SegmentError> {
        match self.entries.next()? {
            None => self.is_done = true,
            Some((key, entry)) => {
                if !self.key.is_empty() && key <= self.key.as_slice() {
                    return Err(SegmentError::corrupt("dictionary", "keys do not ascend"));
                }
                self.key.clear();
                self.key.extend_from_slice(key);
                self.entry = entry;
            }
        }
        Ok(())
    }
}

pub(super) fn merge_keys(
    segments: &[&SegmentReader],
    chunks: &MergedChunks,
    patterns: &MergedPatterns,
    writer: &mut SegmentWriter,
) -> Result<(), SegmentError> {
    let mut heads = Vec::with_capacity(segments.len());
    for (segment, reader) in segments.iter().enumerate() {
        let mut head = Head { segment, entries: reader.dictionary.from(&[])?, key: Vec::new(), entry: KeyEntry::default(), is_done: false };
        head.advance()?;
        heads.push(head);
    }
    let mut rows = MergedRows::default();
    let mut words = Vec::new();
    let mut this = Vec::new();
    loop {
        heads.retain(|head| !head.is_done);
        let Some(least) = heads.iter().map(|head| &head.key).min() else { return Ok(()) };
        this.clear();
        this.extend_from_slice(least);
        words.clear();
        rows.begin(this.first() == Some(&key::TEXT));
        for head in heads.iter_mut().filter(|head| head.key == this) {
            let reader = segments[head.segment];
            if head.entry.words != WordsRef::None {
                let of_segment = reader.word_patterns(&head.entry.words)?;
                words.extend(of_segment.into_iter().map(|(pattern, times)| (patterns.number(head.segment, pattern), times)));
            }
            if head.entry.rows != RowsRef::None {
                rows.add(head.segment, reader, &head.entry.rows, chunks)?;
            }
            head.advance()?;
        }
        words.sort_unstable();
        words.dedup_by_key(|(pattern, _)| *pattern);
        let entry = KeyEntry { words: writer.put_words(&words, &patterns.rows), rows: rows.write(segments, writer)? };
        writer.put_key(&this, &entry);
    }
}
