//! Rows of which some variable has not exactly one token: their length differs from their pattern's, and their slots do not tell positions.
//!
//! Only runs with bytes from 0x80 on that are no letters or digits make such variables, so they are rare in most logs.

use crate::error::SegmentError;
use crate::wire::{Cursor, compress, decompress, put_varint, unzigzag, zigzag};

const BLOCK: &str = "irregular rows";

/// Rows (chunk ordinal << 11 | offset, ascending), each with how many tokens it has more than its pattern says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IrregularRows {
    pub(crate) rows: Vec<u32>,
    pub(crate) extra_tokens: Vec<i32>,
}

impl IrregularRows {
    pub(crate) fn push(&mut self, row: u32, extra_tokens: i32) {
        self.rows.push(row);
        self.extra_tokens.push(extra_tokens);
    }

    pub(crate) fn contains(&self, row: u32) -> bool {
        self.rows.binary_search(&row).is_ok()
    }

    /// Number of rows; per row the distance from the row after the one before, and the extra tokens. Compressed as one.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut raw = Vec::new();
        let mut next = 0;
        for (row, extra) in self.rows.iter().zip(&self.extra_tokens) {
            put_varint(&mut raw, u64::from(row - next));
            put_varint(&mut raw, zigzag(i64::from(*extra)));
            next = row + 1;
        }
        let mut out = Vec::new();
        put_varint(&mut out, self.rows.len() as u64);
        put_varint(&mut out, raw.len() as u64);
        out.extend_from_slice(&compress(&raw));
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, SegmentError> {
        let mut cursor = Cursor::new(BLOCK, bytes);
        let count = cursor.bounded(u64::from(u32::MAX), "there are too many rows")? as usize;
        let raw_bytes = cursor.varint()?;
        let raw = decompress(BLOCK, cursor.rest(), raw_bytes)?;
        let mut cursor = Cursor::new(BLOCK, &raw);
        let mut irregular = Self::default();
        let mut next = 0_u64;
        for _ in 0..count {
            let row = next + cursor.bounded(u64::from(u32::MAX), "a row does not exist")?;
            let extra = i32::try_from(unzigzag(cursor.varint()?)).map_err(|_| cursor.corrupt("a number does not fit"))?;
            irregular.push(u32::try_from(row).map_err(|_| cursor.corrupt("a row does not exist"))?, extra);
            next = row + 1;
        }
        cursor.finish()?;
        Ok(irregular)
    }
}
