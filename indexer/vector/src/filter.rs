//! Which rows a search may return.

use siltstone_core::bitmap::RowSet;
use std::ops::Range;

/// Offsets of an ordinal of a [`RowSet`].
const OFFSET_BITS: u32 = 11;

/// Which rows a search may return. Rows that the index does not have are passed over.
#[derive(Clone, Copy, Debug, Default)]
pub enum Filter<'a> {
    /// Every row.
    #[default]
    All,
    /// The rows of a set, where local row `r` is offset `r % 2048` of ordinal `r / 2048`.
    Set(&'a RowSet),
    /// These rows, ascending; repeats count once.
    Rows(&'a [u32]),
}

/// A filter as an index uses it: owned, counted, within the index's rows.
#[derive(Clone, Debug)]
pub(crate) enum Selection {
    All { rows: u32 },
    List(Vec<u32>),
    Bits { words: Vec<u64>, count: u64 },
}

impl Selection {
    pub(crate) fn new(filter: Filter<'_>, rows: u32) -> Self {
        match filter {
            Filter::All => Self::All { rows },
            Filter::Rows(list) => {
                let mut list: Vec<u32> = list.iter().copied().filter(|row| *row < rows).collect();
                // Linear where they ascend, as they should.
                list.sort_unstable();
                list.dedup();
                Self::List(list).best(rows)
            }
            // A list costs 32 bits a row, a bit per row of the index one.
            Filter::Set(set) if set.count() < u64::from(rows) / 32 => {
                Self::List(set.rows().map_while(|row| u32::try_from(row).ok().filter(|row| *row < rows)).collect())
            }
            Filter::Set(set) => {
                let mut words = vec![0_u64; (rows as usize).div_ceil(64)];
                for (ordinal, offsets) in set.chunks() {
                    let start = (ordinal as usize) << OFFSET_BITS >> 6;
                    if start >= words.len() {
                        break;
                    }
                    for (word, bits) in words[start..].iter_mut().zip(offsets.to_block().0) {
                        *word = bits;
                    }
                }
                if !rows.is_multiple_of(64)
                    && let Some(last) = words.last_mut()
                {
                    *last &= (1 << (rows % 64)) - 1;
                }
                let count = words.iter().map(|word| u64::from(word.count_ones())).sum();
                Self::Bits { words, count }.best(rows)
            }
        }
    }

    fn best(self, rows: u32) -> Self {
        let count = self.count();
        if count == u64::from(rows) {
            return Self::All { rows };
        }
        match self {
            Self::List(list) if count >= u64::from(rows) / 32 => Self::List(list).to_bits(rows),
            Self::Bits { .. } if count < u64::from(rows) / 32 => Self::List(self.iter().collect()),
            other => other,
        }
    }

    /// The same rows as bits, where they are a list.
    pub(crate) fn to_bits(&self, rows: u32) -> Self {
        let Self::List(list) = self else { return self.clone() };
        let mut words = vec![0_u64; (rows as usize).div_ceil(64)];
        for row in list {
            words[*row as usize / 64] |= 1 << (row % 64);
        }
        Self::Bits { words, count: list.len() as u64 }
    }

    /// How many rows.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::All { rows } => u64::from(*rows),
            Self::List(list) => list.len() as u64,
            Self::Bits { count, .. } => *count,
        }
    }

    #[inline]
    pub(crate) fn contains(&self, row: u32) -> bool {
        match self {
            Self::All { rows } => row < *rows,
            Self::List(list) => list.binary_search(&row).is_ok(),
            Self::Bits { words, .. } => words.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 == 1),
        }
    }

    /// All rows, ascending.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        self.range(0..u32::MAX)
    }

    /// The rows of a range, ascending.
    pub(crate) fn range(&self, range: Range<u32>) -> Box<dyn Iterator<Item = u32> + '_> {
        match self {
            Self::All { rows } => Box::new(range.start..range.end.min(*rows)),
            Self::List(list) => {
                let start = list.partition_point(|row| *row < range.start);
                Box::new(list[start..].iter().copied().take_while(move |row| *row < range.end))
            }
            Self::Bits { words, .. } => {
                let first = range.start as usize / 64;
                let last = (range.end as usize).div_ceil(64).min(words.len());
                let words = words.get(first..last).unwrap_or_default();
                let rows = (first as u32..).zip(words).flat_map(|(index, word)| Ones(*word).map(move |bit| index * 64 + bit));
                Box::new(rows.filter(move |row| range.contains(row)))
            }
        }
    }
}

/// The set bits of a word, ascending.
struct Ones(u64);

impl Iterator for Ones {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let bit = (self.0 != 0).then(|| self.0.trailing_zeros());
        self.0 &= self.0.wrapping_sub(1);
        bit
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_set_and_a_list_select_the_same_rows(chosen in btree_set(0..9_000_u32, 0..600), every in 1..40_u32, rows in 1..8_000_u32, start in 0..9_000_u32, length in 0..9_000_u32) {
            let chosen: Vec<u32> = chosen.into_iter().chain((0..9_000).step_by(every as usize)).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
            let set = RowSet::from_sorted(chosen.iter().map(|row| u64::from(*row))).unwrap();
            let expected: Vec<u32> = chosen.iter().copied().filter(|row| *row < rows).collect();
            let range = start..start.saturating_add(length);
            for filter in [Filter::Set(&set), Filter::Rows(&chosen)] {
                let selection = Selection::new(filter, rows);
                for selection in [selection.to_bits(rows), selection] {
                    prop_assert_eq!(selection.count(), expected.len() as u64);
                    prop_assert_eq!(selection.iter().collect::<Vec<_>>(), expected.clone());
                    prop_assert!((0..9_000).all(|row| selection.contains(row) == expected.binary_search(&row).is_ok()));
                    let within: Vec<u32> = expected.iter().copied().filter(|row| range.contains(row)).collect();
                    prop_assert_eq!(selection.range(range.clone()).collect::<Vec<_>>(), within);
                }
            }
        }
    }
}
