//! A segment that was opened.

use crate::dictionary::{Dictionary, KeyEntry, RowsRef, WordsRef};
use crate::error::SegmentError;
use crate::irregular::IrregularRows;
use crate::layout::{Cells, ChunkTable, Forward, Layout};
use crate::pattern_tokens::PatternTokens;
use crate::patterns::PatternTable;
use crate::postings::{PostingView, SlotsView};
use crate::wire::{BlockKind, Cursor, Envelope, Pages};
use bytes::Bytes;
use siltstone_core::NamespaceId;
use siltstone_core::bitmap::RowSet;
use siltstone_core::pattern::PatternHash;
use std::sync::OnceLock;

pub use crate::layout::ChunkSummary;

/// A segment's structures, opened from one contiguous range of bytes. All checksums are verified at open; pages are unpacked when first needed.
#[derive(Debug)]
pub struct SegmentReader {
    namespace: NamespaceId,
    splitter_version: u32,
    analyzer_version: u32,
    row_count: u64,
    length: u64,
    bytes: usize,
    block_bytes: Vec<(&'static str, usize)>,
    newest_first: Vec<u32>,
    /// Patterns by their hash, made when first asked for.
    by_hash: OnceLock<Vec<(PatternHash, u32)>>,
    pub(crate) layout: Layout,
    pub(crate) patterns: PatternTable,
    pub(crate) pattern_tokens: PatternTokens,
    /// Per pattern: how many rows it has.
    pub(crate) pattern_rows: Vec<u32>,
    pub(crate) irregular: IrregularRows,
    pub(crate) dictionary: Dictionary,
    pub(crate) words: Pages,
    pub(crate) postings: Pages,
    pub(crate) slots: Pages,
}

impl SegmentReader {
    /// Opens a segment from all of its bytes.
    ///
    /// # Errors
    /// [`SegmentError::Corrupt`] naming the damaged block; [`SegmentError::Version`] for a later version.
    pub fn open(bytes: Bytes) -> Result<Self, SegmentError> {
        let envelope = Envelope::open(&bytes)?;
        let block = |kind| envelope.block(kind);
        let mut meta = Cursor::new(BlockKind::Meta.name(), block(BlockKind::Meta));
        let (splitter_version, analyzer_version) = (meta.u32()?, meta.u32()?);
        let (row_count, length) = (meta.varint()?, meta.varint()?);
        meta.finish()?;
        let chunks = ChunkTable::decode(block(BlockKind::Chunks))?;
        let patterns = PatternTable::open(block(BlockKind::Patterns), block(BlockKind::PatternMeta))?;
        let cells = Cells::decode(block(BlockKind::Cells), &chunks, patterns.len())?;
        let forward = Forward::open(block(BlockKind::Forward), &chunks, &cells)?;
        if chunks.summaries.iter().map(|chunk| u64::from(chunk.rows)).sum::<u64>() != row_count {
            return Err(SegmentError::corrupt(BlockKind::Meta.name(), "chunks have another number of rows"));
        }
        let mut newest_first: Vec<u32> = (0..chunks.len() as u32).collect();
        newest_first.sort_by_key(|ordinal| std::cmp::Reverse(chunks.summaries[*ordinal as usize].last_ns));
        Ok(Self {
            namespace: envelope.namespace,
            newest_first,
            by_hash: OnceLock::new(),
            splitter_version,
            analyzer_version,
            row_count,
            length,
            bytes: bytes.len(),
            block_bytes: BlockKind::ALL.iter().map(|kind| (kind.name(), block(*kind).len())).collect(),
            pattern_tokens: PatternTokens::new(patterns.len()),
            pattern_rows: cells.pattern_rows(patterns.len()),
            layout: Layout { chunks, cells, forward },
            patterns,
            irregular: IrregularRows::decode(block(BlockKind::Irregular))?,
            dictionary: Dictionary::open(block(BlockKind::Dictionary))?,
            words: Pages::open(BlockKind::Words.name(), block(BlockKind::Words))?,
            postings: Pages::open(BlockKind::Postings.name(), block(BlockKind::Postings))?,
            slots: Pages::open(BlockKind::Slots.name(), block(BlockKind::Slots))?,
        })
    }

    /// The namespace of every row.
    #[must_use]
    pub fn namespace(&self) -> NamespaceId {
        self.namespace
    }

    /// The version of the pattern split that its patterns come from.
    #[must_use]
    pub fn splitter_version(&self) -> u32 {
        self.splitter_version
    }

    /// The version of the analyzer that its tokens come from.
    #[must_use]
    pub fn analyzer_version(&self) -> u32 {
        self.analyzer_version
    }

    /// How many rows there are.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// How many tokens the bodies of all rows have together.
    #[must_use]
    pub fn token_count(&self) -> u64 {
        self.length
    }

    /// How many distinct patterns there are.
    #[must_use]
    pub fn pattern_count(&self) -> usize {
        self.patterns.len()
    }

