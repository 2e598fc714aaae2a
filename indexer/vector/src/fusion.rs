//! Hybrid ranking: one score of what a candidate's words, its vector and its outcome say.
//!
//! ```text
//! score = (similarity + weight · words / bound) / (1 + weight) − penalty, if the outcomes are opposed
//! ```
//!
//! `words` is the candidate's BM25 score, and `bound` what BM25 could give at most for this query: the sum of its words' weights, those that occur
//! nowhere included. So `words / bound` is the part of what was asked, by rarity, that the candidate has word for word: from 0 to 1, and small for
//! everything where the rare words of a question do not occur.
//!
//! Models are good at topics and poor at outcomes: "backup failed" is nearest to "Backup completed successfully". So plain words of failure and of
//! success are read from both texts, and a candidate that tells of the opposite loses.
//!
//! A score needs the candidate and the query's statistics alone, never the other candidates: it does not depend on how many there are, on merges or
//! on placement (RK-1). How the form and the numbers were chosen: `docs/decisions/0008-search-by-meaning-fusion.md`.
//!
//! Not here: where the candidates come from (the best of the vectors and the best of the words, joined), BM25, and similarities.

/// How much words weigh beside a cosine of 1: chosen for the transformer and the built-in model together.
pub const WORDS_WEIGHT: f32 = 0.5;

/// What the opposite outcome costs. Anything from 0.1 to 0.3 ranks the judged questions alike; this puts the candidates of a pair that differ in
/// little but their outcome in order.
pub const OPPOSED_PENALTY: f32 = 0.2;

/// Words that tell that something went wrong: any of them makes a text one of failure, whatever else it says ("not ready").
const FAILURE: [&str; 52] = [
    "abort",
    "aborted",
    "broken",
    "cannot",
    "corrupt",
    "corrupted",
    "couldn",
    "crash",
    "crashed",
    "crashes",
    "denied",
    "deny",
    "didn",
    "doesn",
    "error",
    "errors",
    "exceeded",
    "exception",
    "exceptions",
    "exhausted",
    "expired",
    "fail",
    "failed",
    "failing",
    "fails",
    "failure",
    "failures",
    "fatal",
    "invalid",
    "isn",
    "killed",
    "lost",
    "missing",
    "not",
    "refuse",
    "refused",
    "refuses",
    "refusing",
    "reject",
    "rejected",
    "rejects",
    "timeout",
    "timeouts",
    "unable",
    "unauthorized",
    "unavailable",
    "unhealthy",
    "unreachable",
    "unsuccessful",
    "wasn",
    "without",
    "wouldn",
];

/// Words that tell that something went well.
const SUCCESS: [&str; 22] = [
    "accepted",
    "authorized",
    "available",
    "complete",
    "completed",
    "completes",
    "connected",
    "established",
    "finished",
    "granted",
    "healthy",
    "ok",
    "passed",
    "ready",
    "recovered",
    "restored",
    "succeeded",
    "succeeds",
    "success",
    "successes",
    "successful",
    "successfully",
];

/// How what a text tells of went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Outcome {
    /// Nothing is said of it.
    #[default]
    Open,
    /// It went well.
    Success,
    /// It went wrong.
    Failure,
}

impl Outcome {
    /// Reads the outcome from a text's words: runs of letters, in any case. Words of other languages say nothing.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut outcome = Self::Open;
        let longest = FAILURE.iter().chain(&SUCCESS).map(|word| word.len()).max().unwrap_or(0);
        for word in text.split(|char: char| !char.is_alphabetic()).filter(|word| word.len() <= longest && word.is_ascii()) {
            let word = word.to_ascii_lowercase();
            if FAILURE.binary_search(&word.as_str()).is_ok() {
                return Self::Failure;
            }
            if SUCCESS.binary_search(&word.as_str()).is_ok() {
                outcome = Self::Success;
            }
        }
        outcome
    }

    /// Whether one went well and the other wrong.
    #[must_use]
    pub fn is_opposed(self, other: Self) -> bool {
        matches!((self, other), (Self::Success, Self::Failure) | (Self::Failure, Self::Success))
    }
}

/// A query's side of the ranking.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fusion {
    weight: f32,
    /// `weight / bound`, or 0 where the query has no word that counts.
    words_scale: f32,
    outcome: Outcome,
}

impl Fusion {
    /// For a query whose BM25 score cannot pass `words_bound`, the sum of its distinct words' weights (inverse document frequency times k1 + 1; a
    /// word that occurs nowhere has the greatest).
    #[must_use]
    pub fn new(words_bound: f32) -> Self {
        Self::with_weight(words_bound, WORDS_WEIGHT)
    }

    /// As [`Fusion::new`], with another weight than [`WORDS_WEIGHT`]. With a weight or bound that is not a positive number words do not count.
    #[must_use]
    pub fn with_weight(words_bound: f32, weight: f32) -> Self {
        let sound = |number: f32| number.is_finite() && number > 0.0;
        let is_sound = sound(words_bound) && sound(weight) && (weight / words_bound).is_finite();
        let (weight, words_scale) = if is_sound { (weight, weight / words_bound) } else { (0.0, 0.0) };
        Self { weight, words_scale, outcome: Outcome::Open }
    }

