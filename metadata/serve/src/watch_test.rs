#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use futures::{Stream, StreamExt};
use siltstone_core::ManualClock;
use siltstone_disk::LossyDisk;
use siltstone_format::command::{Command, CommandBody};
use siltstone_metadata::raft::{Blocking, NoPeers};
use siltstone_metadata::{Machine, NodeConfig, NodeParts};
use siltstone_metadata_client::MetadataClientExt;
use std::pin::pin;

async fn node(disk: &LossyDisk, feed_entries_max: usize) -> MetadataNode {
    let parts = NodeParts {
        disk: Arc::new(disk.clone()),
        dir: "/metadata".into(),
        clock: Arc::new(ManualClock::at_ns(1_700_000_000_000_000_000)),
        transport: Arc::new(NoPeers),
        incarnation: Incarnation(7),
        seed: 1,
        blocking: Blocking::Threads,
        on_fatal: Arc::new(|error: &_| panic!("{error}")),
    };
    MetadataNode::start(NodeConfig { feed_entries_max, ..NodeConfig::single() }, parts).await.unwrap()
}

const fn from(token: CommitToken) -> pb::WatchRequest {
    pb::WatchRequest { from: Some(message_token(token)) }
}

/// Follows with a machine until it stands at `until`; how many times it got the whole state.
async fn follow<S>(stream: S, machine: &mut Machine, until: CommitIndex) -> usize
where
    S: Stream<Item = Result<pb::WatchResponse, Status>>,
{
    let (mut stream, mut state, mut states) = (pin!(stream), Vec::new(), 0);
    while machine.manifest().version < until {
        match stream.next().await.unwrap().unwrap().event.unwrap() {
            Event::Snapshot(piece) => {
                state.extend_from_slice(&piece.bytes);
                if piece.is_last {
                    *machine = Machine::restore(&std::mem::take(&mut state)).unwrap();
                    states += 1;
                }
            }
            Event::Deltas(deltas) => {
                for delta in deltas.deltas {
                    assert_eq!(delta.index, machine.manifest().version.0 + 1, "no gap");
                    match delta.command.is_empty() {
                        true => machine.skip(CommitIndex(delta.index)),
                        false => drop(machine.apply(CommitIndex(delta.index), &Command::decode(&delta.command).unwrap())),
                    }
                }
                assert!(deltas.applied_index >= machine.manifest().version.0);
            }
        }
    }
    states
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_watchers_cost_one_encoding_and_share_the_bytes_of_commands() {
    let node = node(&LossyDisk::new(), 1_000).await;
    node.create_namespace("before").await.unwrap();
    let watchers = Watchers::new(node.clone());
    let at_start = node.manifest().version;
    let mut machines = Vec::new();
    for _ in 0..50 {
        let mut machine = Machine::new();
        assert_eq!(follow(watchers.watch(pb::WatchRequest { from: None }), &mut machine, at_start).await, 1);
        machines.push(machine);
    }
    for number in 0..20 {
        node.create_namespace(&format!("n{number}")).await.unwrap();
    }
    let last = node.manifest().version;
    let mut addresses = std::collections::BTreeSet::new();
    for machine in &mut machines {
        let token = machine.manifest().token();
        assert_eq!(follow(watchers.watch(from(token)), machine, last).await, 0, "deltas are enough");
        assert_eq!(machine.manifest(), &node.manifest());
        let mut stream = Box::pin(watchers.watch(from(token)));
        let greeting = stream.next().await.unwrap().unwrap().event.unwrap();
        assert_eq!(greeting, Event::Deltas(pb::Deltas { deltas: vec![], applied_index: last.0 }));
        let Event::Deltas(deltas) = stream.next().await.unwrap().unwrap().event.unwrap() else { panic!("it needs no state") };
        addresses.extend(deltas.deltas.iter().map(|delta| delta.command.as_ptr() as usize));
    }
    assert_eq!(node.metrics().snapshot().states_encoded, 1, "one state for all");
    assert_eq!(addresses.len(), 20, "one copy of each command for all");
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_too_far_behind_or_of_another_life_gets_the_whole_state() {
    let node = node(&LossyDisk::new(), 4).await;
    let watchers = Watchers::new(node.clone());
    let mut machine = Machine::new();
    follow(watchers.watch(pb::WatchRequest { from: None }), &mut machine, node.manifest().version).await;
    for number in 0..10 {
        node.create_namespace(&format!("n{number}")).await.unwrap();
    }
    let (token, last) = (machine.manifest().token(), node.manifest().version);
    assert_eq!(follow(watchers.watch(from(token)), &mut machine, last).await, 1);
    assert_eq!(machine.manifest(), &node.manifest());
    let mut other = Machine::new();
    let elsewhere = CommitToken { incarnation: Incarnation(8), index: last };
    assert_eq!(follow(watchers.watch(from(elsewhere)), &mut other, last).await, 1);
    assert_eq!(node.metrics().snapshot().states_encoded, 2);
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_watcher_holds_up_nobody_and_falls_back_to_the_state() {
    let node = node(&LossyDisk::new(), 4).await;
    let watchers = Watchers::new(node.clone());
    let mut stream = Box::pin(watchers.watch(from(node.manifest().token())));
    assert!(matches!(stream.next().await.unwrap().unwrap().event.unwrap(), Event::Deltas(_)));
    for number in 0..10 {
        node.create_namespace(&format!("n{number}")).await.unwrap();
    }
    let mut machine = Machine::new();
    assert_eq!(follow(stream, &mut machine, node.manifest().version).await, 1);
    assert_eq!(machine.manifest(), &node.manifest());
    node.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_is_told_that_there_is_nothing_new_and_that_the_member_ends() {
    let node = node(&LossyDisk::new(), 4).await;
    let watchers = Watchers::new(node.clone());
    let mut stream = Box::pin(watchers.watch(from(node.manifest().token())));
    for _ in 0..2 {
        let Event::Deltas(deltas) = stream.next().await.unwrap().unwrap().event.unwrap() else { panic!("it needs no state") };
        assert_eq!((deltas.deltas.len(), deltas.applied_index), (0, node.manifest().version.0));
    }
    // One that is ahead of this member is told nothing until the member has come there.
    let mut ahead = node.manifest().token();
    ahead.index.0 += 1;
    let mut early = Box::pin(watchers.watch(from(ahead)));
    assert!(timeout(Duration::from_millis(200), early.next()).await.is_err());
    node.propose(CommandBody::CreateNamespace { name: "a".into() }).await.unwrap();
    assert!(matches!(early.next().await.unwrap().unwrap().event.unwrap(), Event::Deltas(deltas) if deltas.deltas.is_empty()));
    node.shutdown().await;
    let mut last = Ok(pb::WatchResponse::default());
    while let Some(item) = stream.next().await {
        last = item;
    }
    assert_eq!(last.unwrap_err().code(), tonic::Code::Unavailable);
}
