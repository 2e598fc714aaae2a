//! The greatest few of many.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Keeps the `limit` greatest things that it is given.
pub(crate) struct Top<T> {
    limit: usize,
    heap: BinaryHeap<Reverse<T>>,
}

impl<T> Top<T>
where
    T: Ord,
{
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::new() }
    }

    pub(crate) fn push(&mut self, item: T) {
        if self.heap.len() < self.limit {
            self.heap.push(Reverse(item));
        } else if let Some(mut least) = self.heap.peek_mut()
            && least.0 < item
        {
            least.0 = item;
        }
    }

    /// What a thing must be greater than to be kept; `None` as long as there is room.
    pub(crate) fn least(&self) -> Option<&T> {
        if self.heap.len() < self.limit { None } else { self.heap.peek().map(|least| &least.0) }
    }

    /// Greatest first.
    pub(crate) fn into_sorted(self) -> Vec<T> {
        self.heap.into_sorted_vec().into_iter().map(|item| item.0).collect()
    }
}
