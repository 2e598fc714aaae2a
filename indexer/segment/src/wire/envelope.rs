//! The outermost bytes: header, blocks, directory, trailer. Every byte is covered by a checksum, and all are verified at open.

use crate::error::SegmentError;
use bytes::Bytes;
use siltstone_core::NamespaceId;

const HEADER_MAGIC: [u8; 8] = *b"SLTSEGMT";
const TRAILER_MAGIC: [u8; 8] = *b"SLTSEGND";

/// The version that this program writes, and the newest that it reads.
pub(crate) const VERSION: u32 = 1;

const HEADER_BYTES: usize = 16;
/// Directory offset u64, directory length u32, checksum u32, magic.
const TRAILER_BYTES: usize = 24;
/// Kind u32, length u64, checksum u32.
const DIRECTORY_ENTRY_BYTES: usize = 16;

macro_rules! blocks {
    ($($(#[$doc:meta])* $name:ident = $label:literal,)*) => {
        /// The blocks of a segment, in the order in which they lie.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(usize)]
        pub(crate) enum BlockKind {
            $($(#[$doc])* $name,)*
        }

        impl BlockKind {
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $label,)*
                }
            }
        }
    };
}

blocks! {
    /// Versions and totals.
    Meta = "meta",
    /// Chunk ids, rows, burned offsets, time bounds.
    Chunks = "chunks",
    /// Which patterns each chunk has, with how many rows.
    Cells = "cells",
    /// Per row: the number of its pattern among its chunk's.
    Forward = "forward",
    /// Pattern bytes.
    Patterns = "patterns",
    /// Per pattern: words, slots, first and last timestamp.
    PatternMeta = "pattern meta",
    /// Rows of which a variable has not exactly one token.
    Irregular = "irregular rows",
    /// Keys and where their postings lie.
    Dictionary = "dictionary",
    /// Per word: its patterns.
    Words = "words",
    /// Per key: its rows.
    Postings = "postings",
    /// Per variable token: the slots that it has in its rows.
    Slots = "slots",
}

const BLOCKS: usize = BlockKind::ALL.len();

/// Puts blocks behind one another.
pub(crate) struct EnvelopeWriter {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    next: usize,
}

impl EnvelopeWriter {
    pub(crate) fn new(namespace: NamespaceId) -> Self {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&HEADER_MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&namespace.0.to_le_bytes());
        Self { bytes, directory: Vec::new(), next: 0 }
    }

    /// Adds the next block: all kinds, in order.
    pub(crate) fn push(&mut self, kind: BlockKind, block: &[u8]) {
        assert_eq!(kind as usize, self.next, "blocks are pushed in the order of their kinds");
        self.next += 1;
        self.directory.extend_from_slice(&(kind as u32).to_le_bytes());
        self.directory.extend_from_slice(&(block.len() as u64).to_le_bytes());
        self.directory.extend_from_slice(&crc32c::crc32c(block).to_le_bytes());
        self.bytes.extend_from_slice(block);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        assert_eq!(self.next, BLOCKS, "every block is there");
        let mut tail = std::mem::take(&mut self.directory);
        let directory_bytes = tail.len() as u32;
        tail.extend_from_slice(&(self.bytes.len() as u64).to_le_bytes());
        tail.extend_from_slice(&directory_bytes.to_le_bytes());
        // The header is covered by the same checksum as the directory.
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&self.bytes[..HEADER_BYTES]), &tail);
        self.bytes.extend_from_slice(&tail);
        self.bytes.extend_from_slice(&checksum.to_le_bytes());
        self.bytes.extend_from_slice(&TRAILER_MAGIC);
        self.bytes
    }
}

/// A segment's blocks, each checked.
pub(crate) struct Envelope {
    pub(crate) namespace: NamespaceId,
    blocks: Vec<Bytes>,
}

impl Envelope {
    pub(crate) fn open(bytes: &Bytes) -> Result<Self, SegmentError> {
        let header_error = |reason| SegmentError::corrupt("header", reason);
        let trailer_error = |reason| SegmentError::corrupt("trailer", reason);
        if bytes.len() < HEADER_BYTES + TRAILER_BYTES {
            return Err(header_error("it is shorter than an empty segment"));
        }
        if bytes[..8] != HEADER_MAGIC {
            return Err(header_error("it is not a segment"));
        }
        let version = u32_at(bytes, 8);
        if version != VERSION {
            // A flipped bit in the version of a sound segment also ends here: it is not read either way.
            return Err(SegmentError::Version { version, known: VERSION });
        }
        let trailer = bytes.len() - TRAILER_BYTES;
        if bytes[trailer + 16..] != TRAILER_MAGIC {
            return Err(trailer_error("its end is not that of a segment"));
        }
        let directory = u64_at(bytes, trailer);
        let directory_bytes = u32_at(bytes, trailer + 8) as usize;
        if directory.checked_add(directory_bytes as u64) != Some(trailer as u64) || directory < HEADER_BYTES as u64 {
            return Err(trailer_error("the directory does not lie before it"));
        }
        let directory = directory as usize;
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..HEADER_BYTES]), &bytes[directory..trailer + 12]);
        if checksum != u32_at(bytes, trailer + 12) {
            return Err(SegmentError::corrupt("directory", "its checksum differs"));
        }
        Ok(Self { namespace: NamespaceId(u32_at(bytes, 12)), blocks: blocks(bytes, directory, directory_bytes)? })
    }

    pub(crate) fn block(&self, kind: BlockKind) -> &Bytes {
        &self.blocks[kind as usize]
    }
}

fn blocks(bytes: &Bytes, directory: usize, directory_bytes: usize) -> Result<Vec<Bytes>, SegmentError> {
    let directory_error = |reason| SegmentError::corrupt("directory", reason);
    if directory_bytes != BLOCKS * DIRECTORY_ENTRY_BYTES {
        return Err(directory_error("it has another number of blocks"));
    }
    let mut start = HEADER_BYTES;
    let mut blocks = Vec::with_capacity(BLOCKS);
    for (index, kind) in BlockKind::ALL.iter().enumerate() {
        let at = directory + index * DIRECTORY_ENTRY_BYTES;
        let length = u64_at(bytes, at + 4);
        if u32_at(bytes, at) != index as u32 || length > (directory - start) as u64 {
            return Err(directory_error("a block is not where it must be"));
        }
        let block = bytes.slice(start..start + length as usize);
        if crc32c::crc32c(&block) != u32_at(bytes, at + 12) {
            return Err(SegmentError::corrupt(kind.name(), "its checksum differs"));
        }
        start += length as usize;
        blocks.push(block);
    }
    if start == directory { Ok(blocks) } else { Err(directory_error("bytes lie between the blocks and it")) }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}
