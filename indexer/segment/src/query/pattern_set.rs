//! A set of a segment's patterns.

/// Patterns by number. Few are a sorted list, many are bits.
#[derive(Clone, Debug)]
pub(crate) struct PatternSet {
    /// How many patterns the segment has.
    universe: usize,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    List(Vec<u32>),
    Bits(Vec<u64>),
}

/// A list takes 32 bits an element, bits take one a pattern: below this share a list is smaller, and quicker to walk.
const LIST_SHARE: usize = 32;

impl PatternSet {
    pub(crate) const fn empty(universe: usize) -> Self {
        Self { universe, form: Form::List(Vec::new()) }
    }

    pub(crate) fn full(universe: usize) -> Self {
        let mut bits = vec![u64::MAX; universe.div_ceil(64)];
        if let (Some(last), rest @ 1..) = (bits.last_mut(), universe % 64) {
            *last = (1 << rest) - 1;
        }
        Self { universe, form: Form::Bits(bits) }
    }

    /// From ascending, distinct numbers below `universe`.
    pub(crate) fn from_sorted(patterns: Vec<u32>, universe: usize) -> Self {
        if patterns.len() * LIST_SHARE <= universe {
            return Self { universe, form: Form::List(patterns) };
        }
        let mut bits = vec![0; universe.div_ceil(64)];
        for pattern in patterns {
            bits[pattern as usize / 64] |= 1 << (pattern % 64);
        }
        Self { universe, form: Form::Bits(bits) }
    }

    fn from_bits(bits: Vec<u64>, universe: usize) -> Self {
        let count: usize = bits.iter().map(|word| word.count_ones() as usize).sum();
        let set = Self { universe, form: Form::Bits(bits) };
        if count * LIST_SHARE <= universe { Self { universe, form: Form::List(set.iter().collect()) } } else { set }
    }

    /// How many patterns the segment has.
    pub(crate) const fn universe(&self) -> usize {
        self.universe
    }

