//! Packs: the columns of chunks of one namespace (NS-1), as a byte range of an object. `docs/formats/pack.md` has the layout.
//!
//! The footer says where every block lies and what a query needs to rule a chunk out. A chunk has three blocks: bodies, meta (times, severities,
//! flags, tags), attributes, and two more where rows have vectors; patterns that several chunks share lie once in the pack. Rebuilding a row takes
//! its chunk's body block and the shared patterns, which a reader keeps.
//!
//! What is not here: I/O (the caller fetches the ranges that a reader names), and which chunks belong into one pack.

mod bodies;
mod body;
mod cells;
mod column;
mod column_reader;
mod error;
mod footer;
mod meta;
mod patterns;
mod reader;
mod shape;
mod streams;
mod writer;

pub use bodies::Bodies;
pub use error::PackError;
pub use footer::{ChunkEntry, Column, footer_of_pack};
pub use meta::Meta;
pub use patterns::PackPatterns;
pub use reader::PackReader;
pub use writer::{PackBytes, PackWriter};

/// The version that is written where no row has vectors.
pub const PACK_VERSION: u32 = 1;

/// The version that is written where some rows have vectors.
pub const PACK_VERSION_VECTORS: u32 = 2;

#[cfg(test)]
#[path = "pack_test.rs"]
mod tests;
