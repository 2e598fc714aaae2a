//! One unit's pack and segment, from the slices of its chunks. CPU work without I/O.

use super::SealError;
use siltstone_core::{ChunkId, NamespaceId, ObjectId, PackId, SegmentId};
use siltstone_format::Rows;
use siltstone_format::manifest::{ByteRange, CheckedRange, ChunkList, ChunkRecord, PackChunks, PackRecord, SegmentRecord};
use siltstone_format::pack::PackWriter;
use siltstone_segment::SegmentBuilder;
use std::sync::Arc;

/// The version of the built-in `default` index: text on body, tags, severity, time, attributes.
pub(crate) const DEFAULT_DEFINITION_VERSION: u32 = 1;

/// A chunk with the rows of its slices and their first offsets.
pub(super) type ChunkSlices = (ChunkId, Arc<ChunkRecord>, Vec<(u16, Arc<Rows>)>);

/// What a unit becomes. Ranges are the object's once the sections are placed in it.
pub(super) struct Built {
    pub(super) pack: UnplacedPack,
    pub(super) pack_bytes: Vec<u8>,
    pub(super) segment: SegmentRecord,
    pub(super) segment_bytes: Vec<u8>,
}

/// A pack's record whose ranges still count from the pack's own beginning.
pub(crate) struct UnplacedPack(pub(crate) PackRecord);

impl UnplacedPack {
    /// Moves the ranges to where the pack lies in its object.
    pub(crate) fn place(&mut self, at: CheckedRange) {
        self.0.range = at.range();
        self.0.footer.offset += at.offset;
    }
}

pub(super) fn build_unit(
    namespace: NamespaceId,
    chunks: Vec<ChunkSlices>,
    object: ObjectId,
    pack: PackId,
    segment: SegmentId,
) -> Result<Built, SealError> {
    let mut writer = PackWriter::new(namespace);
    let mut index = SegmentBuilder::new(namespace);
    let mut sealed = Vec::with_capacity(chunks.len());
    let mut rows_total = 0;
    for (id, record, slices) in &chunks {
        let parts: Vec<&Rows> = slices.iter().map(|(_, rows)| rows.as_ref()).collect();
        let joined;
        let rows = match parts.as_slice() {
            [only] => *only,
            parts => {
                joined = Rows::concat(parts)?;
                &joined
            }
        };
        let offsets: Vec<u16> = slices.iter().flat_map(|(first, rows)| *first..*first + rows.len() as u16).collect();
        if rows.namespace != namespace || rows.len() != usize::from(record.rows) {
            return Err(SealError::Record(format!(
                "chunk {id} has {} rows of namespace {}, the manifest says otherwise",
                rows.len(),
                rows.namespace
            )));
        }
        writer.add_chunk(*id, rows, &offsets)?;
        index.add(*id, rows, &offsets)?;
        sealed.push(record.sealed(*id));
        rows_total += u64::from(record.rows);
    }
    let finished = writer.finish();
    let pack = PackRecord {
        id: pack,
        object,
        range: ByteRange::default(),
        footer: finished.footer,
        chunks: PackChunks::new(&sealed).map_err(|error| SealError::Record(error.to_string()))?,
    };
    let ids: Vec<ChunkId> = sealed.iter().map(|chunk| chunk.chunk).collect();
    let segment = SegmentRecord {
        id: segment,
        object,
        range: ByteRange::default(),
        footer: CheckedRange::default(),
        definition_version: DEFAULT_DEFINITION_VERSION,
        rows: rows_total,
        chunks: ChunkList::new(&ids).map_err(|error| SealError::Record(error.to_string()))?,
    };
    Ok(Built { pack: UnplacedPack(pack), pack_bytes: finished.bytes, segment, segment_bytes: index.finish()? })
}
