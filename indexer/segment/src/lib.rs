//! An index's read-only structures over chunks of one namespace (NS-1): built from rows, merged, opened, asked; and the same questions answered
//! by looking at live rows.
//!
//! Synchronous and pure: bytes and rows in, bytes and answers out. What is deliberately not here: object stores, async, the manifest, and the
//! columns of rows (packs), which a [`ChunkFetcher`] gives where an answer needs them.

mod build;
mod dictionary;
mod error;
mod fetch;
mod irregular;
mod key;
mod layout;
mod merge;
mod pattern_tokens;
mod patterns;
mod postings;
mod query;
mod rank;
mod reader;
mod scan;
mod source;
mod wire;
mod words;

pub use build::SegmentBuilder;
pub use error::{FetchError, SegmentError};
pub use fetch::{ChunkFetcher, ChunkRows};
pub use merge::merge;
pub use rank::words_bound;
pub use reader::{ChunkSummary, SegmentReader};
pub use scan::scan_matches;
pub use source::{
    HistogramSpec, Matches, PatternCount, Plan, Position, ScanSlice, ScanSource, ScoredRow, ScoringTerms, SegmentSource, Source, TextStatistics,
};
