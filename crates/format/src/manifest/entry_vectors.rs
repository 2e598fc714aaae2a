//! Vectors of entries: the fields of a namespace, and indexes over them.

use super::{ByteRange, CheckedRange, ChunkList};
use serde::{Deserialize, Serialize};
use siltstone_core::{ObjectId, VectorIndexId};

/// Bytes that a vector field's name has at most.
pub const VECTOR_FIELD_LEN_MAX: usize = 255;

/// Vector fields that a namespace has at most: each has indexes of its own.
pub const VECTOR_FIELDS_MAX: usize = 32;

/// A field of vectors in a namespace. It is declared by the first entry that has it, and stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VectorFieldRecord {
    /// Its name, 1 to [`VECTOR_FIELD_LEN_MAX`] bytes.
    pub name: String,
    /// Numbers in each of its vectors, 1 to [`DIMENSION_MAX`](crate::vectors::DIMENSION_MAX).
    pub dimension: u16,
}

/// An index over the vectors that sealed chunks of one namespace (NS-1) have of one field: a byte range of an object. Each chunk has one index of a
/// field at most. Addresses never change, so packs may be merged below it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VectorIndexRecord {
    /// Its id, out of a block that was allocated to the epoch of its object.
    pub id: VectorIndexId,
    /// The object that it lies in.
    pub object: ObjectId,
    /// The field.
    pub field: String,
    /// Numbers in a vector: the field's.
    pub dimension: u16,
    /// Vectors in it.
    pub vectors: u32,
    /// Where the addresses of its vectors lie.
    pub addresses: CheckedRange,
    /// Where the index lies.
    pub range: ByteRange,
    /// The chunks whose vectors it has; some may have none.
    pub chunks: ChunkList,
}
