//! A snapshot of which the connection is lost half-way, silently.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_format::command::{CommandBody, Reply};
use siltstone_metadata::MetadataNode;
use siltstone_metadata_client::MetadataClient;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use support::proxy::Proxy;
use support::{Served, listeners};

async fn leader<'n>(nodes: &[&'n MetadataNode]) -> &'n MetadataNode {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        for node in nodes {
            if node.is_leader() && node.not_ready().await.is_none() {
                return node;
            }
        }
        assert!(Instant::now() < deadline, "nobody leads");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn put(nodes: &[&MetadataNode], key: &str) {
    let body = CommandBody::PutSetting { key: key.to_owned(), value: Some(vec![7; 16_000]), expected: None };
    let deadline = Instant::now() + Duration::from_secs(60);
    while !matches!(leader(nodes).await.propose(body.clone()).await, Ok((_, Reply::Setting { .. }))) {
        assert!(Instant::now() < deadline, "nobody takes {key}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_is_lost_half_way_holds_its_follower_up_for_seconds_only() {
    let mut listeners = listeners(&[1, 2, 3]).await;
    let mut members: BTreeMap<u64, String> = listeners.iter().map(|(id, listener)| (*id, listener.local_addr().unwrap().to_string())).collect();
    let proxy = Proxy::start(members[&3].clone()).await;
    members.insert(3, proxy.address.clone());
    let third = listeners.remove(&3).unwrap();
    let mut served = BTreeMap::new();
    let settings = |config: &mut siltstone_metadata::NodeConfig| (config.snapshot_entries, config.log_entries_kept) = (10, 2);
    for (id, listener) in listeners {
        served.insert(id, Served::start(id, listener, members.clone(), None, settings).await);
    }
    served.insert(3, Served::start(3, third, members.clone(), None, settings).await);
    for member in served.values() {
        member.node.wait_ready(Duration::from_secs(60)).await.unwrap();
    }
    // Once this is taken in, the group has heard from each member which commands it reads.
    let nodes: Vec<&MetadataNode> = served.values().map(|member| &member.node).collect();
    put(&nodes, "first").await;
    drop(nodes);
    // While it is away, the others write more than its log could ever bring it.
    let away = served.remove(&3).unwrap();
    let (disk, address) = (away.disk.clone(), away.address.clone());
    away.stop().await;
    let nodes: Vec<&MetadataNode> = served.values().map(|member| &member.node).collect();
    for number in 0..80 {
        put(&nodes, &format!("k{number}")).await;
    }
    // The snapshot has more than twice as much.
    proxy.lose_after(512 << 10);
    let listener = tokio::net::TcpListener::bind(&address).await.unwrap();
    let begun = Instant::now();
    let back = Served::start_on(disk, 3, listener, members.clone(), None, settings).await;
    let index = leader(&nodes).await.read_index().await.unwrap();
    let mut manifests = back.node.watch();
    let caught_up = tokio::time::timeout(Duration::from_secs(30), manifests.wait_for(|manifest| manifest.version >= index)).await;
    println!("it caught up {} ms after it came back", begun.elapsed().as_millis());
    assert_eq!(proxy.lost(), 1, "the snapshot was lost once");
    assert!(caught_up.is_ok(), "one lost connection holds it up for the time limit of a snapshot");
    assert!(back.node.status().await.snapshot_index.is_some());
    back.stop().await;
    for (_, member) in served {
        member.stop().await;
    }
}
