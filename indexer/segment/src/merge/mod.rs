//! Several segments as one, without looking at rows: chunks keep their offsets and their cells, so that a chunk's part of a posting is copied as
//! it is, and only ordinals and pattern numbers are rewritten.

mod chunks;
mod keys;
mod patterns;
mod postings;

use crate::build::{SegmentParts, SegmentWriter};
use crate::error::SegmentError;
use crate::reader::SegmentReader;
use chunks::MergedChunks;
use patterns::MergedPatterns;
use siltstone_core::ChunkId;

/// One segment over the chunks of several of one namespace. It answers every query as they do together, with the same scores (RK-1).
///
/// # Errors
/// [`SegmentError::Input`] when there are none, a chunk is in two of them, or they are of different namespaces or versions;
/// [`SegmentError::Corrupt`] when one is damaged; [`SegmentError::TooLarge`] when there are too many chunks.
pub fn merge(segments: &[&SegmentReader]) -> Result<Vec<u8>, SegmentError> {
    let first_chunk = |segment: &SegmentReader| segment.chunks().first().map_or(ChunkId(0), |chunk| chunk.id);
    let Some(first) = segments.first() else {
        return Err(SegmentError::Input { chunk: ChunkId(0), reason: "there are no segments to merge" });
    };
    for segment in segments {
        if segment.namespace() != first.namespace() {
            return Err(SegmentError::Input { chunk: first_chunk(segment), reason: "NS-1: its segment is of another namespace" });
        }
        if (segment.splitter_version(), segment.analyzer_version()) != (first.splitter_version(), first.analyzer_version()) {
            return Err(SegmentError::Input { chunk: first_chunk(segment), reason: "its segment was built by other rules" });
        }
    }
    let patterns = MergedPatterns::new(segments)?;
    let chunks = MergedChunks::new(segments, &patterns)?;
    let mut writer = SegmentWriter::default();
    keys::merge_keys(segments, &chunks, &patterns, &mut writer)?;
    Ok(writer.finish(SegmentParts {
        namespace: first.namespace(),
        splitter_version: first.splitter_version(),
        analyzer_version: first.analyzer_version(),
        chunks: &chunks.table,
        cells: &chunks.cells,
        forward: chunks.forward,
        patterns: patterns.writer,
        irregular: &chunks.irregular,
        length: segments.iter().map(|segment| segment.token_count()).sum(),
    }))
}
