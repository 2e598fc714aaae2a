//! The best rows by BM25.
//!
//! Rows of one pattern have the same words, and the same length but for irregular rows; so a score is computed once a pattern, and a row differs
//! from it by the variable tokens alone. A pattern's bound (each variable token as often as it ever stands in a row) rules out its rows together.

use super::{Evaluator, Found};
use crate::dictionary::RowsRef;
use crate::error::SegmentError;
use crate::postings::SlotCounts;
use crate::rank::{Bm25, Top};
use crate::source::{Position, ScoredRow, ScoringTerms, TextStatistics};
use siltstone_core::address::CHUNK_ROWS_BITS;
use siltstone_core::bitmap::Block;
use siltstone_core::{CHUNK_ROWS_MAX, RowAddress};
use siltstone_query::Expr;
use std::sync::Arc;

/// A scoring term on a segment.
struct Term<'a> {
    /// The patterns that have it as a word, with how often.
    words: Vec<(u32, u32)>,
    /// The rows whose variables have it, chunk by chunk.
    rows: SlotCounts<'a>,
}

/// What is the same for all regular rows of a pattern.
#[derive(Clone, Copy)]
struct PatternScore {
    /// No row of the pattern scores more.
    bound: f32,
    /// What rows score without any of the terms in their variables.
    by_words: f32,
}

/// Patterns that are sorted by score before the others are.
const SORTED_PATTERNS: usize = 128;

/// Scores the rows of one expression.
struct Ranker<'a> {
    evaluator: Evaluator<'a>,
    scorer: Bm25,
    terms: Vec<Term<'a>>,
    /// Per pattern that was met.
    scores: Vec<Option<PatternScore>>,
    top: Top<ScoredRow>,
    counts: Vec<u32>,
}

impl Evaluator<'_> {
    /// How many rows have each term.
    pub(crate) fn statistics(&self, terms: &ScoringTerms) -> Result<TextStatistics, SegmentError> {
        let count = |term: &String| self.count(&Expr::Text(siltstone_query::Text::Term(term.clone())));
        let row_frequencies = terms.terms().iter().map(count).collect::<Result<Vec<_>, _>>()?;
        Ok(TextStatistics { rows: self.reader.row_count(), tokens: self.reader.token_count(), row_frequencies })
    }

    pub(crate) fn top_k(&self, expr: &Expr, terms: &ScoringTerms, statistics: &TextStatistics, limit: usize) -> Result<Vec<ScoredRow>, SegmentError> {
        let found = self.found(expr)?;
        if found.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let mut looked_up = Vec::new();
        for term in terms.terms() {
            let entry = self.reader.token(term)?;
            let rows = match entry.rows {
                RowsRef::None => SlotCounts::default(),
                RowsRef::One { row, .. } => SlotCounts::one(row),
                RowsRef::Many { at, bytes, slots_at, slots_bytes } => {
                    SlotCounts::open(&self.reader.posting(at, bytes)?, self.reader.slots(slots_at, slots_bytes)?)?
                }
            };
            looked_up.push(Term { words: self.reader.word_patterns(&entry.words)?, rows });
        }
        let mut ranker = Ranker {
            evaluator: *self,
            scorer: Bm25::new(statistics),
            terms: looked_up,
            scores: Vec::new(),
            top: Top::new(limit),
            counts: Vec::new(),
        };
        let irregular = ranker.irregular(&found)?;
        if found.rows.is_empty() && ranker.terms.iter().all(|term| term.rows.is_empty()) {
            ranker.by_patterns(&found, &irregular)?;
        } else {
            ranker.by_chunks(&found, &irregular)?;
        }
        Ok(ranker.top.into_sorted())
    }
}

