//! The footer of a pack: what a query needs before it reads anything else, and where everything lies.

use super::{PACK_VERSION, PACK_VERSION_VECTORS};
use crate::manifest::{ByteRange, CheckedRange};
use crate::wire::{DecodeError, Reader, crc, put_varint, unzigzag, zigzag};
use siltstone_core::address::CHUNK_ID_MAX;
use siltstone_core::{CHUNK_ROWS_MAX, ChunkId, NamespaceId};

pub(super) const BLOCK: &str = "a pack's footer";

/// The footer's last bytes: its length.
const LENGTH_BYTES: usize = 4;

/// A block of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    /// Bodies.
    Body,
    /// Times, severities, flags and tags.
    Meta,
    /// Attributes. Its range is empty where no row has any, and then nothing needs to be fetched.
    Attributes,
    /// Which rows have vectors of which fields. Its range is empty where no row has any.
    VectorFields,
    /// The numbers of vectors. Its range is empty where no row has any.
    Vectors,
}

impl Column {
    /// All, in the order in which they lie side by side.
    pub const ALL: [Self; 5] = [Self::Body, Self::Meta, Self::Attributes, Self::VectorFields, Self::Vectors];

    /// How many of them a chunk has in a pack of a version.
    const fn count(version: u32) -> usize {
        if version == PACK_VERSION { 3 } else { Self::ALL.len() }
    }
}

/// What the footer says about a chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChunkEntry {
    /// The chunk.
    pub chunk: ChunkId,
    /// How many rows it has.
    pub rows: u32,
    /// The smallest timestamp; 0 without rows.
    pub timestamp_min_ns: i64,
    /// The largest timestamp; 0 without rows.
    pub timestamp_max_ns: i64,
    /// The bytes of all its bodies.
    pub body_bytes: u64,
    /// Bytes of all its blocks, decompressed.
    pub raw_bytes: u64,
    /// Runs of offsets that have rows: the first offset of each and its length, rising.
    pub(super) runs: Vec<(u16, u16)>,
    /// By [`Column`].
    pub(super) ranges: [CheckedRange; 5],
}

impl ChunkEntry {
    /// Where a block of the chunk lies in the object.
    #[must_use]
    pub fn range(&self, column: Column) -> CheckedRange {
        self.ranges[column as usize]
    }

    /// All blocks of the chunk but the numbers of its vectors, side by side: what rows are shown from.
    #[must_use]
    pub fn range_without_vectors(&self) -> ByteRange {
        ByteRange { offset: self.ranges[0].offset, len: self.columns_len().saturating_add(self.range(Column::VectorFields).len) }
    }

    /// Bytes of the blocks before those of vectors.
    pub(super) fn columns_len(&self) -> u32 {
        let ranges = &self.ranges[..Column::VectorFields as usize];
        ranges.iter().fold(0, |len: u32, range| len.saturating_add(range.len))
    }

    /// Whether some rows have vectors.
    #[must_use]
    pub fn has_vectors(&self) -> bool {
        self.range(Column::Vectors).len != 0
    }

    /// Where its vectors and their fields lie, side by side.
    #[must_use]
    pub fn range_of_vectors(&self) -> ByteRange {
        let (fields, vectors) = (self.range(Column::VectorFields), self.range(Column::Vectors));
        ByteRange { offset: fields.offset, len: fields.len.saturating_add(vectors.len) }
    }

    /// All blocks of the chunk, side by side.
    #[must_use]
    pub fn range_of_all(&self) -> ByteRange {
        let len = self.ranges.iter().fold(0, |len: u32, range| len.saturating_add(range.len));
        ByteRange { offset: self.ranges[0].offset, len }
    }

    /// The offset of a row; `None` when there is no such row.
    #[must_use]
    pub fn offset_of(&self, row: usize) -> Option<usize> {
        let mut before = 0;
        for (first, length) in &self.runs {
            let length = usize::from(*length);
            if row < before + length {
                return Some(usize::from(*first) + row - before);
            }
            before += length;
        }
        None
    }

    /// The row at an offset; `None` when the offset was burned or never given.
    #[must_use]
    pub fn row_at(&self, offset: usize) -> Option<usize> {
        let mut before = 0;
        for (first, length) in &self.runs {
            let (first, length) = (usize::from(*first), usize::from(*length));
            if (first..first + length).contains(&offset) {
                return Some(before + offset - first);
            }
            before += length;
        }
        None
    }

    /// The offsets of all rows, rising.
    pub fn offsets(&self) -> impl Iterator<Item = usize> {
        self.runs.iter().flat_map(|(first, length)| usize::from(*first)..usize::from(*first) + usize::from(*length))
    }
}

/// Runs of consecutive offsets. `None` when the offsets do not rise or one lies outside a chunk.
pub(super) fn runs_of(offsets: &[u16]) -> Option<Vec<(u16, u16)>> {
    let is_rising = offsets.is_sorted_by(|left, right| left < right) && offsets.last().is_none_or(|last| usize::from(*last) < CHUNK_ROWS_MAX);
    let runs = offsets.chunk_by(|left, right| left + 1 == *right).map(|run| (run[0], run.len() as u16));
    is_rising.then(|| runs.collect())
}

#[derive(Debug)]
pub(super) struct Footer {
    pub(super) namespace: NamespaceId,
    pub(super) chunks: Vec<ChunkEntry>,
    pub(super) patterns: CheckedRange,
}

