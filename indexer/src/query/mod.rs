//! Answers over one view: each namespace by itself, its sources added up, the namespaces' answers put together.
//!
//! Synchronous: it runs on query threads, where fetchers may block. What is deliberately not here: opening a view, transport, parsing.

mod count;
mod explain;
mod histogram;
mod near;
mod patterns;
mod search;
mod step;
mod vectors;

pub use count::{Counts, count};
pub use explain::explain;
pub use histogram::{Histogram, histogram};
pub use near::{Near, NearRows, Ranks, search_near};
pub use patterns::{FoundPattern, Patterns, patterns};
pub use search::{FoundRow, Order, load_vectors, rows_of, search};
pub use step::choose_step_ns;
pub use vectors::{Like, VectorAsk, VectorRows, Way, count_vectors, explain_vectors, search_vectors};

use crate::view::{NamespaceView, ViewError};
use siltstone_core::{ErrorKind, with_causes};
use siltstone_query::{Expr, TimeRange};
use siltstone_segment::SegmentError;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// A source could not answer.
    #[error("search namespace {namespace:?}: {}", with_causes(.source))]
    Source {
        /// Where.
        namespace: String,
        /// Why.
        source: SegmentError,
    },
    /// Vectors of entries are not there as they are asked for.
    #[error("search vectors: {reason}")]
    Vector {
        /// Why.
        reason: String,
    },
    /// Rows could not be had.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The histogram asked for would not fit anybody's screen.
    #[error(
        "draw a histogram: a step of {step_ns} ns gives {buckets} buckets over the time of the matching entries, the limit is {buckets_max}; choose a larger step or a shorter time"
    )]
    TooManyBuckets {
        /// The step.
        step_ns: u64,
        /// What it gives.
        buckets: u128,
        /// The limit.
        buckets_max: usize,
    },
}

impl QueryError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Source { source, .. } => source.kind(),
            Self::View(error) => error.kind(),
            Self::TooManyBuckets { .. } | Self::Vector { .. } => ErrorKind::InvalidInput,
        }
    }
}

/// What is asked of every namespace of a view.
#[derive(Clone, Debug)]
pub struct Question {
    /// The query's expression, as it was parsed.
    pub expr: Expr,
    /// The time range that stands beside the query.
    pub range: TimeRange,
}

impl Question {
    /// The expression as it is asked of one namespace: the time range in it, the namespace's name folded away, simplified.
    #[must_use]
    pub fn for_namespace(&self, name: &str) -> Expr {
        let expr = self.expr.fold_namespace(name);
        if self.range == TimeRange::ALL { expr } else { Expr::And(vec![Expr::Time(self.range), expr]).simplify() }
    }
}

fn in_namespace(view: &NamespaceView) -> impl Fn(SegmentError) -> QueryError + '_ {
    |source| QueryError::Source { namespace: view.name().to_owned(), source }
}
