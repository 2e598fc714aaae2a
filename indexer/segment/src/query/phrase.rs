//! Words one after another.
//!
//! A token with an ASCII digit stands in a slot, any other is a word of the pattern: the splitter makes a variable of every run that has an ASCII
//! digit, and a variable of one token has that digit in the token. So a pattern alone says where a phrase may lie and in which slots its digit
//! tokens must stand; rows are then found by the tokens' postings and slots, without a look at the rows. Rows of which a variable has not exactly
//! one token ("irregular") are the exception: those that have all the tokens are looked at.

use super::{Evaluator, Found, PatternSet, Within};
use crate::dictionary::{KeyEntry, RowsRef};
use crate::error::SegmentError;
use crate::scan::RowText;
use rustc_hash::FxHashMap;
use siltstone_core::CHUNK_ROWS_MAX;
use siltstone_core::address::CHUNK_ROWS_BITS;
use siltstone_core::analyze::{PatternToken, tokens_of_pattern};
use siltstone_core::bitmap::RowSet;

/// Whether a token stands in slots (of rows that are regular).
fn is_slot_token(token: &str) -> bool {
    token.bytes().any(|byte| byte.is_ascii_digit())
}

/// A place of a phrase in a pattern: per slot token of the phrase, the slot in which it must stand.
type Alignment = Box<[u32]>;

/// A row that may have the phrase, with the places that are left.
struct Candidate {
    row: u32,
    pattern: u32,
    /// A bit an alignment of the pattern, of those of the pass.
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
        if slot_tokens.is_empty() {
            let mut matcher = PatternMatcher::new(words);
            let mut with_phrase = Vec::new();
            for pattern in patterns.iter() {
                if !matcher.alignments(self.reader.patterns.bytes(pattern)?).is_empty() {
                    with_phrase.push(pattern);
                }
            }
            found.patterns = PatternSet::from_sorted(with_phrase, self.reader.patterns.len());
        } else if !patterns.is_empty() {
            let mut alignments =
                Alignments { matcher: PatternMatcher::new(words), patterns: &patterns, skip: 0, is_cut: false, of_pattern: FxHashMap::default() };
            loop {
                let rows = self.rows_with_slots(entries, &slot_tokens, &mut alignments, limits)?;
                found.rows = found.rows.or(&rows);
                if !alignments.next_pass() {
                    break;
                }
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

    /// Regular rows of `patterns` that have the phrase, of which some tokens stand in slots.
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
        let mut candidates = Vec::new();
        let (_, first) = order[0];
        self.for_each_slots(&entries[slot_tokens[first]].rows, Wanted::Limits(limits), |row, slots| {
            let pattern = self.reader.layout.pattern_of(row >> CHUNK_ROWS_BITS, (row & (CHUNK_ROWS_MAX as u32 - 1)) as u16)?;
            let alive = alignments.of(pattern, self)?.alive(u64::MAX, first, slots);
            if alive != 0 && !self.reader.irregular.contains(row) {
                candidates.push(Candidate { row, pattern, alive });
            }
            Ok(())
        })?;
        for (_, place) in &order[1..] {
            let mut next = 0;
            let mut kept = Vec::new();
            let wanted = std::mem::take(&mut candidates);
            self.for_each_slots(&entries[slot_tokens[*place]].rows, Wanted::Candidates(&wanted), |row, slots| {
                while wanted.get(next).is_some_and(|candidate| candidate.row < row) {
                    next += 1;
                }
                if let Some(candidate) = wanted.get(next).filter(|candidate| candidate.row == row) {
                    let alive = alignments.of(candidate.pattern, self)?.alive(candidate.alive, *place, slots);
                    if alive != 0 {
                        kept.push(Candidate { alive, ..*candidate });
                    }
                }
                Ok(())
            })?;
            candidates = kept;
        }
        RowSet::from_sorted(candidates.iter().map(|candidate| u64::from(candidate.row)))
            .map_err(|_| SegmentError::corrupt("postings", "rows do not ascend"))
    }

    /// Calls `each` with a token's rows, ascending, and the slots in which it stands. Rows that are not wanted may be left out.
    fn for_each_slots<F>(&self, rows: &RowsRef, wanted: Wanted<'_>, mut each: F) -> Result<(), SegmentError>
    where
        F: FnMut(u32, &[u32]) -> Result<(), SegmentError>,
    {
        let mut buffer = Vec::new();
        match *rows {
            RowsRef::None => Ok(()),
            RowsRef::One { row, slot } => each(row, &[slot]),
            RowsRef::Many { at, bytes, slots_at, slots_bytes } => {
                let posting = self.reader.posting(at, bytes)?;
                let mut slots = self.reader.slots(slots_at, slots_bytes)?;
                if let Some(rows) = posting.flat() {
                    for row in rows {
                        slots.next(&mut buffer)?;
                        each(row?, &buffer)?;
                    }
                    return Ok(());
                }
                for group in posting.groups()? {
                    if !wanted.has_chunk(group.chunk) {
                        slots.skip(group.rows)?;
                        continue;
                    }
                    let mut result = Ok(());
                    group.for_each(&self.reader.layout, |offset| {
                        if result.is_ok() {
                            result = slots.next(&mut buffer).and_then(|()| each(group.chunk << CHUNK_ROWS_BITS | u32::from(offset), &buffer));
                        }
                    })?;
                    result?;
                }
                Ok(())
            }
        }
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
            let with_token = Found { patterns: self.patterns_with(entry)?, rows: self.row_set(&entry.rows)? };
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

/// Which rows of a posting matter.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Limits(Within<'a>),
    Candidates(&'a [Candidate]),
}

impl Wanted<'_> {
    fn has_chunk(&self, chunk: u32) -> bool {
        match self {
            Self::Limits(Within::Rows(rows)) => rows.offsets(chunk).is_some(),
            Self::Limits(_) => true,
            Self::Candidates(candidates) => {
                let first = candidates.partition_point(|candidate| candidate.row >> CHUNK_ROWS_BITS < chunk);
                candidates.get(first).is_some_and(|candidate| candidate.row >> CHUNK_ROWS_BITS == chunk)
            }
        }
    }
}

/// Places of the phrase in each pattern that was met.
struct Alignments<'a> {
    matcher: PatternMatcher<'a>,
    /// The patterns that have all the words.
    patterns: &'a PatternSet,
    /// Alignments of a pattern that passes before this one looked at.
    skip: usize,
    /// Whether a pattern has alignments that this pass does not look at.
    is_cut: bool,
    of_pattern: FxHashMap<u32, Places>,
}

/// Alignments of one pattern, at most [`PASS_ALIGNMENTS`].
struct Places(Vec<Alignment>);

/// Alignments of a pattern that one pass looks at: a bit each. More are rare: a phrase of digits in a line of dozens of numbers.
const PASS_ALIGNMENTS: usize = 64;

impl Alignments<'_> {
    fn of(&mut self, pattern: u32, evaluator: &Evaluator<'_>) -> Result<&Places, SegmentError> {
        use std::collections::hash_map::Entry;
        match self.of_pattern.entry(pattern) {
            Entry::Occupied(places) => Ok(places.into_mut()),
            Entry::Vacant(place) => {
                let mut places =
                    if self.patterns.contains(pattern) { self.matcher.alignments(evaluator.reader.patterns.bytes(pattern)?) } else { Vec::new() };
                places.drain(..self.skip.min(places.len()));
                self.is_cut |= places.len() > PASS_ALIGNMENTS;
                places.truncate(PASS_ALIGNMENTS);
                Ok(place.insert(Places(places)))
            }
        }
    }

    /// Goes on to the alignments that were cut off; false if there are none.
    fn next_pass(&mut self) -> bool {
        self.skip += PASS_ALIGNMENTS;
        self.of_pattern.clear();
        std::mem::take(&mut self.is_cut)
    }
}

impl Places {
    /// Those of `alive` in which the slot token at `place` stands in one of `slots`.
    fn alive(&self, alive: u64, place: usize, slots: &[u32]) -> u64 {
        let mut left = 0;
        for (index, alignment) in self.0.iter().enumerate() {
            if alive >> index & 1 == 1 && slots.contains(&alignment[place]) {
                left |= 1 << index;
            }
        }
        left
    }
}

/// Finds the places of a phrase in patterns.
struct PatternMatcher<'a> {
    words: &'a [String],
    items: Vec<Item>,
    scratch: String,
}

