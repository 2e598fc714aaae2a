//! A group that is lost, over processes: restored from a backup on its object store, grown again, and the old group when it comes back.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_core::{Epoch, NamespaceId, WriterId};
use siltstone_format::command::{CommandBody, Reply};
use siltstone_proto::metadata::v1 as pb;
use std::time::{Duration, Instant};
use support::Group;

async fn propose(group: &Group, id: u64, body: CommandBody) -> Reply {
    let mut client = group.client(id).await.unwrap();
    let answer = client.propose(pb::ProposeRequest { command: body.encode().unwrap().into() }).await.unwrap().into_inner();
    Reply::decode(&answer.reply).unwrap()
}

/// Has the group give out one of each kind of id: epoch, namespace, chunk, other.
async fn draw(group: &Group, namespace: &str) -> (Epoch, NamespaceId, u64, u64) {
    let leader = group.leader(None).await;
    let Reply::Registered { epoch } = propose(group, leader, CommandBody::RegisterWriter { writer: WriterId(1) }).await else { panic!("an epoch") };
    let Reply::Namespace { id, .. } = propose(group, leader, CommandBody::CreateNamespace { name: namespace.to_owned() }).await else {
        panic!("a namespace")
    };
    let Reply::ChunkIds { first, .. } = propose(group, leader, CommandBody::AllocateChunkIds { epoch, count: 9 }).await else { panic!("chunk ids") };
    let Reply::Ids { first: other, .. } = propose(group, leader, CommandBody::AllocateIds { epoch, count: 9 }).await else { panic!("ids") };
    (epoch, id, first.0, other)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_group_lives_again_from_a_backup_and_the_old_one_is_superseded() {
    let objects = tempfile::tempdir().unwrap();
    let place = objects.path().to_str().unwrap();
    let mut group = Group::start(&[1, 2, 3], &["--store", place, "--publish-every-s", "1", "--snapshot-entries", "50"]).await;
    for number in 0..80 {
        group.put_at_leader(&format!("k{number}"), b"v").await;
    }
    let before = draw(&group, "shop").await;
    let (done, text) = group.cli(&["backup", "--name", "monday"]);
    assert!(done, "{text}");
    group.put_at_leader("later", b"v").await;
    let after = draw(&group, "bank").await;
    let old_incarnation = group.status(1).await.unwrap().incarnation;
    let old: Vec<u64> = group.running();
    old.iter().for_each(|id| group.kill(*id));

    group.place(11).await;
    let (address, data) = (format!("127.0.0.1:{}", group.proxies[&11].port), group.data(11).display().to_string());
    let restore = |from: &[&str]| {
        let args = ["restore", "--store", place, "--id", "11", "--address", &address, "--data", &data];
        support::cli(&args, from)
    };
    let (done, text) = restore(&["--backup", "tuesday"]);
    assert!(!done && text.contains("tuesday") && !group.data(11).exists(), "{text}");
    let (done, text) = restore(&["--backup", "monday"]);
    assert!(done && text.contains("life 1 of the group begins") && text.contains("1 namespaces"), "{text}");
    let (done, text) = restore(&["--backup", "monday"]);
    assert!(!done && text.contains("choose one that is empty"), "{text}");

    let old_members: Vec<_> = old.iter().map(|id| (*id, group.members.remove(id).unwrap())).collect();
    group.spawn(11, &["--heartbeat-ms", "100"]);
    assert_eq!(group.leader(None).await, 11);
    assert_eq!(group.status(11).await.unwrap().incarnation, old_incarnation + 1);
    for number in 0..80 {
        assert!(group.holds(11, &format!("k{number}")).await, "k{number} is in the backup");
    }
    assert!(!group.holds(11, "later").await);
    let fenced = propose(&group, 11, CommandBody::AllocateIds { epoch: before.0, count: 1 }).await;
    assert!(format!("{fenced:?}").contains("FencedEpoch"), "EP-1: {fenced:?}");
    let drawn = draw(&group, "bank").await;
    assert_eq!((drawn.0.0 >> 32, drawn.1.0 >> 22, drawn.2 >> 40, drawn.3 >> 48), (1, 1, 1, 1), "RA-1: each from the second lane");
    assert!(drawn.0 > after.0 && drawn.1 > after.1, "RA-1: {drawn:?} after {after:?}");

    for id in [12, 13] {
        group.place(id).await;
        group.spawn(id, &["--join"]);
        let at = format!("127.0.0.1:{}", group.proxies[&id].port);
        let (done, text) = group.cli(&["members", "add", "--id", &id.to_string(), "--address", &at]);
        assert!(done, "{text}");
    }
    group.vote("11 12 13").await;

    // The old group comes back whole. It elects a leader, and finds that the store is another's.
    let new_members: Vec<_> = [11, 12, 13].iter().map(|id| (*id, group.members.remove(id).unwrap())).collect();
    group.members.extend(old_members);
    old.iter().for_each(|id| drop(group.spawn(*id, &["--heartbeat-ms", "100"])));
    let begun = Instant::now();
    'superseded: loop {
        for id in &old {
            if let Err(refused) = group.put(*id, "old", b"v").await
                && refused.message().contains("superseded")
            {
                break 'superseded;
            }
        }
        assert!(begun.elapsed() < support::PATIENCE, "the old group goes on: {}", group.log(1));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    group.members.extend(new_members);
    old.iter().for_each(|id| group.kill(*id));
    old.iter().for_each(|id| drop(group.members.remove(id)));
    let last = group.put_at_leader("grown", b"v").await;
    for id in [11, 12, 13] {
        group.applied(id, last).await;
        assert_eq!(group.status(id).await.unwrap().incarnation, old_incarnation + 1);
    }
    let leader = group.leader(None).await;
    assert!(group.holds(leader, "k79").await && !group.holds(leader, "old").await);

    // A backup of the first life is still good, and a life that comes of it takes the next number.
    let again = group.dir.path().join("again").display().to_string();
    let (done, text) =
        support::cli(&["restore", "--store", place, "--backup", "monday", "--id", "1", "--address", "127.0.0.1:1", "--data", &again], &[]);
    assert!(done && text.contains("life 2 of the group begins"), "{text}");
}
