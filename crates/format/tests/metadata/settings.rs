//! Settings. They came after the other golden files were written, so they have golden files of their own.

use crate::{
    changes, check_commands, check_damage, check_forged_command, check_forged_snapshot, check_golden, check_replies, command, golden_lines, reply,
    sample, snapshot_lines,
};
use proptest::prelude::*;
use siltstone_core::CommitIndex;
use siltstone_format::command::{Command, CommandBody, Rejection, Reply};
use siltstone_format::manifest::{Manifest, SettingRecord};
use siltstone_format::snapshot::{SnapshotRoot, assemble, decode_blob, encode, encode_blob, encode_changed};

pub(crate) fn commands() -> Vec<Command> {
    let put = |key: &str, value: Option<&[u8]>, expected: Option<u64>| CommandBody::PutSetting {
        key: key.to_owned(),
        value: value.map(<[u8]>::to_vec),
        expected: expected.map(CommitIndex),
    };
    let bodies = [put("ingest.limits", Some(b"{\"docs_per_s\": 100000}"), Some(7)), put("x", None, None)];
    bodies.into_iter().map(|body| Command { proposed_at_ms: 1_700_000_000_000, body }).collect()
}

fn replies() -> [(&'static str, Reply); 2] {
    let conflict = Rejection::SettingConflict { key: "x".into(), expected: CommitIndex(0), changed_at: CommitIndex(70_000) };
    [("setting", Reply::Setting { changed_at: CommitIndex(70_000) }), ("setting_conflict", Reply::Rejected(conflict))]
}

pub(crate) fn manifest() -> Manifest {
    with_settings(sample::manifest())
}

fn with_settings(mut manifest: Manifest) -> Manifest {
    for (key, value) in [("ingest.limits", b"100".as_slice()), ("x", b"")] {
        let record = SettingRecord { key: key.to_owned(), value: value.to_vec(), changed_at: CommitIndex(1) };
        manifest.settings.insert_mut(key.into(), record.into());
    }
    manifest
}

#[test]
fn commands_replies_and_snapshots_of_settings_have_the_bytes_of_their_version_and_come_back() {
    check_commands("command-settings-v2.hex", &commands());
    check_replies("reply-settings-v1.hex", &replies());
    let lines = snapshot_lines(&manifest());
    check_golden("snapshot-settings-v3.hex", &lines);
    let root = SnapshotRoot::decode(&lines[0].1).unwrap();
    assert_eq!(assemble(&root, lines[1..].iter().map(|(_, bytes)| bytes.as_slice())).unwrap(), manifest());
    assert_eq!(decode_blob(&encode_blob(&manifest()).unwrap()).unwrap(), manifest());
}

/// Before there was a second version, settings were written under the first.
#[test]
fn commands_of_settings_that_were_written_as_version_1_are_still_read() {
    let read: Vec<_> = golden_lines("command-settings-v1.hex").iter().map(|bytes| command(bytes).unwrap()).collect();
    assert_eq!(read, commands());
}

#[test]
fn settings_are_a_shard_of_their_own_that_is_written_when_one_changed() {
    let before = sample::manifest();
    let after = with_settings(before.clone());
    let first = encode(&before).unwrap();
    let changed = encode_changed(&after, &before, &first.root).unwrap();
    assert_eq!(changed.shards.len(), 1, "nothing else changed");
    assert!(changed.shards[0].reference.to_string().starts_with("settings"));
    assert_eq!(changed.root, encode(&after).unwrap().root);
    assert_eq!(encode_changed(&after.clone(), &after, &changed.root).unwrap().shards, []);
}

#[test]
fn any_damage_of_what_is_stored_of_settings_is_seen() {
    commands().iter().for_each(|sample| check_damage(&sample.encode().unwrap(), command));
    replies().iter().for_each(|(_, sample)| check_damage(&sample.encode().unwrap(), reply));
    check_damage(&encode_blob(&manifest()).unwrap(), |bytes| decode_blob(bytes).map_err(|error| error.to_string()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_forged_command_of_settings_is_refused_or_is_another_command(which: prop::sample::Index, changes in changes()) {
        check_forged_command(which.get(&commands()), &changes);
    }

    #[test]
    fn a_forged_snapshot_with_settings_is_refused_or_is_another_state(part: prop::sample::Index, changes in changes()) {
        check_forged_snapshot(&manifest(), part, &changes);
    }
}
