//! Batches that nothing names any more. They stay for a day, at forty a second: three and a half million, so they are kept in some
//! twenty bytes each.

use super::Map;
use siltstone_core::{BatchId, Epoch};
use std::sync::Arc;

/// Ids that share all but this many low bits lie in one block.
const BLOCK_BITS: u32 = 8;

/// A batch that nothing names any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetiredBatch<'a> {
    /// Its id.
    pub id: BatchId,
    /// The life of the writer that made it; part of the object's key.
    pub epoch: Epoch,
    /// State time at which the last slice went.
    pub at_ms: i64,
    /// The checksum of its footer, which tells a late repeat of its commit from another command with its id.
    pub footer_crc32c: u32,
    /// The positions of the slices of its commit that were duplicates, for a late repeat of the command. Mostly empty.
    pub duplicates: &'a [u32],
}

/// Retired batches by rising id.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RetiredBatches {
    blocks: Map<u64, Arc<Block>>,
    len: usize,
}

/// Up to 256 batches whose ids have the same high bits. Vectors of one length, by rising id.
#[derive(Clone, PartialEq, Debug, Default)]
struct Block {
    low_ids: Vec<u8>,
    epochs: Vec<Epoch>,
    at_ms: Vec<i64>,
    footer_crcs: Vec<u32>,
    /// Those that are not empty, by low id, rising.
    duplicates: Vec<(u8, Box<[u32]>)>,
}

impl RetiredBatches {
    /// Adds a batch. One that is there already is replaced.
    pub fn insert(&mut self, batch: RetiredBatch<'_>) {
        self.remove(batch.id);
        let (high, low) = split(batch.id);
        match self.blocks.get_mut(&high) {
            Some(block) => Arc::make_mut(block).insert(low, &batch),
            None => {
                let mut block = Block::default();
                block.insert(low, &batch);
                self.blocks.insert_mut(high, Arc::new(block));
            }
        }
        self.len += 1;
    }

    /// Takes a batch out. Whether it was there.
    pub fn remove(&mut self, id: BatchId) -> bool {
        let (high, low) = split(id);
        let Some(at) = self.blocks.get(&high).and_then(|block| block.low_ids.binary_search(&low).ok()) else { return false };
        let block = Arc::make_mut(self.blocks.get_mut(&high).expect("it was just found"));
        block.remove(at, low);
        if block.low_ids.is_empty() {
            self.blocks.remove_mut(&high);
        }
        self.len -= 1;
        true
    }

    /// A batch by its id.
    #[must_use]
    pub fn get(&self, id: BatchId) -> Option<RetiredBatch<'_>> {
        let (high, low) = split(id);
        let block = self.blocks.get(&high)?;
        Some(block.get(high, block.low_ids.binary_search(&low).ok()?))
    }

    /// All, by rising id.
    pub fn iter(&self) -> impl Iterator<Item = RetiredBatch<'_>> {
        self.blocks.iter().flat_map(|(&high, block)| (0..block.low_ids.len()).map(move |at| block.get(high, at)))
    }

    /// What is left of the ids without their low bits, each once, by rising value. `bits` is 8 or more.
    pub fn ranges(&self, bits: u32) -> impl Iterator<Item = u64> {
        let mut before = None;
        let ranges = self.blocks.keys().map(move |high| high >> (bits - BLOCK_BITS));
        ranges.filter(move |range| before.replace(*range) != Some(*range))
    }

    /// Those of one of [`RetiredBatches::ranges`], by rising id.
    pub fn in_range(&self, bits: u32, range: u64) -> impl Iterator<Item = RetiredBatch<'_>> {
        self.blocks_in(bits, range).flat_map(|(high, block)| (0..block.low_ids.len()).map(move |at| block.get(high, at)))
    }

    /// Whether both have the same batches in a range. Costs hardly anything where they share them.
    #[must_use]
    pub fn is_same_in_range(&self, other: &Self, bits: u32, range: u64) -> bool {
        let (mut left, mut right) = (self.blocks_in(bits, range), other.blocks_in(bits, range));
        loop {
            match (left.next(), right.next()) {
                (None, None) => return true,
                (Some((left_high, left)), Some((right_high, right))) if left_high == right_high && (Arc::ptr_eq(left, right) || left == right) => {}
                _ => return false,
            }
        }
    }

    fn blocks_in(&self, bits: u32, range: u64) -> impl Iterator<Item = (u64, &Arc<Block>)> {
        let shift = bits - BLOCK_BITS;
        let (first, last) = (range << shift, range << shift | ((1 << shift) - 1));
        self.blocks.range(first..=last).map(|(&high, block)| (high, block))
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether both share their structure: then they are equal. Others may be equal as well.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.blocks.ptr_eq(&other.blocks)
    }
}