    /// The query asks for this outcome: [`Outcome::of`] its text.
    #[must_use]
    pub fn asking_for(self, outcome: Outcome) -> Self {
        Self { outcome, ..self }
    }

    /// The score of a candidate whose outcome is open, at most 1: `similarity` is its cosine to the query, 0 where it has no vector yet; `words`
    /// its BM25 score, 0 where it has none of the query's words. A `NaN` counts as 0.
    #[must_use]
    pub fn score(&self, similarity: f32, words: f32) -> f32 {
        let similarity = if similarity.is_nan() { 0.0 } else { similarity };
        (similarity + self.words_part(words)) / (1.0 + self.weight)
    }

    /// The score of a candidate whose text has this outcome: [`Fusion::score`], less [`OPPOSED_PENALTY`] where the query asks for the opposite.
    #[must_use]
    pub fn score_with(&self, similarity: f32, words: f32, outcome: Outcome) -> f32 {
        let penalty = if self.outcome.is_opposed(outcome) { OPPOSED_PENALTY } else { 0.0 };
        self.score(similarity, words) - penalty
    }

    /// What the words of a candidate add to its similarity before both are scaled: from 0 to the weight.
    #[must_use]
    pub fn words_part(&self, words: f32) -> f32 {
        // `max` and `min` drop a NaN.
        (self.words_scale * words.max(0.0)).min(self.weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_outcomes_overrule_a_near_vector_of_the_opposite_meaning() {
        // Cosines of all-MiniLM-L6-v2, and BM25 as parts of the bound.
        for (asked, opposite, cosine, words, wanted, wanted_cosine, wanted_words) in [
            ("backup failed", "Backup completed successfully", 0.806, 0.38, "Backup failed: no space left on device", 0.745, 0.68),
            ("user login failed", "user login succeeded", 0.899, 0.43, "Auth event: login_failed", 0.661, 0.55),
            ("pod is not ready", "pod is ready", 0.898, 0.58, "pod not ready: containers with unready status", 0.762, 0.56),
            ("connection refused", "Successfully connected to database", 0.793, 0.23, "connect to 192.0.2.1:5432 failed: refused", 0.696, 0.37),
        ] {
            let fusion = Fusion::new(1.0).asking_for(Outcome::of(asked));
            let opposite_score = fusion.score_with(cosine, words, Outcome::of(opposite));
            let wanted_score = fusion.score_with(wanted_cosine, wanted_words, Outcome::of(wanted));
            assert!(wanted_score > opposite_score, "{asked}: {wanted} has {wanted_score}, {opposite} has {opposite_score}");
        }
    }

    #[test]
    fn without_words_the_order_is_that_of_the_vectors() {
        for (bound, weight) in [(0.0, 0.5), (f32::NAN, 0.5), (3.0, 0.0), (3.0, f32::INFINITY), (1e-45, 0.5)] {
            assert_eq!(Fusion::with_weight(bound, weight).score(0.4, 7.0), 0.4);
        }
        let fusion = Fusion::new(3.0);
        assert!(fusion.score(0.4, 0.0) < fusion.score(0.5, 0.0));
    }

    #[test]
    fn a_score_is_finite_and_bounded_whatever_goes_in() {
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 0.0, 1e-45, 0.3, 1.0, 1e30];
        for bound in odd {
            for words in odd {
                for similarity in [-1.0, 0.0, 1.0, f32::NAN] {
                    let score = Fusion::new(bound).asking_for(Outcome::Success).score_with(similarity, words, Outcome::Failure);
                    assert!((-1.0 - OPPOSED_PENALTY..=1.0).contains(&score), "{score} of {bound} {words} {similarity}");
                }
            }
        }
    }

    #[test]
    fn every_word_asked_for_counts_up_to_the_bound() {
        let fusion = Fusion::with_weight(10.0, 0.5);
        assert_eq!(fusion.words_part(5.0), 0.25);
        assert_eq!(fusion.words_part(99.0), 0.5);
        assert_eq!(fusion.score_with(1.0, 10.0, Outcome::Failure), 1.0);
    }

    #[test]
    fn outcomes_are_read_from_plain_words() {
        assert!(FAILURE.is_sorted() && SUCCESS.is_sorted());
        for (text, outcome) in [
            ("", Outcome::Open),
            ("GET /index.html 200", Outcome::Open),
            ("Auth event: login_FAILED", Outcome::Failure),
            ("probe is not ready", Outcome::Failure),
            ("Finished in 3 ms", Outcome::Success),
            ("readyState größe", Outcome::Open),
        ] {
            assert_eq!(Outcome::of(text), outcome, "{text:?}");
        }
        assert!(Outcome::Success.is_opposed(Outcome::Failure) && !Outcome::Open.is_opposed(Outcome::Failure));
    }
}
