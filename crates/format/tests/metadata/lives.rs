//! Lives of a group. They came after the other golden files were written, so they have golden files of their own.

use crate::{changes, check_damage, check_forged_snapshot, check_golden, check_replies, read_golden, reply, sample, snapshot_lines};
use proptest::prelude::*;
use siltstone_core::{BatchId, CommitIndex, Epoch, Incarnation, ObjectId};
use siltstone_format::command::{Rejection, Reply};
use siltstone_format::manifest::{Fate, FormerLife, Lane, Lives, Manifest};
use siltstone_format::snapshot::{SnapshotRoot, assemble, decode_blob, encode_blob};

fn replies() -> [(&'static str, Reply); 1] {
    [("life_used_up", Reply::Rejected(Rejection::LifeUsedUp { what: "namespace ids".into(), life: 3 }))]
}

/// The sample's state in the hands of its fourth life, of which it knows the first and the second.
pub(crate) fn manifest() -> Manifest {
    let sample = sample::manifest();
    let former = |incarnation, number, until| FormerLife { incarnation: Incarnation(incarnation), number, until: CommitIndex(until) };
    let mut manifest = Manifest {
        incarnation: Incarnation(0x1234_5678_9abc_def3),
        lives: Lives::new(3, &[former(0x1234_5678_9abc_def0, 0, 4_000), former(0x1234_5678_9abc_def1, 1, 4_500)]).unwrap(),
        counters: Lane::of(3).unwrap().first(),
        ..sample.clone()
    };
    // The epochs of the sample are the first life's: they are over, and what was open is closed.
    (manifest.epochs, manifest.writers, manifest.jobs) = Default::default();
    let mut shop = sample.namespaces.values().next().unwrap().as_ref().clone();
    let open: Vec<_> = shop.open_chunks().map(|(id, chunk)| (id, chunk.clone())).collect();
    for (id, mut chunk) in open {
        std::sync::Arc::make_mut(&mut chunk).state = siltstone_format::manifest::ChunkState::Closed;
        shop.chunks.insert_mut(id, chunk);
    }
    shop.totals = shop.count_totals();
    manifest.totals = shop.totals;
    manifest.namespaces.insert_mut(shop.id, shop.into());
    manifest
}

#[test]
fn a_snapshot_with_former_lives_has_the_bytes_of_version_3_and_comes_back() {
    check_replies("reply-lives-v1.hex", &replies());
    let lines = snapshot_lines(&manifest());
    check_golden("snapshot-lives-v3.hex", &lines);
    let root = SnapshotRoot::decode(&lines[0].1).unwrap();
    assert_eq!((root.incarnation(), root.life()), (Incarnation(0x1234_5678_9abc_def3), 3));
    assert_eq!(assemble(&root, lines[1..].iter().map(|(_, bytes)| bytes.as_slice())).unwrap(), manifest());
    assert_eq!(decode_blob(&encode_blob(&manifest()).unwrap()).unwrap(), manifest());
}

#[test]
fn a_snapshot_of_a_version_without_lives_is_of_a_group_with_one() {
    for name in ["snapshot-v1.hex", "snapshot-v2.hex"] {
        let manifest = read_golden(name);
        assert_eq!((manifest.lives.number(), manifest.lives.former()), (0, &[][..]), "{name}");
        assert_eq!(manifest.incarnation_of(Epoch(3)), manifest.incarnation, "{name}");
    }
}

#[test]
fn an_object_is_looked_for_under_the_life_that_made_it_and_only_the_present_life_collects_its_own() {
    let manifest = manifest();
    let of = |epoch| manifest.incarnation_of(Epoch(epoch)).0 & 0xf;
    assert_eq!((of(3), of(1 << 32), of((3 << 32) - 1), of(3 << 32), of(u64::MAX)), (0, 1, 1, 3, 3));
    assert_eq!(manifest.batch_fate(Epoch(3), BatchId(500)), Fate::Named);
    assert_eq!(manifest.batch_fate(Epoch(3), BatchId(499)), Fate::Foreign, "it is retired, and a backup may name it");
    assert_eq!(manifest.batch_fate(Epoch(3), BatchId(777)), Fate::Foreign, "the first life went on after it was left");
    assert_eq!(manifest.object_fate(Epoch(1 << 32 | 9), ObjectId(777)), Fate::Foreign);
    assert_eq!(manifest.object_fate(Epoch(3 << 32 | 9), ObjectId(777)), Fate::Foreign, "this epoch was not given yet");
    assert!(!manifest.is_live(Epoch(3)) && manifest.is_fenced(Epoch(3)), "EP-1 holds for every former life");
}

#[test]
fn lives_that_cannot_follow_each_other_are_refused() {
    let refused = |manifest: &Manifest, what: &str| {
        let error = decode_blob(&encode_blob(manifest).unwrap()).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    let good = manifest();
    refused(&Manifest { incarnation: Incarnation(0x1234_5678_9abc_def1), ..good.clone() }, "RA-1: life 3");
    refused(&Manifest { counters: Lane::of(2).unwrap().first(), ..good.clone() }, "RA-1: life 3");
    refused(&Manifest { version: CommitIndex(4_499), ..good.clone() }, "RA-1: life 3");
    let epochs = sample::manifest().epochs;
    refused(&Manifest { epochs, ..good }, "EP-1: epoch 3 cannot be alive");
}

#[test]
fn any_damage_of_what_is_stored_of_lives_is_seen() {
    replies().iter().for_each(|(_, sample)| check_damage(&sample.encode().unwrap(), reply));
    check_damage(&encode_blob(&manifest()).unwrap(), |bytes| decode_blob(bytes).map_err(|error| error.to_string()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_forged_snapshot_with_lives_is_refused_or_is_another_state(part: prop::sample::Index, changes in changes()) {
        check_forged_snapshot(&manifest(), part, &changes);
    }
}
