//! Every byte that Siltstone stores: batches, packs, objects, segments' envelopes, manifests, commands and snapshots.
//!
//! Each format has a version, a checksum over each block and a page in `docs/formats/`. What is deliberately not here: I/O, and what the
//! inside of a segment means (`siltstone-segment`).

pub mod addresses;
pub mod batch;
mod columns;
pub mod command;
mod compress;
pub mod container;
pub mod envelope;
pub mod manifest;
pub mod pack;
pub mod rows;
pub mod snapshot;
mod varint;
pub mod vectors;
mod wire;

pub use rows::{AttributeColumn, AttributeValues, EntryRef, Pattern, Rows, RowsBuilder, RowsError, TagColumn, VectorColumn};
pub use wire::DecodeError;
