//! Shards in the wrong place. Damage and golden files are in `tests/metadata`.

use super::stored::{StoredRetired, StoredShard};
use super::*;
use crate::manifest::{Manifest, NamespaceManifest};
use siltstone_core::NamespaceId;
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
