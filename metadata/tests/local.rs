//! The group without Raft, as a client sees it: what is lost, late and repeated.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use siltstone_core::{BatchId, ChunkId, CommitIndex, CommitToken, Epoch, ErrorKind, Incarnation, ManualClock, NamespaceId, WriterId};
use siltstone_format::command::{ClientKey, CommandBody, CommitBatch, Rejection, SliceCommit, SliceOutcome};
use siltstone_format::manifest::{BatchRecord, CheckedRange};
use siltstone_metadata::{Fault, LocalMetadata};
use siltstone_metadata_client::{ClientError, MetadataClient, MetadataClientExt};
use std::sync::Arc;

const RANGE: CheckedRange = CheckedRange { offset: 10, len: 10, crc32c: 1 };

fn group() -> Arc<dyn MetadataClient> {
    Arc::new(local())
}

fn local() -> LocalMetadata {
    LocalMetadata::new(Incarnation(7), Arc::new(ManualClock::at_ns(1_000_000_000)))
}

async fn writer(group: &dyn MetadataClient) -> (Epoch, NamespaceId, ChunkId, u64) {
    let epoch = group.register_writer(WriterId(1)).await.unwrap();
    let namespace = group.create_namespace("shop").await.unwrap();
    (epoch, namespace, group.allocate_chunk_ids(epoch, 8).await.unwrap(), group.allocate_ids(epoch, 8).await.unwrap())
}

fn commit(epoch: Epoch, id: u64, namespace: NamespaceId, chunk: ChunkId, first_offset: u16) -> CommitBatch {
    let slice = SliceCommit {
        namespace,
        chunk,
        first_offset,
        rows: 3,
        range: RANGE,
        timestamp_min_ns: 0,
        timestamp_max_ns: 1,
        body_bytes: 9,
        key: Some(ClientKey { principal: "ann".into(), producer: "p".into(), sequence: 1 }),
    };
    CommitBatch { epoch, batch: BatchRecord { id: BatchId(id), epoch, len_bytes: 100, footer: RANGE }, slices: vec![slice], close: vec![] }
}

#[tokio::test]
async fn a_commit_is_seen_by_who_waits_for_its_token() {
    let group = group();
    let (epoch, namespace, chunk, id) = writer(&*group).await;
    let waiter = tokio::spawn({
        let (group, index) = (group.clone(), CommitIndex(group.manifest().version.0 + 1));
        async move { group.wait_for(index).await }
    });
    let (token, outcomes) = group.commit_batch(commit(epoch, id, namespace, chunk, 0)).await.unwrap();
    assert_eq!((token.incarnation, outcomes), (Incarnation(7), vec![SliceOutcome::Accepted]));
    assert_eq!(waiter.await.unwrap().unwrap().totals.rows, 3);
    assert_eq!(group.wait_for_commit(token).await.unwrap().token(), token);
    assert_eq!(group.linearizable_manifest().await.unwrap().version, token.index);
    let other = CommitToken { incarnation: Incarnation(8), index: CommitIndex(1 << 40) };
    let error = group.wait_for_commit(other).await.unwrap_err();
    assert_eq!((error.clone(), error.kind()), (ClientError::OtherIncarnation { token: other, incarnation: Incarnation(7) }, ErrorKind::NotFound));
}

#[tokio::test]
async fn a_commit_whose_reply_is_lost_is_repeated_without_harm() {
    let group = local();
    let (epoch, namespace, chunk, id) = writer(&group).await;
    let command = commit(epoch, id, namespace, chunk, 0);
    for fault in [Fault::Refused, Fault::RequestLost, Fault::ReplyLost, Fault::ReplyLost] {
        group.set_faults(move |_| fault);
        let error = group.commit_batch(command.clone()).await.unwrap_err();
        assert_eq!(error.kind(), if fault == Fault::Refused { ErrorKind::Unavailable } else { ErrorKind::Unknown });
    }
    group.set_faults(|_| Fault::None);
    let (_, outcomes) = group.commit_batch(command).await.unwrap();
    assert_eq!(outcomes, [SliceOutcome::Accepted]);
    assert_eq!((group.manifest().totals.rows, group.manifest().batches.size()), (3, 1));
}

#[tokio::test]
async fn a_flush_of_nothing_but_duplicates_is_repeated_with_the_same_outcome() {
    let group = local();
    let (epoch, namespace, chunk, id) = writer(&group).await;
    group.commit_batch(commit(epoch, id, namespace, chunk, 0)).await.unwrap();
    let again = commit(epoch, id + 1, namespace, chunk, 3);
    group.set_faults(|_| Fault::ReplyLost);
    group.commit_batch(again.clone()).await.unwrap_err();
    group.set_faults(|_| Fault::None);
    assert!(group.manifest().retired_batches.get(BatchId(id + 1)).is_some(), "it names nothing");
    assert_eq!(group.commit_batch(again).await.unwrap().1, [SliceOutcome::Duplicate]);
    assert_eq!(group.manifest().totals.rows, 3);
}

#[tokio::test]
async fn a_late_command_of_a_fenced_epoch_changes_nothing() {
    let group = local();
    let (epoch, namespace, chunk, id) = writer(&group).await;
    group.set_faults(|body| if matches!(body, CommandBody::CommitBatch(_)) { Fault::Late } else { Fault::None });
    group.commit_batch(commit(epoch, id, namespace, chunk, 0)).await.unwrap_err();
    assert_eq!(group.manifest().totals.rows, 0);
    group.deliver_late();
    assert_eq!(group.manifest().totals.rows, 3, "late, but within its life");
    group.commit_batch(commit(epoch, id + 1, namespace, chunk, 3)).await.unwrap_err();
    let restarted = LocalMetadata::with_machine(group.machine(), Arc::new(ManualClock::at_ns(2_000_000_000)));
    restarted.register_writer(WriterId(1)).await.unwrap();
    let error = restarted.commit_batch(commit(epoch, id + 1, namespace, chunk, 3)).await.unwrap_err();
    assert_eq!((error.clone(), error.kind()), (ClientError::Rejected(Rejection::FencedEpoch { epoch }), ErrorKind::Fenced));
    assert_eq!(restarted.manifest().totals.chunks_closed, 1);
}
