//! Which of a row's candidates become its neighbours: near ones, but none that another neighbour is nearer to.

use crate::codes::Codes;
use crate::kernels::Kernels;
use crate::space::Metric;
use crate::top::Scored;

/// Chooses neighbours.
#[derive(Clone, Copy)]
pub(super) struct Pruner<'a> {
    pub(super) codes: &'a Codes,
    pub(super) kernels: &'static Kernels,
    pub(super) metric: Metric,
    /// A neighbour shadows a candidate whose distance to it, times this, is below the candidate's own: above 1 keeps more long links.
    pub(super) spread: f32,
}

impl Pruner<'_> {
    /// A key as something that can be scaled: not negative but for inner products, which have no least.
    #[inline]
    fn scalable(&self, key: f32) -> f32 {
        if self.metric == Metric::Cosine { 1.0 + key } else { key }
    }

    /// At most `degree` of `candidates`, which are ordered best first, as rows. Rows left out for being shadowed fill up what room is left, nearest
    /// first, up to half of it: among rows that are all alike every one shadows the others, and they would lose sight of each other.
    pub(super) fn choose(&self, candidates: &[Scored], degree: usize) -> Vec<u32> {
        let mut chosen: Vec<u32> = Vec::with_capacity(degree);
        let mut shadowed: Vec<u32> = Vec::new();
        let spread = if self.metric == Metric::InnerProduct { 1.0 } else { self.spread };
        for candidate in candidates {
            if chosen.len() == degree {
                break;
            }
            let own = self.scalable(candidate.key);
            let is_shadowed =
                chosen.iter().any(|other| self.scalable(self.codes.between(self.kernels, self.metric, candidate.row, *other)) * spread < own);
            if is_shadowed { shadowed.push(candidate.row) } else { chosen.push(candidate.row) }
        }
        let room = (degree / 2).saturating_sub(chosen.len());
        chosen.extend(shadowed.into_iter().take(room));
        chosen
    }
}
