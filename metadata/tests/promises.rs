//! What a member may say, and when it must end.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use siltstone_disk::LossyDisk;
use siltstone_metadata::raft::{NoPeers, PeerResponse};
use siltstone_metadata_client::{ClientError, MetadataClient};
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;
use support::create;
use support::leader::{entries, follower_config, machine, snapshot};
use support::stepped::{Steps, config, run, start};
use tokio::time::{sleep, timeout};

#[test]
fn a_snapshot_of_entries_that_are_in_memory_alone_is_not_acknowledged() {
    run(async {
        let steps = Steps::default();
        let node = start(&LossyDisk::new(), follower_config(), NoPeers, &steps).await.0.unwrap();
        node.handle(0, entries(0)).await.unwrap();
        steps.hold();
        let mut appended = pin!(node.handle(0, entries(4)));
        assert!(timeout(Duration::from_secs(1), &mut appended).await.is_err(), "WA-1");
        assert_eq!(node.manifest(), *machine(4).manifest(), "the entries are applied, so that Raft has nothing to install");
        let mut installed = pin!(node.handle(0, snapshot(4)));
        assert!(timeout(Duration::from_secs(5), &mut installed).await.is_err(), "WA-1: a leader would take the answer for an acknowledgement");
        steps.release();
        assert!(matches!(installed.await.unwrap(), PeerResponse::Snapshot(_)));
        appended.await.unwrap();
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
