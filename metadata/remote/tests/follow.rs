//! Following members over gRPC, through their loss and through changes of the lead.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_core::CommitIndex;
use siltstone_format::command::{CommandBody, Reply};
use siltstone_metadata_client::{ClientError, MetadataClient, MetadataClientExt};
use siltstone_metadata_remote::{RemoteConfig, RemoteMetadata};
use std::time::Duration;
use support::{Group, PATIENCE, never_back};
use tokio::time::timeout;

async fn shown(remote: &RemoteMetadata, index: CommitIndex) {
    timeout(PATIENCE, remote.wait_for(index)).await.unwrap().unwrap();
}

/// Creates a namespace, however often it takes.
async fn applied(remote: &RemoteMetadata, name: &str) {
    // Unavailable promises that nothing was done; an unknown outcome asks for the very same command again. Nothing else comes.
    let id = loop {
        match remote.propose(CommandBody::CreateNamespace { name: name.to_owned() }).await {
            Ok((token, Reply::Namespace { id, .. })) => {
                assert!(remote.manifest().version >= token.index, "what is answered is shown");
                break id;
            }
            Err(ClientError::Unavailable { .. } | ClientError::UnknownOutcome { .. }) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(remote.manifest().names[name], id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_followers_of_one_member_end_equal_to_it_and_never_go_back() {
    let group = Group::start(1, 16_384).await;
    let member = group.members[&1].node.clone();
    let mut followers = Vec::new();
    for seed in 0..50 {
        followers.push(group.follow_all(seed).await);
    }
    let metrics = member.metrics().snapshot();
    assert_eq!((metrics.watchers, metrics.states_encoded), (50, 1), "one encoded state for all");
    let checks: Vec<_> = followers.iter().map(never_back).collect();
    for number in 0..40 {
        followers[number % 50].create_namespace(&format!("n{number}")).await.unwrap();
    }
    let wanted = member.manifest();
    for follower in &followers {
        shown(follower, wanted.version).await;
        assert_eq!(follower.manifest(), wanted);
        let metrics = follower.metrics();
        assert_eq!((metrics.states, metrics.lag()), (1, 0), "the rest came as deltas");
    }
    drop(followers);
    for check in checks {
        assert!(check.await.unwrap() > 0);
    }
    assert_eq!(member.metrics().snapshot().states_encoded, 1);
    group.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followers_of_three_members_never_go_back_while_the_lead_changes() {
    let mut group = Group::start(3, 16_384).await;
    let mut followers = Vec::new();
    for seed in 0..12 {
        followers.push(group.follow_all(seed).await);
    }
    let checks: Vec<_> = followers.iter().map(never_back).collect();
    for round in 0..2 {
        let lost = group.leader().await;
        for (number, follower) in followers.iter().enumerate() {
            follower.create_namespace(&format!("r{round}-{number}")).await.unwrap();
        }
        group.kill(lost).await;
        group.leader().await;
        applied(&followers[round], &format!("after-{round}")).await;
        group.restart(lost).await;
    }
    let leader = group.leader().await;
    let wanted = group.members[&leader].node.manifest();
    for follower in &followers {
        shown(follower, wanted.version).await;
        // The log may have gone on since: with a new leader's blank entry.
        assert_eq!(follower.manifest().names, wanted.names);
    }
    drop(followers);
    for check in checks {
        assert!(check.await.unwrap() > 0);
    }
    group.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_survives_the_loss_of_members_and_proposals_find_the_leader() {
    let mut group = Group::start(3, 16_384).await;
    let remote = group.follow_all(7).await;
    let check = never_back(&remote);
    remote.create_namespace("before").await.unwrap();
    for round in 0..2 {
        let lost = group.leader().await;
        group.kill(lost).await;
        applied(&remote, &format!("after-{round}")).await;
        group.restart(lost).await;
    }
    let manifest = timeout(PATIENCE, remote.linearizable_manifest()).await.unwrap().unwrap();
    assert_eq!(manifest.names.keys().map(AsRef::as_ref).collect::<Vec<_>>(), ["after-0", "after-1", "before"]);
    drop(remote);
    assert!(check.await.unwrap() > 0);
    group.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_that_was_away_for_too_long_takes_the_whole_state() {
    let mut group = Group::start(1, 4).await;
    let remote = group.follow_all(7).await;
    let check = never_back(&remote);
    remote.create_namespace("a").await.unwrap();
    // The member keeps four places, and takes twenty commands before it can be reached.
    group.kill(1).await;
    group.restart_later(1, 20).await;
    let wanted = group.members[&1].node.manifest();
    shown(&remote, wanted.version).await;
    assert_eq!(remote.manifest(), wanted);
    assert_eq!(remote.metrics().states, 2, "one at the start, one more now");
    drop(remote);
    assert!(check.await.unwrap() > 0);
    group.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_group_nothing_is_taken_in_and_the_error_says_where_it_was_looked_for() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = nobody.local_addr().unwrap().to_string();
    drop(nobody);
    let config = RemoteConfig { leader_ms_max: 300, ..RemoteConfig::new(vec![address.clone()]) };
    let remote = RemoteMetadata::start(config, 1).unwrap();
    let error = remote.create_namespace("a").await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Unavailable { reason } if reason.contains(&address)),
        "a call that was never sent changed nothing: {error}"
    );
    let error = remote.wait_ready(Duration::from_millis(300)).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&address) && text.contains("refused"), "{text}");
    for none in [vec![], vec!["10.0.0.1".to_owned()], vec!["http://10.0.0.1:7401".to_owned()]] {
        assert!(RemoteMetadata::start(RemoteConfig::new(none), 1).is_err());
    }
}
