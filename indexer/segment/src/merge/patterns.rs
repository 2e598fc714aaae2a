//! The patterns of all segments, each once.

use crate::error::SegmentError;
use crate::patterns::{PatternMeta, PatternTableWriter};
use crate::reader::SegmentReader;
use siltstone_core::pattern::PatternHash;

pub(super) struct MergedPatterns {
    pub(super) writer: PatternTableWriter,
    /// Per pattern: how many rows it has.
    pub(super) rows: Vec<u32>,
    /// Per segment and number there: the number here, ascending.
    numbers: Vec<Vec<u32>>,
}

/// What orders patterns.
type Order<'a> = (&'a [u8], Option<PatternHash>);

impl MergedPatterns {
    pub(super) fn new(segments: &[&SegmentReader]) -> Result<Self, SegmentError> {
        let mut merged = Self { writer: PatternTableWriter::default(), rows: Vec::new(), numbers: vec![Vec::new(); segments.len()] };
        let mut heads = segments.iter().map(|segment| head(segment, 0)).collect::<Result<Vec<_>, _>>()?;
        while let Some(least) = heads.iter().flatten().min().copied() {
            let mut meta: Option<PatternMeta> = None;
            let mut rows = 0;
            for (segment, reader) in segments.iter().enumerate() {
                if heads[segment] != Some(least) {
                    continue;
                }
                let pattern = merged.numbers[segment].len() as u32;
                let other = *reader.patterns.meta(pattern);
                let known = meta.get_or_insert(other);
                known.first_ns = known.first_ns.min(other.first_ns);
                known.last_ns = known.last_ns.max(other.last_ns);
                rows += reader.pattern_rows[pattern as usize];
                merged.numbers[segment].push(merged.rows.len() as u32);
                heads[segment] = head(reader, pattern + 1)?;
                if heads[segment].is_some_and(|next| next <= least) {
                    return Err(SegmentError::corrupt("patterns", "patterns do not ascend"));
                }
            }
            if let Some(meta) = meta {
                merged.writer.push(least.0, meta);
                merged.rows.push(rows);
            }
        }
        Ok(merged)
    }

    /// The number here of a segment's pattern, which exists.
    pub(super) fn number(&self, segment: usize, pattern: u32) -> u32 {
        self.numbers[segment][pattern as usize]
    }
}

fn head<'a>(segment: &'a SegmentReader, pattern: u32) -> Result<Option<Order<'a>>, SegmentError> {
    if pattern as usize >= segment.patterns.len() {
        return Ok(None);
    }
    Ok(Some((segment.patterns.bytes(pattern)?, segment.patterns.meta(pattern).foreign_hash)))
}