impl Block {
    fn get(&self, high: u64, at: usize) -> RetiredBatch<'_> {
        let low = self.low_ids[at];
        let duplicates = self.duplicates.binary_search_by_key(&low, |(low, _)| *low).map_or(&[][..], |at| &self.duplicates[at].1);
        RetiredBatch {
            id: BatchId(high << BLOCK_BITS | u64::from(low)),
            epoch: self.epochs[at],
            at_ms: self.at_ms[at],
            footer_crc32c: self.footer_crcs[at],
            duplicates,
        }
    }

    /// Inserts a batch whose id is not there.
    fn insert(&mut self, low: u8, batch: &RetiredBatch<'_>) {
        let at = self.low_ids.partition_point(|&other| other < low);
        self.low_ids.insert(at, low);
        self.epochs.insert(at, batch.epoch);
        self.at_ms.insert(at, batch.at_ms);
        self.footer_crcs.insert(at, batch.footer_crc32c);
        if !batch.duplicates.is_empty() {
            let at = self.duplicates.partition_point(|(other, _)| *other < low);
            self.duplicates.insert(at, (low, batch.duplicates.into()));
        }
    }

    fn remove(&mut self, at: usize, low: u8) {
        self.low_ids.remove(at);
        self.epochs.remove(at);
        self.at_ms.remove(at);
        self.footer_crcs.remove(at);
        self.duplicates.retain(|(other, _)| *other != low);
    }
}

fn split(id: BatchId) -> (u64, u8) {
    (id.0 >> BLOCK_BITS, id.0 as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches(ids: &[u64]) -> RetiredBatches {
        let mut batches = RetiredBatches::default();
        for &id in ids {
            batches.insert(RetiredBatch { id: BatchId(id), epoch: Epoch(1), at_ms: 5, footer_crc32c: 7, duplicates: &[] });
        }
        batches
    }

    #[test]
    fn a_range_has_the_batches_of_its_ids() {
        let batches = batches(&[1, 300, 16_383, 16_384, 50_000]);
        assert_eq!(batches.ranges(14).collect::<Vec<_>>(), [0, 1, 3]);
        let ids = |range| batches.in_range(14, range).map(|batch| batch.id.0).collect::<Vec<_>>();
        assert_eq!((ids(0), ids(1), ids(2), ids(3)), (vec![1, 300, 16_383], vec![16_384], vec![], vec![50_000]));
    }

    #[test]
    fn ranges_are_the_same_where_they_have_the_same_batches() {
        let left = batches(&[1, 300, 16_384]);
        for (ids, expected) in [
            (&[1, 300, 16_384][..], [true, true]),
            (&[1, 300], [true, false]),
            (&[1, 300, 16_384, 17_000], [true, false]),
            (&[1, 300, 600, 16_384], [false, true]),
            (&[1, 16_384], [false, true]),
            (&[300, 16_384], [false, true]),
        ] {
            let right = batches(ids);
            assert_eq!([0, 1].map(|range| left.is_same_in_range(&right, 14, range)), expected, "{ids:?}");
            assert_eq!([0, 1].map(|range| right.is_same_in_range(&left, 14, range)), expected, "{ids:?}");
        }
        assert!(left.is_same_in_range(&left.clone(), 14, 0));
    }
}
