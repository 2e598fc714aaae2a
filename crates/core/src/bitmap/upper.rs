//! The upper level: which chunk ordinals a set has rows in, 512 at a time.

/// Ordinals of one page: one AVX-512 register, one cache line.
pub(super) const PAGE_ORDINALS: u32 = 512;

const PAGE_WORDS: usize = PAGE_ORDINALS as usize / 64;

/// The ordinals `number * 512 .. (number + 1) * 512`, of which one at least is present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Page {
    pub(super) number: u32,
    /// How many ordinals the pages before this one have: where this page's first container lies.
    pub(super) rank: usize,
    pub(super) bits: [u64; PAGE_WORDS],
}

impl Page {
    /// How many ordinals are present.
    pub(super) fn len(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// Present ordinals in pages, ascending; absent pages cost nothing, so a damaged ordinal cannot make a large upper level.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Upper {
    pub(super) pages: Vec<Page>,
}

impl Upper {
    /// Adds an ordinal that is larger than all before it, whose container is number `rank`.
    pub(super) fn push(&mut self, ordinal: u32, rank: usize) {
        let number = ordinal / PAGE_ORDINALS;
        if self.pages.last().is_none_or(|page| page.number != number) {
            if self.pages.is_empty() {
                // Most sets have one page.
                self.pages.reserve_exact(1);
            }
            self.pages.push(Page { number, rank, bits: [0; PAGE_WORDS] });
        }
        let page = self.pages.last_mut().expect("pushed above");
        let bit = ordinal % PAGE_ORDINALS;
        page.bits[bit as usize / 64] |= 1 << (bit % 64);
    }

    /// Where `ordinal`'s container lies.
    pub(super) fn index(&self, ordinal: u32) -> Option<usize> {
        let number = ordinal / PAGE_ORDINALS;
        let page = &self.pages[self.pages.binary_search_by_key(&number, |page| page.number).ok()?];
        let bit = ordinal % PAGE_ORDINALS;
        let word = bit as usize / 64;
        let mask = 1_u64 << (bit % 64);
        if page.bits[word] & mask == 0 {
            return None;
        }
        let before: u32 = page.bits[..word].iter().map(|word| word.count_ones()).sum();
        Some(page.rank + before as usize + (page.bits[word] & (mask - 1)).count_ones() as usize)
    }

    /// The present ordinals, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.pages.iter().flat_map(|page| {
            (0_u32..).zip(page.bits).flat_map(move |(word, bits)| ones(bits).map(move |bit| page.number * PAGE_ORDINALS + word * 64 + bit))
        })
    }
}

/// The set bits of a word, ascending.
pub(super) fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros())?;
        bits &= bits - 1;
        Some(bit)
    })
}

/// Walks the ordinals of two pages of one number that `choose` keeps, ascending: the ordinal's bit within the page and, where
/// present, the index of each side's container.
#[inline]
pub(super) fn walk<C, F>(a: &Page, b: &Page, choose: C, mut take: F)
where
    C: Fn(u64, u64) -> u64,
    F: FnMut(u32, Option<usize>, Option<usize>),
{
    debug_assert_eq!(a.number, b.number);
    let (mut rank_a, mut rank_b) = (a.rank, b.rank);
    for word in 0..PAGE_WORDS {
        let (x, y) = (a.bits[word], b.bits[word]);
        for bit in ones(choose(x, y)) {
            let below = (1_u64 << bit) - 1;
            let at = |bits: u64, rank: usize| (bits >> bit & 1 == 1).then(|| rank + (bits & below).count_ones() as usize);
            take(word as u32 * 64 + bit, at(x, rank_a), at(y, rank_b));
        }
        rank_a += x.count_ones() as usize;
        rank_b += y.count_ones() as usize;
    }
}

/// Gathers the ordinals of one page while their containers are added.
pub(super) struct PageBuilder {
    number: u32,
    rank: usize,
    bits: [u64; PAGE_WORDS],
}

impl PageBuilder {
    /// A page whose first container will be number `rank`.
    pub(super) fn new(number: u32, rank: usize) -> Self {
        Self { number, rank, bits: [0; PAGE_WORDS] }
    }

    /// Enters the ordinal at `bit`, when `present`.
    #[inline]
    pub(super) fn enter(&mut self, bit: u32, present: bool) {
        self.bits[bit as usize / 64] |= u64::from(present) << (bit % 64);
    }

    /// Where the page's first container lies.
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// The page, if it has an ordinal.
    pub(super) fn finish(self) -> Option<Page> {
        let Self { number, rank, bits } = self;
        (bits != [0; PAGE_WORDS]).then_some(Page { number, rank, bits })
    }
}
