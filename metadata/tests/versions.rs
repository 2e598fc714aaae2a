//! Groups whose members run programs of different versions: what they use, whom they wait for, whom they refuse.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_core::ErrorKind;
use siltstone_disk::LossyDisk;
use siltstone_format::command::{COMMAND_VERSION, CommandBody, Reply};
use siltstone_metadata::raft::{
    InProcessNetwork, MemberTransport, MembershipError, NoPeers, Peer, PeerRequest, PeerResponse, StartError, Transport, TransportError,
};
use siltstone_metadata::{MetadataNode, NodeConfig};
use siltstone_metadata_client::{ClientError, MetadataClient};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::{Group, create, names, parts, single_config};

/// The version before the newest: programs of it know no settings.
const BEFORE: u16 = COMMAND_VERSION - 1;

fn put(key: &str) -> CommandBody {
    CommandBody::PutSetting { key: key.to_owned(), value: Some(b"1".to_vec()), expected: None }
}

/// A group whose members read at most these versions.
async fn group(versions: [u16; 3]) -> Group {
    Group::start_with(|id| NodeConfig { command_version_max: versions[usize::try_from(id).unwrap() - 1], ..Group::config(id) }).await
}

/// Proposes to whoever leads until it is done or refused for its version.
async fn propose(group: &Group, body: &CommandBody) -> Result<Reply, String> {
    for _ in 0..200 {
        let leader = group.leader(None).await;
        match group.nodes[&leader].propose(body.clone()).await {
            Ok((_, reply)) => return Ok(reply),
            Err(ClientError::Unavailable { reason }) if reason.contains("is a command of version") => return Err(reason),
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    panic!("neither done nor refused");
}

/// As [`propose`], until it is done.
async fn propose_until_done(group: &Group, body: &CommandBody) -> Reply {
    let mut refused = String::new();
    for _ in 0..100 {
        match propose(group, body).await {
            Ok(reply) => return reply,
            Err(reason) => refused = reason,
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("still refused: {refused}");
}

async fn converge(group: &Group, key: &str) {
    for node in group.nodes.values() {
        let mut manifests = node.watch();
        let seen = manifests.wait_for(|manifest| manifest.settings.contains_key(key));
        let seen = tokio::time::timeout(Duration::from_secs(30), seen).await;
        assert!(seen.is_ok(), "a member does not show {key}");
    }
}

async fn end(group: Group) {
    for node in group.nodes.values() {
        node.shutdown().await;
    }
}

fn set(reply: &Reply) -> bool {
    matches!(reply, Reply::Setting { .. })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_with_one_older_member_uses_no_newer_commands_until_that_is_upgraded() {
    for older in 1..=3 {
        let mut versions = [COMMAND_VERSION; 3];
        versions[usize::try_from(older).unwrap() - 1] = BEFORE;
        let mut group = group(versions).await;
        group.create("before").await;
        let reason = propose(&group, &put("x")).await.unwrap_err();
        assert!(reason.contains(&format!("put_setting is a command of version {COMMAND_VERSION}")), "{reason}");
        assert!(reason.contains(&format!("member {older} reads up to version {BEFORE}: upgrade it")), "{reason}");
        assert!(group.nodes.values().all(|node| node.manifest().settings.is_empty()));
        assert_eq!(group.nodes[&group.leader(None).await].status().await.command_version, BEFORE);

        // While it is away, nobody knows what it reads.
        group.stop_member(older).await;
        let reason = loop {
            // What held it up a moment ago is told again for a while.
            let reason = propose(&group, &put("x")).await.unwrap_err();
            if !reason.contains("upgrade it") {
                break reason;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        assert!(reason.contains(&format!("member {older} was not heard")), "{reason}");
        group.create("meanwhile").await;

        // Upgraded, it reads what the others wrote before and after.
        group.start_member(older).await;
        assert!(set(&propose_until_done(&group, &put("x")).await));
        converge(&group, "x").await;
        assert!(group.nodes.values().all(|node| names(node) == ["before", "meanwhile"]));
        assert!(group.nodes[&older].status().await.command_version >= COMMAND_VERSION);
        end(group).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newer_commands_go_on_without_a_member_that_was_asked_before() {
    let mut group = group([COMMAND_VERSION; 3]).await;
    assert!(set(&propose_until_done(&group, &put("a")).await));
    let first = group.leader(None).await;
    group.stop_member(first).await;
    // The next leader knows from its log what the one that is gone reads.
    assert!(set(&propose_until_done(&group, &put("b")).await));
    converge(&group, "b").await;
    end(group).await;
}

/// Reaches everybody until a leader has something for its followers; then member 3 is lost.
struct LosesThird {
    inner: MemberTransport,
    is_lost: Arc<AtomicBool>,
    from: u64,
}

#[async_trait::async_trait]
impl Transport for LosesThird {
    async fn call(&self, to: &Peer, request: PeerRequest) -> Result<PeerResponse, TransportError> {
        if matches!(request, PeerRequest::Append(_)) {
            self.is_lost.store(true, Ordering::SeqCst);
        }
        // It does not lead: lost as the first leader, it would take the beginning of the group with it.
        let stands = self.from == 3 && matches!(request, PeerRequest::PreVote(_) | PeerRequest::Vote(_));
        if stands || (self.is_lost.load(Ordering::SeqCst) && (to.id == 3 || self.from == 3)) {
            return Err(TransportError::Refused { to: to.id, reason: "it is lost".to_owned() });
        }
        self.inner.call(to, request).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_group_uses_what_its_members_said_they_read_though_one_is_lost_as_soon_as_it_began() {
    for third in [COMMAND_VERSION, BEFORE] {
        let (network, is_lost) = (InProcessNetwork::default(), Arc::new(AtomicBool::new(false)));
        let mut group = Group { network, disks: BTreeMap::new(), nodes: BTreeMap::new() };
        for id in 1..=3 {
            let transport = LosesThird { inner: group.network.member(id), is_lost: is_lost.clone(), from: id };
            let command_version_max = if id == 3 { third } else { COMMAND_VERSION };
            let config = NodeConfig { command_version_max, ..Group::config(id) };
            let node = MetadataNode::start(config, parts(&LossyDisk::new(), transport, id).0).await.unwrap();
            group.network.serve(id, node.clone());
            group.nodes.insert(id, node);
        }
        if third == COMMAND_VERSION {
            assert!(set(&propose_until_done(&group, &put("x")).await));
        } else {
            let reason = propose(&group, &put("x")).await.unwrap_err();
            assert!(reason.contains("member 3 was not heard"), "{reason}");
        }
        assert!(is_lost.load(Ordering::SeqCst));
        end(group).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_program_does_not_start_where_newer_commands_were_written() {
    for (entries, place) in [(2, "of the log"), (20, ".snapshot")] {
        let mut group = group([COMMAND_VERSION; 3]).await;
        for number in 0..entries {
            assert!(set(&propose_until_done(&group, &put(&format!("x{number}"))).await));
        }
        converge(&group, &format!("x{}", entries - 1)).await;
        let follower = *group.nodes.keys().find(|id| !group.nodes[id].is_leader()).unwrap();
        group.stop_member(follower).await;
        let older = NodeConfig { command_version_max: BEFORE, ..Group::config(follower) };
        let error = MetadataNode::start(older, parts(&group.disks[&follower], group.network.member(follower), follower).0).await.err().unwrap();
        assert!(matches!(error, StartError::Newer { version: COMMAND_VERSION, version_max: BEFORE, .. }), "{error}");
        assert!(error.to_string().contains(place) && error.to_string().contains("start the newer program again"), "{error}");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        // The newer program goes on where it was.
        group.start_member(follower).await;
        assert!(set(&propose_until_done(&group, &put("after")).await));
        converge(&group, "after").await;
        end(group).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_was_given_an_older_program_while_it_was_away_ends_and_takes_nothing_in() {
    let mut group = group([COMMAND_VERSION, COMMAND_VERSION, BEFORE]).await;
    group.create("before").await;
    while group.leader(None).await == 3 {
        assert!(group.nodes[&3].leave().await);
        group.nodes[&3].stay();
    }
    let follower = 3 - group.leader(None).await;
    // From now on it acknowledges nothing. It says what it reads, and the log comes to hold what it has not got.
    group.disks[&follower].hold_syncs();
    let kept = group.disks[&follower].crash_image(1);
    group.stop_member(3).await;
    group.start_member(3).await;
    assert!(set(&propose_until_done(&group, &put("x")).await));
    group.disks[&follower].power_off();
    group.stop_member(follower).await;

    let older = NodeConfig { command_version_max: BEFORE, ..Group::config(follower) };
    let (parts, fatal) = parts(&kept, group.network.member(follower), follower);
    let node = MetadataNode::start(older, parts).await.unwrap();
    group.network.serve(follower, node.clone());
    for _ in 0..1_000 {
        if fatal.load(Ordering::SeqCst) > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(fatal.load(Ordering::SeqCst), 1, "it ends");
    // It has what it had, or less: that a quorum has it, it learns from messages that it may have refused for what else is in them.
    assert!(node.manifest().settings.is_empty() && names(&node).iter().all(|name| name == "before"));
    assert!(set(&propose_until_done(&group, &put("y")).await), "the others go on");
    group.network.remove(follower);
    node.shutdown().await;
    end(group).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_reads_less_than_the_log_holds_may_not_join_and_a_learner_that_reads_less_holds_the_version_up() {
    let mut group = group([COMMAND_VERSION, COMMAND_VERSION, BEFORE]).await;
    let learner = |id, version| NodeConfig { node_id: id, members: BTreeMap::new(), command_version_max: version, ..Group::config(1) };
    let mut disk = LossyDisk::new();
    let network = group.network.clone();
    let start = async |disk: &LossyDisk, id, version| {
        let node = MetadataNode::start(learner(id, version), parts(disk, network.member(id), id).0).await.unwrap();
        network.serve(id, node.clone());
        node
    };
    // As long as the log holds nothing newer, it may.
    let older = start(&disk, 4, BEFORE).await;
    let leader = group.leader(None).await;
    group.nodes[&leader].add_learner(4, "member-4").await.unwrap();
    group.stop_member(3).await;
    group.start_member(3).await;
    let reason = loop {
        let reason = propose(&group, &put("x")).await.unwrap_err();
        if reason.contains("member 4") {
            break reason;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(reason.contains(&format!("member 4 reads up to version {BEFORE}: upgrade it")) && !reason.contains("member 3"), "{reason}");
    let leader = group.leader(None).await;
    group.nodes[&leader].remove_member(4).await.unwrap();
    assert!(set(&propose_until_done(&group, &put("x")).await));

    // Now it may not, nor another.
    older.shutdown().await;
    disk = LossyDisk::new();
    let older = start(&disk, 5, BEFORE).await;
    let leader = group.leader(None).await;
    let error = group.nodes[&leader].add_learner(5, "member-5").await.unwrap_err();
    assert!(matches!(error, MembershipError::OldProgram { id: 5, version: BEFORE, needed: COMMAND_VERSION, .. }), "{error}");
    assert!(error.to_string().contains("start it with a newer program"), "{error}");
    older.shutdown().await;
    let newer = start(&LossyDisk::new(), 5, COMMAND_VERSION).await;
    group.nodes[&leader].add_learner(5, "member-5").await.unwrap();
    newer.shutdown().await;
    end(group).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lagging_older_member_gets_a_snapshot_that_it_reads() {
    let mut group = group([COMMAND_VERSION, COMMAND_VERSION, BEFORE]).await;
    group.create("first").await;
    group.stop_member(3).await;
    for number in 0..40 {
        group.create(&format!("n{number:02}")).await;
    }
    let older = NodeConfig { command_version_max: BEFORE, ..Group::config(3) };
    let (parts, fatal) = parts(&group.disks[&3], group.network.member(3), 3);
    let node = MetadataNode::start(older, parts).await.unwrap();
    group.network.serve(3, node.clone());
    let mut manifests = node.watch();
    let seen = manifests.wait_for(|manifest| manifest.names.contains_key("n39"));
    assert!(tokio::time::timeout(Duration::from_secs(30), seen).await.is_ok());
    assert!(node.raft().metrics().borrow().snapshot.is_some(), "it caught up by a snapshot");
    assert_eq!(fatal.load(Ordering::SeqCst), 0);
    group.nodes.insert(3, node);
    end(group).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_of_one_takes_newer_commands_at_once_and_reads_what_its_older_program_wrote() {
    let disk = LossyDisk::new();
    let older = MetadataNode::start(NodeConfig { command_version_max: BEFORE, ..single_config() }, parts(&disk, NoPeers, 1).0).await.unwrap();
    create(&older, "before").await.unwrap();
    let refused = older.propose(put("x")).await.unwrap_err();
    assert!(refused.to_string().contains(&format!("member 1 reads up to version {BEFORE}: upgrade it")), "{refused}");
    // Nor does anybody talk it into more than it reads.
    let raise = CommandBody::RaiseVersion { version: COMMAND_VERSION };
    assert!(matches!(older.propose(raise).await, Err(ClientError::Unavailable { .. })));
    older.shutdown().await;
    let newer = MetadataNode::start(single_config(), parts(&disk, NoPeers, 1).0).await.unwrap();
    assert!(set(&newer.propose(put("x")).await.unwrap().1));
    assert_eq!(names(&newer), ["before"]);
    let end = newer.status().await.last_index;
    newer.shutdown().await;
    let again = MetadataNode::start(single_config(), parts(&disk, NoPeers, 1).0).await.unwrap();
    assert!(again.manifest().settings.contains_key("x"));
    assert!(again.status().await.last_index <= end.map(|end| end + 1), "the version is raised once: a start logs the new leader's blank entry alone");
    again.shutdown().await;
}
