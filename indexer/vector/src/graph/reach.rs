//! Makes every row reachable: pruning can leave a row that no list names, and no search would ever find it.

use super::scratch::Scratch;
use super::{Graph, beam};
use crate::codes::Codes;
use crate::kernels::Kernels;
use crate::space::Metric;

/// Rows near a lost one that are looked at for room.
const NEAR: usize = 64;

/// Gives each row of level 0 that cannot be reached from the entry a link from a near row that can.
pub(super) fn connect(graph: &mut Graph, codes: &Codes, kernels: &Kernels, metric: Metric) {
    let rows = graph.layers[0].slots() as u32;
    let mut reached = vec![false; rows as usize];
    let mut open = vec![graph.entry];
    reached[graph.entry as usize] = true;
    spread(graph, &mut reached, &mut open);
    let mut scratch = Scratch::default();
    for row in 0..rows {
        if reached[row as usize] {
            continue;
        }
        let key = |other: u32| codes.between(kernels, metric, row, other);
        let start = graph.descend(codes, &key, 0);
        // The upper levels may lead to a row that is lost, too.
        let start = if reached[start as usize] { start } else { graph.entry };
        beam::all(&graph.layers[0], codes, &key, start, NEAR, &mut scratch);
        let layer = &graph.layers[0];
        let with_room = scratch.pool.iter().map(|found| found.slot).find(|slot| reached[*slot as usize] && layer.links(*slot).len() < layer.degree);
        // Where all near rows are full, any row with room will do: that it is found at all matters more than how soon.
        let from = with_room.or_else(|| (0..rows).find(|slot| reached[*slot as usize] && layer.links(*slot).len() < layer.degree));
        let Some(from) = from else { return };
        let mut links = layer.links(from).to_vec();
        links.push(row);
        graph.layers[0].set_links(from, &links);
        reached[row as usize] = true;
        open.push(row);
        spread(graph, &mut reached, &mut open);
    }
}

/// Marks what can be reached from the open rows.
fn spread(graph: &Graph, reached: &mut [bool], open: &mut Vec<u32>) {
    while let Some(row) = open.pop() {
        for link in graph.layers[0].links(row) {
            if !std::mem::replace(&mut reached[*link as usize], true) {
                open.push(*link);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::graph::{BuildOptions, build};
    use crate::{VectorSpace, Vectors, kernels};
    use siltstone_core::NamespaceId;

    /// Groups of equal vectors, in which every row shadows the others.
    fn groups() -> Vectors {
        let mut set = Vectors::new(VectorSpace::new(NamespaceId(1), "m", 16, Metric::Cosine).unwrap());
        for row in 0..3_000_u32 {
            let group = row % 7;
            let vector: Vec<f32> = (0..16_u32).map(|element| ((element * 31 + group * 17) % 13) as f32 - 5.5).collect();
            set.push(&vector).unwrap();
        }
        set
    }

    #[test]
    fn every_row_of_a_built_graph_can_be_reached() {
        let set = groups();
        for degree in [4, 16] {
            let graph = build(set.codes(), Metric::Cosine, &BuildOptions { degree, effort: 40, ..BuildOptions::default() });
            let mut reached = vec![false; set.len()];
            reached[graph.entry as usize] = true;
            spread(&graph, &mut reached, &mut vec![graph.entry]);
            assert_eq!(reached.iter().filter(|reached| !**reached).count(), 0);
        }
    }

    #[test]
    fn a_row_that_no_list_names_is_linked() {
        let set = groups();
        let mut graph = build(set.codes(), Metric::Cosine, &BuildOptions { degree: 8, effort: 40, ..BuildOptions::default() });
        let lost = (graph.entry + 1) % 3_000;
        for slot in 0..3_000 {
            let kept: Vec<u32> = graph.layers[0].links(slot).iter().copied().filter(|link| *link != lost).collect();
            graph.layers[0].set_links(slot, &kept);
        }
        connect(&mut graph, set.codes(), kernels::active(), Metric::Cosine);
        assert!((0..3_000).any(|slot| graph.layers[0].links(slot).contains(&lost)));
    }

    #[test]
    fn the_number_of_threads_does_not_show_in_the_graph() {
        let set = groups();
        let of = |threads| build(set.codes(), Metric::Cosine, &BuildOptions { degree: 8, effort: 40, threads, ..BuildOptions::default() });
        assert_eq!(of(1), of(3));
    }
}
