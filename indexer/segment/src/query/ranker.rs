//! Scores rows and keeps the best.
//!
//! Every row that was found is looked at in just one of three passes: irregular rows; rows that have a scoring token in their variables or were
//! found one by one; other rows of patterns that were found whole.

use super::{Evaluator, Found};
use crate::error::SegmentError;
use crate::postings::{TokenChunk, TokenRows};
use crate::rank::{Bm25, Top};
use crate::source::{Position, ScoredRow, TextStatistics};
use siltstone_core::address::CHUNK_ROWS_BITS;
use siltstone_core::bitmap::Block;
use siltstone_core::{CHUNK_ROWS_MAX, RowAddress};
use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

/// Patterns that are sorted by score before the others are.
const SORTED_PATTERNS: usize = 128;

/// Rows of a chunk that are scored one by one, without their order by cell.
const FEW_ROWS: u32 = 16;

/// A scoring term on a segment.
pub(super) struct Term<'a> {
    /// The patterns that have it as a word, with how often.
    pub(super) words: Vec<(u32, u32)>,
    /// The rows whose variables have it.
    pub(super) rows: TokenRows<'a>,
}

/// Scores the rows of one expression.
pub(super) struct Ranker<'a> {
    evaluator: Evaluator<'a>,
    scorer: Bm25,
    terms: Vec<Term<'a>>,
    top: Top<ScoredRow>,
    counts: Vec<u32>,
    times: Option<(u32, Arc<[i64]>)>,
    /// Of the chunk that was asked for last.
    variables: VariablesOfChunk,
}

/// The rows of a chunk that have terms in their variables.
#[derive(Default)]
struct VariablesOfChunk {
    chunk: Option<u32>,
    terms: Vec<TokenChunk>,
    /// The rows of any term.
    rows: Block,
}

impl<'a> Ranker<'a> {
    pub(super) fn new(evaluator: Evaluator<'a>, statistics: &TextStatistics, terms: Vec<Term<'a>>, limit: usize) -> Self {
        Self {
            evaluator,
            scorer: Bm25::new(statistics),
            terms,
            top: Top::new(limit),
            counts: Vec::new(),
            times: None,
            variables: VariablesOfChunk::default(),
        }
    }

    /// Best first.
    pub(super) fn into_best(self) -> Vec<ScoredRow> {
        self.top.into_sorted()
    }

    /// How often a pattern has each term as a word.
    fn count_words(&mut self, pattern: u32) {
        self.counts.clear();
        for term in &self.terms {
            let place = term.words.binary_search_by_key(&pattern, |(pattern, _)| *pattern);
            self.counts.push(place.map_or(0, |place| term.words[place].1));
        }
    }

    fn length_of(&self, pattern: u32) -> u32 {
        self.evaluator.reader.patterns.tokens(pattern)
    }

    /// Whether a row of the chunk with this score could be among the best.
    fn can_enter(&self, chunk: u32, score: f32) -> bool {
        self.top.least().is_none_or(|least| match score.total_cmp(&least.score) {
            Ordering::Less => false,
            Ordering::Greater => true,
            Ordering::Equal => self.evaluator.reader.chunks()[chunk as usize].last_ns >= least.position.timestamp_ns,
        })
    }

    fn push(&mut self, chunk: u32, offset: u16, score: f32) -> Result<(), SegmentError> {
        if self.times.as_ref().is_none_or(|(of, _)| *of != chunk) {
            self.times = Some((chunk, self.evaluator.timestamps(chunk)?));
        }
        let Some((_, times)) = &self.times else { return Ok(()) };
        let timestamp_ns = self.evaluator.time_of(chunk, offset, times)?;
        let id = self.evaluator.reader.chunks()[chunk as usize].id;
        self.top.push(ScoredRow { score, position: Position { timestamp_ns, address: RowAddress::new(id, usize::from(offset)) } });
        Ok(())
    }

