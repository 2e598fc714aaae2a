//! The numbers that bound a batch and what may stand in it. All but the sample count decide what a batch holds: a change of one of them
//! needs a new [`READER_VERSION`], because batches with other boundaries need other keys.

/// Stands in every producer's name. It goes up whenever the same content gives other batches or other entries.
pub const READER_VERSION: u32 = 1;

/// The same for Parquet. Version 2: lists of floats are vectors.
pub const PARQUET_READER_VERSION: u32 = 2;

/// The longest line that is read, and the longest body of a Parquet row, in bytes. The server takes no longer body, and a decoded JSON text
/// is never longer than its source, so one number serves all formats. Real log lines above 64 KiB are rare; 1 MiB leaves room for stack traces.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// The most bytes that one entry may take: body, tags, attribute names and values. A nested object repeats its path in the name of each of its
/// leaves, so that a line within its own limit could grow a thousandfold; this stops it.
pub const ENTRY_BYTES_MAX: usize = 2 * LINE_BYTES_MAX;

/// A batch closes when it holds this many entries. It is just below the rows of a chunk (2,048), so a flush fills about one chunk.
pub const BATCH_ENTRIES_MAX: usize = 2_000;

/// A batch closes when it has read this many bytes of source, or when its entries take as many. With [`ENTRY_BYTES_MAX`] for the last entry
/// it stays below the 4 MiB that gRPC takes in one message by default.
pub const BATCH_BYTES_MAX: u64 = 1 << 20;

/// A batch keeps this many refusals with place and detail, and so does a summary; all are counted. Enough to see what is wrong, and no memory
/// that grows with a source whose every line is refused.
pub(crate) const REFUSAL_SAMPLES_MAX: usize = 20;

/// The longest detail text of a refusal, in bytes: messages of parsers may quote what they met.
pub(crate) const REFUSAL_DETAIL_BYTES_MAX: usize = 200;
