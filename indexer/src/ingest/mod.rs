//! Entries in: admitted one by one, routed to their namespace, appended to open chunks, flushed as batches, committed, acknowledged.
//!
//! The flow is `admit` → `append` → `flush`, driven by `writer`; [`Ingest`] is what services call. What is deliberately not here: wire formats
//! (`serve`), sealing (`seal`).

mod admit;
mod append;
mod error;
mod flush;
mod group;
mod service;
mod storage;
mod writer;

pub use admit::{Admitted, Arrival, BODY_BYTES_MAX, FUTURE_NS_MAX, Reason, Refusal};
pub use error::IngestError;
pub use service::{AcceptedPart, Ingest, IngestConfig, Receipt, RequestKey};
pub use storage::StorageTrouble;
pub use writer::{WriterConfig, Written};
