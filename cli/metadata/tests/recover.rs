//! A group whose members are lost but for one, over processes: recovered from that one, grown again, and not disturbed by what is left of the old.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use support::Group;

/// What stands in a directory: names and bytes, also of the directories in it.
fn tree(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(tree(&path)),
            false => drop(files.insert(path.display().to_string(), std::fs::read(&path).unwrap())),
        }
    }
    files
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_goes_on_from_its_only_survivor_and_grows_again() {
    let mut group = Group::start(&[1, 2, 3], &["--snapshot-entries", "50"]).await;
    let leader = group.leader(None).await;
    let survivor = *group.members.keys().rev().find(|id| **id != leader).unwrap();
    let mut last = 0;
    for number in 0..120 {
        last = group.put_at_leader(&format!("k{number}"), b"v").await;
    }
    group.applied(survivor, last).await;
    let old_incarnation = group.status(survivor).await.unwrap().incarnation;
    let (old, new) = (group.data(survivor).display().to_string(), group.dir.path().join("recovered"));
    let address = format!("127.0.0.1:{}", group.proxies[&leader].port);
    let id = leader.to_string();
    let recover = |more: &[&str]| {
        let args = ["recover", "--data", &old, "--id", &id, "--address", &address, "--into", new.to_str().unwrap(), "--no-store"];
        support::cli(&args, more)
    };
    let (done, text) = recover(&["--yes"]);
    assert!(!done && text.contains("is in use by process"), "{text}");

    // Whatever the others acknowledge without it is lost.
    group.kill(survivor);
    group.put_at_leader("without-it", b"v").await;
    for other in group.running() {
        group.kill(other);
        std::fs::remove_dir_all(group.data(other)).unwrap();
    }
    let before = tree(Path::new(&old));
    let (done, text) = recover(&[]);
    assert!(!done && text.contains("give --yes") && text.contains("MAY BE LOST") && !new.exists(), "{text}");
    let (done, text) = recover(&["--yes"]);
    assert!(done, "{text}");
    assert!(text.contains("life 1 of the group begins") && text.contains(&format!("{:016x}", old_incarnation + 1)), "{text}");
    assert_eq!(tree(Path::new(&old)), before, "the old directory is only read");
    let (done, text) = recover(&["--yes"]);
    assert!(!done && text.contains("choose one that is empty"), "{text}");

    // It goes on under the number and at the address of a lost member.
    std::fs::rename(&new, group.data(leader)).unwrap();
    let gone: Vec<u64> = group.members.keys().copied().filter(|id| *id != leader).collect();
    let old_members: Vec<_> = gone.iter().map(|id| (*id, group.members.remove(id).unwrap())).collect();
    group.spawn(leader, &["--heartbeat-ms", "100"]);
    assert_eq!(group.leader(None).await, leader);
    let status = group.status(leader).await.unwrap();
    assert_eq!((status.incarnation, status.members.len()), (old_incarnation + 1, 1));
    for number in 0..120 {
        assert!(group.holds(leader, &format!("k{number}")).await, "WA-1: k{number} was acknowledged and the survivor held it");
    }
    assert!(!group.holds(leader, "without-it").await);

    // The old member comes back: it knows the address, and nobody there knows it any more.
    group.members.extend(old_members.into_iter().filter(|(id, _)| *id == survivor));
    group.spawn(survivor, &["--heartbeat-ms", "100"]);
    for id in [7, 8] {
        group.place(id).await;
        group.spawn(id, &["--join"]);
        let at = format!("127.0.0.1:{}", group.proxies[&id].port);
        let (done, text) = group.cli(&["members", "add", "--id", &id.to_string(), "--address", &at]);
        assert!(done, "{text}");
    }
    group.vote(&format!("{leader} 7 8")).await;
    let stranger = group.status(survivor).await.unwrap();
    assert!(stranger.role != "leader" && stranger.incarnation == old_incarnation, "{stranger:?}");
    let last = group.put_at_leader("grown", b"v").await;
    for id in [leader, 7, 8] {
        group.applied(id, last).await;
    }
    // Three members: one may go.
    group.kill(leader);
    group.members.remove(&leader);
    let index = group.put_at_leader("after", b"v").await;
    for id in [7, 8] {
        group.applied(id, index).await;
        assert_eq!(group.status(id).await.unwrap().incarnation, old_incarnation + 1);
    }
    assert!(group.holds(group.leader(None).await, "k119").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_survivor_or_no_place_for_a_new_member_is_refused_with_a_reason() {
    let dir = tempfile::TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let refused = |args: &[&str], wanted: &str| {
        let (done, text) = support::cli(args, &[]);
        assert!(!done && text.contains(wanted), "{args:?}: {text}");
    };
    let (old, new) = (at("old"), at("new"));
    let recover = ["recover", "--id", "1", "--address", "127.0.0.1:1", "--no-store", "--data"];
    refused(&[&recover[..], &[&old, "--into", &new]].concat(), "no member's directory");
    refused(&[&recover[..], &[&old, "--into", &at("old/new")]].concat(), "it lies in");
    refused(&["recover", "--data", &old, "--id", "1", "--address", "127.0.0.1:1", "--into", &new], "--store");
    refused(&["restore", "--id", "1", "--address", "127.0.0.1:1", "--data", &new, "--newest", "--store", "s4://x"], "read object store");
    refused(&["restore", "--id", "1", "--address", "127.0.0.1:1", "--data", &new, "--store", &at("store")], "--newest");
    // A member without a word on its group goes on with its directory, so an empty one is a mistake.
    refused(&["serve", "--id", "1", "--listen", "127.0.0.1:0", "--data", &new], "it is empty");
    assert!(!Path::new(&new).exists());
    std::fs::create_dir(&new).unwrap();
    std::fs::write(Path::new(&new).join("unfinished"), "").unwrap();
    refused(&["serve", "--id", "1", "--listen", "127.0.0.1:0", "--data", &new], "did not finish; remove the directory");
}