    /// Irregular rows, each by itself: their length is their own.
    pub(super) fn irregular_rows(&mut self, found: &Found) -> Result<(), SegmentError> {
        let reader = self.evaluator.reader;
        for (row, extra_tokens) in reader.irregular.rows.iter().zip(&reader.irregular.extra_tokens) {
            let (chunk, offset) = (row >> CHUNK_ROWS_BITS, (row & (CHUNK_ROWS_MAX as u32 - 1)) as u16);
            let pattern = reader.layout.pattern_of(chunk, offset)?;
            if !found.patterns.contains(pattern) && !found.rows.contains(chunk, offset) {
                continue;
            }
            self.count_words(pattern);
            self.load_variables(chunk)?;
            let cell = usize::from(reader.layout.cell_of_offset(chunk)?[usize::from(offset)]);
            for (count, term) in self.counts.iter_mut().zip(&self.variables.terms) {
                let place = term.rows_of(cell).binary_search(&offset);
                *count += place.map_or(0, |place| term.slots_of(cell, place).len() as u32);
            }
            let score = self.scorer.score(&self.counts, self.length_of(pattern).saturating_add_signed(*extra_tokens));
            if self.can_enter(chunk, score) {
                self.push(chunk, offset, score)?;
            }
        }
        Ok(())
    }

    /// Regular rows that have a term in their variables, and those that were found one by one.
    pub(super) fn single_rows(&mut self, found: &Found) -> Result<(), SegmentError> {
        if found.rows.is_empty() && self.terms.iter().all(|term| term.rows.is_empty()) {
            return Ok(());
        }
        let mut is_chosen = Vec::new();
        let mut hopeful = Vec::new();
        for chunk in self.evaluator.reader.newest_first().iter().copied() {
            let offsets = found.rows.offsets(chunk);
            if offsets.is_none() && (found.patterns.is_empty() || !self.terms.iter().any(|term| term.rows.has_chunk(chunk))) {
                continue;
            }
            if offsets.is_none_or(|offsets| offsets.count() <= FEW_ROWS) && self.score_few(chunk, found)? {
                continue;
            }
            self.load_variables(chunk)?;
            if !self.variables.rows.is_empty() {
                self.hopeful_cells(chunk, &mut hopeful);
                if !hopeful.is_empty() {
                    let mut rows = self.evaluator.block_of(found, chunk, &mut is_chosen)?.unwrap_or(Block::EMPTY);
                    self.remove_irregular(chunk, &mut rows);
                    let variables = std::mem::take(&mut self.variables);
                    let result = hopeful.iter().try_for_each(|(cell, words)| self.score_cell(chunk, *cell, words, &variables.terms, &rows));
                    self.variables = variables;
                    result?;
                }
            }
            if let Some(offsets) = offsets {
                let mut rows = offsets.to_block();
                rows.0.iter_mut().zip(self.variables.rows.0).for_each(|(word, variables)| *word &= !variables);
                self.remove_irregular(chunk, &mut rows);
                self.score_by_words(chunk, &rows, found)?;
            }
        }
        Ok(())
    }

