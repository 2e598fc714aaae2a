//! Numbers that are never used again, and copies of a directory.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use openraft::ChangeMembers;
use siltstone_format::command::COMMAND_VERSION;
use siltstone_metadata::raft::MembershipError;
use siltstone_metadata::{MetadataNode, NodeConfig};
use siltstone_metadata_client::{ClientError, MetadataClient};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;
use support::{Group, create, parts};
use tokio::time::{Instant, sleep};

/// Asks whoever leads, until the answer is not about who leads.
async fn add(group: &Group, id: u64, address: &str) -> Result<(), MembershipError> {
    for _ in 0..100 {
        let leader = group.leader(None).await;
        match group.nodes[&leader].add_learner(id, address).await {
            Err(MembershipError::NotLeader { .. } | MembershipError::NoQuorum | MembershipError::Busy) => sleep(Duration::from_millis(20)).await,
            outcome => return outcome,
        }
    }
    panic!("nobody leads for long");
}

/// Waits until a member has applied what was committed so far.
async fn caught_up(group: &Group, id: u64) {
    let leader = group.leader(None).await;
    let index = group.nodes[&leader].read_index().await.unwrap();
    let mut manifests = group.nodes[&id].watch();
    tokio::time::timeout(Duration::from_secs(30), manifests.wait_for(|manifest| manifest.version >= index)).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_members_number_is_never_taken_again() {
    let mut group = Group::start().await;
    // Before all members are known to read newer commands, snapshots have no room for removed numbers.
    let raised = async {
        while group.nodes[&group.leader(None).await].status().await.command_version < COMMAND_VERSION {
            sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), raised).await.unwrap();
    let (parts, _) = parts(&siltstone_disk::LossyDisk::new(), group.network.member(4), 4);
    let fourth = MetadataNode::start(NodeConfig { members: BTreeMap::new(), ..Group::config(4) }, parts).await.unwrap();
    group.network.serve(4, fourth.clone());
    add(&group, 4, "member-4").await.unwrap();
    assert_eq!(add(&group, 4, "member-4").await, Ok(()), "repeated, it changes nothing");

    // One does not hear of the removal but by a snapshot.
    let leader = group.leader(None).await;
    let lagging = *group.nodes.keys().find(|id| **id != leader).unwrap();
    group.stop_member(lagging).await;
    group.nodes[&leader].remove_member(4).await.unwrap();
    for number in 0..40 {
        group.create(&format!("n{number}")).await;
    }
    group.start_member(lagging).await;
    caught_up(&group, lagging).await;
    assert!(group.nodes[&lagging].status().await.snapshot_index.is_some(), "it caught up by a snapshot");

    let refused = |outcome: Result<(), MembershipError>| {
        let error = outcome.unwrap_err();
        assert!(matches!(error, MembershipError::Removed { id: 4, .. }), "{error}");
        assert!(error.to_string().contains("never used again"), "{error}");
    };
    refused(add(&group, 4, "elsewhere").await);
    for id in 1..=3 {
        caught_up(&group, id).await;
        assert_eq!(group.nodes[&id].status().await.removed, [4], "member {id}");
    }
    // By another leader, and after a loss of power at all members.
    let leader = group.leader(None).await;
    group.nodes[&leader].leave().await;
    group.nodes[&leader].stay();
    refused(add(&group, 4, "member-4").await);
    for id in 1..=3 {
        let disk = group.disks[&id].crash(id);
        group.stop_member(id).await;
        group.disks.insert(id, disk);
    }
    for id in 1..=3 {
        group.start_member(id).await;
    }
    refused(add(&group, 4, "member-4").await);
    fourth.shutdown().await;
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_a_members_directory_gets_no_vote_and_ends() {
    let mut group = Group::start().await;
    group.create("before").await;
    let leader = group.leader(None).await;
    let copied = *group.nodes.keys().find(|id| **id != leader).unwrap();
    let third = *group.nodes.keys().find(|id| **id != leader && **id != copied).unwrap();
    let term = |group: &Group| group.nodes[&third].raft().metrics().borrow().current_term;
    let before = term(&group);

    // The network knows the member, and nobody knows the copy: it can only speak.
    let disk = group.disks[&copied].crash_image(5);
    let (first_parts, fatal) = parts(&disk, group.network.member(copied), 99);
    let copy = MetadataNode::start(Group::config(copied), first_parts).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while fatal.load(Ordering::SeqCst) == 0 {
        assert!(Instant::now() < deadline, "the copy is not told");
        sleep(Duration::from_millis(20)).await;
    }
    copy.shutdown().await;
    assert_eq!(term(&group), before, "it disturbed nobody");

    // With the member away, the copy would make a quorum that knows less than was acknowledged. Nobody vouches for it.
    group.stop_member(copied).await;
    let (second_parts, fatal) = parts(&disk, group.network.member(copied), 98);
    let copy = MetadataNode::start(Group::config(copied), second_parts).await.unwrap();
    group.stop_member(leader).await;
    sleep(Duration::from_secs(4)).await;
    assert_eq!(copy.metrics().snapshot().candidacies, 0, "LD-1");
    assert_eq!((term(&group), fatal.load(Ordering::SeqCst)), (before, 0), "nothing proves that it is a copy");
    group.start_member(copied).await;
    group.create("after").await;
    copy.shutdown().await;
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_is_not_removed_while_it_leads_and_one_that_was_leads_nobody() {
    let group = Group::start().await;
    let leader = group.leader(None).await;
    let node = &group.nodes[&leader];
    let others: BTreeSet<u64> = group.nodes.keys().copied().filter(|id| *id != leader).collect();
    node.change_voters(&others).await.unwrap();
    let refused = node.remove_member(leader).await.unwrap_err();
    assert!(matches!(refused, MembershipError::Leads { .. }), "{refused}");
    // By another way than this program's.
    let removed = ChangeMembers::RemoveNodes(BTreeSet::from([leader]));
    node.raft().change_membership(removed, false).await.unwrap();
    group.leader(Some(leader)).await;
    assert_eq!(node.raft().metrics().borrow().current_leader, Some(leader), "its vote stays, for ever");
    assert!(!node.is_leader());
    let renewed = node.renew(&[]).await.unwrap_err();
    assert!(matches!(renewed, ClientError::Unavailable { .. }), "a holder would think that it lives: {renewed}");
    let proposed = create(node, "lost").await.unwrap_err();
    assert!(matches!(proposed, ClientError::Unavailable { .. }), "it is certain that nothing changed: {proposed}");
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}
