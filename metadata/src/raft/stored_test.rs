use super::*;
use siltstone_core::Incarnation;
use siltstone_format::command::{Command, CommandBody};

fn log_id(index: u64) -> LogId {
    LogId::new(CommittedLeaderId::new(3, 7), index)
}

fn membership() -> openraft::Membership<u64, BasicNode> {
    let nodes: BTreeMap<u64, BasicNode> = [(1, "a:1"), (2, "b:2"), (9, "")].map(|(id, addr)| (id, BasicNode { addr: addr.to_owned() })).into();
    openraft::Membership::new(vec![[1, 2].into(), [2, 9].into()], nodes)
}

fn entries() -> Vec<Entry<RaftTypes>> {
    let command = Command { proposed_at_ms: 1_700_000_000_000, body: CommandBody::FoundGroup { incarnation: Incarnation(77) } };
    vec![
        Entry { log_id: log_id(4), payload: EntryPayload::Blank },
        Entry { log_id: log_id(5), payload: EntryPayload::Normal(Proposal::new(command).unwrap()) },
        Entry { log_id: log_id(6), payload: EntryPayload::Membership(membership()) },
    ]
}

#[test]
fn entries_come_back_and_no_flipped_byte_passes() {
    for entry in entries() {
        let bytes = encode_entry(&entry).unwrap();
        let read = decode_entry(&bytes).unwrap();
        assert_eq!(format!("{read:?}"), format!("{entry:?}"));
        assert_eq!(decode_entry_log_id(&bytes).unwrap(), entry.log_id);
        for at in 0..bytes.len() {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 0x55;
            assert!(decode_entry(&flipped.into()).is_err(), "byte {at}");
            assert!(decode_entry(&bytes.slice(..at)).is_err(), "cut at {at}");
        }
    }
}

#[test]
fn an_entry_adds_no_more_than_its_overhead_to_a_command() {
    let Entry { payload: EntryPayload::Normal(proposal), .. } = entries().remove(1) else { panic!("a command") };
    let longest = LogId::new(CommittedLeaderId::new(u64::MAX, u64::MAX), u64::MAX);
    let entry = Entry { log_id: longest, payload: EntryPayload::Normal(proposal.clone()) };
    assert!(encode_entry(&entry).unwrap().len() <= proposal.encoded().len() + ENTRY_OVERHEAD_BYTES);
}

#[test]
fn votes_ids_and_pointers_come_back() {
    for vote in [Vote::new(0, 0), Vote::new(5, 2), Vote::new_committed(u64::MAX, 3)] {
        assert_eq!(decode_vote(&encode_vote(&vote).unwrap()).unwrap(), vote);
    }
    assert_eq!(decode_log_id(&encode_log_id(log_id(8)).unwrap()).unwrap(), log_id(8));
    let pointer = SnapshotPointer { file: "x.snapshot".to_owned(), len: 5, last_index: None };
    assert_eq!(SnapshotPointer::decode(&pointer.encode().unwrap()).unwrap(), pointer);
    assert!(decode_vote(&encode_log_id(log_id(8)).unwrap()).is_err(), "kinds are told apart");
}

