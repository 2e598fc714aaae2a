//! Shards in the wrong place, and vectors and models that do not fit. Damage and golden files are in `tests/metadata`.

use super::stored::{StoredRetired, StoredShard};
use super::*;
use crate::manifest::{CheckedRange, Manifest, ModelRecord, ModelState, NamespaceManifest, ObjectRecord, ObjectState, VectorSetRecord};
use siltstone_core::{Epoch, ModelId, NamespaceId, ObjectId, VectorSetId};
use std::sync::Arc;

fn manifest() -> Manifest {
    let mut manifest = Manifest { incarnation: Incarnation(1), version: CommitIndex(9), ..Manifest::default() };
    manifest.counters.namespace = 200;
    for id in 1..200 {
        let namespace = NamespaceManifest::new(NamespaceId(id), format!("ns-{id}").into(), 5);
        manifest.names.insert_mut(namespace.name.clone(), namespace.id);
        manifest.namespaces.insert_mut(namespace.id, Arc::new(namespace));
    }
    manifest
}

/// The blob with one shard's bytes replaced, and all hashes right.
fn replace_shard(encoded: &Encoded, position: usize, bytes: Vec<u8>) -> Vec<u8> {
    let mut root = encoded.root.clone();
    let shard = &mut root.stored.shards[position];
    (shard.hash, shard.len) = (*blake3::hash(&bytes).as_bytes(), bytes.len() as u64);
    let mut blob = root.encode().unwrap();
    for (other, shard) in encoded.shards.iter().enumerate() {
        blob.extend_from_slice(if other == position { &bytes } else { &shard.bytes });
    }
    blob
}

#[test]
fn namespaces_spread_over_all_shards() {
    let encoded = encode(&manifest()).unwrap();
    assert!(encoded.shards.len() > 50, "199 namespaces lie in {} of {NAMESPACE_SHARDS} shards", encoded.shards.len());
    assert_eq!(decode_blob(&replace_shard(&encoded, 0, encoded.shards[0].bytes.clone())).unwrap(), manifest());
}

#[test]
fn a_namespace_in_a_shard_of_another_hash_is_refused() {
    let encoded = encode(&manifest()).unwrap();
    let moved = encoded.shards[1].bytes.clone();
    let error = decode_blob(&replace_shard(&encoded, 0, moved)).unwrap_err();
    assert!(matches!(error, SnapshotError::Inconsistent { .. }), "{error}");
    let wrong = SHARD.encode(&StoredShard::Batches(vec![], StoredRetired::default())).unwrap();
    let error = decode_blob(&replace_shard(&encoded, 0, wrong)).unwrap_err();
    assert!(matches!(error, SnapshotError::WrongShard { .. }), "{error}");
}

fn model(name: &str, dimension: u16, state: ModelState) -> ModelRecord {
    ModelRecord { id: ModelId::new(name).unwrap(), dimension, source: String::new(), state, added_at_ms: 5 }
}

fn set(id: u64) -> VectorSetRecord {
    let range = CheckedRange { offset: 16, len: 50, crc32c: 1 };
    VectorSetRecord { id: VectorSetId(id), object: ObjectId(1), model: ModelId::new("one+p1").unwrap(), dimension: 8, patterns: 3, range }
}

/// Two namespaces, two models, and a set of vectors in the first.
fn manifest_with_vectors() -> Manifest {
    let mut manifest = Manifest { incarnation: Incarnation(1), version: CommitIndex(9), ..Manifest::default() };
    (manifest.counters.namespace, manifest.counters.id) = (3, 10);
    for id in 1..3 {
        let mut namespace = NamespaceManifest::new(NamespaceId(id), format!("ns-{id}").into(), 5);
        if id == 1 {
            namespace.totals.add_vectors(&set(2));
            namespace.vectors.insert_mut(VectorSetId(2), Arc::new(set(2)));
        }
        manifest.totals.add(&namespace.totals);
        manifest.names.insert_mut(namespace.name.clone(), namespace.id);
        manifest.namespaces.insert_mut(namespace.id, Arc::new(namespace));
    }
    for model in [model("one+p1", 8, ModelState::Serving), model("two+p1", 16, ModelState::Filling)] {
        manifest.models.insert_mut(model.id.clone(), Arc::new(model));
    }
    let record = ObjectRecord { id: ObjectId(1), epoch: Epoch(1), len_bytes: 1_000, footer: CheckedRange { offset: 900, len: 100, crc32c: 7 } };
    manifest.objects.insert_mut(record.id, ObjectState { record, parts: 1, retired_at_ms: None });
    manifest
}

