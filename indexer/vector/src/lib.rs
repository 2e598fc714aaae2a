//! Vector indexes over rows: exact scan and HNSW behind one staged trait.
//!
//! - [`Vectors`]: vectors in memory, checked; searched exactly as they are, written as an index, or merged from several.
//! - [`write()`]: a set as the bytes of an index ([`write_exact`], [`write_hnsw`]); [`Open`] and [`open_bytes`] open them.
//! - [`VectorIndex`]: begins a [`Search`], which names byte ranges until it is [done](Step::Done); the caller fetches.
//! - [`plan`](plan::plan): which way to search, and why.
//! - [`merge`]: one set from several indexes.
//!
//! Rows are local: `u32` from 0, which the caller maps to row addresses. Not here: texts and models (`siltstone-embedder`), which rows a filter
//! leaves (`siltstone-segment`), I/O and async, deletes (a filter leaves out what is dead; a merge drops it).

mod codes;
mod error;
mod filter;
mod format;
mod full;
pub mod fusion;
mod graph;
mod index;
pub mod kernels;
pub mod plan;
mod request;
mod search;
mod space;
mod top;
mod vectors;
mod view;

pub use error::{InputReason, VectorError};
pub use filter::Filter;
pub use format::{ByteRange, IndexKind};
pub use full::Precision;
pub use graph::{BuildOptions, DEGREE_MAX};
pub use index::{
    ExactIndex, GRAPH_ROWS_MIN, HnswIndex, MergeInput, Open, OpenStep, Residence, VectorIndex, merge, open_bytes, write, write_exact, write_hnsw,
};
pub use plan::{Plan, Strategy};
pub use request::{Answer, Hit, Request, Work};
pub use search::{Search, Step, run};
pub use space::{DIMENSION_MAX, Metric, SOURCE_BYTES_MAX, VectorSpace};
pub use vectors::{ROWS_MAX, Vectors};
