//! The directory of a shard of namespaces: which namespace lies where in it, so that one can be read without the others.
//!
//! It is a shard of its own beside the one that it describes. Groups with few namespaces have none: their shards are short.

use super::skim::Extent;
use serde::{Deserialize, Serialize};
use siltstone_core::NamespaceId;

/// From this many namespaces on shards of namespaces have directories.
pub const DIRECTORY_NAMESPACES_MIN: usize = 1_024;

/// Where a namespace lies in the bytes of its shard. They lie one after the other, so the first's offset and the lengths say where.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct StoredPlace {
    pub(super) id: NamespaceId,
    pub(super) name: String,
    /// Bytes.
    pub(super) len: u32,
    /// CRC-32C of them: who reads them alone cannot check the shard's hash.
    pub(super) crc32c: u32,
}

/// By the order in the shard.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct StoredDirectory {
    /// Where the first namespace begins.
    pub(super) offset: u32,
    pub(super) places: Vec<StoredPlace>,
}

impl StoredDirectory {
    /// The directory of a shard whose namespaces these are. A shard has less than 4 GiB: its envelope sees to that.
    pub(super) fn of(extents: &[Extent<'_>]) -> Self {
        let place = |extent: &Extent<'_>| StoredPlace {
            id: extent.id,
            name: extent.name.to_owned(),
            len: extent.bytes.len() as u32,
            crc32c: crc32c::crc32c(extent.bytes),
        };
        Self { offset: extents.first().map_or(0, |extent| extent.offset as u32), places: extents.iter().map(place).collect() }
    }
}
