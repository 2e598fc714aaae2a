use super::*;
use siltstone_core::{NamespaceId, ObjectId, PackId, VectorIndexId};
use siltstone_format::manifest::{ByteRange, CheckedRange, ChunkList, PackChunk, PackChunks};

const CONFIG: IndexConfig = IndexConfig { rows_min: 100, vectors_max: 1_000, growth: 2 };

fn field() -> Arc<VectorFieldRecord> {
    Arc::new(VectorFieldRecord { name: "text".into(), dimension: 8 })
}

/// A namespace with a pack of chunks of these rows, ids from 1, and indexes over these chunks.
fn namespace(rows: &[u16], indexes: &[&[u64]]) -> NamespaceManifest {
    let mut namespace = NamespaceManifest::new(NamespaceId(1), "shop".into(), 0);
    let chunk = |(id, rows): (u64, &u16)| PackChunk {
        chunk: ChunkId(id),
        rows: *rows,
        end_offset: *rows,
        timestamp_min_ns: 0,
        timestamp_max_ns: 0,
        body_bytes: 9,
    };
    let chunks: Vec<_> = (1..).zip(rows).map(chunk).collect();
    let (range, footer) = (ByteRange::default(), CheckedRange::default());
    let pack = PackRecord { id: PackId(9), object: ObjectId(8), range, footer, chunks: PackChunks::new(&chunks).unwrap() };
    namespace.packs.insert_mut(pack.id, Arc::new(pack));
    for (id, chunks) in (50..).zip(indexes) {
        let index = VectorIndexRecord {
            id: VectorIndexId(id),
            object: ObjectId(8),
            field: "text".into(),
            dimension: 8,
            vectors: chunks.iter().map(|chunk| u32::from(rows[*chunk as usize - 1])).sum(),
            addresses: footer,
            range,
            chunks: ChunkList::new(&chunks.iter().map(|chunk| ChunkId(*chunk)).collect::<Vec<_>>()).unwrap(),
        };
        namespace.vector_indexes.insert_mut(index.id, Arc::new(index));
    }
    namespace
}

/// The chunks of a plan, and the ids of the indexes that go.
fn plan(namespace: &NamespaceManifest, all: bool, barren: &[u64]) -> Option<(Vec<u64>, Vec<u64>)> {
    let plan = IndexPlan::of(namespace, &field(), &|chunk| barren.contains(&chunk.0), &CONFIG, all)?;
    Some((plan.chunks.keys().map(|chunk| chunk.0).collect(), plan.replaced.iter().map(|index| index.id.0).collect()))
}

#[test]
fn few_rows_wait_and_many_are_indexed() {
    assert_eq!(plan(&namespace(&[50, 49], &[]), false, &[]), None);
    assert_eq!(plan(&namespace(&[50, 50], &[]), false, &[]), Some((vec![1, 2], vec![])));
    assert_eq!(plan(&namespace(&[50, 49], &[]), true, &[]), Some((vec![1, 2], vec![])));
    assert_eq!(plan(&namespace(&[50, 50, 80], &[]), false, &[2]), Some((vec![1, 3], vec![])), "what has no vector is left out");
    assert_eq!(plan(&namespace(&[50, 50], &[]), true, &[1, 2]), None);
}

#[test]
fn indexes_of_a_size_are_taken_along_and_larger_ones_stay() {
    let grown = namespace(&[100, 200, 700, 100], &[&[1], &[2], &[3]]);
    assert_eq!(plan(&grown, false, &[]), Some((vec![1, 2, 4], vec![50, 51])));
    assert_eq!(plan(&namespace(&[700, 100], &[&[1]]), false, &[]), Some((vec![2], vec![])));
    assert_eq!(plan(&namespace(&[100, 200], &[&[1], &[2]]), false, &[]), None, "nothing is new");
}

#[test]
fn all_become_one_up_to_the_largest() {
    assert_eq!(plan(&namespace(&[100, 200, 300], &[&[1], &[2], &[3]]), true, &[]), Some((vec![1, 2, 3], vec![50, 51, 52])));
    assert_eq!(plan(&namespace(&[100, 200], &[&[1, 2]]), true, &[]), None, "it is one already");
    assert_eq!(plan(&namespace(&[100, 500, 900], &[&[1], &[2], &[3]]), true, &[]), Some((vec![1, 2], vec![50, 51])));
    assert_eq!(plan(&namespace(&[600, 900], &[&[1], &[2]]), true, &[]), None, "no two fit into one");
}
