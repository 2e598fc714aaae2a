//! Packs: where the rows of sealed chunks lie, in some twenty bytes a chunk.

use super::{ByteRange, CheckedRange};
use crate::varint;
use serde::{Deserialize, Serialize, Serializer};
use serde_bytes::ByteBuf;
use siltstone_core::{CHUNK_ROWS_MAX, ChunkId, ObjectId, PackId, address::CHUNK_ID_MAX};

/// The columns of chunks of one namespace (NS-1): a byte range of an object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PackRecord {
    /// Its id, out of a block that was allocated to the epoch of its object.
    pub id: PackId,
    /// The object that it lies in.
    pub object: ObjectId,
    /// All its bytes in the object.
    pub range: ByteRange,
    /// Its footer, within `range`, so that one ranged GET opens it.
    pub footer: CheckedRange,
    /// Its chunks.
    pub chunks: PackChunks,
}

/// A sealed chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PackChunk {
    /// The chunk.
    pub chunk: ChunkId,
    /// Rows that exist, 0..=`end_offset`.
    pub rows: u16,
    /// The offset after the last that was given out, 0..=2,048.
    pub end_offset: u16,
    /// Smallest timestamp of its rows, in nanoseconds; `i64::MAX` without rows.
    pub timestamp_min_ns: i64,
    /// Largest timestamp of its rows, in nanoseconds; `i64::MIN` without rows.
    pub timestamp_max_ns: i64,
    /// Bytes of its rows' bodies.
    pub body_bytes: u64,
}

/// The chunks of a pack by rising id, delta-coded in memory as on disk: there are ten million of these at ten billion entries.
///
/// ```text
/// no bytes without chunks; else the count, then for each chunk (all LEB128):
///   chunk id − the one before (the first: the id itself)
///   end_offset << 1 | (rows ≠ end_offset), then end_offset − rows where that bit is set
///   where there are rows:
///     zigzag(timestamp_min_ns − the chunk's before, the first: 0; wrapping)
///     timestamp_max_ns − timestamp_min_ns
///     body_bytes
/// ```
#[derive(Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "ByteBuf")]
pub struct PackChunks(Box<[u8]>);

/// Why chunks are no list of a pack.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PackChunksError {
    /// Out of order, or twice.
    #[error("list chunks: chunk {chunk} does not follow the one before it")]
    Order {
        /// The chunk.
        chunk: ChunkId,
    },
    /// A number outside its bounds.
    #[error("list chunks: chunk {chunk} has an id, rows, an end offset or a time range that cannot be")]
    Bounds {
        /// The chunk.
        chunk: ChunkId,
    },
    /// Not the bytes of a list.
    #[error("read a list of chunks: its bytes are damaged")]
    Bytes,
}

impl PackChunk {
    fn is_possible(&self) -> bool {
        let time = if self.rows == 0 {
            self.timestamp_min_ns == i64::MAX && self.timestamp_max_ns == i64::MIN && self.body_bytes == 0
        } else {
            self.timestamp_min_ns <= self.timestamp_max_ns
        };
        self.chunk.0 <= CHUNK_ID_MAX && self.rows <= self.end_offset && usize::from(self.end_offset) <= CHUNK_ROWS_MAX && time
    }
}

impl PackChunks {
    /// The list of these chunks, which must rise by id.
    ///
    /// # Errors
    /// [`PackChunksError`] where they do not, or a number is outside its bounds.
    pub fn new(chunks: &[PackChunk]) -> Result<Self, PackChunksError> {
        if chunks.is_empty() {
            return Ok(Self::default());
        }
        let mut bytes = Vec::with_capacity(2 + chunks.len() * 24);
        varint::put(&mut bytes, chunks.len() as u64);
        let (mut before, mut time_before) = (None, 0_i64);
        for chunk in chunks {
            if before.is_some_and(|before| before >= chunk.chunk) {
                return Err(PackChunksError::Order { chunk: chunk.chunk });
            }
            if !chunk.is_possible() {
                return Err(PackChunksError::Bounds { chunk: chunk.chunk });
            }
            varint::put(&mut bytes, chunk.chunk.0 - before.map_or(0, |before: ChunkId| before.0));
            let burned = chunk.end_offset - chunk.rows;
            varint::put(&mut bytes, u64::from(chunk.end_offset) << 1 | u64::from(burned != 0));
            if burned != 0 {
                varint::put(&mut bytes, u64::from(burned));
            }
            if chunk.rows != 0 {
                let delta = chunk.timestamp_min_ns.wrapping_sub(time_before);
                varint::put(&mut bytes, (delta << 1 ^ delta >> 63).cast_unsigned());
                varint::put(&mut bytes, chunk.timestamp_max_ns.wrapping_sub(chunk.timestamp_min_ns).cast_unsigned());
                varint::put(&mut bytes, chunk.body_bytes);
                time_before = chunk.timestamp_min_ns;
            }
            before = Some(chunk.chunk);
        }
        Ok(Self(bytes.into()))
    }

