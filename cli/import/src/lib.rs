//! Turns sources of logs into batches of entries: files and streams, plain text, NDJSON and Parquet, plain or compressed with gzip or zstd.
//!
//! Data passes through the modules in this order: `input` (raw bytes, identity, decompression, what the content is), `lines` (lines of bounded
//! length), `text`, `json` or `parquet` (one entry from one line or row, by way of `entry`, which knows the mapping), `source` (batches).
//!
//! The batches of a source are a pure function of its decompressed content, the options and [`READER_VERSION`]. So a second run over the same
//! source gives the same (producer, sequence) keys with the same entries under them, and a server that remembers keys adds nothing twice (AK-2).
//!
//! Memory does not grow with the source: it is bounded by a batch, a line, and the windows of the decompressors; for Parquet by a page a column.
//!
//! ```
//! use siltstone_import::{ImportOptions, ImportSource, Input, SourceId};
//!
//! let lines = "{\"namespace\": \"shop\", \"body\": \"connection refused\", \"status\": 502}\n{\"body\": \"whose?\"}\n";
//! let input = Input::Stream { name: "example".into(), id: SourceId::Given("example".into()), stream: Box::new(lines.as_bytes()) };
//! let mut source = ImportSource::open(input, &ImportOptions::default(), &mut |_| {})?;
//! while let Some(batch) = source.next_batch()? {
//!     assert_eq!((batch.sequence, batch.entries[0].body.as_slice()), (1, &b"connection refused"[..]));
//! }
//! assert_eq!(source.summary().refused.samples()[0].to_string(), "line 2 (byte 67): no namespace");
//! # Ok::<(), siltstone_import::ImportError>(())
//! ```
//!
//! What is deliberately not here: the network (the caller sends batches), splitting a batch by namespace, progress bars, checks of names against
//! the server's rules, and the substitution of a missing timestamp (the server's, so that it happens once).

mod batch;
mod entry;
mod error;
mod input;
mod json;
mod limits;
mod lines;
mod mapping;
mod npy;
mod options;
mod parquet;
mod source;
mod text;
mod timestamp;

pub use batch::{Batch, Refusal, RefusalReason, Refusals, Summary};
pub use error::{ImportError, MappingError};
pub use input::{Compression, Format, HashProgress, Input, SourceId};
pub use limits::{BATCH_BYTES_MAX, BATCH_ENTRIES_MAX, ENTRY_BYTES_MAX, LINE_BYTES_MAX, PARQUET_READER_VERSION, READER_VERSION};
pub use mapping::{Field, Mapping};
pub use npy::{NpyRows, VectorsFile, read_vector};
pub use options::ImportOptions;
pub use source::ImportSource;
pub use timestamp::{TimeUnit, timestamp_at_start, timestamp_from_text};
