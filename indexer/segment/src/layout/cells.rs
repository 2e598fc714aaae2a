//! Which patterns each chunk has, and with how many rows.

use super::ChunkTable;
use crate::error::SegmentError;
use crate::wire::{Cursor, compress, decompress, put_varint};
use std::sync::OnceLock;

const BLOCK: &str = "cells";

/// The cells of every chunk; a chunk's are in ascending order of their patterns, which is the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// Per chunk: its first cell; the last element is the number of cells.
    starts: Vec<u32>,
    patterns: Vec<u32>,
    counts: Vec<u16>,
    /// Per pattern: its first element in `by_pattern`.
    inverted: OnceLock<Inverted>,
}

#[derive(Debug)]
struct Inverted {
    starts: Vec<u32>,
    /// (chunk, cell number).
    places: Vec<(u32, u16)>,
}

impl Cells {
    /// Adds the cells of the next chunk: (pattern, rows), ascending by pattern.
    pub(crate) fn push_chunk<I>(&mut self, cells: I)
    where
        I: IntoIterator<Item = (u32, u16)>,
    {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        for (pattern, count) in cells {
            self.patterns.push(pattern);
            self.counts.push(count);
        }
        self.starts.push(self.patterns.len() as u32);
    }

    fn range(&self, chunk: u32) -> std::ops::Range<usize> {
        let chunk = chunk as usize;
        if chunk + 1 < self.starts.len() { self.starts[chunk] as usize..self.starts[chunk + 1] as usize } else { 0..0 }
    }

    /// Per cell of a chunk: its pattern.
    pub(crate) fn patterns(&self, chunk: u32) -> &[u32] {
        &self.patterns[self.range(chunk)]
    }

    /// Per cell of a chunk: its rows.
    pub(crate) fn counts(&self, chunk: u32) -> &[u16] {
        &self.counts[self.range(chunk)]
    }

    /// Per pattern: its rows in all chunks.
    pub(crate) fn pattern_rows(&self, patterns: usize) -> Vec<u32> {
        let mut rows = vec![0; patterns];
        for (pattern, count) in self.patterns.iter().zip(&self.counts) {
            rows[*pattern as usize] += u32::from(*count);
        }
        rows
    }

    /// The cells of a pattern: (chunk, cell number), ascending by chunk.
    pub(crate) fn of_pattern(&self, pattern: u32) -> &[(u32, u16)] {
        let inverted = self.inverted.get_or_init(|| self.invert());
        let pattern = pattern as usize;
        if pattern + 1 >= inverted.starts.len() {
            return &[];
        }
        &inverted.places[inverted.starts[pattern] as usize..inverted.starts[pattern + 1] as usize]
    }

    fn invert(&self) -> Inverted {
        let patterns = self.patterns.iter().max().map_or(0, |max| *max as usize + 1);
        let mut starts = vec![0_u32; patterns + 1];
        for pattern in &self.patterns {
            starts[*pattern as usize + 1] += 1;
        }
        for index in 0..patterns {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut places = vec![(0, 0); self.patterns.len()];
        for chunk in 0..self.starts.len().saturating_sub(1) as u32 {
            for (cell, pattern) in self.patterns(chunk).iter().enumerate() {
                let place = &mut next[*pattern as usize];
                places[*place as usize] = (chunk, cell as u16);
                *place += 1;
            }
        }
        Inverted { starts, places }
    }

    /// Per chunk: its number of cells; per cell its pattern as distance − 1 from the one before, and its rows − 1. Compressed as one.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for chunk in 0..self.starts.len().saturating_sub(1) as u32 {
            let patterns = self.patterns(chunk);
            put_varint(&mut out, patterns.len() as u64);
            let mut next = 0;
            for pattern in patterns {
                put_varint(&mut out, u64::from(pattern - next));
                next = pattern + 1;
            }
            for count in self.counts(chunk) {
                put_varint(&mut out, u64::from(count - 1));
            }
        }
        let mut block = Vec::new();
        put_varint(&mut block, out.len() as u64);
        block.extend_from_slice(&compress(&out));
        block
    }

    pub(crate) fn decode(bytes: &[u8], chunks: &ChunkTable, patterns: usize) -> Result<Self, SegmentError> {
        let mut cursor = Cursor::new(BLOCK, bytes);
        let raw_bytes = cursor.varint()?;
        let raw = decompress(BLOCK, cursor.rest(), raw_bytes)?;
        let mut cursor = Cursor::new(BLOCK, &raw);
        let mut cells = Self::default();
        for chunk in 0..chunks.len() as u32 {
            let rows = chunks.rows(chunk);
            let count = cursor.bounded(u64::from(rows), "a chunk has more cells than rows")? as usize;
            let mut next = 0_u64;
            for _ in 0..count {
                let pattern = next + cursor.bounded(u64::from(u32::MAX), "a pattern does not exist")?;
                if pattern >= patterns as u64 {
                    return Err(cursor.corrupt("a pattern does not exist"));
                }
                cells.patterns.push(pattern as u32);
                next = pattern + 1;
            }
            let mut left = u64::from(rows);
            for _ in 0..count {
                let rows = cursor.varint()?.saturating_add(1);
                left = left.checked_sub(rows).ok_or(cursor.corrupt("cells have more rows than their chunk"))?;
                cells.counts.push(rows as u16);
            }
            if left != 0 {
                return Err(cursor.corrupt("cells have fewer rows than their chunk"));
            }
            cells.push_chunk([]);
        }
        if cells.starts.is_empty() {
            cells.starts.push(0);
        }
        cursor.finish()?;
        Ok(cells)
    }
}