/// A token of a pattern as the phrase sees it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    /// The word of the phrase that stands first at this number.
    Word(u32),
    /// No word of the phrase.
    Other,
    Slot(u32),
}

impl<'a> PatternMatcher<'a> {
    fn new(words: &'a [String]) -> Self {
        Self { words, items: Vec::new(), scratch: String::new() }
    }

    /// Each place at which the words stand and slots stand for the slot tokens; the slots of the latter.
    fn alignments(&mut self, pattern: &[u8]) -> Vec<Alignment> {
        let (items, words) = (&mut self.items, self.words);
        items.clear();
        tokens_of_pattern(pattern, &mut self.scratch, |token| {
            items.push(match token {
                PatternToken::Slot(slot) => Item::Slot(slot),
                PatternToken::Word(word) => words.iter().position(|other| other == word).map_or(Item::Other, |index| Item::Word(index as u32)),
            });
        });
        let fits = |item: &Item, word: &String| match item {
            Item::Slot(_) => is_slot_token(word),
            Item::Word(index) => words[*index as usize] == *word,
            Item::Other => false,
        };
        let places = items.windows(words.len()).filter(|window| window.iter().zip(words).all(|(item, word)| fits(item, word)));
        places.map(|window| window.iter().filter_map(|item| if let Item::Slot(slot) = item { Some(*slot) } else { None }).collect()).collect()
    }
}
