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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_moved_is_told_to_the_group_and_a_copy_of_it_ends() {
    let mut group = Group::start(&[1, 2, 3], &[]).await;
    group.put_at_leader("before", b"v").await;
    let leader = group.leader(None).await;
    let moved = *group.members.keys().find(|id| **id != leader).unwrap();
    group.kill(moved);
    let old = group.dir.path().join("old");
    copy_dir(&group.data(moved), &old);

    group.place(moved).await;
    let address = format!("127.0.0.1:{}", group.proxies[&moved].port);
    let (done, text) = group.cli(&["members", "move", "--id", &moved.to_string(), "--address", &address]);
    assert!(!done && text.contains("it does not answer there"), "{text}");
    group.spawn(moved, &[]);
    let (done, text) = group.cli(&["members", "move", "--id", &moved.to_string(), "--address", &address]);
    assert!(done && text.contains(&address), "{text}");
    let index = group.put_at_leader("after", b"v").await;
    group.applied(moved, index).await;

    let term = group.status(leader).await.unwrap().term;
    // The old directory comes to life again, elsewhere. It knows the member by the address that it had.
    let text = run_to_its_end(moved, &old).await;
    assert!(text.starts_with("None") || text.contains("another process answers as this member"), "{text}");
    assert_eq!(group.status(leader).await.unwrap().term, term, "it disturbed nobody");
    // And a copy of what the member has now knows where the member is.
    group.kill(moved);
    let copy = group.dir.path().join("copy");
    copy_dir(&group.data(moved), &copy);
    group.spawn(moved, &[]);
    let index = group.put_at_leader("again", b"v").await;
    group.applied(moved, index).await;
    let text = run_to_its_end(moved, &copy).await;
    assert!(text.contains("another process answers as this member") && text.contains(&address), "{text}");
    assert_eq!(group.status(leader).await.unwrap().term, term, "it disturbed nobody");
}

/// Runs a member on another directory, at a port of its own, until it ends by itself or some time has passed. What it said.
async fn run_to_its_end(id: u64, data: &std::path::Path) -> String {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_siltstone-metadata"));
    command.args(["serve", "--id", &id.to_string(), "--listen", "127.0.0.1:0", "--join", "--data"]).arg(data);
    let mut child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    let mut code = None;
    while code.is_none() && begun.elapsed() < Duration::from_secs(6) {
        tokio::time::sleep(Duration::from_millis(50)).await;
        code = child.try_wait().unwrap();
    }
    // Where it lives on, nobody speaks to it and nobody votes for it.
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    format!("{code:?}: {}", String::from_utf8_lossy(&output.stderr))
}

fn copy_dir(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_file_of_tls_that_is_not_one_ends_the_process_with_its_name() {
    let dir = tempfile::TempDir::new().unwrap();
    let garbage = dir.path().join("garbage.pem");
    std::fs::write(&garbage, "no certificate").unwrap();
    let (garbage, missing) = (garbage.to_str().unwrap(), dir.path().join("missing.pem"));
    let missing = missing.to_str().unwrap();
    let data = dir.path().join("data");
    for (authority, named) in [(garbage, garbage), (missing, missing)] {
        let tls = ["--tls-ca", authority, "--tls-cert", garbage, "--tls-key", garbage];
        let serve = ["serve", "--id", "1", "--members", "1=127.0.0.1:1", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        for line in [&serve[..], &["status", "--group", "127.0.0.1:1"]] {
            let (done, text) = support::cli(line, &tls);
            println!("{text}");
            assert!(!done && text.starts_with("error: ") && text.contains(named), "{text}");
        }
    }
}