/// What reading says where the shard of this content holds something else.
fn read_with(content: ShardContent, shard: &StoredShard) -> Result<Manifest, SnapshotError> {
    let encoded = encode(&manifest_with_vectors()).unwrap();
    let position = encoded.shards.iter().position(|shard| shard.reference.content == content).unwrap();
    decode_blob(&replace_shard(&encoded, position, SHARD.encode(shard).unwrap()))
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    let read = |shard: &StoredShard| read_with(ShardContent::Vectors, shard);
    let of = |namespace, sets: &[VectorSetRecord]| StoredShard::Vectors(vec![(NamespaceId(namespace), sets.to_vec())]);
    assert_eq!(read(&of(1, &[set(2)])), Ok(manifest_with_vectors()));
    let other_model = VectorSetRecord { model: ModelId::new("two+p1").unwrap(), ..set(2) };
    let cases = [
        ("a namespace that is not there", of(70, &[set(2)])),
        ("a namespace of another shard", of(2, &[set(2)])),
        ("a namespace without sets", of(1, &[])),
        ("a namespace twice", StoredShard::Vectors(vec![(NamespaceId(1), vec![set(2)]), (NamespaceId(1), vec![set(3)])])),
        ("a set twice", of(1, &[set(2), set(2)])),
        ("MF-1: an object that is not there", of(1, &[VectorSetRecord { object: ObjectId(5), ..set(2) }])),
        ("MF-1: an object that nothing names", StoredShard::Vectors(vec![])),
        ("a set without patterns", of(1, &[VectorSetRecord { patterns: 0, ..set(2) }])),
        ("an id that was never given out", of(1, &[set(10)])),
        ("VE-1: a model that is not known", of(1, &[VectorSetRecord { model: ModelId::new("three").unwrap(), ..set(2) }])),
        ("VE-1: a dimension that is another model's", of(1, &[other_model])),
    ];
    for (what, shard) in cases {
        let error = read(&shard).expect_err(what);
        assert!(matches!(error, SnapshotError::Inconsistent { .. }), "{what}: {error}");
    }
    let error = read(&StoredShard::Models(vec![])).unwrap_err();
    assert!(matches!(error, SnapshotError::WrongShard { .. }), "{error}");
}

#[test]
fn models_that_do_not_fit_are_refused() {
    let read = |models: &[ModelRecord]| read_with(ShardContent::Models, &StoredShard::Models(models.to_vec()));
    let (one, two) = (model("one+p1", 8, ModelState::Serving), model("two+p1", 16, ModelState::Filling));
    assert_eq!(read(&[one.clone(), two.clone()]), Ok(manifest_with_vectors()));
    let cases = [
        ("two that serve", vec![one.clone(), model("two+p1", 16, ModelState::Serving)]),
        ("a model twice", vec![one.clone(), two.clone(), two.clone()]),
        ("vectors of nothing", vec![one.clone(), model("two+p1", 0, ModelState::Filling)]),
        ("vectors that no set can hold", vec![one, model("two+p1", 4_097, ModelState::Filling)]),
        ("VE-1: a set without its model", vec![two]),
    ];
    for (what, models) in cases {
        let error = read(&models).expect_err(what);
        assert!(matches!(error, SnapshotError::Inconsistent { .. }), "{what}: {error}");
    }
}

#[test]
fn models_lie_in_one_shard() {
    let encoded = encode(&manifest_with_vectors()).unwrap();
    let mut root = encoded.root.clone();
    root.stored.shards.iter_mut().filter(|shard| shard.content == ShardContent::Models).for_each(|shard| shard.number = 1);
    let mut blob = root.encode().unwrap();
    encoded.shards.iter().for_each(|shard| blob.extend_from_slice(&shard.bytes));
    let error = decode_blob(&blob).unwrap_err();
    assert!(matches!(error, SnapshotError::Inconsistent { .. }), "{error}");
}