    /// How many chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        varint::take(&mut &self.0[..]).unwrap_or(0) as usize
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that the list takes in memory and on disk.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.0.len()
    }

    /// The chunks by rising id.
    pub fn iter(&self) -> impl Iterator<Item = PackChunk> + '_ {
        let mut reader = Reader::new(&self.0);
        std::iter::from_fn(move || reader.next().map(|chunk| chunk.expect("the bytes were checked when the list was made")))
    }

    /// The chunk of this id.
    #[must_use]
    pub fn get(&self, chunk: ChunkId) -> Option<PackChunk> {
        self.iter().take_while(|found| found.chunk <= chunk).find(|found| found.chunk == chunk)
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    left: u64,
    before: Option<ChunkId>,
    time_before: i64,
}

impl<'a> Reader<'a> {
    fn new(mut bytes: &'a [u8]) -> Self {
        let left = varint::take(&mut bytes).unwrap_or(0);
        Self { bytes, left, before: None, time_before: 0 }
    }

    fn next(&mut self) -> Option<Result<PackChunk, PackChunksError>> {
        self.left = self.left.checked_sub(1)?;
        let chunk = self.read().ok_or(PackChunksError::Bytes).and_then(|chunk| {
            if self.before.is_some_and(|before| before >= chunk.chunk) {
                return Err(PackChunksError::Order { chunk: chunk.chunk });
            }
            if chunk.is_possible() { Ok(chunk) } else { Err(PackChunksError::Bounds { chunk: chunk.chunk }) }
        });
        match &chunk {
            Ok(chunk) => self.before = Some(chunk.chunk),
            Err(_) => self.left = 0,
        }
        Some(chunk)
    }

    fn read(&mut self) -> Option<PackChunk> {
        let bytes = &mut self.bytes;
        let chunk = ChunkId(varint::take(bytes)?.checked_add(self.before.map_or(0, |before| before.0))?);
        let ends = varint::take(bytes)?;
        let end_offset = u16::try_from(ends >> 1).ok()?;
        let burned = if ends & 1 == 1 { u16::try_from(varint::take(bytes)?).ok().filter(|&burned| burned != 0)? } else { 0 };
        let rows = end_offset.checked_sub(burned)?;
        if rows == 0 {
            return Some(PackChunk { chunk, rows, end_offset, timestamp_min_ns: i64::MAX, timestamp_max_ns: i64::MIN, body_bytes: 0 });
        }
        let zigzag = varint::take(bytes)?;
        let delta = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
        let timestamp_min_ns = self.time_before.wrapping_add(delta);
        let timestamp_max_ns = timestamp_min_ns.wrapping_add(varint::take(bytes)?.cast_signed());
        self.time_before = timestamp_min_ns;
        Some(PackChunk { chunk, rows, end_offset, timestamp_min_ns, timestamp_max_ns, body_bytes: varint::take(bytes)? })
    }
}

impl Serialize for PackChunks {
    fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: Serializer,
    {
        serializer.serialize_bytes(&self.0)
    }
}

impl TryFrom<ByteBuf> for PackChunks {
    type Error = PackChunksError;

    fn try_from(bytes: ByteBuf) -> Result<Self, Self::Error> {
        Self::try_from(bytes.into_vec())
    }
}

impl TryFrom<Vec<u8>> for PackChunks {
    type Error = PackChunksError;

    fn try_from(bytes: Vec<u8>) -> Result<Self, Self::Error> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        // An empty list has one form, no bytes, so that equal lists have equal bytes.
        if varint::take(&mut bytes.as_slice()).is_none_or(|count| count == 0) {
            return Err(PackChunksError::Bytes);
        }
        let mut reader = Reader::new(&bytes);
        while let Some(chunk) = reader.next() {
            chunk?;
        }
        if reader.bytes.is_empty() { Ok(Self(bytes.into())) } else { Err(PackChunksError::Bytes) }
    }
}

impl From<PackChunks> for Vec<u8> {
    fn from(chunks: PackChunks) -> Self {
        chunks.0.into_vec()
    }
}

impl std::fmt::Debug for PackChunks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
