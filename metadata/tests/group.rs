//! Three members in one process: election, replication, loss of one, catching up by log and by snapshot.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_disk::{DelaySwitch, DelayedDisk, LossyDisk, SyncDelay};
use siltstone_metadata::raft::InProcessNetwork;
use siltstone_metadata::{MetadataNode, NodeConfig};
use siltstone_metadata_client::{ClientError, MetadataClient};
use siltstone_wal::WalConfig;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::{Group, create, names, parts};

/// Every member shows these names, sooner or later.
async fn converge(group: &Group, wanted: &[&str]) {
    for node in group.nodes.values() {
        let mut manifests = node.watch();
        let seen = manifests.wait_for(|manifest| wanted.iter().all(|name| manifest.names.contains_key(*name)));
        let seen = tokio::time::timeout(Duration::from_secs(30), seen).await;
        assert!(seen.is_ok(), "a member shows {:?}, not {wanted:?}", names(node));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_members_elect_replicate_and_survive_the_loss_of_one() {
    let mut group = Group::start().await;
    group.create("a").await;
    converge(&group, &["a"]).await;
    let incarnations: Vec<_> = group.nodes.values().map(MetadataClient::incarnation).collect();
    assert!(incarnations.iter().all(|incarnation| *incarnation == incarnations[0]), "one life for all");

    let first = group.leader(None).await;
    let follower = *group.nodes.keys().find(|id| **id != first).unwrap();
    assert!(matches!(create(&group.nodes[&follower], "x").await, Err(ClientError::Unavailable { .. })), "only the leader takes commands");

    group.stop_member(first).await;
    let second = group.leader(None).await;
    assert_ne!(second, first);
    group.create("b").await;
    converge(&group, &["a", "b"]).await;

    // It comes back after a loss of power with what was durable, and learns the rest from the log.
    let disk = group.disks[&first].crash(7);
    group.disks.insert(first, disk);
    group.start_member(first).await;
    group.create("c").await;
    converge(&group, &["a", "b", "c"]).await;
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_is_far_behind_gets_a_snapshot() {
    let mut group = Group::start().await;
    let leader = group.leader(None).await;
    let lagging = *group.nodes.keys().find(|id| **id != leader).unwrap();
    group.stop_member(lagging).await;
    let wanted: Vec<String> = (0..60).map(|number| format!("n{number:02}")).collect();
    for name in &wanted {
        group.create(name).await;
    }
    // An empty disk in its place would be another member in truth: this one only lags.
    group.start_member(lagging).await;
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    converge(&group, &wanted).await;
    assert!(group.nodes[&lagging].raft().metrics().borrow().snapshot.is_some(), "it caught up by a snapshot");

    // And it holds what it got.
    group.stop_member(lagging).await;
    let disk: LossyDisk = group.disks[&lagging].crash(3);
    group.disks.insert(lagging, disk);
    group.start_member(lagging).await;
    converge(&group, &wanted).await;
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_isolated_leader_acknowledges_nothing_and_the_others_go_on() {
    let group = Group::start().await;
    let isolated = group.leader(None).await;
    group.create("before").await;
    group.network.set_isolated(isolated, true);
    let lost = tokio::spawn({
        let node = group.nodes[&isolated].clone();
        async move { create(&node, "lost").await }
    });
    let second = group.leader(Some(isolated)).await;
    assert_ne!(second, isolated);
    create(&group.nodes[&second], "after").await.unwrap();
    group.network.set_isolated(isolated, false);
    converge(&group, &["before", "after"]).await;
    assert!(matches!(lost.await.unwrap(), Err(ClientError::UnknownOutcome { .. })), "its outcome was not known");
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_whose_disk_hangs_gives_up_and_the_others_go_on() {
    let group = Group::start().await;
    let stalled = group.leader(None).await;
    group.disks[&stalled].hold_syncs();
    let hanging = tokio::spawn({
        let node = group.nodes[&stalled].clone();
        async move { create(&node, "hanging").await }
    });
    let second = group.leader(Some(stalled)).await;
    create(&group.nodes[&second], "after").await.unwrap();
    group.disks[&stalled].release_syncs();
    converge(&group, &["after"]).await;
    // The others may have made it durable without the stalled disk: then it is there everywhere, and was acknowledged or not.
    let acknowledged = hanging.await.unwrap().is_ok();
    if acknowledged {
        converge(&group, &["hanging"]).await;
    }
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_a_loss_of_power_at_all_members_at_once() {
    let mut group = Group::start().await;
    let wanted: Vec<String> = (0..25).map(|number| format!("n{number:02}")).collect();
    for name in &wanted {
        group.create(name).await;
    }
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    for seed in 0..2 {
        for id in 1..=3 {
            let disk = group.disks[&id].crash(seed * 10 + id);
            group.stop_member(id).await;
            group.disks.insert(id, disk);
        }
        for id in 1..=3 {
            group.start_member(id).await;
        }
        converge(&group, &wanted).await;
    }
    group.create("after").await;
    converge(&group, &["after"]).await;
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_was_cut_off_deposes_nobody_when_it_comes_back() {
    let group = Group::start().await;
    let leader = group.leader(None).await;
    let cut = *group.nodes.keys().find(|id| **id != leader).unwrap();
    let term = |id: u64| group.nodes[&id].raft().metrics().borrow().current_term;
    let before = term(leader);
    group.network.set_isolated(cut, true);
    // Several election timeouts: without a pre-vote its term would have grown by now.
    tokio::time::sleep(Duration::from_secs(4)).await;
    group.network.set_isolated(cut, false);
    group.create("after").await;
    converge(&group, &["after"]).await;
    assert_eq!((term(cut), term(leader)), (before, before), "no election was held");
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_leaves_hands_the_lead_over() {
    let group = Group::start().await;
    let first = group.leader(None).await;
    group.create("before").await;
    assert!(group.nodes[&first].leave().await, "another leads");
    let second = group.leader(None).await;
    assert_ne!(second, first);
    let refused = create(&group.nodes[&first], "x").await.unwrap_err();
    assert!(matches!(refused, ClientError::Unavailable { .. }), "{refused}");
    group.nodes[&first].stay();
    group.create("after").await;
    converge(&group, &["before", "after"]).await;
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_acknowledges_nothing_that_only_others_have_and_it_has_not() {
    let group = Group::start().await;
    let leader = group.leader(None).await;
    group.disks[&leader].hold_syncs();
    let node = group.nodes[&leader].clone();
    let pending = tokio::spawn(async move { create(&node, "pending").await });
    // The followers have it soon. The leader would need a quarter of a second more to notice that its disk hangs.
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert!(!pending.is_finished(), "WA-1");
    let shown = group.nodes.values().filter(|node| names(node).contains(&"pending".to_owned())).count();
    assert_eq!(shown, 0, "nobody shows what no quorum keeps durably, this member counted");
    group.disks[&leader].release_syncs();
    let _ = pending.await.unwrap();
    group.create("after").await;
    converge(&group, &["after"]).await;
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_leaves_first_lets_its_successor_have_what_was_proposed() {
    let group = Group::start().await;
    let leader = group.leader(None).await;
    let others: Vec<u64> = group.nodes.keys().copied().filter(|id| *id != leader).collect();
    others.iter().for_each(|id| group.disks[id].hold_syncs());
    let (pending, leaving) = (group.nodes[&leader].clone(), group.nodes[&leader].clone());
    let pending = tokio::spawn(async move { create(&pending, "pending").await });
    // The entry is on its way, and a request for it is given up and made again every 100 ms.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let leaving = tokio::spawn(async move { leaving.leave().await });
    tokio::time::sleep(Duration::from_millis(250)).await;
    let silences = group.nodes[&leader].metrics().snapshot().silences;
    assert_eq!(silences, 0, "nobody has the entry durably yet: it must still be sent");
    others.iter().for_each(|id| group.disks[id].release_syncs());
    assert!(leaving.await.unwrap(), "another leads");
    assert!(pending.await.unwrap().is_ok(), "what was taken in before is committed before the lead goes");
    group.nodes[&leader].stay();
    converge(&group, &["pending"]).await;
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_whose_hand_over_is_given_up_goes_on_to_lead() {
    let group = Group::start().await;
    let leader = group.leader(None).await;
    let others: Vec<u64> = group.nodes.keys().copied().filter(|id| *id != leader).collect();
    others.iter().for_each(|id| group.disks[id].hold_syncs());
    let pending = group.nodes[&leader].clone();
    let pending = tokio::spawn(async move { create(&pending, "pending").await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    // No successor has the whole log. Whoever asked for one goes away.
    assert!(tokio::time::timeout(Duration::from_millis(100), group.nodes[&leader].leave()).await.is_err());
    others.iter().for_each(|id| group.disks[id].release_syncs());
    let _ = pending.await.unwrap();
    // Whoever leads takes things in again, and nobody has to be restarted.
    group.create("after").await;
    assert_eq!(group.nodes[&group.leader(None).await].not_ready().await, None);
    converge(&group, &["after"]).await;
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_are_counted_while_others_keep_coming_though_a_sync_takes_longer_than_a_heartbeat() {
    const SYNC: Duration = Duration::from_millis(150);
    for is_leader_slow in [true, false] {
        let (network, mut nodes, mut switches) = (InProcessNetwork::default(), BTreeMap::new(), BTreeMap::new());
        for id in 1..=3 {
            let (mut parts, _) = parts(&LossyDisk::new(), network.member(id), id);
            let switch = Arc::new(DelaySwitch::default());
            parts.disk = Arc::new(DelayedDisk::new(parts.disk, switch.clone()));
            switches.insert(id, switch);
            // Snapshots would be synced too. A busy machine is no reason to elect another.
            let (election_ms_min, election_ms_max, stall_ms_yield) = (2_000, 3_000, 2_000);
            let (snapshot_entries, wal) = (1_000_000, WalConfig::default());
            let config = NodeConfig { snapshot_entries, wal, election_ms_min, election_ms_max, stall_ms_yield, ..Group::config(id) };
            let node = MetadataNode::start(config, parts).await.unwrap();
            network.serve(id, node.clone());
            nodes.insert(id, node);
        }
        let group = Group { network, disks: BTreeMap::new(), nodes };
        let leader = group.leader(None).await;
        let set = |delay| {
            let slow = switches.iter().filter(|(id, _)| (**id == leader) == is_leader_slow);
            slow.for_each(|(_, switch)| switch.set(SyncDelay::For(delay)));
        };
        set(SYNC);
        let done = Arc::new(AtomicUsize::new(0));
        let mut proposals = Vec::new();
        let mut done_meanwhile = 0;
        // Never a pause, and fewer than openraft sends at once: the end of what is sent moves on and on.
        for number in 0..200 {
            let (node, counter) = (group.nodes[&leader].clone(), done.clone());
            proposals.push(tokio::spawn(async move {
                let outcome = create(&node, &format!("n{number}")).await;
                counter.fetch_add(usize::from(outcome.is_ok()), Ordering::SeqCst);
            }));
            tokio::time::sleep(Duration::from_millis(10)).await;
            done_meanwhile = done.load(Ordering::SeqCst);
        }
        set(Duration::ZERO);
        for proposal in proposals {
            proposal.await.unwrap();
        }
        println!("{done_meanwhile} of 200 were counted while others came; the leader's disk is slow: {is_leader_slow}");
        assert!(done_meanwhile > 20, "{done_meanwhile}; the leader's disk is slow: {is_leader_slow}");
        for node in group.nodes.values() {
            node.shutdown().await;
        }
    }
}
