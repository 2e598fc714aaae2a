//! Words one after another.
//!
//! A token with an ASCII digit stands in a slot, any other is a word of the pattern: the splitter makes a variable of every run that has an ASCII
//! digit, and a variable of one token has that digit in the token. So a pattern alone says where a phrase may lie and in which slots its digit
//! tokens must stand; rows are then found by the tokens' postings and slots, cell by cell, without a look at the rows. Rows of which a variable has
//! not exactly one token ("irregular") are the exception: those that have all the tokens are looked at.

use super::alignment::Alignments;
use super::{Evaluator, Found, PatternSet, Within};
use crate::dictionary::KeyEntry;
use crate::error::SegmentError;
use crate::postings::{TokenChunk, TokenRows};
use crate::scan::RowText;
use siltstone_core::address::CHUNK_ROWS_BITS;
use siltstone_core::bitmap::RowSet;

/// Whether a token stands in slots (of rows that are regular).
pub(super) fn is_slot_token(token: &str) -> bool {
    token.bytes().any(|byte| byte.is_ascii_digit())
}

/// A row that may have the phrase, with the places that are left: a bit an alignment of its pattern.
#[derive(Clone, Copy)]
struct Candidate {
    offset: u16,
    pattern: u32,
    alive: u64,
}

impl Evaluator<'_> {
    pub(super) fn eval_phrase(&self, words: &[String], entries: &[KeyEntry], limits: Within<'_>) -> Result<Found, SegmentError> {
        let slot_tokens: Vec<usize> = (0..words.len()).filter(|index| is_slot_token(&words[*index])).collect();
        let mut patterns: Option<PatternSet> = None;
        for (_, entry) in words.iter().zip(entries).filter(|(word, _)| !is_slot_token(word)) {
            let with_word = self.patterns_with(entry)?;
            patterns = Some(match patterns {
                None => with_word,
                Some(patterns) => patterns.and(&with_word),
            });
        }
        let patterns = patterns.unwrap_or_else(|| PatternSet::full(self.reader.patterns.len()));
        let mut found = Found::nothing(self.reader);
        let mut alignments = Alignments::new(words, patterns);
        if slot_tokens.is_empty() {
            found.patterns = alignments.patterns_with_words(self.reader)?;
        } else {
            // Patterns with more alignments than a pass looks at come again; there are mostly none.
            while !alignments.is_done() {
                let rows = self.rows_with_slots(entries, &slot_tokens, &mut alignments, limits)?;
                found.rows = found.rows.or(&rows);
                alignments.next_pass();
            }
        }
        let irregular = self.irregular_rows(words, entries, limits)?;
        if !irregular.is_empty() {
            found.rows = found.rows.or(&irregular);
        }
        Ok(found)
    }

    fn patterns_with(&self, entry: &KeyEntry) -> Result<PatternSet, SegmentError> {
        let patterns = self.reader.word_patterns(&entry.words)?.into_iter().map(|(pattern, _)| pattern).collect();
        Ok(PatternSet::from_sorted(patterns, self.reader.patterns.len()))
    }

    /// Regular rows that have the phrase, of which some tokens stand in slots.
    fn rows_with_slots(
        &self,
        entries: &[KeyEntry],
        slot_tokens: &[usize],
        alignments: &mut Alignments<'_>,
        limits: Within<'_>,
    ) -> Result<RowSet, SegmentError> {
        // The rarest token names the candidates, the others strike out.
        let mut order: Vec<(u64, usize)> = Vec::new();
        for (place, token) in slot_tokens.iter().enumerate() {
            order.push((self.reader.rows_len(&entries[*token].rows)?, place));
        }
        order.sort_unstable();
        let mut tokens = Vec::new();
        for (_, place) in &order {
            tokens.push((*place, TokenRows::open(self.reader, &entries[slot_tokens[*place]].rows)?));
        }
        let Some(((first_place, first), others)) = tokens.split_first() else { return Ok(RowSet::new()) };
        let layout = &self.reader.layout;
        let mut token_chunk = TokenChunk::default();
        let mut candidates = Vec::new();
        let mut rows = Vec::new();
        for chunk in first.chunks() {
            let is_limited_out = matches!(limits, Within::Rows(rows) if rows.offsets(chunk).is_none());
            if is_limited_out || !layout.cells.patterns(chunk).iter().any(|pattern| alignments.may_have(*pattern)) {
                continue;
            }
            first.read(chunk, layout, &mut token_chunk)?;
            self.name_candidates(chunk, &token_chunk, *first_place, alignments, &mut candidates)?;
            for (place, token) in others {
                if !candidates.is_empty() {
                    token.read(chunk, layout, &mut token_chunk)?;
                    self.strike_out(chunk, &token_chunk, *place, alignments, &mut candidates)?;
                }
            }
            candidates.sort_unstable_by_key(|candidate| candidate.offset);
            let of_chunk = candidates.iter().map(|candidate| chunk << CHUNK_ROWS_BITS | u32::from(candidate.offset));
            rows.extend(of_chunk.filter(|row| !self.reader.irregular.contains(*row)).map(u64::from));
        }
        RowSet::from_sorted(rows).map_err(|_| SegmentError::corrupt("postings", "rows do not ascend"))
    }

    /// The rows of a chunk in which the token at `place` stands where an alignment has it.
    fn name_candidates(
        &self,
        chunk: u32,
        token: &TokenChunk,
        place: usize,
        alignments: &mut Alignments<'_>,
        candidates: &mut Vec<Candidate>,
    ) -> Result<(), SegmentError> {
        candidates.clear();
        let patterns = self.reader.layout.cells.patterns(chunk);
        for cell in token.cells() {
            let pattern = patterns[cell];
            let places = alignments.of(pattern, self.reader)?;
            if places.is_empty() {
                continue;
            }
            let same = token.same_slots(cell).map(|slots| places.alive(u64::MAX, place, slots));
            if same == Some(0) {
                continue;
            }
            for (number, offset) in token.rows_of(cell).iter().enumerate() {
                let alive = same.unwrap_or_else(|| places.alive(u64::MAX, place, token.slots_of(cell, number)));
                if alive != 0 {
                    candidates.push(Candidate { offset: *offset, pattern, alive });
                }
            }
        }
        Ok(())
    }

    /// Keeps the candidates in which the token at `place`, too, stands where an alignment has it.
    fn strike_out(
        &self,
        chunk: u32,
        token: &TokenChunk,
        place: usize,
        alignments: &mut Alignments<'_>,
        candidates: &mut Vec<Candidate>,
    ) -> Result<(), SegmentError> {
        let column = self.reader.layout.cell_of_offset(chunk)?;
        let mut kept = Vec::with_capacity(candidates.len());
        for candidate in candidates.iter() {
            let cell = usize::from(column[usize::from(candidate.offset)]);
            let Ok(number) = token.rows_of(cell).binary_search(&candidate.offset) else { continue };
            let alive = alignments.of(candidate.pattern, self.reader)?.alive(candidate.alive, place, token.slots_of(cell, number));
            if alive != 0 {
                kept.push(Candidate { alive, ..*candidate });
            }
        }
        *candidates = kept;
        Ok(())
    }

    /// Irregular rows that have the phrase: those that have all its tokens are looked at.
    fn irregular_rows(&self, words: &[String], entries: &[KeyEntry], limits: Within<'_>) -> Result<RowSet, SegmentError> {
        if self.reader.irregular.rows.is_empty() {
            return Ok(RowSet::new());
        }
        let irregular = RowSet::from_sorted(self.reader.irregular.rows.iter().map(|row| u64::from(*row)))
            .map_err(|_| SegmentError::corrupt("irregular rows", "rows do not ascend"))?;
        let mut candidates = Found::of_rows(irregular, self.reader);
        if let Within::Rows(rows) = limits {
            candidates.rows = candidates.rows.and(rows);
        }
        for entry in entries {
            if candidates.is_empty() {
                return Ok(RowSet::new());
            }
            let with_token = Found { patterns: self.patterns_with(entry)?, rows: self.row_set(&entry.rows, Within::Rows(&candidates.rows))? };
            candidates = candidates.and(&with_token, self.reader)?;
        }
        let mut kept = Vec::new();
        let mut text = RowText::default();
        for (ordinal, offsets) in candidates.rows.chunks() {
            let chunk = self.rows_of_chunk(ordinal)?;
            for offset in offsets {
                let rank = self.reader.layout.chunks.rank_of_offset(ordinal, offset);
                if rank < chunk.rows.len() && text.has_phrase(&chunk.rows, rank, words) {
                    kept.push(u64::from(ordinal) << CHUNK_ROWS_BITS | u64::from(offset));
                }
            }
        }
        RowSet::from_sorted(kept).map_err(|_| SegmentError::corrupt("irregular rows", "rows do not ascend"))
    }
}
