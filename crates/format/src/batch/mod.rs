//! Batches: what one flush of one writer puts on the object store. Slices of open chunks, each a block of rows with a byte range and a checksum
//! of its own, so that whoever serves one namespace reads its slices alone. `docs/formats/batch.md` has the layout.
//!
//! A batch lives until its chunks are sealed, so slices are compressed for speed. What is not here: which chunk and offset a slice's rows have
//! (the manifest says), the envelope (`container`), and I/O.

mod slice;
mod writer;

pub use slice::decode_slice;
pub use writer::BatchWriter;

#[cfg(test)]
#[path = "batch_test.rs"]
mod tests;
