//! The indexer: entries in, batches, packs and segments on the object store, answers out.
//!
//! The folders follow an entry: `ingest` → `seal` → `merge` → `index` → `embed`, and on the way back `view` → `query` → `serve`; `gc` deletes what
//! nobody can read any more. What is deliberately not here: the metadata group (only its client), the object store's kinds, and the inside of a
//! segment.

pub mod embed;
pub mod gc;
pub mod index;
pub mod ingest;
mod job;
mod keys;
pub mod merge;
pub mod node;
mod patience;
mod problems;
pub mod query;
mod repeats;
pub mod seal;
pub mod serve;
pub mod view;

pub use node::{Indexer, IndexerConfig, IndexerError};
pub use patience::Patience;
pub use problems::Problems;
