//! A segment and the fetcher of what it does not hold.

use super::{HistogramSpec, Matches, PatternCount, Plan, Position, ScoredRow, ScoringTerms, Source, TextStatistics};
use crate::error::SegmentError;
use crate::fetch::ChunkFetcher;
use crate::reader::SegmentReader;
use siltstone_core::NamespaceId;
use siltstone_query::Expr;
use std::sync::Arc;

/// A segment that answers queries.
pub struct SegmentSource {
    pub(crate) reader: Arc<SegmentReader>,
    pub(crate) fetcher: Arc<dyn ChunkFetcher>,
}

impl SegmentSource {
    /// A source of a segment's rows.
    #[must_use]
    pub fn new(reader: Arc<SegmentReader>, fetcher: Arc<dyn ChunkFetcher>) -> Self {
        Self { reader, fetcher }
    }
}

impl Source for SegmentSource {
    fn namespace(&self) -> NamespaceId {
        self.reader.namespace()
    }

    fn row_count(&self) -> u64 {
        0
    }

    fn time_bounds_ns(&self) -> Option<(i64, i64)> {
        None
    }

    fn rows(&self, _expr: &Expr) -> Result<Matches, SegmentError> {
        Err(SegmentError::Unsupported { what: "rows" })
    }

    fn count(&self, _expr: &Expr) -> Result<u64, SegmentError> {
        Err(SegmentError::Unsupported { what: "count" })
    }

    fn statistics(&self, _terms: &ScoringTerms) -> Result<TextStatistics, SegmentError> {
        Err(SegmentError::Unsupported { what: "statistics" })
    }

    fn top_k(&self, _expr: &Expr, _terms: &ScoringTerms, _statistics: &TextStatistics, _limit: usize) -> Result<Vec<ScoredRow>, SegmentError> {
        Err(SegmentError::Unsupported { what: "top k" })
    }

    fn newest(&self, _expr: &Expr, _limit: usize, _before: Option<Position>) -> Result<Vec<Position>, SegmentError> {
        Err(SegmentError::Unsupported { what: "newest" })
    }

    fn patterns(&self, _expr: &Expr) -> Result<Vec<PatternCount>, SegmentError> {
        Err(SegmentError::Unsupported { what: "patterns" })
    }

    fn histogram(&self, _expr: &Expr, _spec: &HistogramSpec) -> Result<Vec<u64>, SegmentError> {
        Err(SegmentError::Unsupported { what: "histogram" })
    }

    fn explain(&self, _expr: &Expr) -> Result<Plan, SegmentError> {
        Err(SegmentError::Unsupported { what: "explain" })
    }
}
