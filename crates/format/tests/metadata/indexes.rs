//! Vector fields and indexes over entries' vectors. They came to version 1 after its other golden files were written, so they have golden files of
//! their own.

use crate::{
    changes, check_commands, check_damage, check_forged_command, check_forged_snapshot, check_golden, check_replies, command, reply, sample,
    snapshot_lines,
};
use proptest::prelude::*;
use siltstone_core::{ChunkId, Epoch, NamespaceId, ObjectId, VectorIndexId};
use siltstone_format::command::{Command, CommandBody, CommitIndexes, IndexPart, Rejection, Reply};
use siltstone_format::manifest::{
    ByteRange, CheckedRange, ChunkList, Manifest, NamespaceManifest, ObjectRecord, ObjectState, VectorFieldRecord, VectorIndexRecord,
};
use siltstone_format::snapshot::{SnapshotRoot, assemble, decode_blob, encode, encode_blob, encode_changed};
use std::sync::Arc;

fn object(id: u64) -> ObjectRecord {
    let footer = CheckedRange { offset: 69_000, len: 1_000, crc32c: 0xdead_beef };
    ObjectRecord { id: ObjectId(id), epoch: Epoch(4), len_bytes: 70_000, footer }
}

fn index(id: u64, object: u64, field: &str, dimension: u16, chunks: &[u64]) -> VectorIndexRecord {
    let chunks = chunks.iter().map(|id| ChunkId(*id)).collect::<Vec<_>>();
    VectorIndexRecord {
        id: VectorIndexId(id),
        object: ObjectId(object),
        field: field.to_owned(),
        dimension,
        vectors: 90_000,
        addresses: CheckedRange { offset: 16, len: 3_000, crc32c: 0xcafe },
        range: ByteRange { offset: 3_016, len: 50_000 },
        chunks: ChunkList::new(&chunks).unwrap(),
    }
}

fn commands() -> Vec<Command> {
    let parts = vec![
        IndexPart { namespace: NamespaceId(1), indexes_in: vec![], indexes_out: vec![index(721, 720, "text", 384, &[1, 9])] },
        IndexPart { namespace: NamespaceId(70_000), indexes_in: vec![VectorIndexId(3)], indexes_out: vec![index(722, 720, "image", 8, &[2])] },
    ];
    let bodies = vec![
        CommandBody::DeclareVectorField { namespace: NamespaceId(1), field: "text".into(), dimension: 384 },
        CommandBody::CommitIndexes(CommitIndexes { epoch: Epoch(4), object: object(720), parts }),
    ];
    bodies.into_iter().map(|body| Command { proposed_at_ms: 1_700_000_000_000, body }).collect()
}

fn replies() -> [(&'static str, Reply); 2] {
    [
        ("vector_field", Reply::VectorField { dimension: 384 }),
        ("index_conflict", Reply::Rejected(Rejection::IndexConflict { index: VectorIndexId(3) })),
    ]
}

/// The manifest of `sample`, with two fields and an index of one of them.
pub(crate) fn manifest() -> Manifest {
    let mut manifest = sample::with_another_namespace(sample::manifest());
    let mut changed = NamespaceManifest::clone(manifest.namespace(NamespaceId(1)).unwrap());
    for (name, dimension) in [("text", 384), ("image", 8)] {
        changed.vector_fields.insert_mut(name.into(), Arc::new(VectorFieldRecord { name: name.into(), dimension }));
    }
    let index = index(621, 620, "text", 384, &[1, 2]);
    changed.vector_indexes.insert_mut(index.id, Arc::new(index));
    manifest.namespaces.insert_mut(changed.id, Arc::new(changed));
    manifest.objects.insert_mut(ObjectId(620), ObjectState { record: object(620), parts: 1, retired_at_ms: None });
    manifest
}

#[test]
fn commands_replies_and_snapshots_of_vector_fields_have_the_bytes_of_their_version_and_come_back() {
    check_commands("command-indexes-v1.hex", &commands());
    check_replies("reply-indexes-v1.hex", &replies());
    let lines = snapshot_lines(&manifest());
    check_golden("snapshot-indexes-v3.hex", &lines);
    let root = SnapshotRoot::decode(&lines[0].1).unwrap();
    assert_eq!(assemble(&root, lines[1..].iter().map(|(_, bytes)| bytes.as_slice())).unwrap(), manifest());
    assert_eq!(decode_blob(&encode_blob(&manifest()).unwrap()).unwrap(), manifest());
}

#[test]
fn fields_that_come_for_the_first_time_are_a_shard_of_their_own() {
    let before = sample::with_another_namespace(sample::manifest());
    let first = encode(&before).unwrap();
    let changed = encode_changed(&manifest(), &before, &first.root).unwrap();
    assert_eq!(changed.root, encode(&manifest()).unwrap().root);
    assert!(changed.shards.iter().any(|shard| shard.reference.to_string().starts_with("entry-vectors")));
    assert!(changed.shards.len() < changed.root.shards().len(), "batches did not change");
}

#[test]
fn any_damage_of_what_is_stored_of_vector_fields_is_seen() {
    commands().iter().for_each(|sample| check_damage(&sample.encode().unwrap(), command));
    replies().iter().for_each(|(_, sample)| check_damage(&sample.encode().unwrap(), reply));
    check_damage(&encode_blob(&manifest()).unwrap(), |bytes| decode_blob(bytes).map_err(|error| error.to_string()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_forged_command_of_vector_fields_is_refused_or_is_another_command(which: prop::sample::Index, changes in changes()) {
        check_forged_command(which.get(&commands()), &changes);
    }

    #[test]
    fn a_forged_snapshot_with_vector_fields_is_refused_or_is_another_state(part: prop::sample::Index, changes in changes()) {
        check_forged_snapshot(&manifest(), part, &changes);
    }
}
