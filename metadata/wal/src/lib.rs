//! The write-ahead log of one member of a Raft group: entries by index, and a few named values (vote, committed index, snapshot pointer,
//! identity), all in one strictly ordered sequence of checksummed records.
//!
//! One thread does all I/O, or a simulation that steps the log in its place ([`Stepper`]). It writes and syncs at once when nothing is in flight and
//! gathers what comes while a sync is; so the longest an operation waits before its own write begins is the sync before it, and an idle log adds
//! nothing.
//!
//! Invariant WA-1: an operation is reported done only after its record, and every record before it, is durable. The bytes are described in
//! `docs/formats/wal.md`.
//!
//! What is deliberately not here: Raft (payloads are opaque), async (completion is a callback on the log's thread), a cache smaller than
//! the log (all entries that are not purged are held in memory: whoever takes snapshots bounds them).

mod config;
mod dump;
mod error;
mod format;
mod log;
mod metrics;
mod parts;
mod queue;
mod read;
mod recover;
mod scan;
mod segment;
mod shared;
mod stepper;
mod wal;
mod writer;

pub use config::WalConfig;
pub use dump::{DumpedHeader, DumpedRecord, DumpedSegment, RecordState, dump};
pub use error::WalError;
pub use log::{LogSpan, Slot};
pub use metrics::{LATENCY_BUCKETS_MS, MetricsSnapshot, WalMetrics};
pub use parts::{MonotonicClock, OnFatal, WalParts};
pub use queue::Done;
pub use read::ReadLog;
pub use recover::{Recovery, holds_log};
pub use stepper::Stepper;
pub use wal::Wal;
