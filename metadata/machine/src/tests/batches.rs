//! Commits of batches.

use super::*;

#[test]
fn a_slice_begins_where_its_chunk_ends() {
    let mut group = Group::new();
    let (writer, shop) = (group.writer(1), group.namespace("shop"));
    let chunk = group.chunk(writer);
    let mismatch = |next_offset, first_offset| Reply::Rejected(Rejection::OffsetMismatch { chunk, next_offset, first_offset });
    assert_eq!(group.commit(writer, vec![slice(shop, chunk, 1, 1)]).1, mismatch(0, 1));
    group.commit(writer, vec![slice(shop, chunk, 0, 10)]);
    assert_eq!(group.commit(writer, vec![slice(shop, chunk, 9, 1)]).1, mismatch(10, 9));
    assert_eq!(group.commit(writer, vec![slice(shop, chunk, 10, 1), slice(shop, chunk, 12, 1)]).1, mismatch(11, 12));
    let past_end = group.commit(writer, vec![slice(shop, chunk, 10, 2_039)]).1;
    assert!(matches!(past_end, Reply::Rejected(Rejection::Invalid { .. })), "{past_end:?}");
    assert_eq!(group.commit(writer, vec![slice(shop, chunk, 10, 2_038)]).1, accepted(1));
    assert_eq!(group.machine.manifest().sealable().count(), 1, "a full chunk closes itself");
}

#[test]
fn a_chunk_takes_no_slice_of_another_namespace() {
    let mut group = Group::new();
    let (writer, shop, bank) = (group.writer(1), group.namespace("shop"), group.namespace("bank"));
    let chunk = group.chunk(writer);
    group.commit(writer, vec![slice(shop, chunk, 0, 10)]);
    let wrong = Reply::Rejected(Rejection::WrongNamespace { chunk, namespace: bank });
    assert_eq!(group.commit(writer, vec![slice(bank, chunk, 10, 1)]).1, wrong);
    let new = group.chunk(writer);
    let wrong = Reply::Rejected(Rejection::WrongNamespace { chunk: new, namespace: bank });
    assert_eq!(group.commit(writer, vec![slice(shop, new, 0, 1), slice(bank, new, 1, 1)]).1, wrong);
    let nowhere = NamespaceId(99);
    assert_eq!(group.commit(writer, vec![slice(nowhere, new, 0, 1)]).1, Reply::Rejected(Rejection::UnknownNamespace { namespace: nowhere }));
}

#[test]
fn a_client_batch_is_accepted_once_and_a_duplicate_burns_its_offsets() {
    use SliceOutcome::{Accepted, Duplicate};
    let mut group = Group::new();
    let (writer, shop, bank) = (group.writer(1), group.namespace("shop"), group.namespace("bank"));
    let (one, two, three) = (group.chunk(writer), group.chunk(writer), group.chunk(writer));
    let first = vec![keyed(slice(shop, one, 0, 3), "p", 1), keyed(slice(shop, two, 0, 4), "p", 1)];
    assert_eq!(group.commit(writer, first).1, accepted(2));
    let again = vec![
        keyed(slice(shop, one, 3, 3), "p", 1),
        keyed(slice(shop, one, 6, 5), "p", 2),
        keyed(slice(shop, two, 4, 4), "p", 1),
        keyed(slice(bank, three, 0, 1), "p", 1),
        keyed(slice(bank, three, 1, 1), "other", 1),
    ];
    let (batch, reply) = group.commit(writer, again.clone());
    let outcomes = vec![Duplicate, Accepted, Duplicate, Accepted, Accepted];
    assert_eq!(reply, Reply::BatchCommitted { outcomes: outcomes.clone() });
    let record = group.machine.manifest().namespace(shop).unwrap().chunks.get(&one).unwrap().clone();
    assert_eq!((record.rows, record.next_offset), (8, 11));
    assert_eq!(record.slices.iter().map(|slice| slice.first_offset).collect::<Vec<_>>(), [0, 6]);

    // The very same command again: the same answer, and nothing twice.
    let before = group.machine.manifest().clone();
    let repeat = CommitBatch {
        epoch: writer,
        batch: BatchRecord { id: batch, epoch: writer, len_bytes: 1_000, footer: FOOTER },
        slices: again,
        close: vec![],
    };
    assert_eq!(group.apply(CommandBody::CommitBatch(repeat.clone())), Reply::BatchCommitted { outcomes });
    assert_eq!((&group.machine.manifest().namespaces, group.machine.manifest().totals), (&before.namespaces, before.totals));
    let other = CommitBatch { batch: BatchRecord { len_bytes: 999, ..repeat.batch }, ..repeat };
    assert_eq!(group.apply(CommandBody::CommitBatch(other)), Reply::Rejected(Rejection::BatchConflict { batch }));
}

