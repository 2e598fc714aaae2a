//! A hierarchical navigable small-world graph (Malkov and Yashunin, arXiv 1603.09320) over the codes of a set of vectors.
//!
//! Lists of neighbours have a fixed room and end at the first [`NONE`]. Level 0 has all rows; a *slot* numbers the rows of a level above, ascending.
//! A row's highest level and the order of insertion follow from a hash of its number, so equal vectors give an equal graph, however many threads
//! build it.
//!
//! Not done here: full vectors (what a search finds is scored anew from them), stored bytes, deletes: an index is written once.

mod beam;
mod build;
mod prune;
mod reach;
mod scratch;

pub use build::BuildOptions;
pub(crate) use build::build;
pub(crate) use scratch::Scratch;

use crate::codes::{CodedQuery, Codes};
use crate::filter::Selection;
use crate::kernels::Kernels;
use crate::top::Scored;

/// No neighbour: ends a list.
pub(crate) const NONE: u32 = u32::MAX;

/// The largest degree of the levels above 0; level 0 has twice as many.
pub const DEGREE_MAX: usize = 256;

/// Levels at most: with a degree of 2, level 31 has a row in 2^31.
pub(crate) const LEVELS_MAX: usize = 32;

/// The largest effort for which what is found is kept as a list.
const LIST_EFFORT_MAX: usize = 1_024;

/// One level's lists.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Layer {
    /// Room of a list.
    pub(crate) degree: usize,
    /// The row of each slot; empty for level 0, where slots are rows.
    pub(crate) rows: Vec<u32>,
    /// The lists of all slots, behind one another; neighbours are slots.
    pub(crate) links: Vec<u32>,
}

impl Layer {
    pub(crate) fn new(degree: usize, rows: Vec<u32>, slots: usize) -> Self {
        Self { degree, rows, links: vec![NONE; degree * slots] }
    }

    /// The neighbours of a slot.
    #[inline]
    pub(crate) fn links(&self, slot: u32) -> &[u32] {
        let list = &self.links[slot as usize * self.degree..][..self.degree];
        let length = list.iter().position(|link| *link == NONE).unwrap_or(self.degree);
        &list[..length]
    }

    pub(crate) fn set_links(&mut self, slot: u32, links: &[u32]) {
        let list = &mut self.links[slot as usize * self.degree..][..self.degree];
        list.fill(NONE);
        list[..links.len()].copy_from_slice(links);
    }

    #[inline]
    pub(crate) fn row(&self, slot: u32) -> u32 {
        if self.rows.is_empty() { slot } else { self.rows[slot as usize] }
    }

    /// The slot of a row that the level has.
    pub(crate) fn slot(&self, row: u32) -> Option<u32> {
        if self.rows.is_empty() { Some(row) } else { self.rows.binary_search(&row).ok().map(|slot| slot as u32) }
    }

    pub(crate) fn slots(&self) -> usize {
        self.links.len() / self.degree
    }
}

/// The graph: its levels, the lowest first, and where every search begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Graph {
    pub(crate) layers: Vec<Layer>,
    /// A row of the highest level.
    pub(crate) entry: u32,
}

impl Graph {
    /// The `effort` best rows that a search finds, best first; of those that `selection` has, where it is given.
    pub(crate) fn search(
        &self,
        codes: &Codes,
        kernels: &Kernels,
        query: &CodedQuery,
        effort: usize,
        selection: Option<&Selection>,
        scratch: &mut Scratch,
    ) -> Vec<Scored> {
        let key = |row: u32| codes.estimate(kernels, query, row);
        let start = self.descend(codes, &key, 0);
        match selection {
            // A list that is kept in order is quicker than two heaps only while it is short.
            None if effort > LIST_EFFORT_MAX => {
                let all = Selection::All { rows: self.layers[0].slots() as u32 };
                beam::filtered(&self.layers[0], codes, &key, start, effort, &all, scratch)
            }
            None => {
                beam::all(&self.layers[0], codes, &key, start, effort, scratch);
                scratch.pool.iter().map(|found| found.scored()).collect()
            }
            Some(selection) => beam::filtered(&self.layers[0], codes, &key, start, effort, selection, scratch),
        }
    }

    /// Walks greedily from the entry down to `level`; the slot there.
    fn descend<K>(&self, codes: &Codes, key: &K, level: usize) -> u32
    where
        K: Fn(u32) -> f32,
    {
        let mut row = self.entry;
        for layer in self.layers[(level + 1).min(self.layers.len())..].iter().rev() {
            // The entry is in every level, and what a walk ends at is in all levels below.
            let Some(slot) = layer.slot(row) else { continue };
            row = layer.row(beam::greedy(layer, codes, key, slot));
        }
        self.layers.get(level).and_then(|layer| layer.slot(row)).unwrap_or_default()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.layers.iter().map(|layer| (layer.rows.capacity() + layer.links.capacity()) * size_of::<u32>()).sum()
    }
}