    /// The chunks, ascending by id.
    #[must_use]
    pub fn chunks(&self) -> &[ChunkSummary] {
        &self.layout.chunks.summaries
    }

    /// The stored bytes of each of its blocks.
    #[must_use]
    pub fn block_bytes(&self) -> &[(&'static str, usize)] {
        &self.block_bytes
    }

    /// Bytes in memory: the segment's own, and what was unpacked so far.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let pages = self.words.heap_bytes() + self.postings.heap_bytes() + self.slots.heap_bytes();
        let by_hash = self.by_hash.get().map_or(0, |known| size_of_val(known.as_slice()));
        by_hash + self.bytes + pages + self.dictionary.heap_bytes() + self.patterns.heap_bytes() + self.pattern_tokens.heap_bytes()
    }

    /// The patterns and their hashes, by rising hash.
    ///
    /// # Errors
    /// [`SegmentError`] where the pattern table is damaged.
    pub fn patterns_by_hash(&self) -> Result<&[(PatternHash, u32)], SegmentError> {
        if let Some(known) = self.by_hash.get() {
            return Ok(known);
        }
        let hashed = (0..self.patterns.len() as u32).map(|pattern| Ok((self.patterns.hash(pattern)?, pattern)));
        let mut by_hash = hashed.collect::<Result<Vec<_>, SegmentError>>()?;
        by_hash.sort_unstable();
        Ok(self.by_hash.get_or_init(|| by_hash))
    }

    /// A pattern's bytes.
    ///
    /// # Errors
    /// [`SegmentError`] where the pattern table is damaged.
    ///
    /// # Panics
    /// For a number that is no pattern's.
    pub fn pattern_bytes(&self, pattern: u32) -> Result<&[u8], SegmentError> {
        self.patterns.bytes(pattern)
    }

    /// The patterns of a hash: one, but where two splitters gave it.
    pub(crate) fn patterns_of(&self, hash: PatternHash) -> Result<impl Iterator<Item = u32>, SegmentError> {
        let by_hash = self.patterns_by_hash()?;
        let first = by_hash.partition_point(|(other, _)| *other < hash);
        Ok(by_hash[first..].iter().take_while(move |(other, _)| *other == hash).map(|(_, pattern)| *pattern))
    }

    /// Chunk ordinals, those with the latest rows first.
    pub(crate) fn newest_first(&self) -> &[u32] {
        &self.newest_first
    }

    /// The posting of a key that has many rows.
    pub(crate) fn posting(&self, at: u64, bytes: u64) -> Result<PostingView<'_>, SegmentError> {
        PostingView::open(self.postings.entry(at, bytes)?)
    }

    /// How many rows have a key, but for those by its words.
    pub(crate) fn rows_len(&self, rows: &RowsRef) -> Result<u64, SegmentError> {
        match rows {
            RowsRef::None => Ok(0),
            RowsRef::One { .. } => Ok(1),
            RowsRef::Many { at, bytes, .. } => Ok(self.posting(*at, *bytes)?.len()),
        }
    }

    /// The slots of a token that has many rows.
    pub(crate) fn slots(&self, posting: &PostingView<'_>, at: u64, bytes: u64) -> Result<SlotsView<'_>, SegmentError> {
        SlotsView::open(self.slots.entry(at, bytes)?, posting.group_count())
    }

    /// The patterns that have a word, with how often.
    pub(crate) fn word_patterns(&self, words: &WordsRef) -> Result<Vec<(u32, u32)>, SegmentError> {
        match words {
            WordsRef::None => Ok(Vec::new()),
            WordsRef::One(pattern) if (*pattern as usize) < self.patterns.len() => Ok(vec![(*pattern, 1)]),
            WordsRef::One(_) => Err(SegmentError::corrupt("dictionary", "a pattern does not exist")),
            WordsRef::Many { at, bytes } => crate::words::decode(self.words.entry(*at, *bytes)?, self.patterns.len()),
        }
    }

    /// How many rows the patterns have that have a word.
    pub(crate) fn word_rows(&self, words: &WordsRef) -> Result<u64, SegmentError> {
        match words {
            WordsRef::None => Ok(0),
            WordsRef::One(pattern) => self
                .pattern_rows
                .get(*pattern as usize)
                .map(|rows| u64::from(*rows))
                .ok_or(SegmentError::corrupt("dictionary", "a pattern does not exist")),
            WordsRef::Many { at, bytes } => crate::words::decode_rows(self.words.entry(*at, *bytes)?),
        }
    }

    /// What a token has.
    pub(crate) fn token(&self, token: &str) -> Result<KeyEntry, SegmentError> {
        Ok(self.dictionary.get(&crate::key::text(token))?.unwrap_or_default())
    }

    /// The set of one row.
    pub(crate) fn row_set_of_one(&self, row: u32) -> Result<RowSet, SegmentError> {
        RowSet::from_sorted([u64::from(row)]).map_err(|_| SegmentError::corrupt("dictionary", "a row does not exist"))
    }
}
