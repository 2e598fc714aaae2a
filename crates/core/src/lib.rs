//! The words that every other crate speaks: ids, row addresses, entries, severities, the clock, caller scopes and error kinds,
//! the two-level bitmap, the pattern split and the analyzer.
//!
//! Everything here is pure and synchronous. What is deliberately not here: stored bytes (`siltstone-format`), I/O of any kind, async.

pub mod address;
pub mod analyze;
pub mod bitmap;
pub mod clock;
pub mod entry;
mod entry_vector;
pub mod error;
pub mod ids;
pub mod model;
pub mod pattern;
pub mod scope;

pub use address::{CHUNK_ROWS_MAX, RowAddress};
pub use clock::{Clock, ManualClock, SystemClock};
pub use entry::{Entry, EntryFlags, Severity, Value};
pub use entry_vector::{EntryVector, VECTOR_DIMENSION_MAX, VectorFault};
pub use error::{ErrorKind, text_with_causes, with_causes};
pub use ids::{
    BatchId, ChunkId, CommitIndex, CommitToken, Epoch, Incarnation, NamespaceId, ObjectId, PackId, SegmentId, VectorIndexId, VectorSetId, WriterId,
};
pub use model::{ModelId, ModelIdError};
pub use scope::{CallerScope, NamespaceSet, Principal, ScopeError};
