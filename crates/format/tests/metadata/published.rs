//! Roots as they lie on the object store.

use crate::{check_damage, sample};
use siltstone_core::{CommitIndex, Epoch};
use siltstone_format::snapshot::{PublishedRoot, ShardMaker, SnapshotError, SnapshotRoot, encode};
use std::path::PathBuf;

fn published() -> PublishedRoot {
    let root = encode(&sample::manifest()).unwrap().root;
    let maker = |at: usize| ShardMaker { epoch: Epoch(1 + at as u64 % 2), index: CommitIndex(70_000 + at as u64) };
    let makers = (0..root.shards().len()).map(maker).collect();
    PublishedRoot::new(root, makers).unwrap()
}

/// The root inside has versions of its own, so the bytes are not compared: what was written once is read for ever.
#[test]
fn a_published_root_of_version_1_is_read() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/published-v1.hex");
    if std::env::var_os("SILTSTONE_BLESS").is_some() && !path.exists() {
        std::fs::write(&path, published().encode().unwrap().iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n").unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
    let byte = |hex: &[u8]| u8::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap();
    let bytes: Vec<u8> = golden.trim_end().as_bytes().chunks(2).map(byte).collect();
    let (read, expected) = (PublishedRoot::decode(&bytes).unwrap(), published());
    assert!(read.shards().eq(expected.shards()));
    assert_eq!((read.root().version(), read.root().state_time_ms()), (sample::manifest().version, sample::manifest().state_time_ms));
}

#[test]
fn a_published_root_comes_back_and_knows_the_makers_of_its_shards() {
    let published = published();
    let back = PublishedRoot::decode(&published.encode().unwrap()).unwrap();
    assert_eq!(back, published);
    for (shard, maker) in published.shards() {
        assert_eq!(back.maker(shard), Some(maker));
        let mut other = *shard;
        other.hash[0] ^= 1;
        assert_eq!(back.maker(&other), None, "a shard of other content is another shard");
    }
}

#[test]
fn any_damage_of_a_published_root_is_seen() {
    check_damage(&published().encode().unwrap(), |bytes| PublishedRoot::decode(bytes).map_err(|error| error.to_string()));
}

#[test]
fn a_published_root_has_a_maker_for_each_shard() {
    let root: SnapshotRoot = encode(&sample::manifest()).unwrap().root;
    let error = PublishedRoot::new(root, Vec::new()).unwrap_err();
    assert!(matches!(error, SnapshotError::Inconsistent { .. }), "{error}");
}
