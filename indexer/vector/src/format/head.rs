//! The head: what the index is, and where and how long each block is.

use super::cursor::Cursor;
use super::{MAGIC, VERSION};
use crate::error::VectorError;
use crate::full::Precision;
use crate::graph::{DEGREE_MAX, LEVELS_MAX};
use crate::space::{Metric, VectorSpace};
use crate::vectors::ROWS_MAX;
use siltstone_core::NamespaceId;

/// What an index has beside its vectors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum IndexKind {
    /// Nothing: searches compare every row.
    Exact = 1,
    /// A navigable graph.
    Hnsw = 2,
}

/// What a first read of an index asks for: the heads of most indexes are shorter.
pub(crate) const HEAD_GUESS: u64 = 16 << 10;

/// Magic, version, length of the head.
const PREFIX_BYTES: usize = 16;

/// Bytes before the blocks' numbers, but for the source's name and the prefix: namespace, metric, precision, kind, length of the name, dimension,
/// rows, rows a block of codes and of full vectors, degree, levels, entry.
const FIXED_BYTES: usize = 4 + 4 + 7 * 4;

/// Length u32 and checksum u32 of a block.
const BLOCK_BYTES: usize = 8;

/// One block, as the head lists it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlockRecord {
    pub(crate) length: u32,
    pub(crate) checksum: u32,
}

/// The graph, as the head describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GraphHead {
    pub(crate) degree: usize,
    pub(crate) levels: usize,
    pub(crate) entry: u32,
}

/// A decoded head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) space: VectorSpace,
    pub(crate) precision: Precision,
    pub(crate) rows: u32,
    pub(crate) code_block_rows: u32,
    pub(crate) full_block_rows: u32,
    /// `None` for an exact index.
    pub(crate) graph: Option<GraphHead>,
    /// Codes, full vectors, levels from 1 up, lists of level 0.
    pub(crate) blocks: Vec<BlockRecord>,
}

const BLOCK: &str = "head";

fn corrupt(reason: &'static str) -> VectorError {
    VectorError::corrupt(BLOCK, reason)
}

/// The length of the head that begins with `bytes`, of which there must be 16 at least.
pub(crate) fn head_length(bytes: &[u8]) -> Result<u64, VectorError> {
    let mut cursor = Cursor::new(BLOCK, bytes);
    if cursor.take(8)? != MAGIC {
        return Err(corrupt("this is no vector index"));
    }
    let version = cursor.u32()?;
    if version != VERSION {
        // A flipped bit in the version of a sound index also ends here: it is not read either way.
        return Err(VectorError::Version { version, known: VERSION });
    }
    let length = cursor.u32()?;
    if (length as usize) < PREFIX_BYTES + FIXED_BYTES + 4 {
        return Err(corrupt("it is shorter than the shortest head"));
    }
    Ok(u64::from(length))
}

impl Head {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let source = self.space.source().as_bytes();
        let length = PREFIX_BYTES + FIXED_BYTES + source.len() + BLOCK_BYTES * self.blocks.len() + 4;
        let graph = self.graph.unwrap_or(GraphHead { degree: 0, levels: 0, entry: 0 });
        let kind = if self.graph.is_some() { IndexKind::Hnsw } else { IndexKind::Exact };
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(&MAGIC);
        for number in [VERSION, length as u32, self.space.namespace().0] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&[self.space.metric() as u8, self.precision as u8, kind as u8, source.len() as u8]);
        let numbers = [
            self.space.dimension() as u32,
            self.rows,
            self.code_block_rows,
            self.full_block_rows,
            graph.degree as u32,
            graph.levels as u32,
            graph.entry,
        ];
        for number in numbers {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(source);
        for block in &self.blocks {
            bytes.extend_from_slice(&block.length.to_le_bytes());
            bytes.extend_from_slice(&block.checksum.to_le_bytes());
        }
        let checksum = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a whole head.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, VectorError> {
        if head_length(bytes)? != bytes.len() as u64 {
            return Err(corrupt("it has another length than it says"));
        }
        let (content, checksum) = bytes.split_last_chunk::<4>().ok_or_else(|| corrupt("its bytes end early"))?;
        if crc32c::crc32c(content) != u32::from_le_bytes(*checksum) {
            return Err(corrupt("its checksum differs"));
        }
        let mut cursor = Cursor::new(BLOCK, content);
        cursor.take(PREFIX_BYTES)?;
        let namespace = NamespaceId(cursor.u32()?);
        let metric = Metric::from_u8(cursor.u8()?).ok_or_else(|| corrupt("its metric is not known"))?;
        let precision = Precision::from_u8(cursor.u8()?).ok_or_else(|| corrupt("its precision is not known"))?;
        let kind = match cursor.u8()? {
            1 => IndexKind::Exact,
            2 => IndexKind::Hnsw,
            _ => return Err(corrupt("its kind is not known")),
        };
        let source_bytes = usize::from(cursor.u8()?);
        let dimension = cursor.u32()? as usize;
        let rows = cursor.u32()?;
        let (code_block_rows, full_block_rows) = (cursor.u32()?, cursor.u32()?);
        let graph = GraphHead { degree: cursor.u32()? as usize, levels: cursor.u32()? as usize, entry: cursor.u32()? };
        let source = std::str::from_utf8(cursor.take(source_bytes)?).map_err(|_| corrupt("the name of its source is not UTF-8"))?;
        let space = VectorSpace::new(namespace, source, dimension, metric).map_err(|_| corrupt("its space cannot be"))?;
        if u64::from(rows) > ROWS_MAX || code_block_rows == 0 || full_block_rows == 0 {
            return Err(corrupt("its rows cannot be"));
        }
        let graph = match kind {
            IndexKind::Exact => None,
            IndexKind::Hnsw => {
                let is_sound = (1..=DEGREE_MAX).contains(&graph.degree) && (1..=LEVELS_MAX).contains(&graph.levels) && graph.entry < rows;
                Some(if is_sound { graph } else { return Err(corrupt("its graph cannot be")) })
            }
        };
        let mut blocks = Vec::new();
        while let Ok(length) = cursor.u32() {
            blocks.push(BlockRecord { length, checksum: cursor.u32()? });
        }
        cursor.finish()?;
        Ok(Self { space, precision, rows, code_block_rows, full_block_rows, graph, blocks })
    }
}
