//! How a question would be answered, namespace by namespace.

use super::{QueryError, Question, in_namespace};
use crate::view::NamespaceView;
use siltstone_query::Expr;
use std::fmt::Write;

/// Sources of a namespace whose plans are printed; the others are counted. The largest come first: they are what a query waits for.
const PLANS_MAX: usize = 2;

/// The plan, a line a node.
///
/// # Errors
/// [`QueryError`]
pub fn explain(views: &[NamespaceView], question: &Question) -> Result<String, QueryError> {
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{line}").expect("a String takes everything");
    for view in views {
        let expr = question.for_namespace(view.name());
        let rows: u64 = view.sources().iter().map(|source| source.row_count()).sum();
        line(format!("namespace {}: {rows} rows in {} sources ({})", view.name(), view.sources().len(), view.describe()));
        if expr == Expr::Nothing {
            line("  ruled out by the query: no work".to_owned());
            continue;
        }
        let mut sources: Vec<_> = view.sources().iter().collect();
        sources.sort_by_key(|source| std::cmp::Reverse(source.row_count()));
        for source in sources.iter().take(PLANS_MAX) {
            line(format!("  a source of {} rows", source.row_count()));
            let plan = source.explain(&expr).map_err(in_namespace(view))?.to_string();
            plan.lines().for_each(|part| line(format!("    {part}")));
        }
        if sources.len() > PLANS_MAX {
            line(format!("  and {} smaller sources", sources.len() - PLANS_MAX));
        }
    }
    Ok(text)
}
