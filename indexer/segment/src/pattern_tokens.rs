//! The tokens of patterns as short numbers, kept between queries: a phrase is compared with many patterns, and cutting a pattern into words again
//! takes a hundred times as long.

use crate::error::SegmentError;
use crate::patterns::PatternTable;
use rustc_hash::FxHasher;
use siltstone_core::analyze::{PatternToken, tokens_of_pattern};
use std::borrow::Cow;
use std::hash::Hasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that a segment's patterns may take here. Patterns beyond it are cut again each time: text that does not repeat must not be kept twice.
const KEPT_BYTES_MAX: usize = 8 << 20;

const SLOT: u32 = 1 << 31;

/// A token of a pattern: the number of a slot, or the hash of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token(u32);

/// The hash of a word. Equal words have equal hashes; equal hashes must be verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TokenHash(u32);

impl TokenHash {
    pub(crate) fn of(word: &str) -> Self {
        let mut hasher = FxHasher::default();
        hasher.write(word.as_bytes());
        Self((hasher.finish() >> 32) as u32 & !SLOT)
    }
}

impl Token {
    pub(crate) const fn slot(&self) -> Option<u32> {
        if self.0 & SLOT == 0 { None } else { Some(self.0 & !SLOT) }
    }

    pub(crate) const fn is_word(&self, hash: TokenHash) -> bool {
        self.0 == hash.0
    }
}

/// The tokens of the patterns that were asked for.
#[derive(Debug)]
pub(crate) struct PatternTokens {
    kept: Vec<OnceLock<Box<[Token]>>>,
    kept_bytes: AtomicUsize,
}

impl PatternTokens {
    pub(crate) fn new(patterns: usize) -> Self {
        Self { kept: (0..patterns).map(|_| OnceLock::new()).collect(), kept_bytes: AtomicUsize::new(0) }
    }

    /// The tokens of a pattern, in order.
    pub(crate) fn of(&self, pattern: u32, table: &PatternTable) -> Result<Cow<'_, [Token]>, SegmentError> {
        let kept = &self.kept[pattern as usize];
        if let Some(tokens) = kept.get() {
            return Ok(Cow::Borrowed(tokens));
        }
        let mut tokens = Vec::new();
        tokens_of_pattern(table.bytes(pattern)?, &mut String::new(), |token| {
            tokens.push(match token {
                PatternToken::Slot(slot) => Token(slot | SLOT),
                PatternToken::Word(word) => Token(TokenHash::of(word).0),
            });
        });
        let bytes = tokens.len() * size_of::<Token>();
        if self.kept_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > KEPT_BYTES_MAX {
            self.kept_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Ok(Cow::Owned(tokens));
        }
        Ok(Cow::Borrowed(kept.get_or_init(|| tokens.into())))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.kept.len() * size_of::<OnceLock<Box<[Token]>>>() + self.kept_bytes.load(Ordering::Relaxed)
    }
}
