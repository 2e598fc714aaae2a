//! Membership over processes: replacing a lost member, leaving in peace, what is refused.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use rustix::process::Signal;
use std::time::{Duration, Instant};
use support::Group;

/// Gives these members their votes, as soon as those that are new have caught up.
async fn vote(group: &Group, voters: &str) -> String {
    let begun = Instant::now();
    loop {
        let mut args = vec!["members", "vote"];
        args.extend(voters.split(' '));
        let (done, text) = group.cli(&args);
        if done {
            return text;
        }
        assert!(begun.elapsed() < support::PATIENCE, "{text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_member_is_replaced_by_an_empty_one() {
    let mut group = Group::start(&[1, 2, 3], &["--snapshot-entries", "50"]).await;
    for number in 0..200 {
        group.put_at_leader(&format!("k{number}"), b"v").await;
    }
    let leader = group.leader(None).await;
    let lost = *group.members.keys().find(|id| **id != leader).unwrap();
    group.kill(lost);
    std::fs::remove_dir_all(group.data(lost)).unwrap();

    group.place(4).await;
    group.spawn(4, &["--join"]);
    let address = format!("127.0.0.1:{}", group.proxies[&4].port);
    let (done, text) = group.cli(&["members", "add", "--id", "4", "--address", &address]);
    assert!(done && text.contains("no"), "it learns first: {text}");
    let stay: Vec<String> = [1, 2, 3, 4].iter().filter(|id| **id != lost).map(u64::to_string).collect();
    vote(&group, &stay.join(" ")).await;
    let (done, text) = group.cli(&["members", "remove", "--id", &lost.to_string()]);
    assert!(done, "{text}");
    group.members.remove(&lost);

    // The new member counts: with another one gone, it makes the quorum.
    let gone = *stay.iter().map(|id| id.parse().unwrap()).collect::<Vec<u64>>().iter().find(|id| **id != 4).unwrap();
    group.kill(gone);
    let index = group.put_at_leader("after", b"v").await;
    group.applied(4, index).await;
    let (_, text) = group.cli(&["status"]);
    assert!(text.contains("away") && text.contains("leader"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_is_told_to_stop_hands_over_and_stays_a_member() {
    let mut group = Group::start(&[1, 2, 3], &[]).await;
    let first = group.leader(None).await;
    let begun = Instant::now();
    group.signal(first, Signal::TERM);
    assert_eq!(group.ended(first).await, Some(0), "{}", group.log(first));
    let second = group.leader(Some(first)).await;
    println!("another led {} ms after SIGTERM to the leader", begun.elapsed().as_millis());
    assert_eq!(group.status(second).await.unwrap().members.iter().filter(|member| member.is_voter).count(), 3, "stopping changes no membership");
    group.spawn(first, &[]);
    let index = group.put_at_leader("after", b"v").await;
    group.applied(first, index).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_would_harm_a_group_is_refused_with_a_reason() {
    let mut group = Group::start(&[1, 2, 3], &[]).await;
    let refused = |args: &[&str], wanted: &str| {
        let (done, text) = group.cli(args);
        assert!(!done && text.contains(wanted), "{args:?}: {text}");
    };
    refused(&["members", "add", "--id", "2", "--address", "127.0.0.1:1"], "never used again");
    refused(&["members", "vote", "1", "2", "9"], "there is no member 9");
    refused(&["members", "remove", "--id", "2"], "has a vote");
    refused(&["members", "add", "--id", "9", "--address", "127.0.0.1:1"], "it does not answer there");

    // Another member's directory, and one that is in use.
    group.kill(3);
    let serve = |id: &str, data: &str| {
        let data = group.dir.path().join(data);
        support::cli(
            &["serve", "--id", id, "--members", &format!("{id}=127.0.0.1:1"), "--listen", "127.0.0.1:0", "--data"],
            &[data.to_str().unwrap()],
        )
    };
    let (done, text) = serve("7", "member-3");
    assert!(!done && text.contains("it is the directory of member 3"), "{text}");
    let (done, text) = serve("1", "member-1");
    assert!(!done && text.contains("stop the other process"), "{text}");
    let (done, text) = support::cli(&["status"], &["--group", "127.0.0.1:1"]);
    assert!(!done && text.contains("reach the metadata group at 127.0.0.1:1"), "{text}");
    group.spawn(3, &[]);
    group.put_at_leader("after", b"v").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_was_emptied_takes_no_part() {
    let mut group = Group::start(&[1, 2, 3], &[]).await;
    group.put_at_leader("before", b"v").await;
    let leader = group.leader(None).await;
    let emptied = *group.members.keys().find(|id| **id != leader).unwrap();
    group.kill(emptied);
    std::fs::remove_dir_all(group.data(emptied)).unwrap();

    // As a member of the group that its flags name, it ends by itself, and so it does the next time.
    for _ in 0..2 {
        group.spawn(emptied, &[]);
        assert_eq!(group.ended(emptied).await, Some(3), "{}", group.log(emptied));
        assert!(group.log(emptied).contains("was emptied or replaced"), "{}", group.log(emptied));
    }
    // As one that joins, under the number that it had, the group leaves it out: its vote could make others forget what they acknowledged (WA-1).
    group.spawn(emptied, &["--join"]);
    let other = *group.members.keys().find(|id| **id != leader && **id != emptied).unwrap();
    group.kill(other);
    let refused = tokio::time::timeout(Duration::from_secs(4), async { group.put(leader, "after", b"v").await }).await;
    assert!(!matches!(refused, Ok(Ok(_))), "nothing is acknowledged by one member of three and an impostor: {refused:?}");
    group.spawn(other, &[]);
    group.put_at_leader("after", b"v").await;
    assert!(group.log(emptied).contains("the group means another directory"), "{}", group.log(emptied));
}
