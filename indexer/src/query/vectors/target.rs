//! What vectors are compared with, and how.

use siltstone_vector::Metric;

/// A query's vector and the metric. One definition of distance for every answer, wherever a row lives (RK-1).
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Target {
    values: Vec<f32>,
    length: f64,
    metric: Metric,
}

/// Sums that run side by side, so that a loop over numbers need not wait for itself.
const LANES: usize = 8;

impl Target {
    /// Vectors are compared with these numbers.
    #[must_use]
    pub(super) fn new(values: Vec<f32>, metric: Metric) -> Self {
        let length = dot(&values, &values).sqrt();
        Self { values, length, metric }
    }

    /// The numbers.
    #[must_use]
    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }

    /// How vectors are compared.
    #[must_use]
    pub(super) const fn metric(&self) -> Metric {
        self.metric
    }

    /// The distance of a vector: smaller is more alike. 1 − cosine; the Euclidean distance; the inner product, negated.
    #[must_use]
    pub(super) fn distance(&self, vector: &[f32]) -> f32 {
        match self.metric {
            Metric::Cosine => {
                let lengths = self.length * dot(vector, vector).sqrt();
                // Rounding must not make a vector further from itself than from its like.
                if lengths == 0.0 { 1.0 } else { (1.0 - dot(&self.values, vector) / lengths).clamp(0.0, 2.0) as f32 }
            }
            Metric::InnerProduct => (0.0 - dot(&self.values, vector)) as f32,
            Metric::L2 => sum_of(&self.values, vector, |left, right| (left - right) * (left - right)).sqrt() as f32,
        }
    }
}

fn dot(left: &[f32], right: &[f32]) -> f64 {
    sum_of(left, right, |left, right| left * right)
}

fn sum_of<F>(left: &[f32], right: &[f32], term: F) -> f64
where
    F: Fn(f64, f64) -> f64,
{
    let mut sums = [0.0; LANES];
    let (left, right) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
    let rest = left.remainder().iter().zip(right.remainder());
    // Known lengths, so that the loop becomes one of vector instructions.
    for (left, right) in left.zip(right) {
        for lane in 0..LANES {
            sums[lane] += term(f64::from(left[lane]), f64::from(right[lane]));
        }
    }
    for (sum, (left, right)) in sums.iter_mut().zip(rest) {
        *sum += term(f64::from(*left), f64::from(*right));
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_definitions() {
        let vector = [3.0, 0.0, 4.0];
        let distance = |metric, other: [f32; 3]| Target::new(vector.to_vec(), metric).distance(&other);
        assert_eq!(distance(Metric::Cosine, [6.0, 0.0, 8.0]), 0.0);
        assert_eq!(distance(Metric::Cosine, [-3.0, 0.0, -4.0]), 2.0);
        assert_eq!(distance(Metric::Cosine, [0.0, 1.0, 0.0]), 1.0);
        assert_eq!(distance(Metric::L2, [3.0, 12.0, 9.0]), 13.0);
        assert_eq!(distance(Metric::InnerProduct, [1.0, 5.0, 2.0]), -11.0);
        let long: Vec<f32> = (0..1_001).map(|number| (number % 7) as f32).collect();
        let expected: f32 = long.iter().map(|number| number * number).sum();
        assert_eq!(Target::new(long.clone(), Metric::InnerProduct).distance(&long), -expected);
    }
}
