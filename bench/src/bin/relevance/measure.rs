//! nDCG, two-fold cross-validation and the paired bootstrap.

use crate::corpus::Question;

pub(crate) const DEPTH: usize = 10;

/// The best documents, best first; ties in the order of the documents.
pub(crate) fn top(scores: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    order.truncate(DEPTH);
    order
}

/// nDCG@10 of a ranking, gain 2^grade − 1; what was not judged has grade 0.
pub(crate) fn ndcg(question: &Question, ranked: &[usize]) -> f64 {
    let gain = |grade: u32, place: usize| (f64::from(grade).exp2() - 1.0) / (place as f64 + 2.0).log2();
    let found: f64 = ranked.iter().enumerate().map(|(place, document)| gain(question.grades.get(document).copied().unwrap_or(0), place)).sum();
    let mut best: Vec<u32> = question.grades.values().copied().collect();
    best.sort_unstable_by(|a, b| b.cmp(a));
    let ideal: f64 = best.iter().take(DEPTH).enumerate().map(|(place, grade)| gain(*grade, place)).sum();
    found / ideal
}

/// The share of a ranking that was not judged.
pub(crate) fn unjudged(question: &Question, ranked: &[usize]) -> f64 {
    ranked.iter().filter(|document| !question.grades.contains_key(document)).count() as f64 / ranked.len().max(1) as f64
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Numbers that look random and are the same in every run (SplitMix64: Steele, Lea and Flood, 2014).
pub(crate) struct Random(pub u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * bound as u128) >> 64) as usize
    }
}

/// Two-fold cross-validation over many random halvings: what is best on one half is measured on the other. `values[choice][question]`. The mean
/// over halvings per question, so that it can be compared question by question.
pub(crate) fn two_fold(values: &[Vec<f64>], halvings: usize, random: &mut Random) -> Vec<f64> {
    let questions = values[0].len();
    let mut sums = vec![0.0; questions];
    let mut order: Vec<usize> = (0..questions).collect();
    for _ in 0..halvings {
        for i in (1..questions).rev() {
            order.swap(i, random.below(i + 1));
        }
        let (one, other) = order.split_at(questions / 2);
        for (learn, test) in [(one, other), (other, one)] {
            let of = |choice: &Vec<f64>| learn.iter().map(|question| choice[*question]).sum::<f64>();
            let best = values.iter().max_by(|a, b| of(a).total_cmp(&of(b))).expect("there is a choice");
            test.iter().for_each(|question| sums[*question] += best[*question]);
        }
    }
    sums.iter().map(|sum| sum / halvings as f64).collect()
}

/// The mean difference of two systems over the same questions, and the interval that holds 95 % of resamples.
pub(crate) fn bootstrap(a: &[f64], b: &[f64], rounds: usize, random: &mut Random) -> (f64, f64, f64) {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let mut means: Vec<f64> = (0..rounds)
        .map(|_| (0..differences.len()).map(|_| differences[random.below(differences.len())]).sum::<f64>() / differences.len() as f64)
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    (mean(&differences), means[rounds / 40], means[rounds - 1 - rounds / 40])
}
