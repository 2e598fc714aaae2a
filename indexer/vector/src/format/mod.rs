//! The stored bytes of a vector index: `docs/formats/vectors.md`.

mod cursor;
mod graph;
mod head;
mod layout;
mod write;

pub(crate) use graph::{decode_base, decode_level};
pub use head::IndexKind;
pub(crate) use head::{HEAD_GUESS, Head, head_length};
pub(crate) use layout::Layout;
pub(crate) use write::write;

/// A range of the index's object, from its first byte.
pub type ByteRange = std::ops::Range<u64>;

/// The version that this program writes, and the newest that it reads.
pub(crate) const VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"SLTVECTR";

/// Bytes of a block of codes, about: few ranges for a scan of all.
const CODE_BLOCK_BYTES: usize = 256 << 10;

/// Bytes of a block of full vectors, about: little that is not wanted comes along with a row.
const FULL_BLOCK_BYTES: usize = 64 << 10;

/// Rows of a block of the graph's lowest level.
const GRAPH_BLOCK_ROWS: u32 = 4_096;

/// Rows of a block of about `bytes`: a power of two.
fn rows_for(bytes: usize, row_bytes: usize) -> u32 {
    let rows = (bytes / row_bytes).max(1) as u32;
    if rows.is_power_of_two() { rows } else { rows.next_power_of_two() / 2 }
}
