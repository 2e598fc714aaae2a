//! Ranking by meaning: patterns by the likeness of their vectors, rows within each; beside words, one score of both.
//!
//! Candidates are the best rows by words and the rows of the nearest patterns; each gets one score ([`Fusion`]) of its words and its vector, which
//! depends on the row and the query alone (RK-1). What is deliberately not here: models, and where vectors are kept.

use super::search::{best_in, found_row, newest_in};
use super::{FoundRow, QueryError, Question, in_namespace};
use crate::view::NamespaceView;
use rustc_hash::{FxHashMap, FxHashSet};
use siltstone_core::ModelId;
use siltstone_core::pattern::PatternHash;
use siltstone_embedder::pattern_text;
use siltstone_format::vectors::{PatternVectors, QueryVector};
use siltstone_query::Expr;
use siltstone_segment::{PatternCount, ScoredRow, ScoringTerms, TextStatistics, words_bound};
use siltstone_vector::fusion::{Fusion, Outcome};
use std::sync::Arc;

/// Nearest patterns whose rows are candidates, where words rank too; as many as rows are asked for, if that is more.
const PATTERNS_MIN: usize = 50;

/// Rows by words that are candidates, for each row that is asked for, and at least.
const WORD_ROWS_FACTOR: usize = 5;
const WORD_ROWS_MIN: usize = 200;

/// How often words are asked again for rows of other patterns, where one row a pattern is wanted.
const COLLAPSE_ROUNDS_MAX: usize = 16;

/// What rows are to be like.
#[derive(Clone)]
pub struct Near {
    /// The model that made the query's vector and those in `sets` (VE-1).
    pub model: ModelId,
    /// Whether what is asked tells of a failure or a success.
    pub outcome: Outcome,
    /// The query's vector.
    pub vector: QueryVector,
    /// The sets of the model's pattern vectors, by namespace of the view.
    pub sets: Vec<Vec<Arc<PatternVectors>>>,
    /// Words that rank beside the vectors: those of the query, or of the question.
    pub words: Expr,
    /// One row a pattern.
    pub is_collapsed: bool,
}

impl Near {
    /// The outcome that a pattern tells of. Nothing opposes what says nothing of its outcome, so patterns are not read then.
    pub(super) fn outcome_of(&self, pattern: &[u8]) -> Outcome {
        if self.outcome == Outcome::Open { Outcome::Open } else { Outcome::of(&pattern_text(pattern)) }
    }
}

/// Why a row stands where it stands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ranks {
    /// The row's pattern.
    pub pattern: PatternHash,
    /// How many matching rows of its namespace have it.
    pub pattern_count: u64,
    /// The cosine of the pattern's vector and the query's; `None` while the pattern waits for a vector.
    pub similarity: Option<f32>,
    /// BM25 of the words that rank.
    pub words: f32,
}

/// Rows like what was asked.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NearRows {
    /// The best first.
    pub rows: Vec<FoundRow>,
    /// Patterns of matching rows that have no vector yet: they rank by words alone.
    pub patterns_waiting: u64,
}

/// Finds the `limit` rows that are most like what is asked.
///
/// # Errors
/// [`QueryError`]
pub fn search_near(views: &[NamespaceView], question: &Question, near: &Near, limit: usize) -> Result<NearRows, QueryError> {
    let mut answer = NearRows::default();
    let mut best: Vec<(usize, ScoredRow, Ranks)> = Vec::new();
    for (at, view) in views.iter().enumerate() {
        let expr = question.for_namespace(view.name());
        if expr == Expr::Nothing {
            continue;
        }
        let namespace = NearNamespace::open(view, &expr, near, near.sets.get(at).map_or(&[][..], Vec::as_slice))?;
        answer.patterns_waiting += namespace.waiting;
        let rows = if namespace.terms.is_empty() { namespace.by_vector(limit)? } else { namespace.by_both(limit)? };
        best.extend(rows.into_iter().map(|(row, ranks)| (at, row, ranks)));
    }
    best.sort_unstable_by(|(_, left, _), (_, right, _)| left.best_first(right));
    if near.is_collapsed {
        let mut seen = FxHashSet::default();
        best.retain(|(at, _, ranks)| seen.insert((*at, ranks.pattern)));
    }
    best.truncate(limit);
    for (at, row, ranks) in best {
        answer.rows.push(FoundRow { ranks: Some(ranks), ..found_row(&views[at], row.position.address, row.score)? });
    }
    Ok(answer)
}

