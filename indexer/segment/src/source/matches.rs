//! The rows that match, as sources hand them out.

use siltstone_core::RowAddress;

/// Rows of one source that match, ascending by address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matches {
    addresses: Vec<RowAddress>,
}

impl Matches {
    pub(crate) fn new(addresses: Vec<RowAddress>) -> Self {
        debug_assert!(addresses.is_sorted_by(|left, right| left < right), "addresses ascend");
        Self { addresses }
    }

    /// How many rows.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.addresses.len() as u64
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Whether a row is among them.
    #[must_use]
    pub fn contains(&self, address: RowAddress) -> bool {
        self.addresses.binary_search(&address).is_ok()
    }

    /// The rows, ascending by address.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = RowAddress> + ExactSizeIterator + '_ {
        self.addresses.iter().copied()
    }
}
