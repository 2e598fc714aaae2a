//! The patterns of matching rows, joined by hash over sources and namespaces.

use super::{QueryError, Question, in_namespace, search::found_row};
use crate::query::FoundRow;
use crate::view::NamespaceView;
use rustc_hash::FxHashMap;
use siltstone_core::pattern::PatternHash;
use siltstone_query::Expr;
use siltstone_segment::PatternCount;

/// A pattern with an example.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundPattern {
    /// Hash, bytes, count, first and last seen.
    pub pattern: PatternCount,
    /// A matching row.
    pub example: FoundRow,
}

/// The most frequent patterns of an answer.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Patterns {
    /// By count, most first; equal counts by hash.
    pub patterns: Vec<FoundPattern>,
    /// Distinct patterns among the matches, those past the limit included.
    pub patterns_total: u64,
    /// Rows that match.
    pub rows_total: u64,
}

/// Finds the `limit` most frequent patterns of the matching rows.
///
/// # Errors
/// [`QueryError`]
pub fn patterns(views: &[NamespaceView], question: &Question, limit: usize) -> Result<Patterns, QueryError> {
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
    let mut found: Vec<_> = by_hash.into_values().collect();
    let patterns_total = found.len() as u64;
    let rows_total = found.iter().map(|(_, pattern)| pattern.count).sum();
    found.sort_unstable_by(|(_, left), (_, right)| right.count.cmp(&left.count).then(left.hash.cmp(&right.hash)));
    found.truncate(limit);
    let patterns = found
        .into_iter()
        .map(|(at, pattern)| Ok(FoundPattern { example: found_row(&views[at], pattern.example, 0.0)?, pattern }))
        .collect::<Result<_, QueryError>>()?;
    Ok(Patterns { patterns, patterns_total, rows_total })
}
