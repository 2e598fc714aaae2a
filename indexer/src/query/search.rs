//! The best or the newest rows, with their columns: only the winners' columns are fetched.

use super::{QueryError, Question, Ranks, in_namespace};
use crate::view::NamespaceView;
use siltstone_core::{Entry, EntryFlags, RowAddress};
use siltstone_query::Expr;
use siltstone_segment::{Position, ScoredRow, ScoringTerms, Source, TextStatistics};

/// Which rows come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The best where the query has words that score, else the newest.
    Natural,
    /// By BM25; ties newest first.
    Best,
    /// By time, newest first.
    Newest,
}

/// A row of the answer.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundRow {
    /// Where it lives.
    pub address: RowAddress,
    /// The entry, its timestamp set.
    pub entry: Entry,
    /// What was noticed about it at arrival.
    pub flags: EntryFlags,
    /// BM25, 0 where the order is by time; the score of words and vector where the order is by meaning.
    pub score: f32,
    /// Why it stands where it stands, where the order is by meaning.
    pub ranks: Option<Ranks>,
    /// How far its vector is, where rows are searched by their vectors.
    pub distance: Option<f32>,
}

/// Finds the first `limit` rows in the order.
///
/// # Errors
/// [`QueryError`]
pub fn search(views: &[NamespaceView], question: &Question, order: Order, limit: usize) -> Result<Vec<FoundRow>, QueryError> {
    let terms = ScoringTerms::of(&question.expr);
    let is_best = match order {
        Order::Natural => !terms.is_empty(),
        Order::Best => true,
        Order::Newest => false,
    };
    let mut found: Vec<(usize, ScoredRow)> = Vec::new();
    for (at, view) in views.iter().enumerate() {
        let expr = question.for_namespace(view.name());
        if expr == Expr::Nothing {
            continue;
        }
        let rows = if is_best { best_by_own_words(view, &expr, limit)? } else { newest_in(view, &expr, limit)? };
        found.extend(rows.into_iter().map(|row| (at, row)));
    }
    found.sort_unstable_by(|(_, left), (_, right)| left.best_first(right));
    found.truncate(limit);
    found.into_iter().map(|(at, row)| materialize(&views[at], &row)).collect()
}

/// BM25's statistics are those of (namespace, index, view): gathered over all sources before any of them scores (RK-1).
fn best_by_own_words(view: &NamespaceView, expr: &Expr, limit: usize) -> Result<Vec<ScoredRow>, QueryError> {
    let terms = ScoringTerms::of(expr);
    let mut statistics = TextStatistics::default();
    for source in view.sources() {
        statistics.add(&source.statistics(&terms).map_err(in_namespace(view))?);
    }
    best_in(view, expr, &terms, &statistics, limit)
}

/// The best rows by the words of `terms`, of a whole view's statistics.
pub(super) fn best_in(
    view: &NamespaceView,
    expr: &Expr,
    terms: &ScoringTerms,
    statistics: &TextStatistics,
    limit: usize,
) -> Result<Vec<ScoredRow>, QueryError> {
    let mut rows = Vec::new();
    for source in view.sources() {
        rows.extend(source.top_k(expr, terms, statistics, limit).map_err(in_namespace(view))?);
        rows.sort_unstable_by(ScoredRow::best_first);
        rows.truncate(limit);
    }
    Ok(rows)
}

/// Sources are asked from the one that ends last on; one that ends before all that was found is not asked.
pub(super) fn newest_in(view: &NamespaceView, expr: &Expr, limit: usize) -> Result<Vec<ScoredRow>, QueryError> {
    let mut sources: Vec<_> = view.sources().iter().filter_map(|source| Some((source.time_bounds_ns()?.1, source))).collect();
    sources.sort_by_key(|(last_ns, _)| std::cmp::Reverse(*last_ns));
    let mut newest: Vec<Position> = Vec::new();
    for (last_ns, source) in sources {
        if newest.len() >= limit && newest.last().is_some_and(|oldest| oldest.timestamp_ns > last_ns) {
            break;
        }
        newest.extend(source.newest(expr, limit, None).map_err(in_namespace(view))?);
        newest.sort_unstable_by(|left, right| right.cmp(left));
        newest.truncate(limit);
    }
    Ok(newest.into_iter().map(|position| ScoredRow { score: 0.0, position }).collect())
}

fn materialize(view: &NamespaceView, row: &ScoredRow) -> Result<FoundRow, QueryError> {
    found_row(view, row.position.address, row.score)
}

/// The matching rows of one source of a view, oldest first: what a tail shows.
///
/// # Errors
/// [`QueryError`]
pub fn rows_of(view: &NamespaceView, source: &dyn Source, expr: &Expr) -> Result<Vec<FoundRow>, QueryError> {
    if *expr == Expr::Nothing {
        return Ok(Vec::new());
    }
    let matches = source.rows(expr).map_err(in_namespace(view))?;
    let mut rows = matches.iter().map(|address| found_row(view, address, 0.0)).collect::<Result<Vec<_>, _>>()?;
    rows.sort_by_key(|row| (row.entry.timestamp_ns, row.address));
    Ok(rows)
}

/// Gives rows the numbers of their vectors.
///
/// # Errors
/// [`QueryError::View`] when they can't be fetched.
pub fn load_vectors(views: &[NamespaceView], rows: &mut [FoundRow]) -> Result<(), QueryError> {
    for row in rows.iter_mut().filter(|row| row.entry.vectors.iter().any(|vector| vector.values.is_empty())) {
        if let Some(view) = views.iter().find(|view| view.name() == row.entry.namespace) {
            row.entry.vectors = view.vectors_of(row.address)?;
        }
    }
    Ok(())
}

/// The row at an address of a namespace, with its columns.
///
/// # Errors
/// [`QueryError::View`] when they can't be fetched.
pub(crate) fn found_row(view: &NamespaceView, address: RowAddress, score: f32) -> Result<FoundRow, QueryError> {
    let (entry, flags) = view.entry(address)?;
    Ok(FoundRow { address, entry, flags, score, ranks: None, distance: None })
}
