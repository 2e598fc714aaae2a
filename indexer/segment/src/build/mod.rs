//! From rows to a segment's bytes: one pass over the rows gathers keys and occurrences, then everything is sorted and written at once.
//!
//! The words of a pattern are looked at once a pattern; of a row, only its variables and its fields.

mod chunk;
mod fields;
mod finish;
mod interner;
mod patterns;
mod row_slots;
mod write;

pub(crate) use write::{SegmentParts, SegmentWriter};

use crate::error::SegmentError;
use crate::irregular::IrregularRows;
use crate::key;
use crate::layout::{CHUNKS_MAX, ChunkSummary};
use chunk::BuiltChunk;
use fields::FieldRows;
use interner::Interner;
use patterns::BuiltPatterns;
use siltstone_core::address::CHUNK_ROWS_BITS;
use siltstone_core::{ChunkId, NamespaceId, analyze};
use siltstone_format::Rows;

/// Builds the segment of some chunks of one namespace.
pub struct SegmentBuilder {
    namespace: NamespaceId,
    chunks: Vec<BuiltChunk>,
    patterns: BuiltPatterns,
    /// Keys of words and variable tokens, without the kind byte.
    tokens: Interner,
    /// (token, row, slot), in the order of rows.
    occurrences: Vec<Occurrence>,
    fields: FieldRows,
    irregular: IrregularRows,
    /// Tokens of all rows.
    length: u64,
    scratch: String,
}

/// A token in a variable of a row.
#[derive(Clone, Copy)]
struct Occurrence {
    token: u32,
    row: u32,
    slot: u32,
}

impl SegmentBuilder {
    /// A builder of a namespace's segment.
    #[must_use]
    pub fn new(namespace: NamespaceId) -> Self {
        Self {
            namespace,
            chunks: Vec::new(),
            patterns: BuiltPatterns::default(),
            tokens: Interner::default(),
            occurrences: Vec::new(),
            fields: FieldRows::default(),
            irregular: IrregularRows::default(),
            length: 0,
            scratch: String::new(),
        }
    }

    /// Adds all rows of a chunk. Chunks come in ascending order; `offsets` holds the offset of each row within the chunk, strictly ascending
    /// (burned offsets leave gaps).
    ///
    /// # Errors
    /// [`SegmentError::Input`] when the chunk is out of order, of another namespace, empty, or its offsets are not as said.
    pub fn add(&mut self, chunk: ChunkId, rows: &Rows, offsets: &[u16]) -> Result<(), SegmentError> {
        if rows.namespace != self.namespace {
            return Err(SegmentError::Input { chunk, reason: "NS-1: its rows are of another namespace" });
        }
        chunk::check(chunk, rows, offsets)?;
        if self.chunks.last().is_some_and(|last| last.summary.id >= chunk) {
            return Err(SegmentError::Input { chunk, reason: "chunks do not ascend" });
        }
        if self.chunks.len() >= CHUNKS_MAX {
            return Err(SegmentError::TooLarge { what: "the number of chunks", limit: CHUNKS_MAX as u64 });
        }
        let first_row = (self.chunks.len() as u32) << CHUNK_ROWS_BITS;
        let patterns = self.patterns.add_rows(rows, &mut self.tokens, &mut self.scratch);
        self.add_variables(rows, offsets, first_row, &patterns);
        self.fields.add_rows(rows, offsets, first_row);
        let (first_ns, last_ns) = rows.timestamps_ns.iter().fold((i64::MAX, i64::MIN), |(first, last), time| (first.min(*time), last.max(*time)));
        let summary = ChunkSummary { id: chunk, rows: rows.len() as u32, first_ns, last_ns };
        self.chunks.push(BuiltChunk { summary, offsets: offsets.to_vec(), patterns });
        Ok(())
    }

    fn add_variables(&mut self, rows: &Rows, offsets: &[u16], first_row: u32, patterns: &[u32]) {
        for (index, offset) in offsets.iter().enumerate() {
            let row = first_row | u32::from(*offset);
            let mut extra_tokens = 0;
            let mut is_irregular = false;
            for (slot, variable) in (0_u32..).zip(rows.variables(index)) {
                let before = self.occurrences.len();
                let (tokens, occurrences) = (&mut self.tokens, &mut self.occurrences);
                analyze::tokens(variable, &mut self.scratch, |token, _| {
                    occurrences.push(Occurrence { token: tokens.intern(token.as_bytes()), row, slot });
                });
                let count = self.occurrences.len() - before;
                is_irregular |= count != 1;
                extra_tokens += count as i32 - 1;
            }
            if is_irregular {
                self.irregular.push(row, extra_tokens);
            }
            self.length = self.length.wrapping_add_signed(i64::from(self.patterns.tokens(patterns[index])) + i64::from(extra_tokens));
        }
    }

    /// The segment's bytes.
    ///
    /// # Errors
    /// [`SegmentError::TooLarge`] when a number does not fit.
    pub fn finish(self) -> Result<Vec<u8>, SegmentError> {
        finish::finish(self)
    }
}

/// The kind byte and a token.
fn token_key(token: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.push(key::TEXT);
    out.extend_from_slice(token);
}
