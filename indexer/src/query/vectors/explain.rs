//! How vectors of entries would be searched, namespace by namespace.

use super::indexed::{explain_index, filtered, indexes_of};
use super::{Resolved, VectorAsk};
use crate::query::{QueryError, Question};
use crate::view::NamespaceView;
use rustc_hash::FxHashSet;
use siltstone_core::ChunkId;
use siltstone_query::Expr;
use siltstone_vector::IndexKind;
use std::fmt::Write;

/// The plan, a line a step.
///
/// # Errors
/// [`QueryError`]
pub fn explain_vectors(views: &[NamespaceView], question: &Question, ask: &VectorAsk, limit: usize) -> Result<String, QueryError> {
    let asked = ask.resolve(views)?;
    let (metric, numbers) = (asked.target.metric().as_str(), asked.target.values().len());
    let mut text = format!("nearest vectors of the field {:?} ({numbers} numbers, {metric})", asked.field);
    if let Some(within) = asked.within {
        write!(text, ", nearer than {within}").expect("a String takes everything");
    }
    text.push('\n');
    for view in views {
        let expr = question.for_namespace(view.name());
        if expr == Expr::Nothing || view.vector_dimension(&asked.field).is_none() {
            writeln!(text, "  namespace {}: no such field, or ruled out by the query: no work", view.name()).expect("a String takes everything");
            continue;
        }
        explain_in(view, &asked, &expr, limit, &mut text)?;
    }
    Ok(text)
}

fn explain_in(view: &NamespaceView, asked: &Resolved, expr: &Expr, limit: usize, text: &mut String) -> Result<(), QueryError> {
    let mut line = |line: String| writeln!(text, "{line}").expect("a String takes everything");
    let rows = filtered(view, expr)?;
    let left = rows.as_ref().map_or("all rows".to_owned(), |rows| format!("{} rows", rows.len()));
    line(format!("  namespace {}: the filter leaves {left}", view.name()));
    let (indexes, damaged) = indexes_of(view, asked)?;
    for index in &indexes {
        let plan = explain_index(index, asked, rows.as_deref(), limit);
        let kind = if index.index.kind() == IndexKind::Hnsw { "a graph" } else { "no graph" };
        let (id, vectors, bytes) = (index.record.id, index.record.vectors, index.record.range.len);
        line(format!("    index {id}: {vectors} vectors, {kind}, {} bytes a vector", bytes / vectors.max(1)));
        line(format!("      {}: {} (some {} µs)", plan.strategy, plan.reason, plan.estimate_us));
    }
    for text in damaged {
        line(format!("    damaged: {text}"));
    }
    let covered: FxHashSet<ChunkId> = indexes.iter().flat_map(|index| index.record.chunks.iter()).collect();
    let scanned = match &rows {
        None => view.row_count_outside(&covered),
        Some(rows) => rows.iter().filter(|row| !covered.contains(&row.chunk())).count() as u64,
    };
    line(format!("    {scanned} rows that no index has, or may answer: those with a vector are compared one by one"));
    Ok(())
}
