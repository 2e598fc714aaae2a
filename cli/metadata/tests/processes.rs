//! Three members as real processes: killed, paused, cut off, on slow and stuck disks.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use rustix::process::Signal;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{Group, put};
use tokio::sync::Mutex;

/// Writers that put numbered settings at whoever leads, and remember what was acknowledged.
struct Load {
    acknowledged: Arc<Mutex<BTreeMap<String, u64>>>,
    stop: Arc<AtomicBool>,
    writers: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    fn start(group: &Group, writers: usize) -> Self {
        let ports: Vec<u16> = group.members.values().map(|member| member.port).collect();
        let (acknowledged, stop) = (Arc::new(Mutex::new(BTreeMap::new())), Arc::new(AtomicBool::new(false)));
        let writers = (0..writers).map(|writer| {
            let (ports, acknowledged, stop) = (ports.clone(), acknowledged.clone(), stop.clone());
            tokio::spawn(async move {
                let mut target = writer % ports.len();
                for number in 0_u64.. {
                    let key = format!("w{writer}-{}", number % 50);
                    while !stop.load(Ordering::Relaxed) {
                        let address = format!("http://127.0.0.1:{}", ports[target]);
                        let endpoint = tonic::transport::Endpoint::from_shared(address).unwrap().connect_timeout(Duration::from_secs(1));
                        let done = match endpoint.timeout(Duration::from_secs(3)).connect().await {
                            Ok(channel) => put(&mut support::client_of(channel), &key, number.to_string().as_bytes()).await.ok(),
                            Err(_) => None,
                        };
                        if let Some(index) = done {
                            acknowledged.lock().await.insert(key.clone(), index);
                            break;
                        }
                        target = (target + 1) % ports.len();
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            })
        });
        let writers = writers.collect();
        Self { acknowledged, writers, stop }
    }

    /// The newest place of the log that was acknowledged.
    async fn newest(&self) -> u64 {
        self.acknowledged.lock().await.values().copied().max().unwrap_or(0)
    }

    /// Waits until more is acknowledged than before.
    async fn progress(&self) -> Duration {
        let (before, begun) = (self.newest().await, Instant::now());
        while self.newest().await <= before {
            assert!(begun.elapsed() < support::PATIENCE, "nothing is acknowledged any more");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        begun.elapsed()
    }

    async fn end(self) -> BTreeMap<String, u64> {
        self.stop.store(true, Ordering::Relaxed);
        for writer in self.writers {
            writer.await.unwrap();
        }
        let acknowledged = self.acknowledged.lock().await;
        acknowledged.clone()
    }
}

/// Every acknowledged put is in the log of the group: the compare-and-swap against the position that was acknowledged, or a later one, tells.
async fn check_nothing_lost(group: &Group, acknowledged: &BTreeMap<String, u64>) {
    use siltstone_format::command::{CommandBody, Rejection, Reply};
    assert!(!acknowledged.is_empty(), "the load has acknowledged something");
    let leader = group.leader(None).await;
    let mut client = group.client(leader).await.unwrap();
    for (key, index) in acknowledged {
        // Position 0 stands for a setting that is not there: the refusal says where the setting was changed last.
        let body = CommandBody::PutSetting { key: key.clone(), value: None, expected: Some(siltstone_core::CommitIndex(0)) };
        let request = siltstone_proto::metadata::v1::ProposeRequest { command: body.encode().unwrap().into() };
        let reply = Reply::decode(&client.propose(request).await.unwrap().into_inner().reply).unwrap();
        let Reply::Rejected(Rejection::SettingConflict { changed_at, .. }) = reply else { panic!("WA-1: {key} is lost: {reply:?}") };
        assert!(changed_at.0 >= *index, "WA-1: {key} was acknowledged at {index}, and the group knows it at {changed_at}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_leaders_are_killed_again_and_again() {
    let mut group = Group::start(&[1, 2, 3], &["--snapshot-entries", "200"]).await;
    let load = Load::start(&group, 4);
    load.progress().await;
    let mut longest = Duration::ZERO;
    for _ in 0..5 {
        let leader = group.leader(None).await;
        group.kill(leader);
        longest = longest.max(load.progress().await);
        group.spawn(leader, &[]);
        load.progress().await;
    }
    println!("after kill -9 of the leader, writes went on within {} ms at the longest of 5", longest.as_millis());
    // All at once.
    for id in [1, 2, 3] {
        group.kill(id);
    }
    for id in [1, 2, 3] {
        group.spawn(id, &[]);
    }
    load.progress().await;
    println!("commands were acknowledged up to position {}", load.newest().await);
    check_nothing_lost(&group, &load.end().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_leader_is_replaced_and_acknowledges_nothing_when_it_wakes() {
    let group = Group::start(&[1, 2, 3], &[]).await;
    let load = Load::start(&group, 3);
    load.progress().await;
    let paused = group.leader(None).await;
    group.signal(paused, Signal::STOP);
    let second = group.leader(Some(paused)).await;
    assert_ne!(second, paused);
    load.progress().await;
    group.signal(paused, Signal::CONT);
    load.progress().await;
    let newest = load.newest().await;
    group.applied(paused, newest).await;
    check_nothing_lost(&group, &load.end().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_is_cut_off_comes_back_without_an_election() {
    let group = Group::start(&[1, 2, 3], &[]).await;
    let leader = group.leader(None).await;
    let cut = *group.members.keys().find(|id| **id != leader).unwrap();
    let term = group.status(leader).await.unwrap().term;
    group.proxies[&cut].set_cut(true);
    group.put_at_leader("during", b"1").await;
    // Nobody reaches it for several election timeouts.
    tokio::time::sleep(Duration::from_secs(4)).await;
    group.proxies[&cut].set_cut(false);
    let index = group.put_at_leader("after", b"2").await;
    group.applied(cut, index).await;
    assert_eq!(group.status(leader).await.unwrap().term, term, "it asked before it stood");
}

/// How many terms began over some seconds of load, during which something is acknowledged again and again.
async fn elections_during(group: &Group, load: &Load, seconds: u64) -> u64 {
    let leader = group.leader(None).await;
    let before = group.status(leader).await.unwrap().term;
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        load.progress().await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let leader = group.leader(None).await;
    group.status(leader).await.unwrap().term - before
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_election_happens_while_any_one_disk_takes_100_ms_a_sync() {
    let seconds = std::env::var("SILTSTONE_SLOW_DISK_SECONDS").map_or(60, |text| text.parse().unwrap());
    let group = Group::start(&[1, 2, 3], &["--snapshot-entries", "100"]).await;
    let load = Load::start(&group, 8);
    load.progress().await;
    let leader = group.leader(None).await;
    let follower = *group.members.keys().find(|id| **id != leader).unwrap();
    for (who, slow) in [("the leader", leader), ("a follower", follower)] {
        group.delay(slow, "100");
        let elections = elections_during(&group, &load, seconds).await;
        println!("{who} with syncs of 100 ms: {elections} elections in {seconds} s of load, up to position {}", load.newest().await);
        assert_eq!(elections, 0, "{who}: {}", group.log(leader));
        group.delay(slow, "0");
    }
    check_nothing_lost(&group, &load.end().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_syncs_of_every_length_lose_nothing() {
    let mut group = Group::start(&[1, 2, 3], &["--stall-ms-fatal", "20000"]).await;
    let load = Load::start(&group, 4);
    load.progress().await;
    for delay in ["50", "500", "5000"] {
        let slow = group.leader(None).await;
        group.delay(slow, delay);
        let waited = load.progress().await;
        println!("a leader's disk of {delay} ms a sync: the next write was acknowledged after {} ms", waited.as_millis());
        let leader = group.leader(None).await;
        group.kill(leader);
        group.delay(slow, "0");
        load.progress().await;
        group.spawn(leader, &[]);
        load.progress().await;
    }
    check_nothing_lost(&group, &load.end().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_whose_disk_hangs_loses_the_lead_and_its_process_ends() {
    let mut group = Group::start(&[1, 2, 3], &["--stall-ms-fatal", "4000"]).await;
    let load = Load::start(&group, 3);
    load.progress().await;
    let stuck = group.leader(None).await;
    group.delay(stuck, "hang");
    let begun = Instant::now();
    let second = group.leader(Some(stuck)).await;
    println!("another led {} ms after the leader's disk hung; two election timeouts are 2,400 ms", begun.elapsed().as_millis());
    assert_ne!(second, stuck);
    load.progress().await;
    assert_eq!(group.ended(stuck).await, Some(3), "{}", group.log(stuck));
    assert!(group.log(stuck).contains("the disk has not answered"), "{}", group.log(stuck));
    group.delay(stuck, "0");
    group.spawn(stuck, &[]);
    let newest = load.newest().await;
    group.applied(stuck, newest).await;
    check_nothing_lost(&group, &load.end().await).await;
}
