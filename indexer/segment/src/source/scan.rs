//! Live rows, answered by looking at them.

use super::{HistogramSpec, Matches, PatternCount, Plan, Position, ScoredRow, ScoringTerms, Source, TextStatistics};
use crate::error::SegmentError;
use siltstone_core::{ChunkId, NamespaceId};
use siltstone_format::Rows;
use siltstone_query::Expr;
use std::sync::Arc;

/// Rows of one chunk that lie at consecutive offsets.
#[derive(Clone, Debug)]
pub struct ScanSlice {
    /// The chunk.
    pub chunk: ChunkId,
    /// The offset of the first row.
    pub first_offset: u16,
    /// The rows.
    pub rows: Arc<Rows>,
}

/// Live rows of one namespace that answer queries by scan.
pub struct ScanSource {
    pub(crate) namespace: NamespaceId,
    pub(crate) slices: Vec<ScanSlice>,
}

impl ScanSource {
    /// A source of the rows of live slices, in any order. Slices of other namespaces are a bug of the caller (NS-1).
    ///
    /// # Panics
    /// When a slice is of another namespace, or reaches past the end of its chunk.
    #[must_use]
    pub fn new(namespace: NamespaceId, mut slices: Vec<ScanSlice>) -> Self {
        for slice in &slices {
            assert_eq!(slice.rows.namespace, namespace, "NS-1: a slice of chunk {} is of another namespace", slice.chunk);
            assert!(usize::from(slice.first_offset) + slice.rows.len() <= siltstone_core::CHUNK_ROWS_MAX, "RA-1: a slice leaves its chunk");
        }
        slices.sort_by_key(|slice| (slice.chunk, slice.first_offset));
        Self { namespace, slices }
    }
}

impl Source for ScanSource {
    fn namespace(&self) -> NamespaceId {
        self.namespace
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
