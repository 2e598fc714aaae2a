//! Where a phrase may lie in patterns: at which tokens, and which slots then hold its slot tokens.

use super::PatternSet;
use super::phrase::is_slot_token;
use crate::error::SegmentError;
use crate::pattern_tokens::{Token, TokenHash};
use crate::reader::SegmentReader;
use siltstone_core::analyze::{PatternToken, tokens_of_pattern};

/// Alignments of a pattern that one pass looks at: a bit each. More are rare: a phrase of digits in a line of dozens of numbers.
const PASS_ALIGNMENTS: usize = 64;

/// The alignments of a phrase in the patterns that were met.
pub(super) struct Alignments<'a> {
    words: &'a [String],
    hashes: Vec<Wanted>,
    /// The patterns that have all the words, or, in later passes, those with more alignments than a pass looks at.
    patterns: PatternSet,
    /// Alignments of a pattern that passes before this one looked at.
    skip: usize,
    /// Patterns that have more alignments than this pass looks at.
    cut: Vec<u32>,
    /// Per pattern: its number in `places` and one more; 0 for those that were not met.
    numbers: Vec<u32>,
    places: Vec<Places>,
    scratch: String,
}

/// What a token of the phrase must meet.
#[derive(Clone, Copy)]
enum Wanted {
    Word(TokenHash),
    Slot,
}

/// Alignments of one pattern, in the order of their places: per slot token of the phrase, the slot in which it must stand.
#[derive(Default)]
pub(super) struct Places {
    slot_tokens: usize,
    slots: Vec<u32>,
}

impl<'a> Alignments<'a> {
    pub(super) fn new(words: &'a [String], patterns: PatternSet) -> Self {
        let hashes = words.iter().map(|word| if is_slot_token(word) { Wanted::Slot } else { Wanted::Word(TokenHash::of(word)) }).collect();
        Self { words, hashes, patterns, skip: 0, cut: Vec::new(), numbers: Vec::new(), places: Vec::new(), scratch: String::new() }
    }

    /// The patterns that have the phrase in their words; for a phrase without slot tokens.
    pub(super) fn patterns_with_words(&mut self, reader: &SegmentReader) -> Result<PatternSet, SegmentError> {
        let mut with_phrase = Vec::new();
        let patterns = std::mem::replace(&mut self.patterns, PatternSet::empty(reader.patterns.len()));
        for pattern in patterns.iter() {
            if self.has_place(pattern, reader)? {
                with_phrase.push(pattern);
            }
        }
        Ok(PatternSet::from_sorted(with_phrase, reader.patterns.len()))
    }

    /// Whether the pass looks at a pattern at all.
    pub(super) fn may_have(&self, pattern: u32) -> bool {
        self.patterns.contains(pattern)
    }

    /// The alignments of a pattern that the pass looks at.
    pub(super) fn of(&mut self, pattern: u32, reader: &SegmentReader) -> Result<&Places, SegmentError> {
        if self.numbers.is_empty() {
            self.numbers.resize(reader.patterns.len(), 0);
            self.places.push(Places::default());
        }
        if self.numbers[pattern as usize] == 0 {
            let places = if self.patterns.contains(pattern) { self.find(pattern, reader)? } else { Places::default() };
            // Most patterns have none, and share that.
            let number = if places.is_empty() { 1 } else { self.places.len() as u32 + 1 };
            if !places.is_empty() {
                self.places.push(places);
            }
            self.numbers[pattern as usize] = number;
        }
        Ok(&self.places[self.numbers[pattern as usize] as usize - 1])
    }

    /// Goes on to the alignments that were cut off.
    pub(super) fn next_pass(&mut self) {
        self.skip += PASS_ALIGNMENTS;
        self.numbers.clear();
        self.places.clear();
        self.cut.sort_unstable();
        let universe = self.patterns.universe();
        self.patterns = PatternSet::from_sorted(std::mem::take(&mut self.cut), universe);
    }

