//! Scores and orders: BM25, and the best few of many.

mod bm25;
mod top;

pub(crate) use bm25::Bm25;
pub use bm25::words_bound;
pub(crate) use top::Top;
