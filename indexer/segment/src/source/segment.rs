//! A segment and the fetcher of what it does not hold.

use super::{HistogramSpec, Matches, PatternCount, Plan, Position, ScoredRow, ScoringTerms, Source, TextStatistics};
use crate::error::SegmentError;
use crate::fetch::ChunkFetcher;
use crate::query::Evaluator;
use crate::reader::SegmentReader;
use siltstone_core::pattern::PatternHash;
use siltstone_core::{NamespaceId, RowAddress};
use siltstone_query::Expr;
use std::sync::Arc;

/// A segment that answers queries.
pub struct SegmentSource {
    reader: Arc<SegmentReader>,
    fetcher: Arc<dyn ChunkFetcher>,
}

impl SegmentSource {
    /// A source of a segment's rows.
    #[must_use]
    pub fn new(reader: Arc<SegmentReader>, fetcher: Arc<dyn ChunkFetcher>) -> Self {
        Self { reader, fetcher }
    }

    fn evaluator(&self) -> Evaluator<'_> {
        Evaluator { reader: &self.reader, fetcher: &*self.fetcher }
    }
}

impl Source for SegmentSource {
    fn namespace(&self) -> NamespaceId {
        self.reader.namespace()
    }

    fn row_count(&self) -> u64 {
        self.reader.row_count()
    }

    fn time_bounds_ns(&self) -> Option<(i64, i64)> {
        let chunks = self.reader.chunks();
        Some((chunks.iter().map(|chunk| chunk.first_ns).min()?, chunks.iter().map(|chunk| chunk.last_ns).max()?))
    }

    fn rows(&self, expr: &Expr) -> Result<Matches, SegmentError> {
        let rows = self.evaluator().rows(expr)?;
        let chunks = self.reader.chunks();
        let mut addresses = Vec::with_capacity(rows.count() as usize);
        for (ordinal, offsets) in rows.chunks() {
            let chunk = chunks.get(ordinal as usize).ok_or(SegmentError::corrupt("postings", "a chunk does not exist"))?;
            addresses.extend(offsets.iter().map(|offset| RowAddress::new(chunk.id, usize::from(offset))));
        }
        Ok(Matches::new(addresses))
    }

    fn count(&self, expr: &Expr) -> Result<u64, SegmentError> {
        self.evaluator().count(expr)
    }

    fn statistics(&self, terms: &ScoringTerms) -> Result<TextStatistics, SegmentError> {
        self.evaluator().statistics(terms)
    }

    fn top_k(&self, expr: &Expr, terms: &ScoringTerms, statistics: &TextStatistics, limit: usize) -> Result<Vec<ScoredRow>, SegmentError> {
        self.evaluator().top_k(expr, terms, statistics, limit)
    }

    fn newest(&self, expr: &Expr, limit: usize, before: Option<Position>) -> Result<Vec<Position>, SegmentError> {
        self.evaluator().newest(expr, limit, before)
    }

    fn patterns(&self, expr: &Expr) -> Result<Vec<PatternCount>, SegmentError> {
        self.evaluator().patterns(expr)
    }

    fn pattern_of(&self, address: RowAddress) -> Result<Option<PatternHash>, SegmentError> {
        let Ok(ordinal) = self.reader.chunks().binary_search_by_key(&address.chunk(), |chunk| chunk.id) else { return Ok(None) };
        let (Ok(ordinal), Ok(offset)) = (u32::try_from(ordinal), u16::try_from(address.offset())) else { return Ok(None) };
        match self.reader.layout.pattern_at(ordinal, offset)? {
            Some(pattern) => self.reader.patterns.hash(pattern).map(Some),
            None => Ok(None),
        }
    }

    fn histogram(&self, expr: &Expr, spec: &HistogramSpec) -> Result<Vec<u64>, SegmentError> {
        self.evaluator().histogram(expr, spec)
    }

    fn explain(&self, expr: &Expr) -> Result<Plan, SegmentError> {
        Ok(self.evaluator().plan(expr)?.explain())
    }
}
