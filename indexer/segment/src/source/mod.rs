//! What a planner asks of anything that holds rows of one namespace: a segment, or live rows that are scanned.
//!
//! Both give the same answers to the same expression (the meanings stand at [`siltstone_query::Expr`]). What is not here: which sources a query
//! has, how their answers are put together over a view, and rows as people read them.

mod answer;
mod matches;
mod scan;
mod segment;

pub use answer::{HistogramSpec, PatternCount, Plan, Position, ScoredRow, ScoringTerms, TextStatistics};
pub use matches::Matches;
pub use scan::{ScanSlice, ScanSource};
pub use segment::SegmentSource;

use crate::error::SegmentError;
use siltstone_core::pattern::PatternHash;
use siltstone_core::{NamespaceId, RowAddress};
use siltstone_query::{Expr, TimeRange};

/// Rows of one namespace (NS-1) that answer queries.
///
/// Every method is synchronous and may block on a fetcher. An expression with [`Expr::Namespace`] in it is refused: the planner folds it away.
/// Sources of one view hold disjoint rows, so that answers add up.
pub trait Source: Send + Sync {
    /// The namespace of every row.
    fn namespace(&self) -> NamespaceId;

    /// How many rows there are.
    fn row_count(&self) -> u64;

    /// The first and the last timestamp, both included; `None` without rows.
    fn time_bounds_ns(&self) -> Option<(i64, i64)>;

    /// The rows that match.
    ///
    /// # Errors
    /// [`SegmentError`], as for every method.
    fn rows(&self, expr: &Expr) -> Result<Matches, SegmentError>;

    /// How many rows match: always as many as [`rows`](Self::rows) gives (CT-1).
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    fn count(&self, expr: &Expr) -> Result<u64, SegmentError>;

    /// What BM25 needs to know of this source. The caller adds up over all sources of (namespace, index, view) before it scores (RK-1).
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    fn statistics(&self, terms: &ScoringTerms) -> Result<TextStatistics, SegmentError>;

    /// The best `limit` rows by BM25, best first; equal scores newest first, then by higher address. `statistics` are those of the whole view.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    fn top_k(&self, expr: &Expr, terms: &ScoringTerms, statistics: &TextStatistics, limit: usize) -> Result<Vec<ScoredRow>, SegmentError>;

    /// The newest `limit` matching rows that stand after `before` in the order newest first, then by higher address.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    fn newest(&self, expr: &Expr, limit: usize, before: Option<Position>) -> Result<Vec<Position>, SegmentError>;

    /// The patterns of the matching rows, in no order. Counts of one pattern over sources join by hash.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    fn patterns(&self, expr: &Expr) -> Result<Vec<PatternCount>, SegmentError>;

    /// The pattern of a row; `None` where no row of this source has the address.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    fn pattern_of(&self, address: RowAddress) -> Result<Option<PatternHash>, SegmentError>;

    /// How many matching rows lie in each bucket. Rows outside the buckets are not counted.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    fn histogram(&self, expr: &Expr, spec: &HistogramSpec) -> Result<Vec<u64>, SegmentError>;

    /// How the expression would be answered, with what each part costs.
    ///
    /// # Errors
    /// As [`rows`](Self::rows).
    fn explain(&self, expr: &Expr) -> Result<Plan, SegmentError>;

    /// Whether no row can lie in a time range, by what is known without looking at rows.
    fn is_outside(&self, range: &TimeRange) -> bool {
        self.time_bounds_ns().is_none_or(|(first, last)| range.is_after(last) || range.is_before(first))
    }
}

/// Where a closed interval of times lies relative to a range.
trait TimeRangeExt {
    /// The whole range lies after a time.
    fn is_after(&self, time_ns: i64) -> bool;
    /// The whole range lies before a time.
    fn is_before(&self, time_ns: i64) -> bool;
}

impl TimeRangeExt for TimeRange {
    fn is_after(&self, time_ns: i64) -> bool {
        self.start_ns > time_ns
    }

    fn is_before(&self, time_ns: i64) -> bool {
        self.end_ns != i64::MAX && self.end_ns <= time_ns
    }
}