/// The similarity of each pattern of the sets to the query.
pub(super) fn similarities(near: &Near, sets: &[Arc<PatternVectors>]) -> FxHashMap<PatternHash, f32> {
    let mut similarities = FxHashMap::default();
    for set in sets {
        assert_eq!(*set.model(), near.model, "VE-1: a query's vector met a set of another model");
        similarities.extend(set.hashes().iter().enumerate().map(|(row, hash)| (*hash, set.similarity(row, &near.vector))));
    }
    similarities
}

struct NearNamespace<'a> {
    view: &'a NamespaceView,
    expr: &'a Expr,
    near: &'a Near,
    terms: ScoringTerms,
    statistics: TextStatistics,
    fusion: Fusion,
    patterns: FxHashMap<PatternHash, PatternCount>,
    similarities: FxHashMap<PatternHash, f32>,
    waiting: u64,
}

impl<'a> NearNamespace<'a> {
    fn open(view: &'a NamespaceView, expr: &'a Expr, near: &'a Near, sets: &[Arc<PatternVectors>]) -> Result<Self, QueryError> {
        let terms = ScoringTerms::of(&near.words);
        let mut statistics = TextStatistics::default();
        let mut patterns: FxHashMap<PatternHash, PatternCount> = FxHashMap::default();
        for source in view.sources() {
            if !terms.is_empty() {
                statistics.add(&source.statistics(&terms).map_err(in_namespace(view))?);
            }
            for pattern in source.patterns(expr).map_err(in_namespace(view))? {
                patterns.entry(pattern.hash).and_modify(|known| known.join(&pattern)).or_insert(pattern);
            }
        }
        let similarities = similarities(near, sets);
        let waiting = patterns.keys().filter(|hash| !similarities.contains_key(hash)).count() as u64;
        let fusion = Fusion::new(if terms.is_empty() { 0.0 } else { words_bound(&statistics) }).asking_for(near.outcome);
        Ok(Self { view, expr, near, terms, statistics, fusion, patterns, similarities, waiting })
    }

    /// The nearest patterns and their scores without words, best first; of equals the one that was seen last.
    fn nearest(&self) -> Vec<(f32, &PatternCount)> {
        let mut nearest: Vec<(f32, &PatternCount)> = self.patterns.values().map(|pattern| (self.score(pattern.hash, 0.0), pattern)).collect();
        nearest.sort_unstable_by(|(left, one), (right, other)| {
            right.total_cmp(left).then(other.last_ns.cmp(&one.last_ns)).then(one.hash.cmp(&other.hash))
        });
        nearest
    }

    /// The score of a row of a pattern, whose words have this BM25 score.
    fn score(&self, hash: PatternHash, words: f32) -> f32 {
        let similarity = self.similarities.get(&hash).copied().unwrap_or(0.0);
        let outcome = self.patterns.get(&hash).map_or_else(Outcome::default, |pattern| self.near.outcome_of(&pattern.bytes));
        self.fusion.score_with(similarity, words, outcome)
    }

    fn ranks(&self, hash: PatternHash, words: f32) -> Ranks {
        let pattern_count = self.patterns.get(&hash).map_or(0, |pattern| pattern.count);
        Ranks { pattern: hash, pattern_count, similarity: self.similarities.get(&hash).copied(), words }
    }

