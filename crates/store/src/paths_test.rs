use super::*;
use proptest::prelude::*;

fn any_path() -> impl Strategy<Value = ObjectPath> {
    (0..5_u8, any::<u64>(), any::<u64>(), any::<u64>(), any::<[u8; 32]>()).prop_map(|(kind, incarnation, epoch, id, hash)| {
        let (incarnation, epoch) = (Incarnation(incarnation), Epoch(epoch));
        match kind {
            0 => ObjectPath::Owner { incarnation },
            1 => ObjectPath::Batch { incarnation, epoch, batch: BatchId(id) },
            2 => ObjectPath::Object { incarnation, epoch, object: ObjectId(id) },
            3 => ObjectPath::SnapshotRoot { incarnation, epoch, index: CommitIndex(id) },
            _ => ObjectPath::SnapshotShard { incarnation, epoch, index: CommitIndex(id), hash },
        }
    })
}

proptest! {
    #[test]
    fn every_path_survives_its_key(path in any_path()) {
        prop_assert_eq!(ObjectPath::parse(&path.key()), Ok(path));
    }

    #[test]
    fn a_key_starts_with_its_prefixes(path in any_path(), epoch in any::<u64>()) {
        let key = path.key();
        prop_assert!(key.as_str().starts_with(&kind_prefix(path.kind(), path.incarnation())));
        prop_assert!(key.as_str().starts_with(&epoch_prefix(path.kind(), path.incarnation(), path.epoch().unwrap_or(Epoch(epoch)))));
        if path.kind() != PathKind::Owner {
            prop_assert!(key.as_str().starts_with(&incarnation_prefix(path.incarnation())));
        }
    }

    #[test]
    fn keys_of_one_kind_sort_as_their_numbers_do(left in any_path(), right in any_path()) {
        if left.kind() == right.kind() {
            prop_assert_eq!(left.cmp(&right), left.key().cmp(&right.key()));
        }
    }

    #[test]
    fn what_is_accepted_is_what_is_built(text in concat!(
        "(v1|v2|owner|batches|objects|metadata|snapshots|shards|",
        "[0-9a-fA-F]{15,17}|[0-9a-f]{16}-[0-9a-f]{64}|/){1,11}",
    )) {
        if let Ok(path) = ObjectPath::parse_str(&text) {
            prop_assert_eq!(path.key().to_string(), text);
        }
    }
}

#[test]
fn the_layout_stays_as_it_is() {
    let (incarnation, epoch) = (Incarnation(1), Epoch(0x2a));
    let batch = ObjectPath::Batch { incarnation, epoch, batch: BatchId(3) };
    assert_eq!(batch.key().as_str(), "v1/0000000000000001/batches/000000000000002a/0000000000000003");
    let object = ObjectPath::Object { incarnation, epoch, object: ObjectId(u64::MAX) };
    assert_eq!(object.key().as_str(), "v1/0000000000000001/objects/000000000000002a/ffffffffffffffff");
    let root = ObjectPath::SnapshotRoot { incarnation, epoch, index: CommitIndex(9) };
    assert_eq!(root.key().as_str(), "v1/0000000000000001/metadata/snapshots/000000000000002a/0000000000000009");
    let shard = ObjectPath::SnapshotShard { incarnation, epoch, index: CommitIndex(9), hash: [0x1f; 32] };
    let of_position = "v1/0000000000000001/metadata/shards/000000000000002a/0000000000000009-";
    assert_eq!(shard.key().as_str(), format!("{of_position}{}", "1f".repeat(32)));
    assert_eq!(ObjectPath::Owner { incarnation }.key().as_str(), "v1/owner/0000000000000001");
}

#[test]
fn other_keys_are_refused_with_their_name() {
    for key in [
        "v2/0000000000000001/batches/000000000000002a/0000000000000003",
        "v1/1/batches/2a/3",
        "v1/0000000000000001/batches/000000000000002A/0000000000000003",
        "v1/0000000000000001/batches/+00000000000002a/0000000000000003",
        "v1/0000000000000001/batches/000000000000002a",
        "v1/0000000000000001/logs/000000000000002a/0000000000000003",
        "v1/0000000000000001/metadata/shards/000000000000002a/0000000000000009-001f",
        "v1/owner",
        "owner",
    ] {
        let error = ObjectPath::parse_str(key).expect_err(key);
        assert!(error.to_string().contains(key), "{error}");
    }
}
