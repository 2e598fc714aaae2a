//! Commands, replies and snapshots: golden files of every version, and damage of every kind.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod indexes;
mod lives;
mod published;
mod sample;
mod sample_vectors;
mod settings;
mod vectors;
mod versions;

use proptest::prelude::*;
use siltstone_format::command::{Command, Reply};
use siltstone_format::manifest::{ChunkList, Manifest, PackChunks};
use siltstone_format::snapshot::{SnapshotRoot, assemble, decode_blob, encode, encode_blob, encode_changed};
use std::path::PathBuf;

/// Compares with a golden file; `SILTSTONE_BLESS=1` writes it, for a new version alone.
fn check_golden(name: &str, lines: &[(String, Vec<u8>)]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let text: String = lines.iter().map(|(name, bytes)| format!("{name} {}\n", hex(bytes))).collect();
    if std::env::var_os("SILTSTONE_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
    assert_eq!(golden, text, "{name}: the bytes of a version never change");
}

/// Every bit of `bytes` flipped, every byte replaced, and every shorter or longer form is refused.
fn check_damage<T>(bytes: &[u8], decode: impl Fn(&[u8]) -> Result<T, String>) {
    assert!(decode(bytes).is_ok());
    let mut damaged = bytes.to_vec();
    for position in 0..bytes.len() {
        for mask in (0..8).map(|bit| 1 << bit).chain([0xff]) {
            damaged[position] ^= mask;
            assert!(decode(&damaged).is_err(), "byte {position} ^ {mask:#x} goes unseen");
            damaged[position] ^= mask;
        }
    }
    (0..bytes.len()).for_each(|len| assert!(decode(&bytes[..len]).is_err(), "{len} of {} bytes are taken", bytes.len()));
    damaged.push(0);
    assert!(decode(&damaged).is_err(), "a byte too many is taken");
}

fn command(bytes: &[u8]) -> Result<Command, String> {
    Command::decode(bytes).map_err(|error| error.to_string())
}

fn reply(bytes: &[u8]) -> Result<Reply, String> {
    Reply::decode(bytes).map_err(|error| error.to_string())
}

/// Where a byte is changed, and to what.
type Change = (prop::sample::Index, u8);

/// Commands have the bytes of a golden file and come back from them.
fn check_commands(golden: &str, commands: &[Command]) {
    let lines: Vec<_> = commands.iter().map(|command| (command.body.name().to_owned(), command.encode().unwrap())).collect();
    check_golden(golden, &lines);
    lines.iter().zip(commands).for_each(|((_, bytes), expected)| assert_eq!(command(bytes).as_ref(), Ok(expected)));
}

/// As [`check_commands`], of replies and their names.
fn check_replies(golden: &str, replies: &[(&str, Reply)]) {
    let lines: Vec<_> = replies.iter().map(|(name, reply)| ((*name).to_owned(), reply.encode().unwrap())).collect();
    check_golden(golden, &lines);
    lines.iter().zip(replies).for_each(|((_, bytes), (_, expected))| assert_eq!(reply(bytes).as_ref(), Ok(expected)));
}

/// A command whose bytes were changed with a right checksum is refused, or is another command.
fn check_forged_command(sample: &Command, changes: &[Change]) {
    if let Ok(read) = command(&forge(&sample.encode().unwrap(), changes)) {
        assert_eq!(command(&read.encode().unwrap()), Ok(read));
    }
}

/// As [`check_forged_command`], of a part of a snapshot.
fn check_forged_snapshot(sample: &Manifest, part: prop::sample::Index, changes: &[Change]) {
    if let Ok(manifest) = decode_blob(&forge_snapshot(sample, part, changes)) {
        assert_eq!(decode_blob(&encode_blob(&manifest).unwrap()), Ok(manifest));
    }
}

#[test]
fn every_command_has_the_bytes_of_version_1_and_comes_back() {
    check_commands("command-v1.hex", &sample::commands());
}

#[test]
fn every_reply_has_the_bytes_of_version_1_and_comes_back() {
    check_replies("reply-v1.hex", &sample::replies());
}

#[test]
fn lists_of_the_manifest_have_the_bytes_of_version_1() {
    let packed = PackChunks::new(&sample::pack_chunks()).unwrap();
    let listed = ChunkList::new(&sample::chunk_ids()).unwrap();
    assert!(packed.iter().eq(sample::pack_chunks()) && listed.iter().eq(sample::chunk_ids()));
    assert_eq!((packed.len(), listed.len()), (sample::pack_chunks().len(), sample::chunk_ids().len()));
    check_golden("manifest-v1.hex", &[("pack_chunks".into(), packed.into()), ("chunk_list".into(), listed.into())]);
}

/// Root and shards by name.
fn snapshot_lines(manifest: &Manifest) -> Vec<(String, Vec<u8>)> {
    let encoded = encode(manifest).unwrap();
    let mut lines = vec![("root".to_owned(), encoded.root.encode().unwrap())];
    lines.extend(encoded.shards.iter().map(|shard| (format!("{:?}-{}", shard.reference.content, shard.reference.number), shard.bytes.clone())));
    lines
}

/// The records of a golden file.
fn golden_lines(name: &str) -> Vec<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
    let byte = |hex: &[u8]| u8::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap();
    golden.lines().map(|line| line.split_once(' ').unwrap().1.as_bytes().chunks(2).map(byte).collect()).collect()
}

/// The manifest of a golden file of root and shards.
fn read_golden(name: &str) -> Manifest {
    decode_blob(&golden_lines(name).concat()).unwrap()
}

