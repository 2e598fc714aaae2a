//! Many small indexes merged are as good as one big one.

mod common;

use bytes::Bytes;
use common::{Random, rows_where, set, space};
use siltstone_core::NamespaceId;
use siltstone_vector::{
    BuildOptions, ByteRange, Filter, MergeInput, Metric, Residence, VectorError, VectorIndex, VectorSpace, Vectors, merge, open_bytes, write_exact,
    write_hnsw,
};

const DIMENSION: usize = 48;

fn merged(stored: &[Bytes], residence: Residence, rows: Filter<'_>) -> Result<Vectors, VectorError> {
    let indexes: Vec<Box<dyn VectorIndex>> = stored.iter().map(|bytes| open_bytes(bytes, residence).expect("an index")).collect();
    let inputs: Vec<MergeInput<'_>> = indexes.iter().map(|index| MergeInput { index: index.as_ref(), rows }).collect();
    merge(&inputs, |number, range: &ByteRange| Ok(stored[number].slice(range.start as usize..range.end as usize)))
}

#[test]
fn a_hundred_small_imports_merged_give_the_bytes_of_one_big_one() {
    let vectors = Random(21).vectors(6_000, DIMENSION);
    let options = BuildOptions { degree: 12, effort: 60, ..BuildOptions::default() };
    let one = set(DIMENSION, Metric::Cosine, &vectors);
    let small: Vec<Bytes> = vectors.chunks(60).map(|part| Bytes::from(write_exact(&set(DIMENSION, Metric::Cosine, part)))).collect();
    assert_eq!(small.len(), 100);
    for residence in [Residence::ALL, Residence::HEAD] {
        let merged = merged(&small, residence, Filter::All).expect("a set");
        assert_eq!(write_hnsw(&merged, &options), write_hnsw(&one, &options), "the graph and so its recall are the same");
    }
}

#[test]
fn halves_and_singles_meet_as_singles_and_lose_nothing() {
    let halves = vec![vec![0.5_f32; DIMENSION], vec![-2.0; DIMENSION]];
    let singles = vec![vec![0.1_f32; DIMENSION]];
    let stored: Vec<Bytes> = [&halves, &singles, &halves].map(|part| Bytes::from(write_exact(&set(DIMENSION, Metric::L2, part)))).into();
    let merged = merged(&stored, Residence::HEAD, Filter::All).expect("a set");
    let expected: Vec<Vec<f32>> = [halves.clone(), singles, halves].concat();
    assert_eq!((0..5).map(|row| merged.vector(row).expect("a vector")).collect::<Vec<_>>(), expected);
}

#[test]
fn rows_that_are_no_more_are_left_out() {
    let vectors = Random(22).vectors(500, DIMENSION);
    let stored = [Bytes::from(write_exact(&set(DIMENSION, Metric::Cosine, &vectors)))];
    let alive = rows_where(500, |row| row % 3 != 0);
    let merged = merged(&stored, Residence::HEAD, Filter::Rows(&alive)).expect("a set");
    assert_eq!(merged.len(), alive.len());
    for (row, old) in alive.iter().enumerate() {
        assert_eq!(merged.vector(row as u32).as_ref(), vectors.get(*old as usize));
    }
}

#[test]
fn vectors_of_two_spaces_never_meet_ns_1() {
    let other_spaces = [
        VectorSpace::new(NamespaceId(8), "test-model+p1", DIMENSION, Metric::Cosine),
        VectorSpace::new(NamespaceId(7), "other-model+p1", DIMENSION, Metric::Cosine),
        VectorSpace::new(NamespaceId(7), "test-model+p1", DIMENSION, Metric::L2),
        VectorSpace::new(NamespaceId(7), "test-model+p1", DIMENSION - 1, Metric::Cosine),
    ];
    let own = Bytes::from(write_exact(&Vectors::new(space(DIMENSION, Metric::Cosine))));
    for other in other_spaces {
        let other = Bytes::from(write_exact(&Vectors::new(other.expect("a space"))));
        assert!(matches!(merged(&[own.clone(), other], Residence::ALL, Filter::All), Err(VectorError::Spaces { .. })), "NS-1");
    }
}
