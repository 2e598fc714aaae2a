//! Directories that begin with a state: what a member makes of them, and of what every error and crash in making them leaves.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_core::{ErrorKind, Incarnation};
use siltstone_disk::{Disk, Fault, FaultKind, LossyDisk, create_dir_durable};
use siltstone_metadata::raft::{DirectoryError, FirstMember, NoPeers, StartError, check_empty, make_directory, read_survivor};
use siltstone_metadata::{Machine, MetadataNode, NodeConfig};
use siltstone_metadata_client::MetadataClient;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::stepped::{DIR, files};
use support::{create, names, parts, single_config, start_single};

const FAULTS: [Fault; 4] = [
    Fault { kind: FaultKind::Io, takes_effect: false },
    Fault { kind: FaultKind::Io, takes_effect: true },
    Fault { kind: FaultKind::NoSpace, takes_effect: false },
    Fault { kind: FaultKind::NoSpace, takes_effect: true },
];

fn member(node_id: u64) -> FirstMember {
    FirstMember { node_id, address: "127.0.0.1:1".to_owned(), directory: 77, term: 5 }
}

/// A group's state in a new life.
async fn state() -> Machine {
    let node = start_single(&LossyDisk::new()).await.unwrap();
    for number in 0..5 {
        create(&node, &format!("n{number}")).await.unwrap();
    }
    let bytes = siltstone_format::snapshot::encode_blob(&node.manifest()).unwrap();
    node.shutdown().await;
    let mut machine = Machine::restore(&bytes).unwrap();
    machine.begin_life(Incarnation(0xabd), 1).unwrap();
    machine
}

fn make(disk: &LossyDisk, machine: &Machine) -> Result<(), DirectoryError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    make_directory(&disk, Path::new(DIR), &member(1), machine)
}

async fn start(disk: &LossyDisk, config: NodeConfig) -> Result<MetadataNode, StartError> {
    MetadataNode::start(config, parts(disk, NoPeers, 1).0).await
}

