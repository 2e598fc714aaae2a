//! Segments: an index's read-only structures over a set of chunks of one namespace.

use super::{ByteRange, CheckedRange};
use crate::varint;
use serde::{Deserialize, Serialize, Serializer};
use serde_bytes::ByteBuf;
use siltstone_core::{ChunkId, ObjectId, SegmentId, address::CHUNK_ID_MAX};

/// A segment: a byte range of an object, over chunks of one namespace (NS-1).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SegmentRecord {
    /// Its id, out of a block that was allocated to the epoch of its object.
    pub id: SegmentId,
    /// The object that it lies in.
    pub object: ObjectId,
    /// All its bytes in the object.
    pub range: ByteRange,
    /// Its footer, within `range`; the whole range for a segment that is read whole.
    pub footer: CheckedRange,
    /// The version of the index definition that it was built for.
    pub definition_version: u32,
    /// Rows of its chunks.
    pub rows: u64,
    /// The chunks that it covers.
    pub chunks: ChunkList,
}

/// Chunk ids by rising value, delta-coded in memory as on disk: no bytes without ids; else the count, the first id, then the distances, all LEB128.
#[derive(Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "ByteBuf")]
pub struct ChunkList(Box<[u8]>);

/// Why ids are no list of chunks.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ChunkListError {
    /// Out of order, twice, or too large.
    #[error("list chunk ids: chunk {chunk} does not follow the one before it, or has more than 53 bits")]
    Order {
        /// The chunk.
        chunk: ChunkId,
    },
    /// Not the bytes of a list.
    #[error("read a list of chunk ids: its bytes are damaged")]
    Bytes,
}

impl ChunkList {
    /// The list of these ids, which must rise.
    ///
    /// # Errors
    /// [`ChunkListError::Order`] where they do not, or one has more than 53 bits.
    pub fn new(chunks: &[ChunkId]) -> Result<Self, ChunkListError> {
        if chunks.is_empty() {
            return Ok(Self::default());
        }
        let mut bytes = Vec::with_capacity(4 + chunks.len() * 2);
        varint::put(&mut bytes, chunks.len() as u64);
        let mut before = None;
        for &chunk in chunks {
            if before.is_some_and(|before| before >= chunk) || chunk.0 > CHUNK_ID_MAX {
                return Err(ChunkListError::Order { chunk });
            }
            varint::put(&mut bytes, chunk.0 - before.map_or(0, |before: ChunkId| before.0));
            before = Some(chunk);
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

    /// The ids by rising value. The position of an id is its ordinal in the segment.
    pub fn iter(&self) -> impl Iterator<Item = ChunkId> + '_ {
        let mut bytes = &self.0[..];
        let count = varint::take(&mut bytes).unwrap_or(0);
        let mut before = 0;
        (0..count).map(move |_| {
            before += varint::take(&mut bytes).expect("the bytes were checked when the list was made");
            ChunkId(before)
        })
    }
}

impl Serialize for ChunkList {
    fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: Serializer,
    {
        serializer.serialize_bytes(&self.0)
    }
}

impl TryFrom<ByteBuf> for ChunkList {
    type Error = ChunkListError;

    fn try_from(bytes: ByteBuf) -> Result<Self, Self::Error> {
        Self::try_from(bytes.into_vec())
    }
}

impl TryFrom<Vec<u8>> for ChunkList {
    type Error = ChunkListError;

    fn try_from(bytes: Vec<u8>) -> Result<Self, Self::Error> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let mut rest = bytes.as_slice();
        // An empty list has one form, no bytes, so that equal lists have equal bytes.
        let count = varint::take(&mut rest).filter(|&count| count != 0).ok_or(ChunkListError::Bytes)?;
        let mut before: Option<u64> = None;
        for _ in 0..count {
            let delta = varint::take(&mut rest).ok_or(ChunkListError::Bytes)?;
            let chunk = before.unwrap_or(0).checked_add(delta).ok_or(ChunkListError::Bytes)?;
            if chunk > CHUNK_ID_MAX || (before.is_some() && delta == 0) {
                return Err(ChunkListError::Order { chunk: ChunkId(chunk) });
            }
            before = Some(chunk);
        }
        if rest.is_empty() { Ok(Self(bytes.into())) } else { Err(ChunkListError::Bytes) }
    }
}

impl From<ChunkList> for Vec<u8> {
    fn from(chunks: ChunkList) -> Self {
        chunks.0.into_vec()
    }
}

impl std::fmt::Debug for ChunkList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
