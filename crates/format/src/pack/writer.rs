//! Packs from chunks.

use super::PackError;
use super::body::BodyWriter;
use super::footer::{ChunkEntry, Footer, runs_of};
use super::meta::put_meta;
use super::patterns::PatternCollector;
use super::streams::Streams;
use crate::columns::{put_attributes, put_vector_heads, put_vector_values};
use crate::compress::BlockCompressor;
use crate::manifest::CheckedRange;
use crate::rows::{Rows, VectorColumn};
use crate::wire::{crc, put_bytes};
use siltstone_core::{ChunkId, NamespaceId};

/// zstd's level for packs. On 37.6 MB of real bodies level 6 stores 5.9 % at 250 MB/s, level 3 6.3 % at 315: sealing must keep up with ingest first.
const ZSTD_LEVEL: i32 = 3;

/// Makes one pack. Holds its chunks compressed, and its distinct patterns.
pub struct PackWriter {
    namespace: NamespaceId,
    compressor: BlockCompressor,
    bodies: BodyWriter,
    streams: Streams,
    patterns: PatternCollector,
    chunks: Vec<Pending>,
    bytes: usize,
}

/// A chunk whose pattern block waits until the pack knows which patterns are shared.
struct Pending {
    entry: ChunkEntry,
    patterns: Vec<u32>,
    streams: Vec<u8>,
    meta: Vec<u8>,
    attributes: Vec<u8>,
    vector_fields: Vec<u8>,
    vectors: Vec<u8>,
}

/// A pack, and where its footer lies in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackBytes {
    /// All bytes, to be added to an object as a section.
    pub bytes: Vec<u8>,
    /// The footer, relative to the pack's first byte.
    pub footer: CheckedRange,
}

impl PackBytes {
    /// The footer's range in an object in which the pack begins at `offset`.
    #[must_use]
    pub const fn footer_at(&self, offset: u64) -> CheckedRange {
        CheckedRange { offset: offset + self.footer.offset, ..self.footer }
    }
}

impl PackWriter {
    /// A pack without chunks.
    #[must_use]
    pub fn new(namespace: NamespaceId) -> Self {
        Self {
            namespace,
            compressor: BlockCompressor::new(ZSTD_LEVEL),
            bodies: BodyWriter::default(),
            streams: Streams::default(),
            patterns: PatternCollector::default(),
            chunks: Vec::new(),
            bytes: 0,
        }
    }

    /// Appends a chunk. `offsets` are those of its rows within the chunk: as many, rising, with gaps where offsets were burned.
    ///
    /// # Errors
    /// [`PackError`] when the rows are of another namespace, the chunk does not follow the one before, the offsets are not those of the rows,
    /// or the rows were read without their vectors.
    pub fn add_chunk(&mut self, chunk: ChunkId, rows: &Rows, offsets: &[u16]) -> Result<(), PackError> {
        if rows.namespace != self.namespace {
            return Err(PackError::Namespace { chunk, rows: rows.namespace, pack: self.namespace });
        }
        if let Some(before) = self.chunks.last().map(|pending| pending.entry.chunk).filter(|before| *before >= chunk) {
            return Err(PackError::Order { chunk, before });
        }
        let runs = runs_of(offsets).filter(|_| offsets.len() == rows.len()).ok_or(PackError::Offsets { chunk })?;
        if !rows.vectors.iter().all(VectorColumn::is_loaded) {
            return Err(PackError::Vectors { chunk });
        }
        self.streams.clear();
        self.bodies.put(rows, &mut self.streams);
        let (mut streams, mut meta, mut attributes) = (Vec::new(), Vec::new(), Vec::new());
        let mut raw_bytes = self.streams.compress(&mut self.compressor, &mut streams);
        raw_bytes += put_meta(rows, &mut self.compressor, &mut meta);
        if !rows.attributes.is_empty() {
            let mut raw = Vec::new();
            put_attributes(&mut raw, &rows.attributes, rows.len());
            raw_bytes += raw.len();
            self.compressor.block(&raw, &mut attributes);
        }
        let (mut vector_fields, mut vectors) = (Vec::new(), Vec::new());
        if !rows.vectors.is_empty() {
            let (mut heads, mut values) = (Vec::new(), Vec::new());
            put_vector_heads(&mut heads, &rows.vectors, rows.len());
            put_vector_values(&mut values, &rows.vectors);
            raw_bytes += heads.len() + values.len();
            self.compressor.block(&heads, &mut vector_fields);
            self.compressor.block(&values, &mut vectors);
        }
        let (timestamp_min_ns, timestamp_max_ns) = rows.time_range_ns().unwrap_or((0, 0));
        let entry = ChunkEntry {
            chunk,
            rows: rows.len() as u32,
            timestamp_min_ns,
            timestamp_max_ns,
            body_bytes: rows.body_bytes(),
            raw_bytes: raw_bytes as u64,
            runs,
            ranges: Default::default(),
        };
        self.bytes += streams.len() + meta.len() + attributes.len() + vector_fields.len() + vectors.len();
        let patterns = self.patterns.add(&rows.patterns);
        self.chunks.push(Pending { entry, patterns, streams, meta, attributes, vector_fields, vectors });
        Ok(())
    }

    /// About how many bytes the pack has so far: all but its patterns.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.bytes
    }

    /// How many chunks it has.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// The whole pack.
    #[must_use]
    pub fn finish(mut self) -> PackBytes {
        let mut patterns = Vec::new();
        let shared = self.patterns.finish(&mut self.compressor, &mut patterns);
        let mut bytes = Vec::with_capacity(self.bytes);
        let mut footer = Footer { namespace: self.namespace, chunks: Vec::new(), patterns: CheckedRange::default() };
        let (mut body, mut own) = (Vec::new(), Vec::new());
        for Pending { mut entry, patterns, streams, meta, attributes, vector_fields, vectors } in self.chunks {
            own.clear();
            shared.put_chunk(&patterns, &mut self.compressor, &mut own);
            body.clear();
            put_bytes(&mut body, &own);
            body.extend_from_slice(&streams);
            entry.ranges = [&body, &meta, &attributes, &vector_fields, &vectors].map(|block| append(&mut bytes, block));
            footer.chunks.push(entry);
        }
        footer.patterns = append(&mut bytes, &patterns);
        let footer = append(&mut bytes, &footer.encode());
        PackBytes { bytes, footer }
    }
}

/// Appends a block and says where it lies.
fn append(bytes: &mut Vec<u8>, block: &[u8]) -> CheckedRange {
    let len = u32::try_from(block.len()).expect("a block is shorter than what a block of rows may hold, which is below 4 GiB");
    let range = CheckedRange { offset: bytes.len() as u64, len, crc32c: crc(block) };
    bytes.extend_from_slice(block);
    range
}