impl Ranker<'_> {
    fn score_of(&mut self, pattern: u32) -> PatternScore {
        if let Some(score) = self.scores[pattern as usize] {
            return score;
        }
        let length = self.evaluator.reader.patterns.meta(pattern).tokens;
        self.count_words(pattern);
        let by_words = self.scorer.score(&self.counts, length);
        for (count, term) in self.counts.iter_mut().zip(&self.terms) {
            *count += term.rows.count_max();
        }
        let score = PatternScore { bound: self.scorer.score(&self.counts, length), by_words };
        self.scores[pattern as usize] = Some(score);
        score
    }

    /// How often a pattern has each term as a word.
    fn count_words(&mut self, pattern: u32) {
        self.counts.clear();
        for term in &self.terms {
            let place = term.words.binary_search_by_key(&pattern, |(pattern, _)| *pattern);
            self.counts.push(place.map_or(0, |place| term.words[place].1));
        }
    }

    /// Scores the irregular rows that were found, each by itself; gives them all, found or not, per chunk.
    fn irregular(&mut self, found: &Found) -> Result<Vec<(u32, Block)>, SegmentError> {
        let irregular = &self.evaluator.reader.irregular;
        let mut blocks: Vec<(u32, Block)> = Vec::new();
        let mut is_chosen = Vec::new();
        for (index, row) in irregular.rows.iter().enumerate() {
            let (chunk, offset) = (row >> CHUNK_ROWS_BITS, (row & (CHUNK_ROWS_MAX as u32 - 1)) as u16);
            if blocks.last().is_none_or(|(last, _)| *last != chunk) {
                blocks.push((chunk, Block::EMPTY));
            }
            if let Some((_, block)) = blocks.last_mut() {
                block.insert(offset);
            }
            let is_found = self.evaluator.block_of(found, chunk, &mut is_chosen)?.is_some_and(|block| block.contains(offset));
            if is_found {
                let pattern = self.evaluator.reader.layout.pattern_of(chunk, offset)?;
                self.count_words(pattern);
                for (count, term) in self.counts.iter_mut().zip(&self.terms) {
                    *count += term.rows.count_of(*row, &self.evaluator.reader.layout)?;
                }
                let length = self.evaluator.reader.patterns.meta(pattern).tokens.saturating_add_signed(irregular.extra_tokens[index]);
                let score = self.scorer.score(&self.counts, length);
                let times = self.evaluator.timestamps(chunk)?;
                self.push(chunk, offset, score, &times)?;
            }
        }
        Ok(blocks)
    }

    fn push(&mut self, chunk: u32, offset: u16, score: f32, times: &[i64]) -> Result<(), SegmentError> {
        let id = self.evaluator.reader.chunks()[chunk as usize].id;
        let timestamp_ns = self.evaluator.time_of(chunk, offset, times)?;
        self.top.push(ScoredRow { score, position: Position { timestamp_ns, address: RowAddress::new(id, usize::from(offset)) } });
        Ok(())
    }

    /// Whether a row of the chunk with this score could be among the best.
    fn can_enter(&self, chunk: u32, score: f32) -> bool {
        self.top.least().is_none_or(|least| match score.total_cmp(&least.score) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => self.evaluator.reader.chunks()[chunk as usize].last_ns >= least.position.timestamp_ns,
        })
    }

    /// Whole patterns and no term in variables: pattern by pattern, the best first, until the next cannot enter.
    fn by_patterns(&mut self, found: &Found, irregular: &[(u32, Block)]) -> Result<(), SegmentError> {
        let mut patterns = self.scored_patterns(found);
        let best_first = |left: &(f32, u32), right: &(f32, u32)| right.0.total_cmp(&left.0);
        // The first few patterns mostly have rows enough: the others need no order among themselves.
        if patterns.len() > SORTED_PATTERNS {
            patterns.select_nth_unstable_by(SORTED_PATTERNS, best_first);
        }
        let mut rest = patterns.as_mut_slice();
        while !rest.is_empty() {
            let cut = rest.len().min(SORTED_PATTERNS);
            let (first, others) = rest.split_at_mut(cut);
            first.sort_unstable_by(best_first);
            for same_score in first.chunk_by(|left, right| left.0.total_cmp(&right.0).is_eq()) {
                if self.top.least().is_some_and(|least| same_score[0].0 < least.score) {
                    return Ok(());
                }
                self.same_score(same_score, irregular)?;
            }
            others.sort_unstable_by(best_first);
            rest = others;
        }
        Ok(())
    }

    /// The score of each pattern that was found, by its words.
    fn scored_patterns(&mut self, found: &Found) -> Vec<(f32, u32)> {
        let mut scored = Vec::with_capacity(found.patterns.len());
        let mut next = vec![0; self.terms.len()];
        for pattern in found.patterns.iter() {
            self.counts.clear();
            for (next, term) in next.iter_mut().zip(&self.terms) {
                while term.words.get(*next).is_some_and(|(other, _)| *other < pattern) {
                    *next += 1;
                }
                self.counts.push(term.words.get(*next).filter(|(other, _)| *other == pattern).map_or(0, |(_, times)| *times));
            }
            scored.push((self.scorer.score(&self.counts, self.evaluator.reader.patterns.meta(pattern).tokens), pattern));
        }
        scored
    }

    /// The newest rows of patterns that score the same.
    fn same_score(&mut self, patterns: &[(f32, u32)], irregular: &[(u32, Block)]) -> Result<(), SegmentError> {
        let score = patterns[0].0;
        let cells = &self.evaluator.reader.layout.cells;
        let mut places: Vec<(u32, u16)> = patterns.iter().flat_map(|(_, pattern)| cells.of_pattern(*pattern)).copied().collect();
        let chunks = self.evaluator.reader.chunks();
        places.sort_unstable_by_key(|(chunk, _)| (std::cmp::Reverse(chunks[*chunk as usize].last_ns), *chunk));
        let mut times: Option<(u32, Arc<[i64]>)> = None;
        for (chunk, cell) in places {
            if !self.can_enter(chunk, score) {
                break;
            }
            if times.as_ref().is_none_or(|(of, _)| *of != chunk) {
                times = Some((chunk, self.evaluator.timestamps(chunk)?));
            }
            let Some((_, times)) = &times else { continue };
            let mut block = self.evaluator.reader.layout.rows_of_cell(chunk, cell)?;
            remove(&mut block, chunk, irregular);
            for offset in &block {
                self.push(chunk, offset, score, times)?;
            }
        }
        Ok(())
    }

    /// Chunk by chunk, those with the latest rows first.
    fn by_chunks(&mut self, found: &Found, irregular: &[(u32, Block)]) -> Result<(), SegmentError> {
        let layout = &self.evaluator.reader.layout;
        self.scores.resize(self.evaluator.reader.patterns.len(), None);
        let mut is_chosen = Vec::new();
        let mut is_hopeful: Vec<bool> = Vec::new();
        let mut in_variables: Vec<Vec<(u16, u32)>> = vec![Vec::new(); self.terms.len()];
        for chunk in self.evaluator.chunks_newest_first() {
            if found.rows.offsets(chunk).is_none() && !self.evaluator.chosen_cells(found, chunk, &mut is_chosen) {
                continue;
            }
            is_hopeful.clear();
            for pattern in layout.cells.patterns(chunk) {
                let bound = self.score_of(*pattern).bound;
                is_hopeful.push(self.can_enter(chunk, bound));
            }
            if !is_hopeful.contains(&true) {
                continue;
            }
            let Some(mut block) = self.evaluator.block_of(found, chunk, &mut is_chosen)? else { continue };
            if is_hopeful.contains(&false) {
                let hopeful = layout.rows_of_cells(chunk, &is_hopeful)?;
                block.0.iter_mut().zip(hopeful.0).for_each(|(word, hopeful)| *word &= hopeful);
            }
            remove(&mut block, chunk, irregular);
            if !block.is_empty() {
                for (term, counts) in self.terms.iter().zip(&mut in_variables) {
                    term.rows.of_chunk(chunk, layout, counts)?;
                }
                self.rank_chunk(chunk, &block, &in_variables)?;
            }
        }
        Ok(())
    }

    /// Scores rows of one chunk; `in_variables` has, per term, the offsets whose variables have it, with how often.
    fn rank_chunk(&mut self, chunk: u32, block: &Block, in_variables: &[Vec<(u16, u32)>]) -> Result<(), SegmentError> {
        let layout = &self.evaluator.reader.layout;
        let (column, patterns) = (layout.cell_of_offset(chunk)?, layout.cells.patterns(chunk));
        let mut next = vec![0; in_variables.len()];
        let mut times = None;
        for offset in block {
            let cell = column.get(usize::from(offset)).and_then(|cell| patterns.get(usize::from(*cell)));
            let pattern = *cell.ok_or(SegmentError::corrupt("postings", "a row does not exist"))?;
            let mut has_variables = false;
            for (next, counts) in next.iter_mut().zip(in_variables) {
                while counts.get(*next).is_some_and(|(other, _)| *other < offset) {
                    *next += 1;
                }
                has_variables |= counts.get(*next).is_some_and(|(other, _)| *other == offset);
            }
            let mut score = self.score_of(pattern).by_words;
            if has_variables {
                self.count_words(pattern);
                for ((next, counts), count) in next.iter().zip(in_variables).zip(&mut self.counts) {
                    *count += counts.get(*next).filter(|(other, _)| *other == offset).map_or(0, |(_, times)| *times);
                }
                score = self.scorer.score(&self.counts, self.evaluator.reader.patterns.meta(pattern).tokens);
            }
            if self.can_enter(chunk, score) {
                let times = match &times {
                    Some(times) => times,
                    None => times.insert(self.evaluator.timestamps(chunk)?),
                };
                let times = Arc::clone(times);
                self.push(chunk, offset, score, &times)?;
            }
        }
        Ok(())
    }
}

fn remove(block: &mut Block, chunk: u32, irregular: &[(u32, Block)]) {
    if let Ok(place) = irregular.binary_search_by_key(&chunk, |(chunk, _)| *chunk) {
        block.0.iter_mut().zip(irregular[place].1.0).for_each(|(word, irregular)| *word &= !irregular);
    }
}
