//! Building: batch by batch, each at most a fraction of what is there.
//!
//! The rows of a batch look for their neighbours side by side in the graph as it was before the batch; then the links back to them are made,
//! list by list. No list has a lock, and the graph does not depend on the number of threads.

use super::prune::Pruner;
use super::scratch::Scratch;
use super::{Graph, LEVELS_MAX, Layer, beam, reach};
use crate::codes::Codes;
use crate::kernels;
use crate::space::Metric;
use crate::top::Scored;

/// How a graph is built.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BuildOptions {
    /// Neighbours of a row above level 0; level 0 has twice as many. From 4 to [`super::DEGREE_MAX`].
    pub degree: usize,
    /// Rows that a search for neighbours keeps.
    pub effort: usize,
    /// How far from each other neighbours are, as `Pruner::spread` has it.
    pub spread: f32,
    /// Threads.
    pub threads: usize,
}

impl Default for BuildOptions {
    /// The least that reaches a recall@10 of 0.98 on real lines with [`crate::plan::effort`]: logs come in clusters of hundreds of lines that are
    /// nearly alike, and with fewer candidates or neighbours a cluster's links all stay inside of it.
    fn default() -> Self {
        Self { degree: 32, effort: 400, spread: 1.4, threads: 1 }
    }
}

/// A batch is at most this part of the rows that are there already: rows of one batch do not see each other.
const BATCH_PART: usize = 32;

/// The largest batch: bounds what is in memory beside the graph.
const BATCH_MAX: usize = 8_192;

/// What a hash of a row's number begins with.
const SEED: u64 = 0x5115_7057_0E00_0001;

