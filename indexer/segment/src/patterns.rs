//! The pattern table: the patterns of a segment in the order of their bytes, which numbers them.

use crate::error::SegmentError;
use crate::wire::{Cursor, Pages, PagesWriter, compress, decompress, put_varint, unzigzag, zigzag};
use bytes::Bytes;
use siltstone_core::pattern::PatternHash;

const META: &str = "pattern meta";
const BLOCK: &str = "patterns";

/// What is known of a pattern without its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PatternMeta {
    /// Words and slots: the length of a row in tokens, if each of its variables has just one.
    pub(crate) tokens: u32,
    pub(crate) first_ns: i64,
    pub(crate) last_ns: i64,
    /// The identity, where it is not the hash of the bytes under the present splitter's version.
    pub(crate) foreign_hash: Option<PatternHash>,
}

/// Writes the two blocks of the table.
#[derive(Default)]
pub(crate) struct PatternTableWriter {
    bytes: PagesWriter,
    lengths: Vec<u64>,
    metas: Vec<PatternMeta>,
}

impl PatternTableWriter {
    /// Adds the next pattern, greater than all before by its bytes (or the same with another hash).
    pub(crate) fn push(&mut self, bytes: &[u8], meta: PatternMeta) {
        self.bytes.append(bytes);
        self.lengths.push(bytes.len() as u64);
        self.metas.push(meta);
    }

    /// The blocks of the bytes and of the rest.
    pub(crate) fn finish(self) -> (Vec<u8>, Vec<u8>) {
        (self.bytes.finish(), encode_meta(&self.lengths, &self.metas))
    }
}

/// Columns, compressed as one: lengths, tokens, first timestamps (distance from the one before, in units), lengths of time (in units), foreign
/// hashes.
fn encode_meta(lengths: &[u64], metas: &[PatternMeta]) -> Vec<u8> {
    // Sources write milli- or microseconds: the unit is what all times are multiples of.
    // Distances from the earliest are not negative, so a divisor of all divides what lies between any two.
    let base = metas.iter().map(|meta| meta.first_ns).min().unwrap_or(0);
    let distance = |time: i64| time.wrapping_sub(base) as u64;
    let unit = metas.iter().fold(0, |unit, meta| gcd(gcd(unit, distance(meta.first_ns)), distance(meta.last_ns))).max(1);
    let mut out = Vec::new();
    put_varint(&mut out, zigzag(base));
    put_varint(&mut out, unit);
    lengths.iter().for_each(|length| put_varint(&mut out, *length));
    metas.iter().for_each(|meta| put_varint(&mut out, u64::from(meta.tokens)));
    let mut before = 0;
    for meta in metas {
        let first = distance(meta.first_ns) / unit;
        put_varint(&mut out, zigzag(first.wrapping_sub(before) as i64));
        before = first;
    }
    metas.iter().for_each(|meta| put_varint(&mut out, meta.last_ns.wrapping_sub(meta.first_ns) as u64 / unit));
    let foreign: Vec<_> = metas.iter().enumerate().filter_map(|(index, meta)| Some((index, meta.foreign_hash?))).collect();
    put_varint(&mut out, foreign.len() as u64);
    for (index, hash) in foreign {
        put_varint(&mut out, index as u64);
        out.extend_from_slice(&hash.0.to_le_bytes());
    }
    let mut block = Vec::new();
    put_varint(&mut block, metas.len() as u64);
    put_varint(&mut block, out.len() as u64);
    block.extend_from_slice(&compress(&out));
    block
}

const fn gcd(mut left: u64, mut right: u64) -> u64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

/// The table, opened. Bytes are unpacked when first needed.
#[derive(Debug)]
pub(crate) struct PatternTable {
    /// Where each pattern's bytes begin; the last element is the end.
    starts: Vec<u64>,
    /// In a column of their own, as scores look at little else.
    tokens: Vec<u32>,
    metas: Vec<PatternMeta>,
    bytes: Pages,
}

impl PatternTable {
    pub(crate) fn open(bytes: &Bytes, meta: &Bytes) -> Result<Self, SegmentError> {
        let mut cursor = Cursor::new(META, meta);
        let count = cursor.bounded(u64::from(u32::MAX), "there are too many patterns")? as usize;
        let raw_bytes = cursor.varint()?;
        let raw = decompress(META, cursor.rest(), raw_bytes)?;
        let mut cursor = Cursor::new(META, &raw);
        let base = unzigzag(cursor.varint()?);
        let unit = cursor.varint()?;
        // Each pattern takes four bytes or more.
        if count > cursor.rest().len() / 4 {
            return Err(cursor.corrupt("a count is larger than its bytes"));
        }
        let mut starts = vec![0_u64];
        for index in 0..count {
            let end = starts[index].checked_add(cursor.varint()?).ok_or(cursor.corrupt("a number does not fit"))?;
            starts.push(end);
        }
        let mut metas = Vec::with_capacity(count);
        for _ in 0..count {
            metas.push(PatternMeta { tokens: cursor.u32()?, first_ns: 0, last_ns: 0, foreign_hash: None });
        }
        let mut first = 0_u64;
        for meta in &mut metas {
            first = first.wrapping_add(unzigzag(cursor.varint()?) as u64);
            meta.first_ns = base.wrapping_add(first.wrapping_mul(unit) as i64);
        }
        for meta in &mut metas {
            meta.last_ns = meta.first_ns.wrapping_add(cursor.varint()?.wrapping_mul(unit) as i64);
        }
        for _ in 0..cursor.count()? {
            let index = cursor.varint()?;
            let mut hash = [0; 16];
            hash.copy_from_slice(cursor.take(16)?);
            let meta =
                usize::try_from(index).ok().and_then(|index| metas.get_mut(index)).ok_or(SegmentError::corrupt(META, "a pattern does not exist"))?;
            meta.foreign_hash = Some(PatternHash(u128::from_le_bytes(hash)));
        }
        cursor.finish()?;
        Ok(Self { starts, tokens: metas.iter().map(|meta| meta.tokens).collect(), metas, bytes: Pages::open(BLOCK, bytes)? })
    }

    pub(crate) fn len(&self) -> usize {
        self.metas.len()
    }

    pub(crate) fn meta(&self, pattern: u32) -> &PatternMeta {
        &self.metas[pattern as usize]
    }

    /// Words and slots of a pattern.
    pub(crate) fn tokens(&self, pattern: u32) -> u32 {
        self.tokens[pattern as usize]
    }

    pub(crate) fn bytes(&self, pattern: u32) -> Result<&[u8], SegmentError> {
        let pattern = pattern as usize;
        self.bytes.entry(self.starts[pattern], self.starts[pattern + 1] - self.starts[pattern])
    }

    pub(crate) fn hash(&self, pattern: u32) -> Result<PatternHash, SegmentError> {
        match self.meta(pattern).foreign_hash {
            Some(hash) => Ok(hash),
            None => Ok(PatternHash::of(self.bytes(pattern)?)),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.starts.len() * 8 + self.metas.len() * size_of::<PatternMeta>() + self.bytes.heap_bytes()
    }
}