#[test]
fn snapshots_of_versions_1_and_2_are_still_read() {
    for version in ["v1", "v2"] {
        assert_eq!(read_golden(&format!("snapshot-{version}.hex")), sample::manifest());
        assert_eq!(read_golden(&format!("snapshot-vectors-{version}.hex")), sample_vectors::manifest());
        assert_eq!(read_golden(&format!("snapshot-indexes-{version}.hex")), indexes::manifest());
        assert_eq!(read_golden(&format!("snapshot-settings-{version}.hex")), settings::manifest());
    }
}

#[test]
fn a_snapshot_has_the_bytes_of_version_3_and_comes_back() {
    let manifest = sample::manifest();
    let lines = snapshot_lines(&manifest);
    check_golden("snapshot-v3.hex", &lines);

    let root = SnapshotRoot::decode(&lines[0].1).unwrap();
    assert_eq!((root.version(), root.incarnation()), (manifest.version, manifest.incarnation));
    let assembled = assemble(&root, lines[1..].iter().map(|(_, bytes)| bytes.as_slice())).unwrap();
    assert_eq!(assembled, manifest);
    let blob = encode_blob(&manifest).unwrap();
    assert_eq!(blob, lines.iter().flat_map(|(_, bytes)| bytes.clone()).collect::<Vec<_>>(), "one piece is root and shards, back to back");
    assert_eq!(decode_blob(&blob).unwrap(), manifest);
}

#[test]
fn shards_that_did_not_change_are_not_written_again() {
    let earlier = sample::manifest();
    let first = encode(&earlier).unwrap();
    let same = encode_changed(&earlier.clone(), &earlier, &first.root).unwrap();
    assert_eq!((&same.root, same.shards.len()), (&first.root, 0));
    let later = sample::with_another_namespace(earlier.clone());
    let changed = encode_changed(&later, &earlier, &first.root).unwrap();
    let whole = encode(&later).unwrap();
    assert_eq!(changed.root, whole.root, "left out or not, a shard has the same name");
    assert_eq!(changed.shards.len(), 1);
    assert!(whole.shards.contains(&changed.shards[0]) && whole.shards.len() > 1);
}

#[test]
fn any_damage_of_a_command_is_seen() {
    sample::commands().iter().for_each(|sample| check_damage(&sample.encode().unwrap(), command));
}

#[test]
fn any_damage_of_a_reply_is_seen() {
    sample::replies().iter().for_each(|(_, sample)| check_damage(&sample.encode().unwrap(), reply));
}

#[test]
fn any_damage_of_a_snapshot_is_seen() {
    let blob = encode_blob(&sample::manifest()).unwrap();
    check_damage(&blob, |bytes| decode_blob(bytes).map_err(|error| error.to_string()));
}

#[test]
fn a_newer_version_is_refused_by_its_number() {
    let mut bytes = sample::commands()[0].encode().unwrap();
    bytes[4] = 3;
    let sum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..10]), &bytes[14..]);
    bytes[10..14].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(command(&bytes), Err("read command: version 3 is not known to this program, which reads up to version 2".to_owned()));
}

/// The bytes with a payload that was changed by one who knows how to make a checksum.
fn forge(bytes: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut forged = bytes.to_vec();
    for (at, value) in changes {
        let position = 14 + at.index(bytes.len() - 14);
        forged[position] = *value;
    }
    let sum = crc32c::crc32c_append(crc32c::crc32c(&forged[..10]), &forged[14..]);
    forged[10..14].copy_from_slice(&sum.to_le_bytes());
    forged
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(any::<Change>(), 1..4)
}

/// The snapshot with changes in its root or one shard, and every checksum and hash made anew.
fn forge_snapshot(manifest: &Manifest, part: prop::sample::Index, changes: &[Change]) -> Vec<u8> {
    let encoded = encode(manifest).unwrap();
    let (mut root, mut shards) = (encoded.root.encode().unwrap(), Vec::new());
    let part = part.index(encoded.shards.len() + 1);
    for (position, shard) in encoded.shards.iter().enumerate() {
        let bytes = if position == part { forge(&shard.bytes, changes) } else { shard.bytes.clone() };
        let at = root.windows(32).position(|window| window == shard.reference.hash).unwrap();
        root[at..at + 32].copy_from_slice(blake3::hash(&bytes).as_bytes());
        shards.extend(bytes);
    }
    let mut blob = forge(&root, if part == encoded.shards.len() { changes } else { &[] });
    blob.extend(shards);
    blob
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
        prop_assert!(command(&bytes).is_err() && reply(&bytes).is_err() && decode_blob(&bytes).is_err());
    }

    #[test]
    fn a_forged_command_is_refused_or_is_another_command(which: prop::sample::Index, changes in changes()) {
        check_forged_command(which.get(&sample::commands()), &changes);
    }

    #[test]
    fn a_forged_snapshot_is_refused_or_is_another_state(part: prop::sample::Index, changes in changes()) {
        check_forged_snapshot(&sample::manifest(), part, &changes);
    }

    #[test]
    fn any_list_bytes_are_one_list_or_none(bytes: Vec<u8>) {
        if let Ok(list) = PackChunks::try_from(bytes.clone()) {
            let chunks: Vec<_> = list.iter().collect();
            prop_assert_eq!(chunks.len(), list.len());
            prop_assert_eq!(PackChunks::new(&chunks).map(Vec::from), Ok(bytes.clone()));
        }
        if let Ok(list) = ChunkList::try_from(bytes.clone()) {
            let chunks: Vec<_> = list.iter().collect();
            prop_assert_eq!(ChunkList::new(&chunks).map(Vec::from), Ok(bytes));
        }
    }
}