#[test]
fn sequences_come_in_any_order_within_the_window_and_count_as_duplicates_behind_it() {
    let mut group = Group::new();
    let (writer, shop) = (group.writer(1), group.namespace("shop"));
    let chunk = group.chunk(writer);
    for (offset, (sequence, outcome)) in (0_u16..).zip([
        (100, SliceOutcome::Accepted),
        (37, SliceOutcome::Accepted),
        (36, SliceOutcome::Duplicate),
        (37, SliceOutcome::Duplicate),
        (101, SliceOutcome::Accepted),
        (37, SliceOutcome::Duplicate),
        (38, SliceOutcome::Accepted),
        (100, SliceOutcome::Duplicate),
        (1_000, SliceOutcome::Accepted),
        (101, SliceOutcome::Duplicate),
        (999, SliceOutcome::Accepted),
        (u64::MAX, SliceOutcome::Accepted),
        (1_000, SliceOutcome::Duplicate),
    ]) {
        let reply = group.commit(writer, vec![keyed(slice(shop, chunk, offset, 1), "p", sequence)]).1;
        assert_eq!(reply, Reply::BatchCommitted { outcomes: vec![outcome] }, "sequence {sequence}");
    }
}

#[test]
fn a_chunk_whose_offsets_were_all_burned_is_gone_once_closed_and_its_id_is_not_used_again() {
    let mut group = Group::new();
    let (writer, shop) = (group.writer(1), group.namespace("shop"));
    let (one, two) = (group.chunk(writer), group.chunk(writer));
    group.commit(writer, vec![keyed(slice(shop, one, 0, 3), "p", 1)]);
    let (batch, _) = group.commit(writer, vec![keyed(slice(shop, two, 0, 3), "p", 1)]);
    assert!(matches!(group.machine.manifest().batch_fate(writer, batch), Fate::Retired { .. }), "nothing is named in it");
    group.apply(CommandBody::CloseChunks { epoch: writer, chunks: vec![two] });
    assert!(!group.machine.manifest().namespace(shop).unwrap().chunks.contains_key(&two));
    assert_eq!(group.commit(writer, vec![slice(shop, two, 0, 1)]).1, Reply::Rejected(Rejection::ChunkNotOpen { chunk: two }));
}

#[test]
fn ids_are_used_once_and_only_by_whom_they_were_given_to() {
    let mut group = Group::new();
    let (one, two, shop) = (group.writer(1), group.writer(2), group.namespace("shop"));
    let chunk = group.chunk(one);
    let mut commit = group.batch(two, vec![slice(shop, chunk, 0, 1)]);
    (commit.epoch, commit.batch.epoch) = (one, one);
    let id = commit.batch.id.0;
    assert_eq!(group.apply(CommandBody::CommitBatch(commit)), Reply::Rejected(Rejection::IdNotAllocated { id }));
    for count in [0, u32::MAX] {
        assert!(matches!(group.apply(CommandBody::AllocateIds { epoch: one, count }), Reply::Rejected(Rejection::Invalid { .. })));
        assert!(matches!(group.apply(CommandBody::AllocateChunkIds { epoch: one, count }), Reply::Rejected(Rejection::Invalid { .. })));
    }
    let job = group.job("seal");
    let by_job = group.batch(job, vec![slice(shop, chunk, 0, 1)]);
    assert!(matches!(group.apply(CommandBody::CommitBatch(by_job)), Reply::Rejected(Rejection::Invalid { .. })), "a job writes no rows");
}
