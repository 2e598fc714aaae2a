//! Exact search against a referee that compares every vector.

mod common;

use bytes::Bytes;
use common::{Random, ask, distance, filter, rows_where, set};
use proptest::prelude::*;
use siltstone_core::bitmap::RowSet;
use siltstone_vector::{
    Answer, Filter, InputReason, Metric, Precision, Request, Residence, Strategy as Way, VectorError, Vectors, open_bytes, write_exact,
};

const METRICS: [Metric; 3] = [Metric::Cosine, Metric::InnerProduct, Metric::L2];

/// Checks an answer row by row: distances are right, none that is clearly nearer is missing, the count is that of the referee.
fn check(vectors: &[Vec<f32>], metric: Metric, request: &Request<'_>, chosen: Option<&[u32]>, answer: &Answer) {
    let rows: Vec<u32> = chosen.map_or_else(|| (0..vectors.len() as u32).collect(), <[u32]>::to_vec);
    let mut truth: Vec<(f64, u32)> = rows.iter().map(|row| (distance(metric, request.vector, &vectors[*row as usize]), *row)).collect();
    truth.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let scale = truth.iter().map(|(distance, _)| distance.abs()).fold(1.0, f64::max);
    let tolerance = 1e-5 * scale;
    let below = |margin: f64| truth.iter().filter(|(distance, _)| request.within.is_none_or(|within| *distance < f64::from(within) + margin)).count();
    if request.count {
        let count = answer.count.expect("a count") as usize;
        assert!(below(-tolerance) <= count && count <= below(tolerance), "{count} rows, and the referee has {}", below(0.0));
    }
    assert!(
        answer.hits.len() >= request.limit.min(below(-tolerance)) && answer.hits.len() <= request.limit.min(below(tolerance)),
        "{} hits",
        answer.hits.len()
    );
    for (hit, (expected, _)) in answer.hits.iter().zip(&truth) {
        let own = distance(metric, request.vector, &vectors[hit.row as usize]);
        // Near zero a Euclidean distance is the root of a rounded difference.
        let tolerance = if metric == Metric::L2 { tolerance.max(2e-3 * scale.sqrt()) } else { tolerance };
        assert!(rows.binary_search(&hit.row).is_ok(), "row {} is not in the filter", hit.row);
        assert!((f64::from(hit.distance) - own).abs() <= tolerance, "row {}: {} and {own}", hit.row, hit.distance);
        assert!((f64::from(hit.distance) - expected).abs() <= tolerance, "{} and {expected}", hit.distance);
    }
    assert!(answer.hits.is_sorted_by(|a, b| (a.distance, std::cmp::Reverse(a.row)) <= (b.distance, std::cmp::Reverse(b.row))));
}

