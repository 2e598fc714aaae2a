//! What is asked of an index, and what it answers.

use crate::filter::Filter;
use crate::plan::{Plan, Strategy};

/// A search: the nearest rows, the rows below a distance, or the nearest of these.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What to search for, in the index's dimension.
    pub vector: &'a [f32],
    /// Which rows may be returned.
    pub filter: Filter<'a>,
    /// Rows that are returned at most.
    pub limit: usize,
    /// Only rows whose distance is below this.
    pub within: Option<f32>,
    /// Whether all rows that match are to be counted, exactly: below `within`, or those of the filter. It makes the search exact.
    pub count: bool,
    /// Rows that a search of the graph keeps; `None` takes [`crate::plan::effort`]. Exact searches have no use for it.
    pub effort: Option<usize>,
    /// How to search, whatever the planner would choose.
    pub strategy: Option<Strategy>,
}

impl<'a> Request<'a> {
    /// The `limit` nearest rows of all.
    #[must_use]
    pub const fn nearest(vector: &'a [f32], limit: usize) -> Self {
        Self { vector, filter: Filter::All, limit, within: None, count: false, effort: None, strategy: None }
    }
}

/// A row that was found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hit {
    /// The local row.
    pub row: u32,
    /// Its distance by the full vector, as [`crate::Metric`] defines it.
    pub distance: f32,
}

/// What a search found.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// Nearest first; of equal distances the later row first.
    pub hits: Vec<Hit>,
    /// How many rows match, where it was asked.
    pub count: Option<u64>,
    /// How it was searched, and why.
    pub plan: Plan,
    /// What it cost.
    pub work: Work,
}

/// What a search did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Rows whose codes were compared one after another.
    pub rows_scanned: u64,
    /// Rows of the graph that were compared.
    pub rows_visited: u64,
    /// Rows whose full vectors were compared.
    pub rows_scored: u64,
    /// Bytes that the caller brought.
    pub bytes_fetched: u64,
}