impl Footer {
    pub(super) fn encode(&self) -> Vec<u8> {
        // Packs without vectors stay as they were.
        let version = if self.chunks.iter().any(ChunkEntry::has_vectors) { PACK_VERSION_VECTORS } else { PACK_VERSION };
        let mut out = vec![version as u8];
        put_varint(&mut out, u64::from(self.namespace.0));
        put_range(&mut out, &self.patterns);
        put_varint(&mut out, self.chunks.len() as u64);
        let (mut chunk, mut time) = (0, 0_i64);
        for entry in &self.chunks {
            put_varint(&mut out, entry.chunk.0 - chunk);
            put_varint(&mut out, entry.runs.len() as u64);
            let mut end = 0;
            for (first, length) in &entry.runs {
                put_varint(&mut out, u64::from(first - end));
                put_varint(&mut out, u64::from(*length));
                end = first + length;
            }
            put_varint(&mut out, zigzag(entry.timestamp_min_ns.wrapping_sub(time)));
            put_varint(&mut out, entry.timestamp_max_ns.wrapping_sub(entry.timestamp_min_ns) as u64);
            put_varint(&mut out, entry.body_bytes);
            put_varint(&mut out, entry.raw_bytes);
            entry.ranges[..Column::count(version)].iter().for_each(|range| put_range(&mut out, range));
            chunk = entry.chunk.0 + 1;
            time = entry.timestamp_min_ns;
        }
        let len = (out.len() + LENGTH_BYTES) as u32;
        out.extend_from_slice(&len.to_le_bytes());
        out
    }

    /// Reads the footer of a pack that lies at `pack` in its object. Ranges are those of the object then.
    pub(super) fn decode(bytes: &[u8], footer: &CheckedRange, pack: &ByteRange) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(BLOCK, bytes);
        let version = u32::from(reader.u8()?);
        if version != PACK_VERSION && version != PACK_VERSION_VECTORS {
            return Err(DecodeError::Version { block: BLOCK, found: version });
        }
        let namespace = NamespaceId(reader.varint_u32()?);
        let mut patterns = get_range(&mut reader)?;
        // An id, runs, two times, two sizes and three ranges of five bytes or more.
        const CHUNK_BYTES_MIN: usize = 6 + 3 * 5;
        let count = reader.count(CHUNK_BYTES_MIN)?;
        let mut chunks = Vec::with_capacity(count);
        let (mut chunk, mut time, mut offset) = (0_u64, 0_i64, pack.offset);
        for _ in 0..count {
            let entry = get_chunk(&mut reader, version, chunk, time, &mut offset)?;
            chunk = entry.chunk.0 + 1;
            time = entry.timestamp_min_ns;
            chunks.push(entry);
        }
        let len = reader.u32()?;
        reader.end()?;
        patterns.offset = offset;
        if len == footer.len && patterns.range().end() == footer.offset && footer.range().end() == pack.end() {
            Ok(Self { namespace, chunks, patterns })
        } else {
            Err(reader.corrupt("its blocks do not reach it"))
        }
    }
}

/// Where the footer of a whole pack lies, for whoever has an object without a manifest. The pack begins at `offset` in its object.
///
/// # Errors
/// [`DecodeError`] when the pack does not end with its footer's length.
pub fn footer_of_pack(pack: &[u8], offset: u64) -> Result<CheckedRange, DecodeError> {
    let error = DecodeError::Corrupt { block: BLOCK, what: "its length is not at the end of the pack" };
    let len = u32::from_le_bytes(*pack.last_chunk::<LENGTH_BYTES>().ok_or(error.clone())?);
    let before = pack.len().checked_sub(len as usize).ok_or(error)?;
    Ok(CheckedRange { offset: offset + before as u64, len, crc32c: crc(&pack[before..]) })
}

fn get_chunk(reader: &mut Reader<'_>, version: u32, chunk: u64, time: i64, offset: &mut u64) -> Result<ChunkEntry, DecodeError> {
    let chunk = reader.varint()?.checked_add(chunk).filter(|chunk| *chunk <= CHUNK_ID_MAX);
    let chunk = ChunkId(chunk.ok_or_else(|| reader.corrupt("a chunk id of more than 53 bits"))?);
    let count = reader.varint_max(CHUNK_ROWS_MAX)?;
    let (mut runs, mut end, mut rows) = (Vec::new(), 0, 0);
    for run in 0..count {
        let first = reader.varint_max(CHUNK_ROWS_MAX)? + end;
        let length = reader.varint_max(CHUNK_ROWS_MAX)?;
        if length == 0 || (run > 0 && first == end) || first + length > CHUNK_ROWS_MAX {
            return Err(reader.corrupt("runs of offsets touch, or leave the chunk"));
        }
        end = first + length;
        rows += length as u32;
        runs.push((first as u16, length as u16));
    }
    let timestamp_min_ns = time.wrapping_add(unzigzag(reader.varint()?));
    let timestamp_max_ns = timestamp_min_ns.wrapping_add(reader.varint()? as i64);
    let (body_bytes, raw_bytes) = (reader.varint()?, reader.varint()?);
    let mut ranges = [CheckedRange::default(); Column::ALL.len()];
    for (column, range) in ranges.iter_mut().enumerate() {
        let is_stored = column < Column::count(version);
        *range = CheckedRange { offset: *offset, ..if is_stored { get_range(reader)? } else { CheckedRange::default() } };
        *offset = offset.saturating_add(u64::from(range.len));
    }
    Ok(ChunkEntry { chunk, rows, timestamp_min_ns, timestamp_max_ns, body_bytes, raw_bytes, runs, ranges })
}

/// A range without its offset: ranges lie one after the other.
fn put_range(out: &mut Vec<u8>, range: &CheckedRange) {
    put_varint(out, u64::from(range.len));
    out.extend_from_slice(&range.crc32c.to_le_bytes());
}

fn get_range(reader: &mut Reader<'_>) -> Result<CheckedRange, DecodeError> {
    Ok(CheckedRange { offset: 0, len: reader.varint_u32()?, crc32c: reader.u32()? })
}
