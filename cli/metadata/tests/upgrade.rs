//! A group of processes whose program is replaced by a newer one, member by member, and one that is replaced by the older one again.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use rustix::process::Signal;
use siltstone_format::command::COMMAND_VERSION;
use support::Group;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_are_upgraded_one_by_one_newer_commands_wait_for_the_last_and_the_older_program_is_refused_afterwards() {
    let older = ["--command-version-max".to_owned(), (COMMAND_VERSION - 1).to_string()];
    let mut group = Group::start(&[1, 2, 3], &[&older[0], &older[1]]).await;
    for id in 1..=3 {
        // Settings came with the newest version.
        let leader = group.leader(None).await;
        let refused = group.put(leader, "x", b"v").await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::Unavailable);
        assert!(refused.message().contains("put_setting is a command of version"), "{refused}");
        // What was known a moment ago is told for a while.
        assert!((id..=3).any(|id| refused.message().contains(&format!("member {id} "))), "{refused}");
        group.signal(id, Signal::TERM);
        assert_eq!(group.ended(id).await, Some(0));
        group.flags.clear();
        group.spawn(id, &[]);
        if id < 3 {
            let (done, table) = group.cli(&["status"]);
            assert!(done && table.contains(&format!("commands of version {}", COMMAND_VERSION - 1)) && table.contains(": upgrade it"), "{table}");
        }
    }
    let index = group.put_at_leader("x", b"v").await;
    for id in 1..=3 {
        group.applied(id, index).await;
    }
    let (done, table) = group.cli(&["status"]);
    assert!(done && table.contains(&format!("commands of version {COMMAND_VERSION}")) && !table.contains("upgrade it"), "{table}");

    let leader = group.leader(None).await;
    let follower = (1..=3).find(|id| *id != leader).unwrap();
    group.kill(follower);
    group.flags = older.to_vec();
    let (mut child, line) = group.try_spawn(follower, &[]);
    assert_eq!(line, "");
    assert_ne!(child.wait().unwrap().code(), Some(0));
    assert!(group.log(follower).contains("start the newer program again"), "{}", group.log(follower));
    // A new member of the older program is refused as well.
    group.place(4).await;
    group.spawn(4, &["--join"]);
    let address = format!("127.0.0.1:{}", group.proxies[&4].port);
    let (done, text) = group.cli(&["members", "add", "--id", "4", "--address", &address]);
    assert!(!done && text.contains("start it with a newer program"), "{text}");
    group.flags.clear();
    group.spawn(follower, &[]);
    let index = group.put_at_leader("y", b"v").await;
    group.applied(follower, index).await;
}