/// Of a snapshot.
fn meta() -> SnapshotMeta {
    SnapshotMeta { last_log_id: Some(log_id(9)), last_membership: Membership::new(Some(log_id(2)), membership()), snapshot_id: "id".to_owned() }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn content(command_version: u16, removed: &[u64]) -> SnapshotBytes {
    SnapshotBytes { machine: Bytes::from_static(b"machine"), command_version, removed: Arc::new(removed.iter().copied().collect()) }
}

#[test]
fn a_snapshot_file_comes_back() {
    let meta = meta();
    for (command_version, removed, version) in [(0, vec![], 1), (1, vec![], 1), (2, vec![], 2), (7, vec![], 2), (2, vec![3, 4], 3)] {
        let bytes = Bytes::from(encode_snapshot_file(&meta, &content(command_version, &removed)).unwrap());
        assert_eq!(bytes[4], version, "the oldest form that holds it");
        assert_eq!(decode_snapshot_file(&bytes).unwrap(), (meta.clone(), content(command_version.max(1), &removed)));
        for at in 0..bytes.len() - b"machine".len() {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 0x55;
            assert!(decode_snapshot_file(&flipped.into()).is_err(), "byte {at} of version {version}");
        }
    }
}

#[test]
fn a_removal_takes_no_member_of_a_group_that_is_not_upgraded_the_way_back() {
    let bytes = encode_snapshot_file(&meta(), &content(1, &[4])).unwrap();
    assert_eq!(bytes, encode_snapshot_file(&meta(), &content(1, &[])).unwrap());
    assert_eq!(decode_snapshot_file(&bytes.into()).unwrap().1, content(1, &[]), "as a program of that time reads it");
}

#[test]
fn snapshot_files_of_every_version_are_written_as_ever() {
    let meta = meta();
    let written = |contents: &[SnapshotBytes]| -> String {
        contents.iter().map(|content| hex(&encode_snapshot_file(&meta, content).unwrap()) + "\n").collect()
    };
    // Version 3 was once written for commands of version 1 too, and is read as ever.
    let once = include_str!("golden/snapshot-v3.txt").lines().next().unwrap();
    assert_eq!(decode_snapshot_file(&unhex(once).into()).unwrap(), (meta.clone(), content(1, &[3, 300])));
    let (v1_v2, v3) = (written(&[content(1, &[]), content(2, &[])]), format!("{once}\n{}", written(&[content(2, &[4])])));
    for (name, written) in [("snapshot-v1-v2.txt", v1_v2), ("snapshot-v3.txt", v3)] {
        let path = format!("{}/src/raft/golden/{name}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("SILTSTONE_BLESS").is_some() {
            std::fs::write(&path, &written).unwrap();
        }
        assert_eq!(written, std::fs::read_to_string(&path).unwrap(), "the bytes of a version never change");
    }
}

#[test]
fn the_head_of_an_entry_tells_the_version_of_a_command_that_is_not_read() {
    let [blank, command, members] = &entries()[..] else { panic!("three entries") };
    assert_eq!(decode_entry_head(&encode_entry(blank).unwrap()), Ok(EntryHead::Blank));
    assert_eq!(decode_entry_head(&encode_entry(members).unwrap()), Ok(EntryHead::Membership(Membership::new(Some(log_id(6)), membership()))));
    let mut bytes = encode_entry(command).unwrap().to_vec();
    assert_eq!(decode_entry_head(&bytes), Ok(EntryHead::Command(1)));
    let at = bytes.windows(4).position(|window| window == b"SLcm").unwrap();
    bytes[at + 4] = 9;
    assert_eq!(decode_entry_head(&bytes), Ok(EntryHead::Command(9)));
    assert!(decode_entry(&bytes.clone().into()).is_err());
    bytes[at] = 0;
    assert!(decode_entry_head(&bytes).is_err());
}

#[test]
fn version_1_is_written_as_ever() {
    let golden: Vec<&str> = include_str!("golden/v1.txt").lines().collect();
    let mut written: Vec<String> = entries().iter().map(|entry| hex(&encode_entry(entry).unwrap())).collect();
    written.push(hex(&encode_vote(&Vote::new_committed(5, 2)).unwrap()));
    written.push(hex(&encode_log_id(log_id(8)).unwrap()));
    written.push(hex(&SnapshotPointer { file: "x.snapshot".to_owned(), len: 5, last_index: Some(9) }.encode().unwrap()));
    let member = *golden.last().unwrap();
    if std::env::var_os("SILTSTONE_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/raft/golden/v1.txt");
        std::fs::write(path, written.join("\n") + "\n" + member + "\n").unwrap();
        return;
    }
    assert_eq!(written, golden[..golden.len() - 1], "the format changed: that needs a new version number and a reader for the old one");
}

#[test]
fn member_files_of_every_version_are_read_and_the_newest_is_written_as_ever() {
    let v1 = include_str!("golden/v1.txt").lines().last().unwrap();
    assert_eq!(MemberIdentity::decode(&unhex(v1)), Ok(MemberIdentity { node_id: 3, directory: 0 }));
    let newest = MemberIdentity { node_id: 3, directory: 0x0123_4567_89ab_cdef };
    let written = hex(&newest.encode().unwrap());
    if std::env::var_os("SILTSTONE_BLESS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/raft/golden/member-v2.txt"), written.clone() + "\n").unwrap();
    }
    let golden = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/raft/golden/member-v2.txt")).unwrap();
    assert_eq!(written, golden.trim_end());
    assert_eq!(MemberIdentity::decode(&unhex(&written)), Ok(newest));
}
