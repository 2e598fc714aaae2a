//! The patterns of the rows that a builder was given.

use super::interner::Interner;
use crate::patterns::PatternMeta;
use rustc_hash::FxHashMap;
use siltstone_core::analyze::{PatternToken, tokens_of_pattern};
use siltstone_core::pattern::PatternHash;
use siltstone_format::{Pattern, Rows};

/// Distinct patterns in order of first appearance.
#[derive(Default)]
pub(super) struct BuiltPatterns {
    by_hash: FxHashMap<u128, u32>,
    pub(super) patterns: Vec<BuiltPattern>,
    /// (token, pattern), a pair an occurrence, pattern by pattern.
    pub(super) words: Vec<(u32, u32)>,
}

/// A pattern.
pub(super) struct BuiltPattern {
    pub(super) bytes: Box<[u8]>,
    pub(super) meta: PatternMeta,
}

impl BuiltPatterns {
    /// Words and slots of a pattern.
    pub(super) fn tokens(&self, pattern: u32) -> u32 {
        self.patterns[pattern as usize].meta.tokens
    }

    /// The numbers of the rows' patterns, row by row.
    pub(super) fn add_rows(&mut self, rows: &Rows, tokens: &mut Interner, scratch: &mut String) -> Vec<u32> {
        let mut numbers: Vec<Option<u32>> = vec![None; rows.patterns.len()];
        let mut out = Vec::with_capacity(rows.len());
        for (local, time) in rows.pattern_ids.iter().zip(&rows.timestamps_ns) {
            let number = *numbers[*local as usize].get_or_insert_with(|| self.intern(&rows.patterns[*local as usize], *time, tokens, scratch));
            let meta = &mut self.patterns[number as usize].meta;
            meta.first_ns = meta.first_ns.min(*time);
            meta.last_ns = meta.last_ns.max(*time);
            out.push(number);
        }
        out
    }

    fn intern(&mut self, pattern: &Pattern, time: i64, tokens: &mut Interner, scratch: &mut String) -> u32 {
        let next = self.patterns.len() as u32;
        let number = *self.by_hash.entry(pattern.hash.0).or_insert(next);
        // Two patterns of one hash, if they ever meet, are told apart by their bytes.
        if number != next && self.patterns[number as usize].bytes == pattern.bytes {
            return number;
        }
        let mut count = 0;
        tokens_of_pattern(&pattern.bytes, scratch, |token| {
            count += 1;
            if let PatternToken::Word(word) = token {
                self.words.push((tokens.intern(word.as_bytes()), next));
            }
        });
        let foreign_hash = (pattern.hash != PatternHash::of(&pattern.bytes)).then_some(pattern.hash);
        let meta = PatternMeta { tokens: count, first_ns: time, last_ns: time, foreign_hash };
        self.patterns.push(BuiltPattern { bytes: pattern.bytes.clone(), meta });
        next
    }

    /// The builder's numbers in final order: by bytes, then by hash.
    pub(super) fn sorted(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.patterns.len() as u32).collect();
        order.sort_unstable_by(|left, right| {
            let (left, right) = (&self.patterns[*left as usize], &self.patterns[*right as usize]);
            left.bytes.cmp(&right.bytes).then_with(|| left.meta.foreign_hash.cmp(&right.meta.foreign_hash))
        });
        order
    }
}
