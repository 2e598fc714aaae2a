//! BM25 with exact lengths. Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009); the inverse document
//! frequency has 1 added inside the logarithm, as Lucene has it, so that no word scores below zero.

use crate::source::TextStatistics;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Scores rows by the statistics of a whole view. A score depends on the row and on these alone (RK-1): terms are summed in the order of
/// [`ScoringTerms`](crate::ScoringTerms), in `f32`.
#[derive(Clone, Debug)]
pub(crate) struct Bm25 {
    /// Per term: its weight.
    weights: Vec<f32>,
    /// The part of the denominator that does not depend on the length.
    norm: f32,
    /// The part of it per token of length.
    norm_per_token: f32,
}

impl Bm25 {
    pub(crate) fn new(statistics: &TextStatistics) -> Self {
        let rows = statistics.rows as f64;
        let mean_length = if statistics.tokens == 0 { 1.0 } else { statistics.tokens as f64 / rows };
        let weights = statistics.row_frequencies.iter().map(|frequency| {
            let frequency = (*frequency as f64).min(rows);
            let inverse = (1.0 + (rows - frequency + 0.5) / (frequency + 0.5)).ln();
            (inverse * f64::from(K1 + 1.0)) as f32
        });
        Self { weights: weights.collect(), norm: K1 * (1.0 - B), norm_per_token: (f64::from(K1 * B) / mean_length) as f32 }
    }

    /// What no row's score passes: the sum of the weights.
    pub(crate) fn bound(&self) -> f32 {
        self.weights.iter().sum()
    }

    /// The score of a row that has each term so often, and so many tokens in all.
    pub(crate) fn score(&self, counts: &[u32], length: u32) -> f32 {
        debug_assert_eq!(counts.len(), self.weights.len(), "a count a term");
        let norm = self.norm + self.norm_per_token * length as f32;
        let mut score = 0.0;
        for (count, weight) in counts.iter().zip(&self.weights) {
            if *count > 0 {
                let count = *count as f32;
                score += weight * (count / (count + norm));
            }
        }
        score
    }
}
/// What no row's BM25 score passes, given the statistics of a whole view: words that occur nowhere count too.
#[must_use]
pub fn words_bound(statistics: &TextStatistics) -> f32 {
    Bm25::new(statistics).bound()
}
