//! A pack as a query sees it: an opened footer that names ranges, and the meaning of the bytes that the caller fetches for them.

use super::bodies::Bodies;
use super::footer::{BLOCK, ChunkEntry, Column, Footer};
use super::meta::{Meta, get_meta, get_meta_timestamps};
use super::patterns::PackPatterns;
use crate::columns::{get_attributes, get_vector_heads, get_vector_values};
use crate::compress::decompress;
use crate::manifest::{ByteRange, CheckedRange};
use crate::rows::{AttributeColumn, Rows, VectorColumn};
use crate::wire::{DecodeError, Reader, check_range};
use siltstone_core::{ChunkId, NamespaceId};

const ATTRIBUTES: &str = "a pack's attribute block";
const FIELDS: &str = "a pack's vector field block";
const VECTORS: &str = "a pack's vector block";
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

    /// Reads which rows of a chunk have vectors of which fields. No bytes, no vectors.
    ///
    /// # Errors
    /// As [`PackReader::decode_patterns`].
    pub fn decode_vector_fields(&self, entry: &ChunkEntry, bytes: &[u8]) -> Result<Vec<VectorColumn>, DecodeError> {
        check_range(FIELDS, bytes, &entry.range(Column::VectorFields))?;
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        let raw = decompress(FIELDS, bytes)?;
        let mut reader = Reader::new(FIELDS, &raw);
        let columns = get_vector_heads(&mut reader, entry.rows as usize)?;
        reader.end()?;
        let is_ordered = columns.is_sorted_by(|left, right| left.field < right.field);
        if is_ordered { Ok(columns) } else { Err(reader.corrupt("its columns are out of order")) }
    }

    /// Reads the vectors of a chunk from the bytes of [`ChunkEntry::range_of_vectors`].
    ///
    /// # Errors
    /// As [`PackReader::decode_patterns`].
    pub fn decode_vectors(&self, entry: &ChunkEntry, bytes: &[u8]) -> Result<Vec<VectorColumn>, DecodeError> {
        let (fields, values) = split(bytes, entry.range(Column::VectorFields).len)?;
        let mut columns = self.decode_vector_fields(entry, fields)?;
        check_range(VECTORS, values, &entry.range(Column::Vectors))?;
        if !values.is_empty() {
            let raw = decompress(VECTORS, values)?;
            let mut reader = Reader::new(VECTORS, &raw);
            get_vector_values(&mut reader, &mut columns)?;
            reader.end()?;
        }
        if columns.iter().all(VectorColumn::is_loaded) {
            return Ok(columns);
        }
        Err(DecodeError::Corrupt { block: VECTORS, what: "fields without vectors" })
    }

    /// Reads a whole chunk from the bytes of [`ChunkEntry::range_of_all`].
    ///
    /// # Errors
    /// As [`PackReader::decode_patterns`].
    pub fn decode_rows(&self, entry: &ChunkEntry, patterns: &PackPatterns, bytes: &[u8]) -> Result<Rows, DecodeError> {
        let (bytes, vectors) = split(bytes, entry.columns_len())?;
        self.decode_columns(entry, patterns, bytes, self.decode_vectors(entry, vectors)?)
    }

    /// Reads a chunk from the bytes of [`ChunkEntry::range_without_vectors`]: of vectors the fields alone.
    ///
    /// # Errors
    /// As [`PackReader::decode_patterns`].
    pub fn decode_rows_without_vectors(&self, entry: &ChunkEntry, patterns: &PackPatterns, bytes: &[u8]) -> Result<Rows, DecodeError> {
        let (bytes, fields) = split(bytes, entry.columns_len())?;
        self.decode_columns(entry, patterns, bytes, self.decode_vector_fields(entry, fields)?)
    }

    fn decode_columns(&self, entry: &ChunkEntry, patterns: &PackPatterns, bytes: &[u8], vectors: Vec<VectorColumn>) -> Result<Rows, DecodeError> {
        let (body, rest) = split(bytes, entry.range(Column::Body).len)?;
        let (meta, attributes) = split(rest, entry.range(Column::Meta).len)?;
        let bodies = self.decode_bodies(entry, patterns, body, None)?;
        let Meta { timestamps_ns, severities, flags, deployment, pod, container } = self.decode_meta(entry, meta)?;
        let attributes = self.decode_attributes(entry, attributes)?;
        let namespace = self.namespace();
        let mut rows = Rows { namespace, timestamps_ns, severities, flags, deployment, pod, container, attributes, vectors, ..Rows::default() };
        bodies.into_rows(&mut rows)?;
        rows.check().map_err(|_| corrupt("its columns contradict each other"))?;
        Ok(rows)
    }
}

fn corrupt(what: &'static str) -> DecodeError {
    DecodeError::Corrupt { block: "a pack's chunk", what }
}

fn split(bytes: &[u8], at: u32) -> Result<(&[u8], &[u8]), DecodeError> {
    bytes.split_at_checked(at as usize).ok_or_else(|| corrupt("it has another length than its blocks"))
}