    /// Whether no pattern is left to look at.
    pub(super) fn is_done(&self) -> bool {
        self.patterns.is_empty()
    }

    fn find(&mut self, pattern: u32, reader: &SegmentReader) -> Result<Places, SegmentError> {
        let tokens = reader.pattern_tokens.of(pattern, &reader.patterns)?;
        let fits = |(token, wanted): (&Token, &Wanted)| match wanted {
            Wanted::Slot => token.slot().is_some(),
            Wanted::Word(hash) => token.is_word(*hash),
        };
        let mut starts: Vec<usize> = Vec::new();
        for (start, window) in tokens.windows(self.hashes.len()).enumerate() {
            if window.iter().zip(&self.hashes).all(fits) {
                starts.push(start);
            }
        }
        if !starts.is_empty() {
            let mut is_place = vec![false; tokens.len()];
            self.verify(reader.patterns.bytes(pattern)?, &starts, &mut is_place);
            starts.retain(|start| is_place[*start]);
        }
        let mut starts = starts.split_off(self.skip.min(starts.len()));
        if starts.len() > PASS_ALIGNMENTS {
            self.cut.push(pattern);
            starts.truncate(PASS_ALIGNMENTS);
        }
        let slots = starts.iter().flat_map(|start| tokens[*start..start + self.hashes.len()].iter().filter_map(Token::slot)).collect();
        let slot_tokens = self.hashes.iter().filter(|wanted| matches!(wanted, Wanted::Slot)).count();
        Ok(Places { slot_tokens, slots })
    }

    fn has_place(&mut self, pattern: u32, reader: &SegmentReader) -> Result<bool, SegmentError> {
        let tokens = reader.pattern_tokens.of(pattern, &reader.patterns)?;
        let fits = |(token, wanted): (&Token, &Wanted)| matches!(wanted, Wanted::Word(hash) if token.is_word(*hash));
        let starts: Vec<usize> = tokens
            .windows(self.hashes.len())
            .enumerate()
            .filter(|(_, window)| window.iter().zip(&self.hashes).all(fits))
            .map(|(start, _)| start)
            .collect();
        if starts.is_empty() {
            return Ok(false);
        }
        let mut is_place = vec![false; tokens.len()];
        self.verify(reader.patterns.bytes(pattern)?, &starts, &mut is_place);
        Ok(is_place.contains(&true))
    }

    /// Marks those of `starts` at which the pattern really has the words: hashes may be equal by chance.
    fn verify(&mut self, pattern: &[u8], starts: &[usize], is_place: &mut [bool]) {
        starts.iter().for_each(|start| is_place[*start] = true);
        let words = self.words;
        if self.hashes.iter().all(|wanted| matches!(wanted, Wanted::Slot)) {
            return;
        }
        let mut index = 0;
        tokens_of_pattern(pattern, &mut self.scratch, |token| {
            if let PatternToken::Word(word) = token {
                let first = starts.partition_point(|start| start + words.len() <= index);
                for start in starts[first..].iter().take_while(|start| **start <= index) {
                    let wanted = &words[index - start];
                    is_place[*start] &= is_slot_token(wanted) || wanted == word;
                }
            }
            index += 1;
        });
    }
}

impl Places {
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Those of `alive` in which the slot token at `place` stands in one of `slots`.
    pub(super) fn alive(&self, alive: u64, place: usize, slots: &[u32]) -> u64 {
        let count = self.slots.len() / self.slot_tokens;
        let slot_at = |alignment: usize| self.slots[alignment * self.slot_tokens + place];
        let mut left = 0;
        for slot in slots {
            // Later alignments have later slots at the same place.
            let (mut low, mut high) = (0, count);
            while low < high {
                let middle = low.midpoint(high);
                if slot_at(middle) < *slot {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            if low < count && slot_at(low) == *slot {
                left |= 1 << low;
            }
        }
        left & alive
    }
}
