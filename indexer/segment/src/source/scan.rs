//! Live rows, answered by looking at them.

use super::{HistogramSpec, Matches, PatternCount, Plan, Position, ScoredRow, ScoringTerms, Source, TextStatistics};
use crate::error::SegmentError;
use crate::rank::{Bm25, Top};
use crate::scan::{RowText, count_tokens, scan_matches};
use rustc_hash::FxHashMap;
use siltstone_core::bitmap::Block;
use siltstone_core::pattern::PatternHash;
use siltstone_core::{CHUNK_ROWS_MAX, ChunkId, NamespaceId, RowAddress};
use siltstone_format::Rows;
use siltstone_query::{Expr, Text};
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

impl ScanSlice {
    fn position(&self, row: u16) -> Position {
        let address = RowAddress::new(self.chunk, usize::from(self.first_offset) + usize::from(row));
        Position { timestamp_ns: self.rows.timestamps_ns[usize::from(row)], address }
    }
}

/// Live rows of one namespace that answer queries by scan.
pub struct ScanSource {
    namespace: NamespaceId,
    slices: Vec<ScanSlice>,
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
            assert!(usize::from(slice.first_offset) + slice.rows.len() <= CHUNK_ROWS_MAX, "RA-1: a slice leaves its chunk");
        }
        slices.sort_by_key(|slice| (slice.chunk, slice.first_offset));
        Self { namespace, slices }
    }

    /// Calls `each` with every slice and those of its rows that match.
    fn for_each_match<F>(&self, expr: &Expr, mut each: F) -> Result<(), SegmentError>
    where
        F: FnMut(&ScanSlice, &Block),
    {
        for slice in &self.slices {
            let found = scan_matches(&slice.rows, expr)?;
            if !found.is_empty() {
                each(slice, &found);
            }
        }
        Ok(())
    }
}

impl Source for ScanSource {
    fn namespace(&self) -> NamespaceId {
        self.namespace
    }

    fn row_count(&self) -> u64 {
        self.slices.iter().map(|slice| slice.rows.len() as u64).sum()
    }

    fn time_bounds_ns(&self) -> Option<(i64, i64)> {
        let times = || self.slices.iter().flat_map(|slice| slice.rows.timestamps_ns.iter().copied());
        Some((times().min()?, times().max()?))
    }

    fn rows(&self, expr: &Expr) -> Result<Matches, SegmentError> {
        let mut addresses = Vec::new();
        self.for_each_match(expr, |slice, found| addresses.extend(found.iter().map(|row| slice.position(row).address)))?;
        Ok(Matches::new(addresses))
    }

    fn count(&self, expr: &Expr) -> Result<u64, SegmentError> {
        let mut count = 0;
        self.for_each_match(expr, |_, found| count += u64::from(found.count()))?;
        Ok(count)
    }

    fn statistics(&self, terms: &ScoringTerms) -> Result<TextStatistics, SegmentError> {
        let mut statistics = TextStatistics { rows: self.row_count(), tokens: 0, row_frequencies: vec![0; terms.terms().len()] };
        for slice in &self.slices {
            statistics.tokens += count_tokens(&slice.rows);
            for (frequency, term) in statistics.row_frequencies.iter_mut().zip(terms.terms()) {
                *frequency += u64::from(scan_matches(&slice.rows, &Expr::Text(Text::Term(term.clone())))?.count());
            }
        }
        Ok(statistics)
    }

    fn top_k(&self, expr: &Expr, terms: &ScoringTerms, statistics: &TextStatistics, limit: usize) -> Result<Vec<ScoredRow>, SegmentError> {
        let scorer = Bm25::new(statistics);
        let mut top = Top::new(limit);
        let (mut text, mut counts) = (RowText::default(), Vec::new());
        self.for_each_match(expr, |slice, found| {
            for row in found {
                let length = text.count(&slice.rows, usize::from(row), terms.terms(), &mut counts);
                top.push(ScoredRow { score: scorer.score(&counts, length), position: slice.position(row) });
            }
        })?;
        Ok(top.into_sorted())
    }

    fn newest(&self, expr: &Expr, limit: usize, before: Option<Position>) -> Result<Vec<Position>, SegmentError> {
        let mut top = Top::new(limit);
        self.for_each_match(expr, |slice, found| {
            let positions = found.iter().map(|row| slice.position(row));
            positions.filter(|position| before.is_none_or(|before| *position < before)).for_each(|position| top.push(position));
        })?;
        Ok(top.into_sorted())
    }

    fn patterns(&self, expr: &Expr) -> Result<Vec<PatternCount>, SegmentError> {
        let mut by_hash: FxHashMap<PatternHash, PatternCount> = FxHashMap::default();
        self.for_each_match(expr, |slice, found| {
            for row in found {
                let Position { timestamp_ns, address } = slice.position(row);
                let pattern = slice.rows.pattern(usize::from(row));
                let one = || PatternCount {
                    hash: pattern.hash,
                    bytes: pattern.bytes.clone(),
                    count: 0,
                    first_ns: timestamp_ns,
                    last_ns: timestamp_ns,
                    example: address,
                };
                by_hash.entry(pattern.hash).or_insert_with(one).add(timestamp_ns, address);
            }
        })?;
        Ok(by_hash.into_values().collect())
    }

    fn pattern_of(&self, address: RowAddress) -> Result<Option<PatternHash>, SegmentError> {
        let of_chunk = self.slices.partition_point(|slice| slice.chunk < address.chunk());
        let slices = self.slices[of_chunk..].iter().take_while(|slice| slice.chunk == address.chunk());
        let within = |slice: &ScanSlice| address.offset().checked_sub(usize::from(slice.first_offset)).filter(|row| *row < slice.rows.len());
        Ok(slices.filter_map(|slice| Some(slice.rows.pattern(within(slice)?).hash)).next())
    }

    fn histogram(&self, expr: &Expr, spec: &HistogramSpec) -> Result<Vec<u64>, SegmentError> {
        let mut counts = vec![0; spec.buckets];
        self.for_each_match(expr, |slice, found| {
            for row in found {
                if let Some(bucket) = spec.bucket(slice.rows.timestamps_ns[usize::from(row)]) {
                    counts[bucket] += 1;
                }
            }
        })?;
        Ok(counts)
    }

    fn explain(&self, expr: &Expr) -> Result<Plan, SegmentError> {
        let action = format!("scan {} live slices for {expr}", self.slices.len());
        Ok(Plan { action, rows: self.row_count(), is_exact: false, parts: Vec::new() })
    }
}
