//! Three members as real processes: killed, paused, cut off, on slow and stuck disks.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use rustix::process::Signal;
use std::time::{Duration, Instant};
use support::Group;
use support::load::{Load, check_nothing_lost};

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
    // It takes connections, and would hold up whoever asks it first.
    let (is_shown, table) = group.cli(&["status"]);
    assert!(is_shown && table.contains("does not answer within"), "{table}");
    let (is_taken, told) = group.cli(&["snapshot"]);
    assert!(is_taken, "{told}");
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
    // From here on the group has heard from each member which commands it reads.
    group.put_at_leader("before", b"0").await;
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
async fn elections_during(group: &Group, load: &Load, seconds: u64, what: &str) -> u64 {
    let leader = group.leader(None).await;
    let before = group.status(leader).await.unwrap().term;
    let begun = Instant::now();
    let (end, mut tell) = (begun + Duration::from_secs(seconds), begun + TELL_EVERY);
    while Instant::now() < end {
        load.progress().await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        if Instant::now() >= tell {
            tell += TELL_EVERY;
            let term = group.status(leader).await.map(|status| status.term);
            println!("{what}: {} of {seconds} s, position {}, term {term:?}, {before} before", begun.elapsed().as_secs(), load.newest().await);
        }
    }
    let leader = group.leader(None).await;
    group.status(leader).await.unwrap().term - before
}

/// How often a long run says how it does.
const TELL_EVERY: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_election_happens_while_any_one_disk_takes_100_ms_a_sync() {
    let seconds = std::env::var("SILTSTONE_SLOW_DISK_SECONDS").map_or(60, |text| text.parse().unwrap());
    let group = Group::start(&[1, 2, 3], &["--snapshot-entries", "100"]).await;
    let load = Load::start(&group, 8);
    load.progress().await;
    let leader = group.leader(None).await;
    let mut followers = group.members.keys().copied().filter(|id| *id != leader);
    let slow = [("the leader", leader), ("a follower", followers.next().unwrap()), ("the other follower", followers.next().unwrap())];
    for (who, slow) in slow {
        let slow_syncs = || async { group.status(slow).await.unwrap().slow_syncs };
        let before = slow_syncs().await;
        group.delay(slow, "100");
        let what = format!("{who} (member {slow}) with syncs of 100 ms");
        let elections = elections_during(&group, &load, seconds, &what).await;
        let syncs = slow_syncs().await - before;
        println!("{what}: {elections} elections in {seconds} s of load, up to position {}; {syncs} slow syncs", load.newest().await);
        assert_eq!(elections, 0, "{what}: {}", group.log(leader));
        assert!(syncs > seconds, "{what}: its disk was not slow");
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
