//! AND, OR, AND NOT and their counts over two sets: the upper levels first, then only the containers that both sides have.

use super::RowSet;
use super::kernels::{self, Kernels};
use super::lowers::Lowers;
use super::pair;
use super::upper::{Page, PageBuilder, walk};
use std::cmp::Ordering;

/// A page of either set, or both pages of one number.
enum Step<'a> {
    Left(&'a Page),
    Right(&'a Page),
    Both(&'a Page, &'a Page),
}

/// Pages of two sets side by side, ascending.
fn steps<'a>(a: &'a [Page], b: &'a [Page]) -> impl Iterator<Item = Step<'a>> {
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        let order = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) => x.number.cmp(&y.number),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
        Some(match order {
            Ordering::Less => Step::Left(&a[i - 1]),
            Ordering::Greater => Step::Right(&b[j - 1]),
            Ordering::Equal => Step::Both(&a[i - 1], &b[j - 1]),
        })
    })
}

impl RowSet {
    /// The rows in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.and_with(kernels::active(), other)
    }

    pub(super) fn and_with(&self, kernels: &Kernels, other: &Self) -> Self {
        let mut out = Self::with_room(self.chunk_count().min(other.chunk_count()), self.lowers.listed().min(other.lowers.listed()));
        for step in steps(&self.upper.pages, &other.upper.pages) {
            let Step::Both(a, b) = step else { continue };
            out.add_page(a.number, |lowers, page| {
                let choose = |x, y| x & y;
                walk(a, b, choose, |bit, a, b| {
                    let (Some(a), Some(b)) = (a, b) else { return };
                    page.enter(bit, pair::and(kernels, self.lowers.get(a), other.lowers.get(b), lowers));
                });
            });
        }
        out
    }

    /// The rows in either set.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.or_with(kernels::active(), other)
    }

    pub(super) fn or_with(&self, kernels: &Kernels, other: &Self) -> Self {
        let mut out = Self::with_room(self.chunk_count() + other.chunk_count(), self.lowers.listed() + other.lowers.listed());
        for step in steps(&self.upper.pages, &other.upper.pages) {
            match step {
                Step::Left(page) => out.copy_page(self, page),
                Step::Right(page) => out.copy_page(other, page),
                Step::Both(a, b) => out.add_page(a.number, |lowers, page| {
                    let choose = |x, y| x | y;
                    walk(a, b, choose, |bit, a, b| {
                        match (a, b) {
                            (Some(a), Some(b)) => pair::or(kernels, self.lowers.get(a), other.lowers.get(b), lowers),
                            (Some(a), None) => lowers.push(self.lowers.get(a)),
                            (None, Some(b)) => lowers.push(other.lowers.get(b)),
                            (None, None) => return,
                        }
                        page.enter(bit, true);
                    });
                }),
            }
        }
        out
    }

    /// The rows of this set that are not in `other`.
    #[must_use]
    pub fn and_not(&self, other: &Self) -> Self {
        self.and_not_with(kernels::active(), other)
    }

    pub(super) fn and_not_with(&self, kernels: &Kernels, other: &Self) -> Self {
        let mut out = Self::with_room(self.chunk_count(), self.lowers.listed());
        for step in steps(&self.upper.pages, &other.upper.pages) {
            match step {
                Step::Left(page) => out.copy_page(self, page),
                Step::Right(_) => {}
                Step::Both(a, b) => out.add_page(a.number, |lowers, page| {
                    let choose = |x, _| x;
                    walk(a, b, choose, |bit, a, b| {
                        let Some(a) = a else { return };
                        let a = self.lowers.get(a);
                        let added = match b {
                            Some(b) => pair::and_not(kernels, a, other.lowers.get(b), lowers),
                            None => {
                                lowers.push(a);
                                true
                            }
                        };
                        page.enter(bit, added);
                    });
                }),
            }
        }
        out
    }

    /// An empty set with room for `chunks` chunks and `offsets` offsets in lists.
    fn with_room(chunks: usize, offsets: usize) -> Self {
        let mut set = Self::default();
        set.lowers.reserve(chunks, offsets);
        set
    }

    /// Lets `fill` add one page's containers and enter their ordinals. Pages must be added in ascending order.
    fn add_page<F>(&mut self, number: u32, fill: F)
    where
        F: FnOnce(&mut Lowers, &mut PageBuilder),
    {
        let mut page = PageBuilder::new(number, self.lowers.heads.len());
        fill(&mut self.lowers, &mut page);
        self.count += self.lowers.count_from(page.rank());
        self.upper.pages.extend(page.finish());
    }

    /// The rows of `universe` that are not in this set.
    #[must_use]
    pub fn not_within(&self, universe: &Self) -> Self {
        universe.and_not(self)
    }

    fn copy_page(&mut self, source: &Self, page: &Page) {
        let rank = self.lowers.heads.len();
        (page.rank..page.rank + page.len()).for_each(|index| self.lowers.push(source.lowers.get(index)));
        self.count += self.lowers.count_from(rank);
        self.upper.pages.push(Page { rank, ..*page });
    }

    /// How many rows are in both sets, without making the set. Chunks that only one side has are never opened.
    #[must_use]
    pub fn and_count(&self, other: &Self) -> u64 {
        self.and_count_with(kernels::active(), other)
    }

    pub(super) fn and_count_with(&self, kernels: &Kernels, other: &Self) -> u64 {
        let mut count = 0;
        for step in steps(&self.upper.pages, &other.upper.pages) {
            let Step::Both(a, b) = step else { continue };
            walk(
                a,
                b,
                |x, y| x & y,
                |_, a, b| {
                    let (Some(a), Some(b)) = (a, b) else { return };
                    count += u64::from(pair::and_count(kernels, self.lowers.get(a), other.lowers.get(b)));
                },
            );
        }
        count
    }

    /// How many rows are in either set. Where the upper levels do not overlap this is a sum, and no container is opened.
    #[must_use]
    pub fn or_count(&self, other: &Self) -> u64 {
        self.count + other.count - self.and_count(other)
    }

    /// How many rows of this set are not in `other`. Opens only the chunks that both have.
    #[must_use]
    pub fn and_not_count(&self, other: &Self) -> u64 {
        self.count - self.and_count(other)
    }
}