    /// Scores a chunk's rows one by one, where they are so few that sorting them by cell would take longer; whether it did.
    fn score_few(&mut self, chunk: u32, found: &Found) -> Result<bool, SegmentError> {
        let mut rows: Vec<(u16, usize, u32)> = Vec::new();
        for (number, term) in self.terms.iter().enumerate() {
            if !term.rows.few_of_chunk(chunk, FEW_ROWS as usize, |offset, times| rows.push((offset, number, times)))? {
                return Ok(false);
            }
        }
        if let Some(offsets) = found.rows.offsets(chunk) {
            // Rows without a term in their variables count too; the number of a term that is none stands for that.
            rows.extend(offsets.iter().map(|offset| (offset, usize::MAX, 0)));
        }
        rows.sort_unstable();
        let reader = self.evaluator.reader;
        for of_row in rows.chunk_by(|left, right| left.0 == right.0) {
            let offset = of_row[0].0;
            let pattern = reader.layout.pattern_of(chunk, offset)?;
            let has_variables = of_row[0].1 != usize::MAX;
            let in_pattern = found.patterns.contains(pattern);
            // A whole pattern's rows without variables have their own pass.
            let is_found = if in_pattern { has_variables } else { of_row[of_row.len() - 1].1 == usize::MAX };
            if !is_found || reader.irregular.contains(chunk << CHUNK_ROWS_BITS | u32::from(offset)) {
                continue;
            }
            self.count_words(pattern);
            of_row.iter().filter(|(_, number, _)| *number != usize::MAX).for_each(|(_, number, times)| self.counts[*number] += times);
            let score = self.scorer.score(&self.counts, self.length_of(pattern));
            if self.can_enter(chunk, score) {
                self.push(chunk, offset, score)?;
            }
        }
        Ok(true)
    }

    /// The cells of the chunk at hand that have rows which could be among the best, each with how often its pattern has each term as a word.
    fn hopeful_cells(&mut self, chunk: u32, hopeful: &mut Vec<(usize, Box<[u32]>)>) {
        hopeful.clear();
        let patterns = self.evaluator.reader.layout.cells.patterns(chunk);
        let mut bounds = Vec::new();
        for (cell, pattern) in patterns.iter().enumerate() {
            if self.variables.terms.iter().all(|term| term.rows_of(cell).is_empty()) {
                continue;
            }
            bounds.clear();
            bounds.extend(self.variables.terms.iter().map(|term| term.count_max(cell)));
            self.count_words(*pattern);
            bounds.iter_mut().zip(&self.counts).for_each(|(bound, words)| *bound += words);
            if self.can_enter(chunk, self.scorer.score(&bounds, self.length_of(*pattern))) {
                hopeful.push((cell, self.counts.as_slice().into()));
            }
        }
    }

    /// Scores those of `among` that are of the cell and have a term in their variables.
    fn score_cell(&mut self, chunk: u32, cell: usize, words: &[u32], terms: &[TokenChunk], among: &Block) -> Result<(), SegmentError> {
        let pattern = self.evaluator.reader.layout.cells.patterns(chunk)[cell];
        let length = self.length_of(pattern);
        let mut rows: Vec<(u16, usize, u32)> = Vec::new();
        for (number, term) in terms.iter().enumerate() {
            let of_cell = term.rows_of(cell).iter().enumerate().filter(|(_, offset)| among.contains(**offset));
            rows.extend(of_cell.map(|(place, offset)| (*offset, number, term.slots_of(cell, place).len() as u32)));
        }
        if terms.len() > 1 {
            rows.sort_unstable();
        }
        let mut counts = Vec::new();
        for of_row in rows.chunk_by(|left, right| left.0 == right.0) {
            counts.clear();
            counts.extend_from_slice(words);
            of_row.iter().for_each(|(_, number, times)| counts[*number] += times);
            let score = self.scorer.score(&counts, length);
            if self.can_enter(chunk, score) {
                self.push(chunk, of_row[0].0, score)?;
            }
        }
        Ok(())
    }

    /// Scores rows that have no term in their variables: words alone count, so all of a cell's score the same.
    fn score_by_words(&mut self, chunk: u32, rows: &Block, found: &Found) -> Result<(), SegmentError> {
        if rows.is_empty() {
            return Ok(());
        }
        let layout = &self.evaluator.reader.layout;
        let (column, patterns) = (layout.cell_of_offset(chunk)?, layout.cells.patterns(chunk));
        let mut score_of_cell: Vec<Option<f32>> = vec![None; patterns.len()];
        for offset in rows {
            let cell = usize::from(column.get(usize::from(offset)).copied().unwrap_or(crate::layout::BURNED));
            let pattern = *patterns.get(cell).ok_or(SegmentError::corrupt("postings", "a row does not exist"))?;
            let score = match score_of_cell[cell] {
                // A whole pattern's rows have their own pass.
                None if found.patterns.contains(pattern) => f32::NEG_INFINITY,
                None => {
                    self.count_words(pattern);
                    self.scorer.score(&self.counts, self.length_of(pattern))
                }
                Some(score) => score,
            };
            score_of_cell[cell] = Some(score);
            if score >= 0.0 && self.can_enter(chunk, score) {
                self.push(chunk, offset, score)?;
            }
        }
        Ok(())
    }

