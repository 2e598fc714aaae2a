//! Models and pattern vectors. They came after the other golden files were written, so they have golden files of their own.

use crate::{
    changes, check_commands, check_damage, check_forged_command, check_forged_snapshot, check_golden, check_replies, command, forge, reply, sample,
    sample_vectors, snapshot_lines,
};
use proptest::prelude::*;
use siltstone_format::snapshot::{SnapshotRoot, assemble, decode_blob, encode, encode_blob, encode_changed};
use siltstone_format::vectors::PatternVectors;

#[test]
fn commands_and_replies_of_vectors_have_the_bytes_of_version_1_and_come_back() {
    check_commands("command-vectors-v1.hex", &sample_vectors::commands());

    check_replies("reply-vectors-v1.hex", &sample_vectors::replies());
}

#[test]
fn a_snapshot_with_vectors_and_models_has_the_bytes_of_version_3_and_comes_back() {
    let manifest = sample_vectors::manifest();
    let lines = snapshot_lines(&manifest);
    check_golden("snapshot-vectors-v3.hex", &lines);
    let root = SnapshotRoot::decode(&lines[0].1).unwrap();
    assert_eq!(assemble(&root, lines[1..].iter().map(|(_, bytes)| bytes.as_slice())).unwrap(), manifest);
    assert_eq!(decode_blob(&encode_blob(&manifest).unwrap()).unwrap(), manifest);
}

#[test]
fn pattern_vectors_have_the_bytes_of_version_1_and_come_back() {
    let vectors = sample_vectors::pattern_vectors();
    let bytes = vectors.encode().unwrap();
    check_golden("pattern-vectors-v1.hex", &[("pattern_vectors".into(), bytes.clone())]);
    assert_eq!(PatternVectors::decode(&bytes), Ok(vectors));
}

#[test]
fn shards_of_vectors_and_models_are_written_again_when_they_changed() {
    let earlier = sample_vectors::manifest();
    let first = encode(&earlier).unwrap();
    assert_eq!(encode_changed(&earlier.clone(), &earlier, &first.root).unwrap().shards, []);
    let mut later = earlier.clone();
    let id = sample_vectors::model("minilm-l6-v2+p1");
    let mut record = later.models.get(&id).unwrap().as_ref().clone();
    record.source.push('x');
    later.models.insert_mut(id, record.into());
    let changed = encode_changed(&later, &earlier, &first.root).unwrap();
    assert_eq!(changed.shards.iter().map(|shard| shard.reference.to_string().split(' ').next().unwrap().to_owned()).collect::<Vec<_>>(), ["models"]);
    assert_eq!(changed.root, encode(&later).unwrap().root);

    // Vectors that come for the first time: what was there before stays as it is.
    let before = sample::with_another_namespace(sample::manifest());
    let first = encode(&before).unwrap();
    let changed = encode_changed(&earlier, &before, &first.root).unwrap();
    assert_eq!(changed.root, encode(&earlier).unwrap().root);
    assert!(changed.shards.len() < changed.root.shards().len(), "batches did not change");
}

#[test]
fn any_damage_of_what_is_stored_of_vectors_is_seen() {
    sample_vectors::commands().iter().for_each(|sample| check_damage(&sample.encode().unwrap(), command));
    sample_vectors::replies().iter().for_each(|(_, sample)| check_damage(&sample.encode().unwrap(), reply));
    let blob = encode_blob(&sample_vectors::manifest()).unwrap();
    check_damage(&blob, |bytes| decode_blob(bytes).map_err(|error| error.to_string()));
    check_damage(&sample_vectors::pattern_vectors().encode().unwrap(), vectors);
}

fn vectors(bytes: &[u8]) -> Result<PatternVectors, String> {
    PatternVectors::decode(bytes).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_forged_command_of_vectors_is_refused_or_is_another_command(which: prop::sample::Index, changes in changes()) {
        check_forged_command(which.get(&sample_vectors::commands()), &changes);
    }

    #[test]
    fn a_forged_snapshot_with_vectors_is_refused_or_is_another_state(part: prop::sample::Index, changes in changes()) {
        check_forged_snapshot(&sample_vectors::manifest(), part, &changes);
    }

    #[test]
    fn forged_pattern_vectors_are_refused_or_are_others(changes in changes()) {
        if let Ok(read) = vectors(&forge(&sample_vectors::pattern_vectors().encode().unwrap(), &changes)) {
            prop_assert_eq!(vectors(&read.encode().unwrap()), Ok(read));
        }
    }

    #[test]
    fn any_bytes_are_read_as_pattern_vectors_without_a_panic(bytes: Vec<u8>) {
        prop_assert!(vectors(&bytes).is_err());
    }
}
