//! A pack as a query sees it: an opened footer that names ranges, and the meaning of the bytes that the caller fetches for them.

use super::bodies::Bodies;
use super::footer::{BLOCK, ChunkEntry, Column, Footer};
use super::meta::{Meta, get_meta, get_meta_timestamps};
use super::patterns::PackPatterns;
use crate::columns::get_attributes;
use crate::compress::decompress;
use crate::manifest::{ByteRange, CheckedRange};
use crate::rows::{AttributeColumn, Rows};
use crate::wire::{DecodeError, Reader, check_range};
use siltstone_core::{ChunkId, NamespaceId};

const ATTRIBUTES: &str = "a pack's attribute block";
const PATTERNS: &str = "a pack's shared patterns";

/// An opened pack. Every `decode_…` checks the checksum of the bytes it is given.
#[derive(Debug)]
pub struct PackReader {
    footer: Footer,
}

impl PackReader {
    /// Opens a pack that lies at `pack` in its object, from the bytes of its footer, which lies at `footer` in the same object.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are not those of the footer.
    pub fn open(bytes: &[u8], footer: &CheckedRange, pack: &ByteRange) -> Result<Self, DecodeError> {
        check_range(BLOCK, bytes, footer)?;
        Ok(Self { footer: Footer::decode(bytes, footer, pack)? })
    }

    /// The one namespace (NS-1).
    #[must_use]
    pub fn namespace(&self) -> NamespaceId {
        self.footer.namespace
    }

    /// The chunks by rising id.
    #[must_use]
    pub fn chunks(&self) -> &[ChunkEntry] {
        &self.footer.chunks
    }

    /// A chunk; `None` when the pack does not hold it.
    #[must_use]
    pub fn chunk(&self, chunk: ChunkId) -> Option<&ChunkEntry> {
        let place = self.footer.chunks.binary_search_by_key(&chunk, |entry| entry.chunk).ok()?;
        self.footer.chunks.get(place)
    }

    /// Where the shared patterns lie in the object: just before the footer.
    #[must_use]
    pub fn patterns_range(&self) -> CheckedRange {
        self.footer.patterns
    }

    /// Reads the shared patterns from the bytes of their range.
    ///
    /// # Errors
    /// [`DecodeError`] when the bytes are not those that were written there. So do all that follow.
    pub fn decode_patterns(&self, bytes: &[u8]) -> Result<PackPatterns, DecodeError> {
        check_range(PATTERNS, bytes, &self.footer.patterns)?;
        PackPatterns::decode(bytes)
    }

    /// Reads the bodies of a chunk from the bytes of its body block: all of them, or of `wanted` rows.
    ///
    /// # Errors
    /// As [`PackReader::decode_patterns`].
    pub fn decode_bodies(&self, entry: &ChunkEntry, patterns: &PackPatterns, bytes: &[u8], wanted: Option<&[usize]>) -> Result<Bodies, DecodeError> {
        check_range("a pack's body block", bytes, &entry.range(Column::Body))?;
        Bodies::decode(bytes, patterns, entry.rows as usize, wanted)
    }

    /// Reads the meta block of a chunk.
    ///
    /// # Errors
    /// As [`PackReader::decode_patterns`].
    pub fn decode_meta(&self, entry: &ChunkEntry, bytes: &[u8]) -> Result<Meta, DecodeError> {
        check_range("a pack's meta block", bytes, &entry.range(Column::Meta))?;
        get_meta(bytes, entry.rows as usize)
    }

    /// Reads the timestamps of a chunk from the bytes of its meta block, and nothing else of it.
    ///
    /// # Errors
    /// As [`PackReader::decode_patterns`].
    pub fn decode_timestamps(&self, entry: &ChunkEntry, bytes: &[u8]) -> Result<Vec<i64>, DecodeError> {
        check_range("a pack's meta block", bytes, &entry.range(Column::Meta))?;
        get_meta_timestamps(bytes, entry.rows as usize)
    }

    /// Reads the attributes of a chunk. No bytes, no attributes.
    ///
    /// # Errors
    /// As [`PackReader::decode_patterns`].
    pub fn decode_attributes(&self, entry: &ChunkEntry, bytes: &[u8]) -> Result<Vec<AttributeColumn>, DecodeError> {
        check_range(ATTRIBUTES, bytes, &entry.range(Column::Attributes))?;
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        let raw = decompress(ATTRIBUTES, bytes)?;
        let mut reader = Reader::new(ATTRIBUTES, &raw);
        let columns = get_attributes(&mut reader, entry.rows as usize)?;
        reader.end()?;
        Ok(columns)
    }

    /// Reads a whole chunk from the bytes of [`ChunkEntry::range_of_all`].
    ///
    /// # Errors
    /// As [`PackReader::decode_patterns`].
    pub fn decode_rows(&self, entry: &ChunkEntry, patterns: &PackPatterns, bytes: &[u8]) -> Result<Rows, DecodeError> {
        let corrupt = |what| DecodeError::Corrupt { block: "a pack's chunk", what };
        let [body, meta, _] = Column::ALL.map(|column| entry.range(column).len as usize);
        let (body, rest) = bytes.split_at_checked(body).ok_or_else(|| corrupt("it has another length than its blocks"))?;
        let (meta, attributes) = rest.split_at_checked(meta).ok_or_else(|| corrupt("it has another length than its blocks"))?;
        let bodies = self.decode_bodies(entry, patterns, body, None)?;
        let Meta { timestamps_ns, severities, flags, deployment, pod, container } = self.decode_meta(entry, meta)?;
        let attributes = self.decode_attributes(entry, attributes)?;
        let namespace = self.namespace();
        let mut rows = Rows { namespace, timestamps_ns, severities, flags, deployment, pod, container, attributes, ..Rows::default() };
        bodies.into_rows(&mut rows)?;
        rows.check().map_err(|_| corrupt("its columns contradict each other"))?;
        Ok(rows)
    }
}
