//! Sorts what a builder gathered and writes it.

use super::chunk;
use super::row_slots::RowSlots;
use super::write::{SegmentParts, SegmentWriter};
use super::{Occurrence, SegmentBuilder, token_key};
use crate::dictionary::{KeyEntry, RowsRef, WordsRef};
use crate::error::SegmentError;
use crate::layout::{Forward, Layout};
use crate::patterns::PatternTableWriter;
use crate::wire::PagesWriter;
use siltstone_core::analyze::ANALYZER_VERSION;
use siltstone_core::pattern::SPLITTER_VERSION;

pub(super) fn finish(builder: SegmentBuilder) -> Result<Vec<u8>, SegmentError> {
    if builder.occurrences.len() > u32::MAX as usize {
        return Err(SegmentError::TooLarge { what: "the number of variable tokens", limit: u64::from(u32::MAX) });
    }
    let order = builder.patterns.sorted();
    let mut final_pattern = vec![0; order.len()];
    for (place, pattern) in (0_u32..).zip(&order) {
        final_pattern[*pattern as usize] = place;
    }
    let layout = chunk::layout(&builder.chunks, &final_pattern);
    let mut patterns = PatternTableWriter::default();
    for pattern in &order {
        let pattern = &builder.patterns.patterns[*pattern as usize];
        patterns.push(&pattern.bytes, pattern.meta);
    }
    let mut forward = PagesWriter::default();
    for chunk in 0..layout.chunks.len() as u32 {
        Forward::encode(layout.cell_of_offset(chunk)?, layout.cells.patterns(chunk).len(), &mut forward);
    }
    let mut writer = SegmentWriter::default();
    for (key, rows) in builder.fields.into_sorted() {
        let rows = match rows.as_slice() {
            [row] => RowsRef::One { row: *row, slot: 0 },
            rows => writer.put_rows(rows, &layout)?,
        };
        writer.put_key(&key, &KeyEntry { words: WordsRef::None, rows });
    }
    let words = Grouped::words(&builder.patterns.words, builder.tokens.len(), &final_pattern);
    let rows = Grouped::occurrences(&builder.occurrences, builder.tokens.len());
    let pattern_rows = layout.cells.pattern_rows(order.len());
    let mut text = TextWriter::default();
    let mut key = Vec::new();
    for token in builder.tokens.sorted() {
        let words = writer.put_words(text.count_words(words.of(token)), &pattern_rows);
        let rows = text.put_rows(rows.of(token), &mut writer, &layout)?;
        token_key(builder.tokens.get(token), &mut key);
        writer.put_key(&key, &KeyEntry { words, rows });
    }
    Ok(writer.finish(SegmentParts {
        namespace: builder.namespace,
        splitter_version: SPLITTER_VERSION,
        analyzer_version: ANALYZER_VERSION,
        chunks: &layout.chunks,
        cells: &layout.cells,
        forward,
        patterns,
        irregular: &builder.irregular,
        length: builder.length,
    }))
}

/// Items by token, within each token in the order in which they were given.
struct Grouped<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Grouped<T>
where
    T: Copy + Default,
{
    /// Counting sort: two passes, no comparisons.
    fn new<I>(pairs: I, tokens: usize) -> Self
    where
        I: Iterator<Item = (u32, T)> + Clone,
    {
        let mut starts = vec![0_u32; tokens + 1];
        for (token, _) in pairs.clone() {
            starts[token as usize + 1] += 1;
        }
        for token in 0..tokens {
            starts[token + 1] += starts[token];
        }
        let mut next = starts.clone();
        let mut items = vec![T::default(); starts[tokens] as usize];
        for (token, item) in pairs {
            let place = &mut next[token as usize];
            items[*place as usize] = item;
            *place += 1;
        }
        Self { starts, items }
    }

    fn of(&self, token: u32) -> &[T] {
        &self.items[self.starts[token as usize] as usize..self.starts[token as usize + 1] as usize]
    }
}

impl Grouped<(u32, u32)> {
    /// (row, slot) of each token.
    fn occurrences(occurrences: &[Occurrence], tokens: usize) -> Self {
        Self::new(occurrences.iter().map(|occurrence| (occurrence.token, (occurrence.row, occurrence.slot))), tokens)
    }
}

impl Grouped<u32> {
    /// Final numbers of the patterns of each word, ascending.
    fn words(words: &[(u32, u32)], tokens: usize, final_pattern: &[u32]) -> Self {
        let mut grouped = Self::new(words.iter().map(|(token, pattern)| (*token, final_pattern[*pattern as usize])), tokens);
        for token in 0..tokens {
            let range = grouped.starts[token] as usize..grouped.starts[token + 1] as usize;
            grouped.items[range].sort_unstable();
        }
        grouped
    }
}

/// Buffers of one token after another.
#[derive(Default)]
struct TextWriter {
    words: Vec<(u32, u32)>,
    rows: Vec<u32>,
    slots: Vec<u32>,
    row_slots: RowSlots,
}

impl TextWriter {
    fn count_words(&mut self, patterns: &[u32]) -> &[(u32, u32)] {
        self.words.clear();
        self.words.extend(patterns.chunk_by(|left, right| left == right).map(|same| (same[0], same.len() as u32)));
        &self.words
    }

    fn put_rows(&mut self, occurrences: &[(u32, u32)], writer: &mut SegmentWriter, layout: &Layout) -> Result<RowsRef, SegmentError> {
        match occurrences {
            [] => return Ok(RowsRef::None),
            [(row, slot)] => return Ok(RowsRef::One { row: *row, slot: *slot }),
            _ => {}
        }
        self.rows.clear();
        self.row_slots.clear();
        for same_row in occurrences.chunk_by(|left, right| left.0 == right.0) {
            self.rows.push(same_row[0].0);
            self.slots.clear();
            self.slots.extend(same_row.iter().map(|(_, slot)| *slot));
            self.row_slots.push(&self.slots);
        }
        writer.put_token_rows(&self.rows, &self.row_slots, layout)
    }
}
