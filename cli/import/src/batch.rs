//! What a source gives, piece by piece and in sum.

use crate::limits::{REFUSAL_DETAIL_BYTES_MAX, REFUSAL_SAMPLES_MAX};
use siltstone_core::Entry;
use std::collections::BTreeMap;
use std::fmt;

/// A piece of a source. Its boundaries depend on the content alone.
#[derive(Debug, Default)]
pub struct Batch {
    /// Counts from 1 for each source. With the producer it is the key under which the entries are sent.
    pub sequence: u64,
    /// In the order of the source. May be empty, when all lines were refused: such a batch need not be sent.
    pub entries: Vec<Entry>,
    /// What was refused in this batch.
    pub refused: Refusals,
    /// Decompressed bytes that this batch took from the source, line ends included. For Parquet, the bytes of the values.
    pub bytes_read: u64,
    /// Lines, or rows of Parquet, in this batch, blank and refused ones included.
    pub lines: u64,
    /// How much of the source as stored had been read when this batch was complete, in bytes. For progress.
    pub raw_bytes_read: u64,
}

/// A line or row that became no entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The line or the row, counted from 1.
    pub line: u64,
    /// Where the line begins in the decompressed content, in bytes. For Parquet, the row counted from 0.
    pub offset: u64,
    /// Why.
    pub reason: RefusalReason,
    /// What is wrong in particular; may be empty.
    pub detail: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} (byte {}): {}", self.line, self.offset, self.reason)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

/// Why a line or row became no entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RefusalReason {
    /// No key gave a namespace and the options have none.
    NamespaceMissing,
    /// No key gave a body.
    BodyMissing,
    /// The line is longer than [`LINE_BYTES_MAX`](crate::LINE_BYTES_MAX).
    LineTooLong,
    /// The entry, flattened, is larger than [`ENTRY_BYTES_MAX`](crate::ENTRY_BYTES_MAX).
    EntryTooLarge,
    /// The line is not a JSON object.
    InvalidJson,
    /// The line of JSON is not UTF-8.
    InvalidUtf8,
    /// A vector of it is none: NaN, zero, too long.
    InvalidVector,
}

impl RefusalReason {
    /// A short name for scripts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NamespaceMissing => "namespace_missing",
            Self::BodyMissing => "body_missing",
            Self::LineTooLong => "line_too_long",
            Self::EntryTooLarge => "entry_too_large",
            Self::InvalidJson => "invalid_json",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::InvalidVector => "invalid_vector",
        }
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NamespaceMissing => "no namespace",
            Self::BodyMissing => "no body",
            Self::LineTooLong => "line too long",
            Self::EntryTooLarge => "entry too large",
            Self::InvalidJson => "not a JSON object",
            Self::InvalidUtf8 => "not UTF-8",
            Self::InvalidVector => "not a vector",
        })
    }
}

/// Refusals: all counted, the first few kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Refusals {
    counts: BTreeMap<RefusalReason, u64>,
    samples: Vec<Refusal>,
}

impl Refusals {
    /// How many there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// How many there are for each reason.
    #[must_use]
    pub const fn counts(&self) -> &BTreeMap<RefusalReason, u64> {
        &self.counts
    }

    /// The first ones, in the order of the source.
    #[must_use]
    pub fn samples(&self) -> &[Refusal] {
        &self.samples
    }

    pub(crate) fn push(&mut self, mut refusal: Refusal) {
        *self.counts.entry(refusal.reason).or_default() += 1;
        if self.samples.len() < REFUSAL_SAMPLES_MAX {
            let end = refusal.detail.floor_char_boundary(REFUSAL_DETAIL_BYTES_MAX);
            refusal.detail.truncate(end);
            self.samples.push(refusal);
        }
    }

    /// Adds the refusals of a later part.
    pub fn add(&mut self, later: &Self) {
        for (&reason, &count) in &later.counts {
            *self.counts.entry(reason).or_default() += count;
        }
        let room = REFUSAL_SAMPLES_MAX.saturating_sub(self.samples.len());
        self.samples.extend(later.samples.iter().take(room).cloned());
    }
}

/// What a source gave so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Batches, which is also the last sequence.
    pub batches: u64,
    /// Entries.
    pub entries: u64,
    /// Bytes of bodies of those entries.
    pub body_bytes: u64,
    /// Lines or rows, blank and refused ones included.
    pub lines: u64,
    /// Lines that hold nothing: they are no entries, and are not refused.
    pub lines_blank: u64,
    /// Decompressed bytes.
    pub bytes_read: u64,
    /// Bytes as stored.
    pub raw_bytes_read: u64,
    /// Entries whose source had no timestamp: the server gives them the time of their arrival.
    pub timestamps_missing: u64,
    /// Entries whose source had a timestamp that could not be read: as above, and what stood there became an attribute.
    pub timestamps_unreadable: u64,
    /// Entries whose severity is a word or number that is not known: it became an attribute.
    pub severities_unreadable: u64,
    /// What was refused.
    pub refused: Refusals,
}
