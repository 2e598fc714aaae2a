//! The patterns that have a word, and how often.

use crate::error::SegmentError;
use crate::wire::{Cursor, put_varint};

const BLOCK: &str = "words";

/// How many rows the patterns have together; number of patterns; per pattern the distance from the one after the one before, and whether the word
/// occurs more than once, then how often.
pub(crate) fn encode(patterns: &[(u32, u32)], rows: u64, out: &mut Vec<u8>) {
    put_varint(out, rows);
    put_varint(out, patterns.len() as u64);
    let mut next = 0;
    for (pattern, times) in patterns {
        put_varint(out, u64::from(pattern - next) << 1 | u64::from(*times > 1));
        if *times > 1 {
            put_varint(out, u64::from(*times));
        }
        next = pattern + 1;
    }
}

/// How many rows the patterns have together.
pub(crate) fn decode_rows(bytes: &[u8]) -> Result<u64, SegmentError> {
    Cursor::new(BLOCK, bytes).varint()
}

/// The patterns, ascending, with how often each has the word.
pub(crate) fn decode(bytes: &[u8], patterns: usize) -> Result<Vec<(u32, u32)>, SegmentError> {
    let mut cursor = Cursor::new(BLOCK, bytes);
    cursor.varint()?;
    let count = cursor.count()?;
    let mut out = Vec::with_capacity(count);
    let mut next = 0_u64;
    for _ in 0..count {
        let head = cursor.varint()?;
        let pattern = next.saturating_add(head >> 1);
        if pattern >= patterns as u64 {
            return Err(cursor.corrupt("a pattern does not exist"));
        }
        let times = if head & 1 == 1 { cursor.u32()? } else { 1 };
        out.push((pattern as u32, times));
        next = pattern + 1;
    }
    Ok(out)
}
