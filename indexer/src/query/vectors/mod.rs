//! Search and counts by the vectors that came with entries.
//!
//! Every distance of an answer is that of the full vector by one definition ([`Target`]), so it does not depend on where a row lives or what found
//! it (RK-1). A search asks the indexes, and scans what none has yet, or what a damaged one has. Of equal distances the higher address comes first.
//! A count compares every vector that the filter leaves. What is deliberately not here: vectors of patterns (`near`).

mod ask;
mod explain;
mod indexed;
mod target;

use ask::Resolved;
pub use ask::{Like, VectorAsk, Way};
pub use explain::explain_vectors;
use target::Target;

use super::search::found_row;
use super::{Counts, FoundRow, QueryError, Question, in_namespace};
use crate::view::{NamespaceView, OpenedIndex};
use rustc_hash::FxHashSet;
use siltstone_core::{ChunkId, RowAddress};
use siltstone_query::Expr;
use std::sync::Arc;

/// A row and its distance.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Near {
    distance: f32,
    address: RowAddress,
}

impl Near {
    fn nearest_first(&self, other: &Self) -> std::cmp::Ordering {
        self.distance.total_cmp(&other.distance).then(other.address.cmp(&self.address))
    }
}

/// The rows that a filter leaves, ascending; `None` for all.
type Filtered = Option<Vec<RowAddress>>;

/// The nearest rows that were offered.
struct Nearest {
    limit: usize,
    rows: Vec<Near>,
    /// Nothing at or past it can be among the nearest.
    bound: f32,
}

impl Nearest {
    fn new(limit: usize) -> Self {
        Self { limit, rows: Vec::new(), bound: f32::INFINITY }
    }

    fn offer(&mut self, near: Near) {
        if self.limit == 0 || near.distance > self.bound {
            return;
        }
        self.rows.push(near);
        // Sorted out when there are twice as many: linear in what is offered.
        if self.rows.len() >= 2 * self.limit.max(64) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.rows.sort_unstable_by(Near::nearest_first);
        self.rows.truncate(self.limit);
        if self.rows.len() == self.limit {
            self.bound = self.rows.last().map_or(self.bound, |last| last.distance);
        }
    }

    fn finish(mut self) -> Vec<Near> {
        self.cut();
        self.rows
    }
}

/// Rows by their vectors.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct VectorRows {
    /// The nearest first, each with its distance.
    pub rows: Vec<FoundRow>,
    /// Why it took longer than it should, in words: indexes that are damaged. The rows are right all the same.
    pub degraded: Vec<String>,
}

/// The `limit` nearest matching rows.
///
/// # Errors
/// [`QueryError`]
pub fn search_vectors(views: &[NamespaceView], question: &Question, ask: &VectorAsk, limit: usize) -> Result<VectorRows, QueryError> {
    let asked = ask.resolve(views)?;
    let mut found: Vec<(usize, Near)> = Vec::new();
    let mut degraded = Vec::new();
    for (at, view) in views.iter().enumerate() {
        let mut nearest = Nearest::new(limit);
        if let Some(rows) = rows_of(view, question, &asked)? {
            let used = search_indexes(view, &asked, rows.as_deref(), limit, &mut nearest, &mut degraded)?;
            scan_rows(view, &asked, rows.as_deref(), &used, |near| nearest.offer(near))?;
        }
        found.extend(nearest.finish().into_iter().map(|near| (at, near)));
    }
    found.sort_unstable_by(|(_, left), (_, right)| left.nearest_first(right));
    found.truncate(limit);
    let row = |(at, near): (usize, Near)| Ok(FoundRow { distance: Some(near.distance), ..found_row(&views[at], near.address, 0.0)? });
    let rows = found.into_iter().map(row).collect::<Result<_, QueryError>>()?;
    Ok(VectorRows { rows, degraded })
}

/// Counts the matching rows whose vector is nearer than asked, or that have one: as many as [`search_vectors`] without a limit gives (CT-1).
///
/// # Errors
/// [`QueryError`]
pub fn count_vectors(views: &[NamespaceView], question: &Question, ask: &VectorAsk) -> Result<Counts, QueryError> {
    let asked = ask.resolve(views)?;
    let mut counts = Counts::default();
    for view in views {
        let mut count = 0;
        scan(view, question, &asked, |_| count += 1)?;
        counts.by_namespace.push((view.name().to_owned(), count));
    }
    Ok(counts)
}

/// The rows that the filter leaves; `None` where there is nothing to do.
fn rows_of(view: &NamespaceView, question: &Question, asked: &Resolved) -> Result<Option<Filtered>, QueryError> {
    let expr = question.for_namespace(view.name());
    if expr == Expr::Nothing || view.vector_dimension(&asked.field).is_none() {
        return Ok(None);
    }
    indexed::filtered(view, &expr).map(Some)
}

/// Asks the indexes; those that answered. What they have need not be scanned.
fn search_indexes(
    view: &NamespaceView,
    asked: &Resolved,
    rows: Option<&[RowAddress]>,
    limit: usize,
    nearest: &mut Nearest,
    degraded: &mut Vec<String>,
) -> Result<Vec<Arc<OpenedIndex>>, QueryError> {
    let (indexes, damaged) = indexed::indexes_of(view, asked)?;
    degraded.extend(damaged);
    let mut used = Vec::with_capacity(indexes.len());
    for index in indexes {
        match indexed::search_index(view, &index, asked, rows, limit) {
            Ok(found) => {
                found.into_iter().for_each(|near| nearest.offer(near));
                used.push(index);
            }
            Err(error) => degraded.push(view.give_up_index(&index.record, error)?),
        }
    }
    Ok(used)
}

/// Compares every vector of the field that the filter leaves.
fn scan<F>(view: &NamespaceView, question: &Question, asked: &Resolved, visit: F) -> Result<(), QueryError>
where
    F: FnMut(Near),
{
    match rows_of(view, question, asked)? {
        None => Ok(()),
        Some(rows) => scan_rows(view, asked, rows.as_deref(), &[], visit),
    }
}

/// Compares those of `rows`, or all, that are not in these indexes.
fn scan_rows<F>(
    view: &NamespaceView,
    asked: &Resolved,
    rows: Option<&[RowAddress]>,
    indexes: &[Arc<OpenedIndex>],
    mut visit: F,
) -> Result<(), QueryError>
where
    F: FnMut(Near),
{
    let covered: FxHashSet<ChunkId> = indexes.iter().flat_map(|index| index.record.chunks.iter()).collect();
    view.scan_vectors(&asked.field, asked.target.values().len(), rows, &|chunk| covered.contains(&chunk), |address, vector| {
        let distance = asked.target.distance(vector);
        if asked.within.is_none_or(|within| distance < within) {
            visit(Near { distance, address });
        }
    })?;
    Ok(())
}

/// The rows that the filter leaves, ascending.
fn matching(view: &NamespaceView, expr: &Expr) -> Result<Vec<RowAddress>, QueryError> {
    let mut rows = Vec::new();
    for source in view.sources() {
        rows.extend(source.rows(expr).map_err(in_namespace(view))?.iter());
    }
    rows.sort_unstable();
    Ok(rows)
}
