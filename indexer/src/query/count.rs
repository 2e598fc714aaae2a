//! Exact counts.

use super::{QueryError, Question, in_namespace};
use crate::view::NamespaceView;
use siltstone_query::Expr;

/// Counts by namespace, in the order of the view.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Name and count.
    pub by_namespace: Vec<(String, u64)>,
}

impl Counts {
    /// All of them together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_namespace.iter().map(|(_, count)| count).sum()
    }
}

/// Counts the rows that match: as many as `search` without a limit gives at the same view (CT-1).
///
/// # Errors
/// [`QueryError`]
pub fn count(views: &[NamespaceView], question: &Question) -> Result<Counts, QueryError> {
    let mut counts = Counts::default();
    for view in views {
        let expr = question.for_namespace(view.name());
        counts.by_namespace.push((view.name().to_owned(), count_in(view, &expr)?));
    }
    Ok(counts)
}

pub(super) fn count_in(view: &NamespaceView, expr: &Expr) -> Result<u64, QueryError> {
    if *expr == Expr::Nothing {
        return Ok(0);
    }
    view.sources().iter().try_fold(0, |sum, source| Ok(sum + source.count(expr).map_err(in_namespace(view))?))
}