    /// Pattern by pattern, the newest rows of each.
    fn by_vector(&self, limit: usize) -> Result<Vec<(ScoredRow, Ranks)>, QueryError> {
        let mut rows = Vec::new();
        for (score, pattern) in self.nearest() {
            let room = if self.near.is_collapsed { 1.min(limit - rows.len()) } else { limit - rows.len() };
            if room == 0 {
                break;
            }
            let newest = newest_in(self.view, &self.of_pattern(pattern.hash), room)?;
            rows.extend(newest.into_iter().map(|row| (ScoredRow { score, ..row }, self.ranks(pattern.hash, 0.0))));
        }
        Ok(rows)
    }

    /// The best rows by words and the rows of the nearest patterns, by one score.
    fn by_both(&self, limit: usize) -> Result<Vec<(ScoredRow, Ranks)>, QueryError> {
        let mut candidates: Vec<(ScoredRow, PatternHash)> = Vec::new();
        let words = Expr::And(vec![self.near.words.clone(), self.expr.clone()]).simplify();
        if self.near.is_collapsed {
            self.word_rows_by_pattern(&words, limit, &mut candidates)?;
        } else {
            let rows = best_in(self.view, &words, &self.terms, &self.statistics, (limit * WORD_ROWS_FACTOR).max(WORD_ROWS_MIN))?;
            self.add(rows, &mut candidates)?;
        }
        let of_each = if self.near.is_collapsed { 1 } else { limit };
        for (_, pattern) in self.nearest().into_iter().take(limit.max(PATTERNS_MIN)) {
            let rows = best_in(self.view, &self.of_pattern(pattern.hash), &self.terms, &self.statistics, of_each)?;
            candidates.extend(rows.into_iter().map(|row| (row, pattern.hash)));
        }
        let mut seen = FxHashSet::default();
        candidates.retain(|(row, _)| seen.insert(row.position.address));
        let ranked = candidates.into_iter().map(|(row, hash)| (ScoredRow { score: self.score(hash, row.score), ..row }, self.ranks(hash, row.score)));
        Ok(ranked.collect())
    }

    /// The best rows by words, of as many patterns as rows are wanted: patterns that were found are left out when words are asked again.
    fn word_rows_by_pattern(&self, words: &Expr, limit: usize, candidates: &mut Vec<(ScoredRow, PatternHash)>) -> Result<(), QueryError> {
        let mut seen: FxHashSet<PatternHash> = FxHashSet::default();
        for _ in 0..COLLAPSE_ROUNDS_MAX {
            let mut hashes: Vec<_> = seen.iter().copied().collect();
            hashes.sort_unstable();
            let others = match hashes.is_empty() {
                true => words.clone(),
                false => Expr::And(vec![words.clone(), Expr::Not(Box::new(Expr::Patterns(hashes.into())))]).simplify(),
            };
            let from = candidates.len();
            let rows = best_in(self.view, &others, &self.terms, &self.statistics, WORD_ROWS_MIN)?;
            let is_last = rows.len() < WORD_ROWS_MIN;
            self.add(rows, candidates)?;
            seen.extend(candidates[from..].iter().map(|(_, hash)| *hash));
            if is_last || seen.len() >= limit.max(PATTERNS_MIN) {
                break;
            }
        }
        Ok(())
    }

    fn add(&self, rows: Vec<ScoredRow>, candidates: &mut Vec<(ScoredRow, PatternHash)>) -> Result<(), QueryError> {
        for row in rows {
            for source in self.view.sources() {
                if let Some(hash) = source.pattern_of(row.position.address).map_err(in_namespace(self.view))? {
                    candidates.push((row, hash));
                    break;
                }
            }
        }
        Ok(())
    }

    fn of_pattern(&self, hash: PatternHash) -> Expr {
        Expr::And(vec![Expr::Patterns([hash].into()), self.expr.clone()]).simplify()
    }
}