/// SplitMix64's output function.
fn hash(row: u32) -> u64 {
    let mut z = SEED.wrapping_add(u64::from(row).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// A row's highest level: each level has one of `degree` rows of the one below.
fn level(row: u32, degree: usize) -> usize {
    let uniform = ((hash(row) >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
    ((-uniform.ln() / (degree as f64).ln()) as usize).min(LEVELS_MAX - 1)
}

/// The links that one new row gets at one level.
struct NewLinks {
    level: usize,
    slot: u32,
    links: Vec<u32>,
}

/// Builds the graph of all rows of `codes`, of which there must be one at least.
pub(crate) fn build(codes: &Codes, metric: Metric, options: &BuildOptions) -> Graph {
    let rows = codes.len() as u32;
    let degree = options.degree.clamp(4, super::DEGREE_MAX);
    let mut order: Vec<(Reversed, u64, u32)> = (0..rows).map(|row| (Reversed(level(row, degree)), hash(row), row)).collect();
    order.sort_unstable();
    let top = order.first().map_or(0, |first| first.0.0);
    let layers = (0..=top)
        .map(|level| {
            if level == 0 {
                return Layer::new(2 * degree, Vec::new(), rows as usize);
            }
            let mut members: Vec<u32> = order.iter().take_while(|(own, ..)| own.0 >= level).map(|(.., row)| *row).collect();
            members.sort_unstable();
            let slots = members.len();
            Layer::new(degree, members, slots)
        })
        .collect();
    let entry = order.first().map_or(0, |(.., row)| *row);
    let pruner = Pruner { codes, kernels: kernels::active(), metric, spread: options.spread };
    let mut builder = Builder { graph: Graph { layers, entry }, pruner, effort: options.effort.max(degree), threads: options.threads.max(1) };
    let mut scratches = vec![Scratch::default(); builder.threads];
    let mut done = 1;
    while done < order.len() {
        let batch = (done / BATCH_PART).clamp(1, BATCH_MAX).min(order.len() - done);
        builder.insert(&order[done..done + batch], &mut scratches);
        done += batch;
    }
    let mut graph = builder.graph;
    reach::connect(&mut graph, codes, kernels::active(), metric);
    // Stored lists ascend.
    for layer in &mut graph.layers {
        for slot in 0..layer.slots() as u32 {
            let mut links = layer.links(slot).to_vec();
            links.sort_unstable();
            layer.set_links(slot, &links);
        }
    }
    graph
}

/// Orders the highest first.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Reversed(usize);

impl Ord for Reversed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.cmp(&self.0)
    }
}

impl PartialOrd for Reversed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

struct Builder<'a> {
    graph: Graph,
    pruner: Pruner<'a>,
    effort: usize,
    threads: usize,
}

impl Builder<'_> {
    fn insert(&mut self, batch: &[(Reversed, u64, u32)], scratches: &mut [Scratch]) {
        let this = &*self;
        let forward: Vec<NewLinks> = in_parallel(batch, scratches, |(level, _, row), scratch, made| this.find(*row, level.0, scratch, made));
        // Links back: (level, whose list, who is new there).
        let mut back: Vec<(usize, u32, u32)> = forward.iter().flat_map(|new| new.links.iter().map(|link| (new.level, *link, new.slot))).collect();
        back.sort_unstable();
        for new in &forward {
            self.graph.layers[new.level].set_links(new.slot, &new.links);
        }
        let groups: Vec<&[(usize, u32, u32)]> = back.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).collect();
        let this = &*self;
        let changed = in_parallel(&groups, scratches, |group, _, made| made.extend(this.link_back(group)));
        for new in changed {
            self.graph.layers[new.level].set_links(new.slot, &new.links);
        }
    }

    /// The neighbours of a new row at each of its levels.
    fn find(&self, row: u32, highest: usize, scratch: &mut Scratch, made: &mut Vec<NewLinks>) {
        let (codes, kernels, metric) = (self.pruner.codes, self.pruner.kernels, self.pruner.metric);
        let key = |other: u32| codes.between(kernels, metric, row, other);
        let mut start = self.graph.layers[highest].row(self.graph.descend(codes, &key, highest));
        for (level, layer) in self.graph.layers[..=highest].iter().enumerate().rev() {
            let (Some(slot), Some(from)) = (layer.slot(row), layer.slot(start)) else { continue };
            beam::all(layer, codes, &key, from, self.effort, scratch);
            let candidates: Vec<Scored> = scratch.pool.iter().map(|found| Scored { key: found.key, row: layer.row(found.slot) }).collect();
            start = candidates.first().map_or(start, |best| best.row);
            // Half of the lowest level's room is left for links back.
            let room = if level == 0 { layer.degree / 2 } else { layer.degree };
            let links = self.pruner.choose(&candidates, room);
            made.push(NewLinks { level, slot, links: links.into_iter().filter_map(|row| layer.slot(row)).collect() });
        }
    }

    /// The new list of a row that new ones link to.
    fn link_back(&self, group: &[(usize, u32, u32)]) -> Option<NewLinks> {
        let (level, slot, _) = *group.first()?;
        let layer = &self.graph.layers[level];
        let old = layer.links(slot);
        let mut links: Vec<u32> = old.iter().copied().chain(group.iter().map(|(.., new)| *new).filter(|new| !old.contains(new))).collect();
        if links.len() > layer.degree {
            let row = layer.row(slot);
            let (codes, kernels, metric) = (self.pruner.codes, self.pruner.kernels, self.pruner.metric);
            let mut candidates: Vec<Scored> = links
                .iter()
                .map(|link| layer.row(*link))
                .map(|other| Scored { key: codes.between(kernels, metric, row, other), row: other })
                .collect();
            candidates.sort_unstable();
            links = self.pruner.choose(&candidates, layer.degree).into_iter().filter_map(|row| layer.slot(row)).collect();
        }
        Some(NewLinks { level, slot, links })
    }
}

/// Applies `step` to all items, on as many threads as there are scratches; results in the order of items.
fn in_parallel<T, R, F>(items: &[T], scratches: &mut [Scratch], step: F) -> Vec<R>
where
    T: Sync,
    R: Send,
    F: Fn(&T, &mut Scratch, &mut Vec<R>) + Sync,
{
    /// Below this a thread costs more than it does.
    const ITEMS_MIN: usize = 16;
    let run = |items: &[T], scratch: &mut Scratch| {
        let mut made = Vec::new();
        for item in items {
            step(item, scratch, &mut made);
        }
        made
    };
    let threads = scratches.len().min(items.len() / ITEMS_MIN).max(1);
    if threads == 1 {
        return run(items, &mut scratches[0]);
    }
    std::thread::scope(|scope| {
        let run = &run;
        let parts = items.chunks(items.len().div_ceil(threads)).zip(scratches.iter_mut());
        let running: Vec<_> = parts.map(|(items, scratch)| scope.spawn(move || run(items, scratch))).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}