/// What a disk holds after an attempt: nothing that a member would take for something, or the whole. Says whether it is the whole.
async fn check_left(disk: &LossyDisk, machine: &Machine, what: &str) -> bool {
    if check_empty(disk, Path::new(DIR)).is_ok() {
        return false;
    }
    match start(disk, single_config()).await {
        Err(StartError::Unfinished { .. }) => {
            let again = make(disk, machine).unwrap_err();
            assert!(matches!(again, DirectoryError::NotEmpty { .. }), "{what}: {again}");
            assert!(matches!(read_survivor(disk, Path::new(DIR)), Err(StartError::Unfinished { .. })), "{what}");
            false
        }
        Err(error) => panic!("{what}: {error}"),
        Ok(node) => {
            assert_eq!(node.incarnation(), Incarnation(0xabd), "{what}");
            assert_eq!(node.manifest().names, machine.manifest().names, "{what}");
            create(&node, "after").await.unwrap();
            node.shutdown().await;
            true
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_goes_on_from_the_state_and_after_a_loss_of_power_too() {
    let machine = state().await;
    let disk = LossyDisk::new();
    make(&disk, &machine).unwrap();
    let disk = disk.crash(1);
    let node = start(&disk, single_config()).await.unwrap();
    assert!(node.is_leader());
    let manifest = node.manifest();
    assert_eq!((manifest.incarnation, manifest.lives.number()), (Incarnation(0xabd), 1));
    assert!(manifest.version > machine.manifest().version, "the log goes on where the state ends");
    assert!(node.status().await.term > 5, "its terms are above those that it was told of");
    assert_eq!(create(&node, "new").await.unwrap().0, 1 << 22);
    node.shutdown().await;

    // Neither its number nor its group are anybody else's, and a restart finds what was added.
    let error = start(&disk, NodeConfig { node_id: 2, members: BTreeMap::new(), ..single_config() }).await.err().unwrap();
    assert!(matches!(error, StartError::WrongMember { found: 1, .. }), "{error}");
    let node = start(&disk.crash(2), NodeConfig { members: BTreeMap::new(), ..single_config() }).await.unwrap();
    node.wait_ready(Duration::from_secs(20)).await.unwrap();
    assert_eq!(names(&node), ["n0", "n1", "n2", "n3", "n4", "new"]);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_at_any_operation_leaves_a_directory_that_is_refused_or_whole() {
    let machine = state().await;
    for fault in FAULTS {
        let (mut failed, mut whole) = (0, 0);
        for nth in 1.. {
            let disk = LossyDisk::new();
            disk.fail_operation(nth, fault);
            let made = make(&disk, &machine);
            if disk.counts().faults == 0 {
                made.unwrap();
                break;
            }
            let what = format!("{fault:?} at operation {nth}: {made:?}");
            let kind = made.as_ref().err().map(DirectoryError::kind);
            failed += usize::from(made.is_err());
            let expected = if fault.kind == FaultKind::Io { ErrorKind::Unavailable } else { ErrorKind::Exhausted };
            assert!(kind.is_none_or(|kind| kind == expected), "{what}");
            for seed in 0..2 {
                let is_whole = check_left(&disk.crash_image(nth * 7 + seed), &machine, &format!("{what}, power loss {seed}")).await;
                assert!(is_whole || made.is_err(), "{what}: what was reported done is durable");
                whole += usize::from(is_whole);
            }
            let is_whole = check_left(&disk, &machine, &what).await;
            assert!(is_whole || made.is_err(), "{what}");
        }
        assert!(failed > 25 && whole > 0, "{fault:?}: {failed} failed, {whole} whole");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_at_any_operation_leaves_a_directory_that_is_refused_or_whole() {
    let machine = state().await;
    let (mut refused, mut whole) = (0, 0);
    for point in 1.. {
        let disk = LossyDisk::new();
        disk.arm_crash_after(point);
        let made = make(&disk, &machine);
        for seed in 0..4 {
            let is_whole = check_left(&disk.crash_image(point * 31 + seed), &machine, &format!("crash after {point}, seed {seed}")).await;
            assert!(is_whole || made.is_err(), "crash after {point}: what was reported done is durable");
            whole += usize::from(is_whole);
            refused += usize::from(!is_whole);
        }
        if made.is_ok() {
            break;
        }
    }
    assert!(refused > 40 && whole >= 4, "{refused} refused, {whole} whole");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_holds_something_is_refused_and_left_alone() {
    let machine = state().await;
    let disk = LossyDisk::new();
    create_dir_durable(&disk, Path::new(DIR)).unwrap();
    for name in ["LOCK", "lost+found"] {
        disk.create_new(&Path::new(DIR).join(name)).unwrap();
    }
    make(&disk, &machine).unwrap();
    let error = make(&disk, &machine).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("choose one that is empty"), "{error}");
    assert!(check_left(&disk, &machine, "what was there goes on").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_survivor_is_read_from_snapshot_and_log_and_not_changed() {
    let disk = LossyDisk::new();
    let node = start_single(&disk).await.unwrap();
    for number in 0..40 {
        create(&node, &format!("n{number:02}")).await.unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while node.status().await.purged_index.is_none() {
        assert!(Instant::now() < deadline, "no snapshot stands for a part of the log");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for number in 40..47 {
        create(&node, &format!("n{number:02}")).await.unwrap();
    }
    let expected = node.manifest();
    let term = node.status().await.term;
    node.shutdown().await;
    let before = files(&disk);
    let survivor = read_survivor(&disk, Path::new(DIR)).unwrap();
    assert_eq!(files(&disk), before);
    assert_eq!(survivor.machine.manifest(), &expected, "snapshot and log, up to the last entry");
    assert_eq!((survivor.node_id, survivor.index, survivor.term, survivor.term_seen), (1, expected.version.0, term, term));
    assert!(survivor.committed_index.is_some_and(|committed| committed <= survivor.index));
    assert_eq!(survivor.members, [(1, String::new(), true)]);
    assert_eq!(survivor.torn, None);

    // A directory that lacks a part is refused for the same reason as at a start.
    for (gone, reason) in [("member", "no member's directory"), ("wal", "its log is gone"), ("snapshots", "read snapshot file")] {
        let disk = disk.crash_image(1);
        let paths: Vec<_> = files(&disk).into_keys().filter(|path| path.starts_with(Path::new(DIR).join(gone))).collect();
        assert!(!paths.is_empty(), "{gone}");
        paths.iter().for_each(|path| disk.remove_file(path).unwrap());
        let error = read_survivor(&disk, Path::new(DIR)).unwrap_err();
        assert!(error.to_string().contains(reason), "{gone}: {error}");
    }
    let error = read_survivor(&LossyDisk::new(), Path::new(DIR)).unwrap_err();
    assert!(error.to_string().contains("no member's directory"), "{error}");
}
