//! What a member may say, and when it must end.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use openraft::Vote;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, VoteRequest};
use siltstone_disk::LossyDisk;
use siltstone_metadata::MetadataNode;
use siltstone_metadata::raft::{Candidate, NoPeers, Peer, PeerRequest, PeerResponse, PreVote, Transport, TransportError};
use siltstone_metadata_client::{ClientError, MetadataClient};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::create;
use support::leader::{entries, follower_config, log_id, machine, snapshot};
use support::stepped::{Steps, config, run, start};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{sleep, timeout};

#[test]
fn a_snapshot_of_entries_that_are_in_memory_alone_is_not_acknowledged() {
    run(async {
        let steps = Steps::default();
        let node = start(&LossyDisk::new(), follower_config(), NoPeers, &steps).await.0.unwrap();
        node.handle(0, entries(0)).await.unwrap();
        steps.hold();
        let appended = node.handle(0, entries(4)).await.unwrap();
        let part = AppendEntriesResponse::PartialSuccess(Some(log_id(0)));
        assert!(matches!(&appended, PeerResponse::Append(answer) if *answer == part), "WA-1: no more than the disk has: {appended:?}");
        assert_eq!(node.manifest(), *machine(4).manifest(), "the entries are applied, so that Raft has nothing to install");
        let mut installed = pin!(node.handle(0, snapshot(4)));
        assert!(timeout(Duration::from_secs(5), &mut installed).await.is_err(), "WA-1: a leader would take the answer for an acknowledgement");
        steps.release();
        assert!(matches!(installed.await.unwrap(), PeerResponse::Snapshot(_)));
        node.shutdown().await;
    });
}

#[test]
fn a_member_whose_raft_panics_ends() {
    run(async {
        let steps = Steps::default();
        let (node, fatal) = start(&LossyDisk::new(), config(), NoPeers, &steps).await;
        let node = node.unwrap();
        create(&node, "before").await.unwrap();
        steps.panic_at_next_write();
        assert!(create(&node, "lost").await.is_err());
        sleep(Duration::from_secs(1)).await;
        assert_eq!(fatal.load(Ordering::SeqCst), 1, "its process must end: it would live on as a leader that does nothing");
        let late = create(&node, "late").await.unwrap_err();
        assert!(matches!(&late, ClientError::Ended { reason } if reason.contains("panicked")), "{late}");
        assert!(node.not_ready().await.unwrap().contains("panicked"));
        node.shutdown().await;
    });
}

/// Whether a candidate with these entries is promised the member's vote.
async fn is_promised(node: &MetadataNode, last: u64) -> bool {
    let candidate = Candidate { id: 3, address: "member-3".to_owned(), directory: 0, session: 0 };
    let plea = PeerRequest::PreVote(PreVote { last_log_id: Some(log_id(last)), candidate });
    matches!(node.handle(0, plea).await.unwrap(), PeerResponse::PreVote { is_granted: true, .. })
}

#[test]
fn a_member_whose_disk_stalls_promises_no_vote() {
    run(async {
        let steps = Steps::default();
        let node = start(&LossyDisk::new(), follower_config(), NoPeers, &steps).await.0.unwrap();
        node.handle(0, entries(4)).await.unwrap();
        assert!(!is_promised(&node, 4).await, "a leader was just heard");
        sleep(Duration::from_secs(2)).await;
        assert!(is_promised(&node, 4).await && !is_promised(&node, 3).await);

        steps.hold();
        let (pending, later) = (node.clone(), entries(5));
        let appended = tokio::spawn(async move { pending.handle(0, later).await });
        sleep(Duration::from_secs(2)).await;
        assert!(!is_promised(&node, 5).await, "it has no vote to give, and one who can't win would stand against one who can");
        steps.release();
        appended.await.unwrap().unwrap();
        sleep(Duration::from_secs(2)).await;
        assert!(is_promised(&node, 5).await);
        node.shutdown().await;
    });
}

/// Others that promise their votes, when they may answer.
#[derive(Clone)]
struct Electors {
    asked: Arc<Notify>,
    may_answer: Arc<Semaphore>,
    stood: Arc<AtomicUsize>,
}

#[async_trait::async_trait]
impl Transport for Electors {
    async fn call(&self, to: &Peer, request: PeerRequest) -> Result<PeerResponse, TransportError> {
        match request {
            PeerRequest::PreVote(_) => {
                self.asked.notify_one();
                self.may_answer.acquire().await.unwrap().forget();
                return Ok(PeerResponse::PreVote { is_granted: true, is_copy: false });
            }
            PeerRequest::Vote(_) => _ = self.stood.fetch_add(1, Ordering::SeqCst),
            _ => {}
        }
        NoPeers.call(to, request).await
    }
}

/// What another member says while this one means to stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meanwhile {
    Nothing,
    Candidate,
    Leader,
}

#[test]
fn a_member_that_is_giving_its_vote_does_not_stand_against_it() {
    for meanwhile in [Meanwhile::Nothing, Meanwhile::Candidate, Meanwhile::Leader] {
        run(async {
            let (steps, others) =
                (Steps::default(), Electors { asked: Arc::default(), may_answer: Arc::new(Semaphore::new(0)), stood: Arc::default() });
            let node = start(&LossyDisk::new(), follower_config(), others.clone(), &steps).await.0.unwrap();
            node.handle(0, entries(4)).await.unwrap();
            others.asked.notified().await;
            // It means to stand. Meanwhile another does, or was elected without it; and its vote takes a while to reach the disk.
            steps.hold();
            let (voter, vote) = (node.clone(), Vote::new(2, 3));
            let vote = tokio::spawn(async move {
                match meanwhile {
                    Meanwhile::Nothing => {}
                    Meanwhile::Candidate => {
                        let request = VoteRequest::new(vote, Some(log_id(4)));
                        let PeerResponse::Vote(answer) = voter.handle(0, PeerRequest::Vote(request)).await.unwrap() else { panic!("a vote") };
                        assert!(answer.vote_granted, "{answer:?}");
                    }
                    Meanwhile::Leader => {
                        let (vote, prev_log_id) = (Vote::new_committed(2, 3), Some(log_id(4)));
                        let request = AppendEntriesRequest { vote, prev_log_id, entries: Vec::new(), leader_commit: None };
                        let answer = voter.handle(0, PeerRequest::Append(request)).await.unwrap();
                        assert!(matches!(answer, PeerResponse::Append(AppendEntriesResponse::Success)), "{answer:?}");
                    }
                }
            });
            sleep(Duration::from_millis(10)).await;
            others.may_answer.add_permits(2);
            sleep(Duration::from_millis(50)).await;
            steps.release();
            vote.await.unwrap();
            sleep(Duration::from_millis(500)).await;
            let stood = others.stood.load(Ordering::SeqCst) > 0;
            assert_eq!(stood, meanwhile == Meanwhile::Nothing, "{meanwhile:?}: its candidacy would take back what it said");
            node.shutdown().await;
        });
    }
}
