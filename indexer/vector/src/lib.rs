//! Vector indexes over rows: exact scan and HNSW behind one staged trait.
//!
//! Not here: texts and models (`siltstone-embedder`), which rows a filter leaves (`siltstone-segment`).

pub mod fusion;
