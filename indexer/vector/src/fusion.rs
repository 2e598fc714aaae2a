//! Hybrid ranking: one score of what a candidate's words and its vector say.
//!
//! ```text
//! score = (similarity + weight · words / bound) / (1 + weight)
//! ```
//!
//! `words` is the candidate's BM25 score, and `bound` what BM25 could give at most for this query: the sum of its words' weights, those that occur
//! nowhere included. So `words / bound` is the part of what was asked, by rarity, that the candidate has word for word: from 0 to 1, and small for
//! everything where the rare words of a question do not occur. A score needs the candidate and the query's statistics alone, never the other
//! candidates: it does not depend on how many there are, on merges or on placement (RK-1). How the form and the weight were chosen:
//! `docs/decisions/search-by-meaning-fusion.md`.
//!
//! Not here: where the candidates come from (the best of the vectors and the best of the words, joined), BM25, and similarities.

/// How much words weigh beside a cosine of 1: chosen for the transformer and the built-in model together.
pub const WORDS_WEIGHT: f32 = 0.5;

/// A query's side of the ranking.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fusion {
    weight: f32,
    /// `weight / bound`, or 0 where the query has no word that counts.
    words_scale: f32,
}

impl Fusion {
    /// For a query whose BM25 score cannot pass `words_bound`, the sum of its distinct words' weights (inverse document frequency times k1 + 1; a word
    /// that occurs nowhere has the greatest).
    #[must_use]
    pub fn new(words_bound: f32) -> Self {
        Self::with_weight(words_bound, WORDS_WEIGHT)
    }

    /// As [`Fusion::new`], with another weight than [`WORDS_WEIGHT`]. A weight or bound that is not a positive number makes vectors rank alone.
    #[must_use]
    pub fn with_weight(words_bound: f32, weight: f32) -> Self {
        let sound = |number: f32| number.is_finite() && number > 0.0;
        if sound(words_bound) && sound(weight) { Self { weight, words_scale: weight / words_bound } } else { Self { weight: 0.0, words_scale: 0.0 } }
    }

    /// A candidate's score: `words` is its BM25 score, 0 where it has none of the query's words; `similarity` its cosine to the query, 0 where it has no
    /// vector yet. At most 1. A `NaN` counts as 0.
    #[must_use]
    pub fn score(&self, similarity: f32, words: f32) -> f32 {
        let similarity = if similarity.is_nan() { 0.0 } else { similarity };
        (similarity + self.words_part(words)) / (1.0 + self.weight)
    }

    /// What the words of a candidate add to its similarity before both are scaled: from 0 to the weight.
    #[must_use]
    pub fn words_part(&self, words: f32) -> f32 {
        // `min` and `max` drop a NaN.
        (self.words_scale * words.max(0.0)).min(self.weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_overrule_a_near_vector_of_the_opposite_meaning() {
        // "connection refused to database": the transformer puts "Successfully connected to database" before the refusal.
        let fusion = Fusion::new(12.0);
        let (connected, refused) = (fusion.score(0.72, 2.0), fusion.score(0.66, 9.0));
        assert!(refused > connected, "{refused} against {connected}");
    }

    #[test]
    fn without_words_the_order_is_that_of_the_vectors() {
        for fusion in [Fusion::new(0.0), Fusion::new(f32::NAN), Fusion::with_weight(3.0, 0.0), Fusion::with_weight(3.0, f32::INFINITY)] {
            assert_eq!(fusion.score(0.4, 7.0), 0.4);
        }
        let fusion = Fusion::new(3.0);
        assert!(fusion.score(0.4, 0.0) < fusion.score(0.5, 0.0));
    }

    #[test]
    fn a_score_is_finite_and_bounded_whatever_goes_in() {
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 0.0, 0.3, 1.0, 1e30];
        for bound in odd {
            for words in odd {
                for similarity in [-1.0, 0.0, 1.0, f32::NAN] {
                    let score = Fusion::new(bound).score(similarity, words);
                    assert!((-1.0..=1.0).contains(&score), "{score} of {bound} {words} {similarity}");
                }
            }
        }
    }

    #[test]
    fn every_word_asked_for_counts_up_to_the_bound() {
        let fusion = Fusion::with_weight(10.0, 0.5);
        assert_eq!(fusion.words_part(5.0), 0.25);
        assert_eq!(fusion.words_part(99.0), 0.5);
        assert_eq!(fusion.score(1.0, 10.0), 1.0);
    }
}
