//! An index of each kind and version, kept: later programs read it and give the same answers.

mod common;

use bytes::Bytes;
use common::{Random, ask, set};
use siltstone_vector::{BuildOptions, IndexKind, Metric, Precision, Request, Residence, Strategy, Vectors, open_bytes, write_exact, write_hnsw};
use std::path::PathBuf;

const DIMENSION: usize = 20;

/// The vectors that the golden files were written from.
fn vectors() -> Vec<Vec<f32>> {
    Random(11).vectors(150, DIMENSION)
}

fn read(name: &str, written: &[u8]) -> Bytes {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("SILTSTONE_BLESS").is_some() {
        std::fs::write(&path, written).expect("write the golden file");
    }
    std::fs::read(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display())).into()
}

fn check(bytes: &Bytes, set: &Vectors, kind: IndexKind) {
    let index = open_bytes(bytes, Residence::HEAD).expect("an index");
    assert_eq!((index.space(), index.rows(), index.kind(), index.precision()), (set.space(), 150, kind, Precision::Single));
    for row in [0, 77, 149] {
        let fetched = index.vector_range(row).map(|range| bytes.slice(range.start as usize..range.end as usize));
        assert_eq!(Some(index.vector(row, fetched.as_ref()).expect("a vector")), set.vector(row));
        let query = set.vector(row).expect("a vector");
        let request = Request::nearest(&query, 5);
        let expected = set.search(&request).expect("an answer");
        assert_eq!(ask(index.as_ref(), bytes, &request).expect("an answer").hits, expected.hits);
        if kind == IndexKind::Hnsw {
            let forced = Request { strategy: Some(Strategy::GraphUnderBitmap), ..request };
            assert_eq!(ask(index.as_ref(), bytes, &forced).expect("an answer").hits, expected.hits);
        }
    }
}

#[test]
fn indexes_of_version_1_are_read_and_written_alike() {
    let set = set(DIMENSION, Metric::Cosine, &vectors());
    let exact = write_exact(&set);
    let golden = read("exact-v1.bin", &exact);
    check(&golden, &set, IndexKind::Exact);
    assert_eq!(golden, exact, "a writer gives the same bytes on every machine");

    let hnsw = write_hnsw(&set, &BuildOptions { degree: 4, effort: 40, ..BuildOptions::default() });
    let golden = read("hnsw-v1.bin", &hnsw);
    check(&golden, &set, IndexKind::Hnsw);
    assert_eq!(golden, hnsw, "a builder gives the same graph on every machine");
}
