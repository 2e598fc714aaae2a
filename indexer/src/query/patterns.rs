//! The patterns of matching rows, joined by hash over sources and namespaces.

use super::near::{Near, similarities};
use super::{QueryError, Question, in_namespace, search::found_row};
use crate::query::FoundRow;
use crate::view::NamespaceView;
use rustc_hash::FxHashMap;
use siltstone_core::pattern::PatternHash;
use siltstone_query::Expr;
use siltstone_segment::PatternCount;
use siltstone_vector::fusion::Fusion;

/// A pattern with an example.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundPattern {
    /// Hash, bytes, count, first and last seen.
    pub pattern: PatternCount,
    /// A matching row.
    pub example: FoundRow,
    /// The cosine of its vector and the query's, where patterns are asked for by meaning and it has a vector.
    pub similarity: Option<f32>,
}

/// The most frequent patterns of an answer.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Patterns {
    /// By count, most first; equal counts by hash. By likeness, where patterns are asked for by meaning.
    pub patterns: Vec<FoundPattern>,
    /// Distinct patterns among the matches, those past the limit included.
    pub patterns_total: u64,
    /// Rows that match.
    pub rows_total: u64,
    /// Patterns that have no vector yet, where patterns are asked for by meaning.
    pub patterns_waiting: u64,
}

/// Finds the `limit` most frequent patterns of the matching rows, or those that are most like what is asked.
///
/// # Errors
/// [`QueryError`]
pub fn patterns(views: &[NamespaceView], question: &Question, near: Option<&Near>, limit: usize) -> Result<Patterns, QueryError> {
    let mut by_hash: FxHashMap<PatternHash, (usize, PatternCount)> = FxHashMap::default();
    for (at, view) in views.iter().enumerate() {
        let expr = question.for_namespace(view.name());
        if expr == Expr::Nothing {
            continue;
        }
        for source in view.sources() {
            for pattern in source.patterns(&expr).map_err(in_namespace(view))? {
                by_hash
                    .entry(pattern.hash)
                    .and_modify(|(example_at, known)| {
                        if pattern.example > known.example {
                            *example_at = at;
                        }
                        known.join(&pattern);
                    })
                    .or_insert((at, pattern));
            }
        }
    }
    let mut by_meaning: FxHashMap<PatternHash, f32> = FxHashMap::default();
    if let Some(near) = near {
        near.sets.iter().for_each(|sets| by_meaning.extend(similarities(near, sets)));
    }
    let similarity = |pattern: &PatternCount| by_meaning.get(&pattern.hash).copied();
    let score = |pattern: &PatternCount| match (near, similarity(pattern)) {
        (None, _) => 0.0,
        // What waits for a vector comes last.
        (Some(_), None) => f32::MIN,
        (Some(near), Some(similarity)) => Fusion::new(0.0).asking_for(near.outcome).score_with(similarity, 0.0, near.outcome_of(&pattern.bytes)),
    };
    let mut found: Vec<(f32, usize, PatternCount)> = by_hash.into_values().map(|(at, pattern)| (score(&pattern), at, pattern)).collect();
    let patterns_total = found.len() as u64;
    let rows_total = found.iter().map(|(_, _, pattern)| pattern.count).sum();
    let patterns_waiting = if near.is_some() { found.iter().filter(|(_, _, pattern)| similarity(pattern).is_none()).count() as u64 } else { 0 };
    found.sort_unstable_by(|(left_score, _, left), (right_score, _, right)| {
        right_score.total_cmp(left_score).then(right.count.cmp(&left.count)).then(left.hash.cmp(&right.hash))
    });
    found.truncate(limit);
    let patterns = found
        .into_iter()
        .map(|(_, at, pattern)| Ok(FoundPattern { example: found_row(&views[at], pattern.example, 0.0)?, similarity: similarity(&pattern), pattern }))
        .collect::<Result<_, QueryError>>()?;
    Ok(Patterns { patterns, patterns_total, rows_total, patterns_waiting })
}
