//! Patterns of a pack. Those that two chunks or more use are *shared*: they lie once in a block of their own, by rising bytes. The others lie in
//! the body block of their chunk, so that text that does not repeat costs a reader of one chunk no other chunk's bytes.

use crate::compress::{BlockCompressor, decompress};
use crate::rows::{Pattern, ROWS_BYTES_MAX};
use crate::wire::{DecodeError, Reader, put_bytes, put_varint};
use hashbrown::HashTable;
use siltstone_core::CHUNK_ROWS_MAX;
use siltstone_core::pattern::{PatternHash, slot_count};
use std::sync::Arc;

const SHARED: &str = "a pack's shared patterns";
const OWN: &str = "a chunk's patterns";

/// Bytes of shared patterns, decompressed, that a reader must hold at most. What comes after is written to each chunk that uses it.
const SHARED_BYTES_MAX: usize = 64 << 20;

/// The shared patterns of a pack, as a reader keeps them.
#[derive(Clone, Debug, Default)]
pub struct PackPatterns {
    patterns: Arc<[Pattern]>,
}

impl PackPatterns {
    /// The patterns by rising bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[Pattern] {
        &self.patterns
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let raw = decompress(SHARED, bytes)?;
        let mut reader = Reader::new(SHARED, &raw);
        let count = reader.count(1)?;
        let patterns = (0..count).map(|_| reader.prefixed().map(pattern_of)).collect::<Result<_, _>>()?;
        reader.end()?;
        Ok(Self { patterns })
    }

    /// The patterns of a chunk by their numbers in it.
    pub(super) fn of_chunk(&self, block: &[u8]) -> Result<Vec<Pattern>, DecodeError> {
        let raw = decompress(OWN, block)?;
        let mut reader = Reader::new(OWN, &raw);
        let count = reader.varint_max(CHUNK_ROWS_MAX)?;
        let references = (0..count).map(|_| reader.varint_u32()).collect::<Result<Vec<_>, _>>()?;
        let mut bytes = 0;
        let mut find = |reference: &u32| {
            let Some(shared) = reference.checked_sub(1) else { return reader.prefixed().map(pattern_of) };
            let pattern = self.patterns.get(shared as usize).ok_or_else(|| reader.corrupt("a shared pattern that is not there"))?;
            bytes += pattern.bytes.len();
            // A pattern is listed once, but who knows who wrote this.
            if bytes <= ROWS_BYTES_MAX { Ok(pattern.clone()) } else { Err(reader.corrupt("more patterns than a block of rows may hold")) }
        };
        let patterns = references.iter().map(&mut find).collect::<Result<_, _>>()?;
        reader.end()?;
        Ok(patterns)
    }
}

fn pattern_of(bytes: &[u8]) -> Pattern {
    Pattern { hash: PatternHash::of(bytes), bytes: bytes.into(), slots: slot_count(bytes) as u32 }
}

/// Collects the patterns of a pack while its chunks come.
#[derive(Default)]
pub(super) struct PatternCollector {
    table: HashTable<u32>,
    patterns: Vec<Collected>,
}

struct Collected {
    hash: PatternHash,
    bytes: Box<[u8]>,
    chunks: u32,
}

impl PatternCollector {
    /// Notes the patterns of a chunk, which are distinct. Returns their numbers here.
    pub(super) fn add(&mut self, patterns: &[Pattern]) -> Vec<u32> {
        let place = |hash: PatternHash| hash.0 as u64;
        let mut numbers = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            let known = &self.patterns;
            let is_same = |number: &u32| {
                let other = &known[*number as usize];
                other.hash == pattern.hash && other.bytes == pattern.bytes
            };
            let number = self.table.find(place(pattern.hash), is_same).copied().unwrap_or_else(|| {
                let number = self.patterns.len() as u32;
                self.patterns.push(Collected { hash: pattern.hash, bytes: pattern.bytes.clone(), chunks: 0 });
                self.table.insert_unique(place(pattern.hash), number, |number| place(self.patterns[*number as usize].hash));
                number
            });
            self.patterns[number as usize].chunks += 1;
            numbers.push(number);
        }
        numbers
    }

    /// Appends the block of shared patterns to `out` and returns what the chunks' blocks need.
    pub(super) fn finish(self, compressor: &mut BlockCompressor, out: &mut Vec<u8>) -> SharedPatterns {
        let mut shared = (0..self.patterns.len()).filter(|number| self.patterns[*number].chunks > 1).collect::<Vec<_>>();
        shared.sort_unstable_by(|left, right| self.patterns[*left].bytes.cmp(&self.patterns[*right].bytes));
        let mut bytes = 0;
        shared.retain(|number| {
            let len = self.patterns[*number].bytes.len();
            let has_room = bytes + len <= SHARED_BYTES_MAX;
            bytes += if has_room { len } else { 0 };
            has_room
        });
        let mut references = vec![0; self.patterns.len()];
        let mut raw = Vec::new();
        put_varint(&mut raw, shared.len() as u64);
        for (reference, number) in shared.into_iter().enumerate() {
            references[number] = reference as u32 + 1;
            put_bytes(&mut raw, &self.patterns[number].bytes);
        }
        compressor.block(&raw, out);
        SharedPatterns { references, patterns: self.patterns }
    }
}

/// Which patterns of a pack are shared, while its chunks are written.
pub(super) struct SharedPatterns {
    /// Per number of the collector: the number among the shared ones and one more, or 0.
    references: Vec<u32>,
    patterns: Vec<Collected>,
}

impl SharedPatterns {
    /// Appends the pattern block of a chunk, whose patterns have these numbers, to `out`.
    pub(super) fn put_chunk(&self, numbers: &[u32], compressor: &mut BlockCompressor, out: &mut Vec<u8>) {
        let mut raw = Vec::new();
        put_varint(&mut raw, numbers.len() as u64);
        for number in numbers {
            put_varint(&mut raw, u64::from(self.references[*number as usize]));
        }
        for number in numbers.iter().filter(|number| self.references[**number as usize] == 0) {
            put_bytes(&mut raw, &self.patterns[*number as usize].bytes);
        }
        compressor.block(&raw, out);
    }
}
