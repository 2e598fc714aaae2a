//! A slice: `version u8`, then a block of rows as one compressed block. Version 2 has vectors after the columns of version 1; it is written only
//! where there are any.

use crate::columns::{
    get_attributes, get_deltas, get_tags, get_vector_heads, get_vector_values, put_attributes, put_deltas, put_tags, put_vector_heads,
    put_vector_values,
};
use crate::compress::{BlockCompressor, decompress};
use crate::manifest::CheckedRange;
use crate::rows::{Pattern, Rows};
use crate::wire::{DecodeError, Reader, check_range, put_bytes, put_varint};
use siltstone_core::pattern::{PatternHash, slot_count};
use siltstone_core::{CHUNK_ROWS_MAX, NamespaceId};

const BLOCK: &str = "a batch's slice";

/// The version of the layout of a slice without vectors.
const SLICE_VERSION: u8 = 1;

/// The version of the layout of a slice with vectors.
const SLICE_VERSION_VECTORS: u8 = 2;

/// zstd's level for slices.
const ZSTD_LEVEL: i32 = 1;

/// Encodes slices one after the other in the same memory.
pub(super) struct SliceEncoder {
    compressor: BlockCompressor,
    raw: Vec<u8>,
}

impl Default for SliceEncoder {
    fn default() -> Self {
        Self { compressor: BlockCompressor::new(ZSTD_LEVEL), raw: Vec::new() }
    }
}

impl SliceEncoder {
    /// Appends `rows` to `out` as a slice.
    pub(super) fn encode(&mut self, rows: &Rows, out: &mut Vec<u8>) {
        self.raw.clear();
        put_rows(&mut self.raw, rows);
        out.push(if rows.vectors.is_empty() { SLICE_VERSION } else { SLICE_VERSION_VECTORS });
        self.compressor.block(&self.raw, out);
    }
}

/// Reads the bytes of a slice's range.
///
/// # Errors
/// [`DecodeError`] when they are not the bytes that were written there, or of a version that is not known.
pub fn decode_slice(bytes: &[u8], range: &CheckedRange) -> Result<Rows, DecodeError> {
    check_range(BLOCK, bytes, range)?;
    let mut reader = Reader::new(BLOCK, bytes);
    let version = reader.u8()?;
    if version != SLICE_VERSION && version != SLICE_VERSION_VECTORS {
        return Err(DecodeError::Version { block: BLOCK, found: u32::from(version) });
    }
    let raw = decompress(BLOCK, reader.bytes(reader.remaining())?)?;
    let mut reader = Reader::new(BLOCK, &raw);
    let mut rows = get_rows(&mut reader)?;
    if version == SLICE_VERSION_VECTORS {
        rows.vectors = get_vector_heads(&mut reader, rows.len())?;
        get_vector_values(&mut reader, &mut rows.vectors)?;
    }
    reader.end()?;
    rows.check().map_err(|_| reader.corrupt("its columns contradict each other"))?;
    Ok(rows)
}

pub(super) fn put_rows(out: &mut Vec<u8>, rows: &Rows) {
    put_varint(out, u64::from(rows.namespace.0));
    put_varint(out, rows.len() as u64);
    put_varint(out, rows.patterns.len() as u64);
    for pattern in &rows.patterns {
        put_bytes(out, &pattern.bytes);
    }
    for id in &rows.pattern_ids {
        put_varint(out, u64::from(*id));
    }
    let mut start = 0;
    for end in &rows.variable_ends {
        put_varint(out, u64::from(end - start));
        start = *end;
    }
    out.extend_from_slice(&rows.variable_bytes);
    put_deltas(out, &rows.timestamps_ns);
    out.extend_from_slice(&rows.severities);
    out.extend_from_slice(&rows.flags);
    for column in [&rows.deployment, &rows.pod, &rows.container] {
        put_tags(out, column);
    }
    put_attributes(out, &rows.attributes, rows.len());
    if !rows.vectors.is_empty() {
        put_vector_heads(out, &rows.vectors, rows.len());
        put_vector_values(out, &rows.vectors);
    }
}

fn get_rows(reader: &mut Reader<'_>) -> Result<Rows, DecodeError> {
    let namespace = NamespaceId(reader.varint_u32()?);
    let len = reader.varint_max(CHUNK_ROWS_MAX)?;
    let patterns = reader.varint_max(CHUNK_ROWS_MAX)?;
    let mut rows = Rows { namespace, ..Rows::default() };
    for _ in 0..patterns {
        let bytes = reader.prefixed()?;
        rows.patterns.push(Pattern { hash: PatternHash::of(bytes), bytes: bytes.into(), slots: slot_count(bytes) as u32 });
    }
    let mut variables = 0_usize;
    for _ in 0..len {
        let id = reader.varint_u32()?;
        let pattern = rows.patterns.get(id as usize).ok_or_else(|| reader.corrupt("a pattern number without a pattern"))?;
        rows.pattern_ids.push(id);
        rows.variable_starts.push(variables as u32);
        variables += pattern.slots as usize;
    }
    if variables > reader.remaining() {
        return Err(reader.corrupt("it counts more than it holds"));
    }
    let mut end = 0;
    rows.variable_ends.reserve(variables);
    for _ in 0..variables {
        end = reader.varint_max(reader.remaining())?.saturating_add(end).min(u32::MAX as usize);
        rows.variable_ends.push(end as u32);
    }
    rows.variable_bytes = reader.bytes(end)?.to_vec();
    rows.timestamps_ns = get_deltas(reader, len)?;
    rows.severities = reader.bytes(len)?.to_vec();
    rows.flags = reader.bytes(len)?.to_vec();
    rows.deployment = get_tags(reader, len)?;
    rows.pod = get_tags(reader, len)?;
    rows.container = get_tags(reader, len)?;
    rows.attributes = get_attributes(reader, len)?;
    Ok(rows)
}
