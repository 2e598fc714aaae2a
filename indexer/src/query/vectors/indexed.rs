//! Vectors that an index has: candidates by the index, their distances by the one definition.

use super::ask::{Resolved, Way};
use super::{Filtered, Near, matching};
use crate::query::QueryError;
use crate::view::{NamespaceView, OpenedIndex, ViewError};
use siltstone_core::RowAddress;
use siltstone_query::Expr;
use siltstone_vector::plan::{PlanInput, effort, plan};
use siltstone_vector::{Filter, IndexKind, Metric, Plan, Request, Strategy, VectorError, run};
use std::sync::Arc;

/// The indexes that a search uses: none for what they were not built for, or where it is to be exact. Of damaged ones, what is to be said.
pub(super) fn indexes_of(view: &NamespaceView, asked: &Resolved) -> Result<(Vec<Arc<OpenedIndex>>, Vec<String>), QueryError> {
    if asked.target.metric() != Metric::Cosine || asked.way == Way::Exact {
        return Ok((Vec::new(), Vec::new()));
    }
    Ok(view.open_vector_indexes(&asked.field)?)
}

/// Candidates beside those that are asked for: an index rounds otherwise, so the last ones may change places.
const fn candidates(limit: usize) -> usize {
    limit + limit / 4 + 16
}

/// A distance as an index computes it lies within this of the exact one.
const ROUNDING: f32 = 1e-4;

/// The nearest rows of an index, of those that the filter leaves. Nothing of an index that turns out to be damaged.
pub(super) fn search_index(
    view: &NamespaceView,
    opened: &OpenedIndex,
    asked: &Resolved,
    rows: Option<&[RowAddress]>,
    limit: usize,
) -> Result<Vec<Near>, ViewError> {
    let local = rows.map(|rows| local_rows(&opened.addresses, rows));
    let request = Request {
        vector: asked.target.values(),
        filter: local.as_deref().map_or(Filter::All, Filter::Rows),
        limit: candidates(limit),
        within: asked.within.map(|within| within + ROUNDING),
        count: false,
        effort: None,
        strategy: forced(opened, asked.way, local.as_deref()),
    };
    let damaged = |source| view_error(opened, source);
    let mut search = opened.index.search(&request).map_err(damaged)?;
    let answer = run(search.as_mut(), |range| view.fetch_of_index(opened, range).map_err(StepError::View)).map_err(|error| match error {
        StepError::Vector(source) => view_error(opened, source),
        StepError::View(error) => error,
    })?;
    let mut found = Vec::with_capacity(answer.hits.len());
    for hit in &answer.hits {
        let fetched = opened.index.vector_range(hit.row).map(|range| view.fetch_of_index(opened, &range)).transpose()?;
        let distance = asked.target.distance(&opened.index.vector(hit.row, fetched.as_ref()).map_err(damaged)?);
        if asked.within.is_none_or(|within| distance < within) {
            found.push(Near { distance, address: opened.addresses[hit.row as usize] });
        }
    }
    Ok(found)
}

/// How an index would be searched, and why.
pub(super) fn explain_index(opened: &OpenedIndex, asked: &Resolved, rows: Option<&[RowAddress]>, limit: usize) -> Plan {
    let local = rows.map(|rows| local_rows(&opened.addresses, rows));
    let (all, limit) = (u64::from(opened.index.rows()), candidates(limit));
    let input = PlanInput {
        rows: all,
        selected: local.as_ref().map_or(all, |local| local.len() as u64),
        dimension: asked.target.values().len(),
        limit,
        effort: effort(limit, all),
        has_graph: opened.index.kind() == IndexKind::Hnsw,
        count: false,
    };
    let mut planned = plan(&input);
    if let Some(strategy) = forced(opened, asked.way, local.as_deref()) {
        planned = Plan { strategy, reason: format!("asked for; else {}: {}", planned.strategy, planned.reason), ..planned };
    }
    planned
}

fn forced(opened: &OpenedIndex, way: Way, local: Option<&[u32]>) -> Option<Strategy> {
    let is_possible = way == Way::Graph && opened.index.kind() == IndexKind::Hnsw && local.is_none_or(|local| !local.is_empty());
    is_possible.then_some(if local.is_some() { Strategy::GraphUnderBitmap } else { Strategy::GraphThenCheck })
}

/// The rows of an index that have one of these addresses. Both rise.
fn local_rows(addresses: &[RowAddress], rows: &[RowAddress]) -> Vec<u32> {
    let mut local = Vec::new();
    let mut from = 0;
    for row in rows {
        // Doubling steps: cheap where the next one is near, and where rows are few.
        let mut step = 1;
        while from + step < addresses.len() && addresses[from + step] < *row {
            step *= 2;
        }
        let end = (from + step + 1).min(addresses.len());
        from += addresses[from..end].partition_point(|address| address < row);
        match addresses.get(from) {
            None => break,
            Some(address) if address == row => local.push(from as u32),
            Some(_) => {}
        }
    }
    local
}

/// The rows that the filter leaves, ascending; `None` for all.
pub(super) fn filtered(view: &NamespaceView, expr: &Expr) -> Result<Filtered, QueryError> {
    if *expr == Expr::All { Ok(None) } else { matching(view, expr).map(Some) }
}

enum StepError {
    Vector(VectorError),
    View(ViewError),
}

impl From<VectorError> for StepError {
    fn from(error: VectorError) -> Self {
        Self::Vector(error)
    }
}

fn view_error(opened: &OpenedIndex, source: VectorError) -> ViewError {
    ViewError::VectorIndex { index: opened.record.id, key: opened.key.to_string(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn local_rows_are_those_of_both_lists(addresses in prop::collection::btree_set(0..3_000_u64, 0..300), rows in prop::collection::btree_set(0..3_000_u64, 0..300)) {
            let list = |numbers: &std::collections::BTreeSet<u64>| numbers.iter().map(|number| RowAddress::from_u64(*number)).collect::<Vec<_>>();
            let expected: Vec<u32> = (0..).zip(&addresses).filter(|(_, address)| rows.contains(address)).map(|(row, _)| row).collect();
            prop_assert_eq!(local_rows(&list(&addresses), &list(&rows)), expected);
        }
    }
}