    /// Regular rows of patterns that were found whole, without a term in their variables: the best patterns first, until the next cannot enter.
    pub(super) fn whole_patterns(&mut self, found: &Found) -> Result<(), SegmentError> {
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
                self.same_score(same_score)?;
            }
            others.sort_unstable_by(best_first);
            rest = others;
        }
        Ok(())
    }

    /// The score of each pattern that was found, by its words; not of those that cannot enter any more.
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
            let score = self.scorer.score(&self.counts, self.length_of(pattern));
            if self.top.least().is_none_or(|least| score >= least.score) {
                scored.push((score, pattern));
            }
        }
        scored
    }

    /// The newest rows of patterns that score the same.
    fn same_score(&mut self, patterns: &[(f32, u32)]) -> Result<(), SegmentError> {
        let score = patterns[0].0;
        let reader = self.evaluator.reader;
        let cells = &reader.layout.cells;
        let mut places: Vec<(u32, u16)> = patterns.iter().flat_map(|(_, pattern)| cells.of_pattern(*pattern)).copied().collect();
        let chunks = reader.chunks();
        places.sort_unstable_by_key(|(chunk, _)| (Reverse(chunks[*chunk as usize].last_ns), *chunk));
        let mut is_chosen = Vec::new();
        for of_chunk in places.chunk_by(|left, right| left.0 == right.0) {
            let chunk = of_chunk[0].0;
            if !self.can_enter(chunk, score) {
                break;
            }
            let mut rows = match of_chunk {
                [(_, cell)] => reader.layout.rows_of_cell(chunk, *cell)?,
                _ => {
                    is_chosen.clear();
                    is_chosen.resize(cells.patterns(chunk).len(), false);
                    of_chunk.iter().for_each(|(_, cell)| is_chosen[usize::from(*cell)] = true);
                    reader.layout.rows_of_cells(chunk, &is_chosen)?
                }
            };
            self.load_variables(chunk)?;
            rows.0.iter_mut().zip(self.variables.rows.0).for_each(|(word, variables)| *word &= !variables);
            self.remove_irregular(chunk, &mut rows);
            for offset in &rows {
                self.push(chunk, offset, score)?;
            }
        }
        Ok(())
    }

    /// Makes the variables of a chunk be at hand.
    fn load_variables(&mut self, chunk: u32) -> Result<(), SegmentError> {
        if self.variables.chunk == Some(chunk) {
            return Ok(());
        }
        let variables = &mut self.variables;
        variables.terms.resize_with(self.terms.len(), TokenChunk::default);
        variables.rows = Block::EMPTY;
        for (term, chunk_of_term) in self.terms.iter().zip(&mut variables.terms) {
            term.rows.read(chunk, &self.evaluator.reader.layout, chunk_of_term)?;
            chunk_of_term.offsets().iter().for_each(|offset| variables.rows.insert(*offset));
        }
        variables.chunk = Some(chunk);
        Ok(())
    }

    fn remove_irregular(&self, chunk: u32, rows: &mut Block) {
        let irregular = &self.evaluator.reader.irregular.rows;
        let first = irregular.partition_point(|row| row >> CHUNK_ROWS_BITS < chunk);
        for row in irregular[first..].iter().take_while(|row| *row >> CHUNK_ROWS_BITS == chunk) {
            rows.remove((row & (CHUNK_ROWS_MAX as u32 - 1)) as u16);
        }
    }
}