#[test]
fn every_way_to_ask_finds_what_the_referee_finds() {
    let mut random = Random(1);
    for metric in METRICS {
        for (count, dimension) in [(1, 1), (700, 3), (3_000, 64), (2_500, 100)] {
            let vectors = random.vectors(count, dimension);
            let set = set(dimension, metric, &vectors);
            let bytes = Bytes::from(write_exact(&set));
            let indexes = [Residence::ALL, Residence::CODES, Residence::HEAD].map(|residence| open_bytes(&bytes, residence).expect("an index"));
            let filters =
                [None, Some(rows_where(count as u32, |row| row % 2 == 1)), Some(rows_where(count as u32, |row| row % 97 == 5)), Some(vec![])];
            for chosen in &filters {
                let query = random.vectors(1, dimension).remove(0);
                let near = &vectors[random.next() as usize % count];
                for vector in [&query, near] {
                    let middle = distance(metric, vector, &vectors[random.next() as usize % count]) as f32;
                    for (limit, within, count) in
                        [(10, None, false), (10, Some(middle), true), (0, Some(middle), true), (5, None, true), (4_000, Some(middle), false)]
                    {
                        let filter = filter(chosen.as_deref());
                        let request = Request { filter, within, count, ..Request::nearest(vector, limit) };
                        let live = set.search(&request).expect("an answer");
                        check(&vectors, metric, &request, chosen.as_deref(), &live);
                        for index in &indexes {
                            let answer = ask(index.as_ref(), &bytes, &request).expect("an answer");
                            assert_eq!((&answer.hits, answer.count), (&live.hits, live.count), "{metric:?} {request:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn codes_spare_most_full_vectors() {
    let mut random = Random(2);
    let vectors = random.vectors(20_000, 128);
    let set = set(128, Metric::Cosine, &vectors);
    let answer = set.search(&Request::nearest(&vectors[17], 10)).expect("an answer");
    assert_eq!(answer.work.rows_scanned, 20_000);
    assert!(answer.work.rows_scored < 400, "{:?}", answer.work);
}

#[test]
fn equal_vectors_come_latest_first() {
    let set = set(4, Metric::Cosine, &vec![vec![1.0, 2.0, 3.0, 4.0]; 500]);
    let answer = set.search(&Request::nearest(&[1.0, 2.0, 3.0, 4.0], 3)).expect("an answer");
    assert_eq!(answer.hits.iter().map(|hit| hit.row).collect::<Vec<_>>(), [499, 498, 497]);
}

#[test]
fn a_set_of_rows_filters_as_its_list_does() {
    let mut random = Random(3);
    let vectors = random.vectors(5_000, 32);
    let set = set(32, Metric::L2, &vectors);
    for step in [2, 300] {
        let chosen = rows_where(5_000, |row| row % step == 1);
        let rows = RowSet::from_sorted(chosen.iter().map(|row| u64::from(*row))).expect("rows");
        let by_list = set.search(&Request { filter: Filter::Rows(&chosen), ..Request::nearest(&vectors[3], 20) }).expect("an answer");
        let by_set = set.search(&Request { filter: Filter::Set(&rows), ..Request::nearest(&vectors[3], 20) }).expect("an answer");
        assert_eq!(by_list, by_set);
    }
}

#[test]
fn what_cannot_be_compared_is_refused_with_its_place() {
    let mut set = Vectors::new(common::space(3, Metric::Cosine));
    set.push(&[1.0, 0.0, 0.0]).expect("a vector");
    for (vector, expected) in [
        (vec![1.0, 2.0], InputReason::Dimension { got: 2, expected: 3 }),
        (vec![1.0, f32::NAN, 2.0], InputReason::NotFinite { element: 1 }),
        (vec![1.0, 0.0, f32::NEG_INFINITY], InputReason::NotFinite { element: 2 }),
        (vec![0.0, -0.0, 0.0], InputReason::Zero),
        (vec![1e-30, 0.0, 0.0], InputReason::Length),
        (vec![3e38, 3e38, 0.0], InputReason::Length),
    ] {
        assert_eq!(set.push(&vector), Err(VectorError::Input { row: 1, reason: expected }));
        assert_eq!(set.search(&Request::nearest(&vector, 1)), Err(VectorError::Query { reason: expected }));
    }
    assert_eq!((set.len(), set.push(&[0.0, 1.0, 0.0])), (1, Ok(1)));
    let mut set = Vectors::new(common::space(2, Metric::L2));
    assert_eq!(set.push(&[0.0, 0.0]), Ok(0), "only cosine has no use for a zero vector");
}

#[test]
fn halves_are_kept_as_halves_and_anything_else_as_it_is() {
    let mut set = Vectors::new(common::space(3, Metric::InnerProduct));
    set.push(&[0.5, -1.25, 65_504.0]).expect("halves");
    assert_eq!(set.precision(), Precision::Half);
    set.push(&[0.1, 1e-20, 3e15]).expect("singles");
    assert_eq!(set.precision(), Precision::Single);
    assert_eq!(set.vector(0), Some(vec![0.5, -1.25, 65_504.0]));
    assert_eq!(set.vector(1), Some(vec![0.1, 1e-20, 3e15]));
    assert_eq!(set.vector(2), None);
}

#[test]
fn a_graph_that_is_not_there_is_an_error() {
    let set = set(2, Metric::L2, &[vec![1.0, 2.0]]);
    let request = Request { strategy: Some(Way::GraphUnderBitmap), ..Request::nearest(&[1.0, 1.0], 1) };
    assert!(matches!(set.search(&request), Err(VectorError::Request { .. })));
    assert!(matches!(set.search(&Request { within: Some(f32::NAN), ..Request::nearest(&[1.0, 1.0], 1) }), Err(VectorError::Request { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn any_vectors_of_any_magnitude_are_found(
        seed in any::<u64>(), dimension in 1..150_usize, count in 70..400_usize, magnitude in -12..12_i32, limit in 1..30_usize, which in 0..3_usize,
    ) {
        let mut random = Random(seed);
        let scale = 10.0_f32.powi(magnitude);
        let mut vectors = random.vectors(count, dimension);
        vectors.iter_mut().flatten().for_each(|element| *element *= scale);
        let metric = METRICS[which];
        let set = set(dimension, metric, &vectors);
        let query = &vectors[count / 2];
        let answer = set.search(&Request::nearest(query, limit)).expect("an answer");
        let mut truth: Vec<f64> = vectors.iter().map(|vector| distance(metric, query, vector)).collect();
        truth.sort_by(f64::total_cmp);
        let size = match metric { Metric::Cosine => 1.0, Metric::InnerProduct => truth[0].abs(), Metric::L2 => f64::from(scale) * 12.0 };
        for (hit, expected) in answer.hits.iter().zip(&truth) {
            prop_assert!((f64::from(hit.distance) - expected).abs() <= 2e-5 * size, "{:?}: {} and {expected}", metric, hit.distance);
        }
        prop_assert_eq!(answer.hits.len(), limit.min(count));
    }
}