    pub(crate) fn is_empty(&self) -> bool {
        // Bits are never empty: they are turned into a list first.
        match &self.form {
            Form::List(list) => list.is_empty(),
            Form::Bits(bits) => bits.iter().all(|word| *word == 0),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.form {
            Form::List(list) => list.len(),
            Form::Bits(bits) => bits.iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    #[inline]
    pub(crate) fn contains(&self, pattern: u32) -> bool {
        match &self.form {
            Form::List(list) => list.binary_search(&pattern).is_ok(),
            Form::Bits(bits) => bits.get(pattern as usize / 64).is_some_and(|word| word >> (pattern % 64) & 1 == 1),
        }
    }

    /// The list, where the set is small.
    pub(crate) fn as_list(&self) -> Option<&[u32]> {
        match &self.form {
            Form::List(list) => Some(list),
            Form::Bits(_) => None,
        }
    }

    /// Ascending.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match &self.form {
            Form::List(list) => Box::new(list.iter().copied()),
            Form::Bits(bits) => Box::new((0_u32..).zip(bits).flat_map(|(index, word)| {
                let mut word = *word;
                std::iter::from_fn(move || {
                    let bit = word.trailing_zeros();
                    (word != 0).then(|| {
                        word &= word - 1;
                        index * 64 + bit
                    })
                })
            })),
        }
    }

    fn bits(&self) -> Vec<u64> {
        match &self.form {
            Form::Bits(bits) => bits.clone(),
            Form::List(list) => {
                let mut bits = vec![0; self.universe.div_ceil(64)];
                list.iter().for_each(|pattern| bits[*pattern as usize / 64] |= 1 << (pattern % 64));
                bits
            }
        }
    }

    fn filtered<F>(&self, list: &[u32], keep: F) -> Self
    where
        F: Fn(u32) -> bool,
    {
        Self { universe: self.universe, form: Form::List(list.iter().copied().filter(|pattern| keep(*pattern)).collect()) }
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        match (&self.form, &other.form) {
            (Form::List(list), Form::List(more)) if list.len() > more.len() => self.filtered(more, |pattern| self.contains(pattern)),
            (Form::List(list), _) => self.filtered(list, |pattern| other.contains(pattern)),
            (_, Form::List(list)) => self.filtered(list, |pattern| self.contains(pattern)),
            (Form::Bits(left), Form::Bits(right)) => {
                Self::from_bits(left.iter().zip(right).map(|(left, right)| left & right).collect(), self.universe)
            }
        }
    }

    pub(crate) fn or(&self, other: &Self) -> Self {
        if self.is_empty() {
            return other.clone();
        }
        if other.is_empty() {
            return self.clone();
        }
        let mut bits = self.bits();
        match &other.form {
            Form::List(list) => list.iter().for_each(|pattern| bits[*pattern as usize / 64] |= 1 << (pattern % 64)),
            Form::Bits(more) => bits.iter_mut().zip(more).for_each(|(word, more)| *word |= more),
        }
        Self::from_bits(bits, self.universe)
    }

    pub(crate) fn and_not(&self, other: &Self) -> Self {
        match (&self.form, &other.form) {
            (_, Form::List(list)) if list.is_empty() => self.clone(),
            (Form::List(list), _) => self.filtered(list, |pattern| !other.contains(pattern)),
            (Form::Bits(bits), _) => {
                let mut bits = bits.clone();
                match &other.form {
                    Form::List(list) => list.iter().for_each(|pattern| bits[*pattern as usize / 64] &= !(1 << (pattern % 64))),
                    Form::Bits(more) => bits.iter_mut().zip(more).for_each(|(word, more)| *word &= !more),
                }
                Self::from_bits(bits, self.universe)
            }
        }
    }

    /// How many rows the patterns have together.
    pub(crate) fn count_rows(&self, pattern_rows: &[u32]) -> u64 {
        match &self.form {
            Form::List(list) => list.iter().map(|pattern| u64::from(pattern_rows[*pattern as usize])).sum(),
            Form::Bits(bits) => {
                let mut count = 0;
                for (word, rows) in bits.iter().zip(pattern_rows.chunks(64)) {
                    let mut word = *word;
                    while word != 0 {
                        count += u64::from(rows[word.trailing_zeros() as usize]);
                        word &= word - 1;
                    }
                }
                count
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn operations_agree_with_a_set_of_numbers(
            universe in 1_usize..300,
            left in proptest::collection::btree_set(0_u32..300, 0..60),
            right in proptest::collection::btree_set(0_u32..300, 0..200),
        ) {
            let of = |set: &BTreeSet<u32>| set.iter().copied().filter(|pattern| (*pattern as usize) < universe).collect::<BTreeSet<u32>>();
            let (left, right) = (of(&left), of(&right));
            let (a, b) = (
                PatternSet::from_sorted(left.iter().copied().collect(), universe),
                PatternSet::from_sorted(right.iter().copied().collect(), universe),
            );
            let rows: Vec<u32> = (0..universe as u32).collect();
            for (set, wanted) in [
                (a.and(&b), &left & &right),
                (a.or(&b), &left | &right),
                (a.and_not(&b), &left - &right),
                (b.and_not(&a), &right - &left),
                (PatternSet::full(universe).and_not(&a), &(0..universe as u32).collect::<BTreeSet<_>>() - &left),
            ] {
                prop_assert_eq!(set.len(), wanted.len());
                prop_assert_eq!(set.is_empty(), wanted.is_empty());
                prop_assert_eq!(set.count_rows(&rows), wanted.iter().map(|pattern| u64::from(*pattern)).sum::<u64>());
                prop_assert!((0..universe as u32).all(|pattern| set.contains(pattern) == wanted.contains(&pattern)));
                prop_assert_eq!(set.iter().collect::<Vec<_>>(), wanted.into_iter().collect::<Vec<_>>());
            }
        }
    }
}
