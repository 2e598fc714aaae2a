//! Searching one level: the best few are kept, the best that was not expanded is expanded next.

use super::Layer;
use super::scratch::Scratch;
use crate::codes::Codes;
use crate::filter::Selection;
use crate::kernels::prefetch;
use crate::top::{Scored, Top};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rows that are on their way from memory while one is compared.
const AHEAD: usize = 4;

/// Goes to the best neighbour as long as there is a better one.
pub(super) fn greedy<K>(layer: &Layer, codes: &Codes, key: &K, start: u32) -> u32
where
    K: Fn(u32) -> f32,
{
    let (mut best, mut best_key) = (start, key(layer.row(start)));
    loop {
        let from = best;
        let links = layer.links(from);
        for (index, slot) in links.iter().enumerate() {
            if let Some(next) = links.get(index + 1) {
                prefetch(codes.row(layer.row(*next)));
            }
            let key = key(layer.row(*slot));
            if key < best_key {
                (best, best_key) = (*slot, key);
            }
        }
        if best == from {
            return best;
        }
    }
}

/// Calls `found` with each neighbour of `slot` that was not seen before, and its key.
#[inline]
fn expand<K, F>(layer: &Layer, codes: &Codes, key: &K, slot: u32, scratch: &mut Scratch, mut found: F)
where
    K: Fn(u32) -> f32,
    F: FnMut(&mut Scratch, u32, f32),
{
    let mut fresh = std::mem::take(&mut scratch.fresh);
    fresh.clear();
    fresh.extend(layer.links(slot).iter().copied().filter(|slot| scratch.see(*slot)));
    scratch.visited += fresh.len() as u64;
    for slot in fresh.iter().take(AHEAD) {
        prefetch(codes.row(layer.row(*slot)));
    }
    for (index, slot) in fresh.iter().enumerate() {
        if let Some(next) = fresh.get(index + AHEAD) {
            prefetch(codes.row(layer.row(*next)));
        }
        let key = key(layer.row(*slot));
        found(scratch, *slot, key);
    }
    scratch.fresh = fresh;
}

/// Leaves the `effort` best slots in the scratch's pool.
pub(super) fn all<K>(layer: &Layer, codes: &Codes, key: &K, start: u32, effort: usize, scratch: &mut Scratch)
where
    K: Fn(u32) -> f32,
{
    scratch.begin(layer.slots());
    scratch.see(start);
    scratch.visited += 1;
    scratch.keep(key(layer.row(start)), start, effort);
    // All before this place are expanded.
    let mut next = 0;
    while let Some(found) = scratch.pool.get_mut(next) {
        if found.is_expanded {
            next += 1;
            continue;
        }
        found.is_expanded = true;
        let slot = found.slot;
        next += 1;
        expand(layer, codes, key, slot, scratch, |scratch, slot, key| {
            if let Some(at) = scratch.keep(key, slot, effort) {
                next = next.min(at);
            }
        });
    }
}

/// The `effort` best rows of level 0 that are selected, best first. Rows that are not selected lead on, but are not kept: where few are selected,
/// the search goes far.
pub(super) fn filtered<K>(
    layer: &Layer,
    codes: &Codes,
    key: &K,
    start: u32,
    effort: usize,
    selection: &Selection,
    scratch: &mut Scratch,
) -> Vec<Scored>
where
    K: Fn(u32) -> f32,
{
    scratch.begin(layer.slots());
    scratch.see(start);
    scratch.visited += 1;
    let mut best = Top::new(effort);
    let first = Scored { key: key(start), row: start };
    if selection.contains(start) {
        best.offer(first);
    }
    let mut ahead = BinaryHeap::from([Reverse(first)]);
    while let Some(Reverse(nearest)) = ahead.pop() {
        if nearest.key > best.bound() {
            break;
        }
        expand(layer, codes, key, nearest.row, scratch, |_, row, key| {
            if key < best.bound() {
                ahead.push(Reverse(Scored { key, row }));
                if selection.contains(row) {
                    best.offer(Scored { key, row });
                }
            }
        });
    }
    best.into_sorted()
}
