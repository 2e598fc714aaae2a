use super::*;
use proptest::prelude::*;

fn model(name: &str) -> ModelId {
    ModelId::new(name).unwrap()
}

fn unit(seed: u64, dimension: usize) -> Vec<f32> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
    };
    let vector: Vec<f32> = (0..dimension).map(|_| next()).collect();
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.into_iter().map(|number| number / length).collect()
}

fn set(seeds: &[u64]) -> PatternVectors {
    let vectors: Vec<_> = seeds.iter().map(|seed| (PatternHash(u128::from(*seed) << 40), unit(*seed, 64))).collect();
    PatternVectors::new(&model("m+p1"), 64, &vectors.iter().map(|(hash, vector)| (*hash, vector.as_slice())).collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_similarity_is_the_cosine_to_within_a_hundredth() {
    let seeds: Vec<u64> = (1..200).collect();
    let set = set(&seeds);
    let query = unit(77, 64);
    let asked = QueryVector::new(&query);
    for seed in seeds {
        let exact: f32 = unit(seed, 64).iter().zip(&query).map(|(left, right)| left * right).sum();
        let row = set.row_of(PatternHash(u128::from(seed) << 40)).unwrap();
        assert!((set.similarity(row, &asked) - exact).abs() < 0.01, "{seed}");
    }
    assert_eq!(set.row_of(PatternHash(5)), None);
}

#[test]
fn sets_come_back_from_their_bytes_and_join_without_what_stands_twice() {
    let (left, right) = (set(&[5, 1, 9]), set(&[9, 2]));
    assert_eq!(PatternVectors::decode(&left.encode().unwrap()), Ok(left.clone()));
    let joined = PatternVectors::join(&[&left, &right]).unwrap();
    assert_eq!(joined, set(&[1, 2, 5, 9]));
    let other = PatternVectors::new(&model("other+p1"), 64, &[]).unwrap();
    assert!(matches!(PatternVectors::join(&[&left, &other]), Err(PatternVectorsError::Inconsistent { .. })));
}

#[test]
fn what_is_no_vector_is_refused() {
    let (hash, id) = (PatternHash(1), model("m+p1"));
    assert!(matches!(PatternVectors::new(&id, 3, &[(hash, &[1.0, 2.0])]), Err(PatternVectorsError::Dimension { found: 2, .. })));
    for number in [f32::NAN, f32::INFINITY] {
        assert!(matches!(PatternVectors::new(&id, 2, &[(hash, &[1.0, number])]), Err(PatternVectorsError::NotFinite { .. })));
    }
    for dimension in [0, DIMENSION_MAX + 1, 70_000] {
        assert!(PatternVectors::new(&id, dimension, &[]).is_err(), "{dimension}");
    }
    let zero = PatternVectors::new(&id, 2, &[(hash, &[0.0, 0.0])]).unwrap();
    assert_eq!(zero.similarity(0, &QueryVector::new(&[1.0, f32::NAN])), 0.0);
}

#[test]
fn every_changed_byte_is_detected() {
    let bytes = set(&[1, 2, 3]).encode().unwrap();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(PatternVectors::decode(&damaged).is_err(), "byte {at} bit {bit}");
        }
        assert!(PatternVectors::decode(&bytes[..at]).is_err(), "cut at {at}");
    }
}

proptest! {
    #[test]
    fn the_largest_numbers_fit(seed: u64, rows in 1_usize..3) {
        let vector = vec![if seed & 1 == 0 { 1.0 } else { -1.0 }; DIMENSION_MAX];
        let vectors: Vec<_> = (0..rows).map(|row| (PatternHash(row as u128), vector.as_slice())).collect();
        let set = PatternVectors::new(&model("wide"), DIMENSION_MAX, &vectors).unwrap();
        let found = set.similarity(rows - 1, &QueryVector::new(&vector));
        prop_assert!((found - DIMENSION_MAX as f32).abs() < 1.0, "{}", found);
    }
}
