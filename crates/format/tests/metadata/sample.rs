//! One value of everything, with numbers of every length.

use siltstone_core::{BatchId, ChunkId, CommitIndex, Epoch, Incarnation, NamespaceId, ObjectId, PackId, SegmentId, WriterId, address::CHUNK_ID_MAX};
use siltstone_format::command::{
    ChunkEnd, ClientKey, Command, CommandBody, CommitBatch, CommitMerge, CommitSeal, MergePart, Rejection, Reply, SealPart, SliceCommit, SliceOutcome,
};
use siltstone_format::manifest::{
    BatchRecord, BatchState, ByteRange, CheckedRange, ChunkList, ChunkRecord, ChunkState, Counters, EpochOwner, EpochRecord, IdBlocks, Manifest, Map,
    NamespaceManifest, ObjectRecord, ObjectState, PackChunk, PackChunks, PackRecord, ProducerKey, ProducerState, RetiredBatch, SegmentRecord,
    SliceRef,
};
use std::sync::Arc;

const TIME: i64 = 1_700_000_000_000;

fn range(offset: u64, len: u32) -> CheckedRange {
    CheckedRange { offset, len, crc32c: 0xdead_beef }
}

fn batch(id: u64) -> BatchRecord {
    BatchRecord { id: BatchId(id), epoch: Epoch(3), len_bytes: 70_000, footer: range(69_000, 1_000) }
}

fn object(id: u64) -> ObjectRecord {
    ObjectRecord { id: ObjectId(id), epoch: Epoch(4), len_bytes: 64 << 20, footer: range((64 << 20) - 4_096, 4_096) }
}

pub(crate) fn pack_chunks() -> Vec<PackChunk> {
    let chunk = |chunk, rows, end_offset, timestamp_min_ns, span, body_bytes| PackChunk {
        chunk: ChunkId(chunk),
        rows,
        end_offset,
        timestamp_min_ns,
        timestamp_max_ns: timestamp_min_ns + span,
        body_bytes,
    };
    vec![
        chunk(1, 2_048, 2_048, TIME * 1_000_000, 60_000_000_000, 300_000),
        chunk(2, 1_000, 1_024, TIME * 1_000_000 - 5_000_000_000, 3_600_000_000_000, 123_456),
        PackChunk { chunk: ChunkId(300), rows: 0, end_offset: 7, timestamp_min_ns: i64::MAX, timestamp_max_ns: i64::MIN, body_bytes: 0 },
        PackChunk { chunk: ChunkId(301), rows: 1, end_offset: 1, timestamp_min_ns: i64::MIN, timestamp_max_ns: i64::MAX, body_bytes: u64::MAX },
        chunk(CHUNK_ID_MAX, 1, 2_048, -1, 0, 0),
    ]
}

pub(crate) fn chunk_ids() -> Vec<ChunkId> {
    [0, 1, 2, 130, 20_000, CHUNK_ID_MAX].map(ChunkId).to_vec()
}

fn pack(id: u64, object: u64, chunks: &[PackChunk]) -> PackRecord {
    let chunks = PackChunks::new(chunks).unwrap();
    PackRecord { id: PackId(id), object: ObjectId(object), range: ByteRange { offset: 0, len: 100_000 }, footer: range(99_000, 1_000), chunks }
}

fn segment(id: u64, object: u64, rows: u64, chunks: &[ChunkId]) -> SegmentRecord {
    SegmentRecord {
        id: SegmentId(id),
        object: ObjectId(object),
        range: ByteRange { offset: 100_000, len: 50_000 },
        footer: range(149_000, 1_000),
        definition_version: 1,
        rows,
        chunks: ChunkList::new(chunks).unwrap(),
    }
}

pub(crate) fn commands() -> Vec<Command> {
    let key = ClientKey { principal: "ann".into(), producer: "file:9f3c".into(), sequence: 70_000 };
    let slice = |namespace, chunk, first_offset, rows, key| SliceCommit {
        namespace: NamespaceId(namespace),
        chunk: ChunkId(chunk),
        first_offset,
        rows,
        range: range(4_096, 9_000),
        timestamp_min_ns: TIME * 1_000_000,
        timestamp_max_ns: TIME * 1_000_000 + 5,
        body_bytes: 12_345,
        key,
    };
    let bodies = vec![
        CommandBody::FoundGroup { incarnation: Incarnation(0x1234_5678_9abc_def0) },
        CommandBody::RegisterWriter { writer: WriterId(7) },
        CommandBody::RegisterJob { name: "seal".into() },
        CommandBody::FenceEpoch { epoch: Epoch(300) },
        CommandBody::AllocateChunkIds { epoch: Epoch(3), count: 64 },
        CommandBody::AllocateIds { epoch: Epoch(3), count: 1_024 },
        CommandBody::CreateNamespace { name: "eu-1/shop".into() },
        CommandBody::DropNamespace { name: "shop".into() },
        CommandBody::CommitBatch(CommitBatch {
            epoch: Epoch(3),
            batch: batch(500),
            slices: vec![slice(1, 10, 0, 2_048, None), slice(70_000, 11, 17, 3, Some(key))],
            close: vec![ChunkId(10), ChunkId(CHUNK_ID_MAX)],
        }),
        CommandBody::CloseChunks { epoch: Epoch(3), chunks: vec![ChunkId(11)] },
        CommandBody::CommitSeal(CommitSeal {
            epoch: Epoch(4),
            object: object(600),
            parts: vec![SealPart {
                namespace: NamespaceId(1),
                inputs: vec![ChunkEnd { chunk: ChunkId(1), end_offset: 2_048 }, ChunkEnd { chunk: ChunkId(2), end_offset: 1_024 }],
                packs: vec![pack(601, 600, &pack_chunks()[..2])],
                segments: vec![segment(602, 600, 3_048, &[ChunkId(1), ChunkId(2)])],
            }],
        }),
        CommandBody::CommitMerge(CommitMerge {
            epoch: Epoch(4),
            object: object(610),
            parts: vec![MergePart {
                namespace: NamespaceId(1),
                segments_in: vec![SegmentId(602), SegmentId(603)],
                segments_out: vec![segment(611, 610, 3_048, &chunk_ids())],
                packs_in: vec![PackId(601)],
                packs_out: vec![pack(612, 610, &pack_chunks())],
            }],
        }),
        CommandBody::ForgetRetired { epoch: Epoch(4), batches: vec![BatchId(500)], objects: vec![ObjectId(600), ObjectId(1 << 40)] },
    ];
    (0..).zip(bodies).map(|(position, body)| Command { proposed_at_ms: TIME + position, body }).collect()
}

pub(crate) fn replies() -> Vec<(&'static str, Reply)> {
    let rejections = [
        ("not_founded", Rejection::NotFounded),
        ("fenced_epoch", Rejection::FencedEpoch { epoch: Epoch(3) }),
        ("unknown_epoch", Rejection::UnknownEpoch { epoch: Epoch(3) }),
        ("unknown_namespace", Rejection::UnknownNamespace { namespace: NamespaceId(3) }),
        ("namespace_name", Rejection::NamespaceName { name: "Ä".into() }),
        ("wrong_namespace", Rejection::WrongNamespace { chunk: ChunkId(3), namespace: NamespaceId(4) }),
        ("chunk_not_open", Rejection::ChunkNotOpen { chunk: ChunkId(3) }),
        ("offset_mismatch", Rejection::OffsetMismatch { chunk: ChunkId(3), next_offset: 200, first_offset: 100 }),
        ("chunk_conflict", Rejection::ChunkConflict { chunk: ChunkId(3) }),
        ("pack_conflict", Rejection::PackConflict { pack: PackId(3) }),
        ("segment_conflict", Rejection::SegmentConflict { segment: SegmentId(3) }),
        ("cover_conflict", Rejection::CoverConflict { chunk: ChunkId(3) }),
        ("id_not_allocated", Rejection::IdNotAllocated { id: 3 }),
        ("batch_conflict", Rejection::BatchConflict { batch: BatchId(3) }),
        ("object_conflict", Rejection::ObjectConflict { object: ObjectId(3) }),
        ("still_named", Rejection::StillNamed { id: 3 }),
        ("invalid", Rejection::Invalid { detail: "because".into() }),
    ];
    let mut replies = vec![
        ("founded", Reply::Founded { incarnation: Incarnation(300) }),
        ("registered", Reply::Registered { epoch: Epoch(300) }),
        ("chunk_ids", Reply::ChunkIds { first: ChunkId(300), count: 64 }),
        ("ids", Reply::Ids { first: 300, count: 64 }),
        ("namespace", Reply::Namespace { id: NamespaceId(300), created: true }),
        ("batch_committed", Reply::BatchCommitted { outcomes: vec![SliceOutcome::Accepted, SliceOutcome::Duplicate] }),
        ("done", Reply::Done),
    ];
    replies.extend(rejections.map(|(name, rejection)| (name, Reply::Rejected(rejection))));
    replies
}

/// Two namespaces: one with an open and a closed chunk, a pack, a segment and a producer; an empty one. A batch and an object are retired.
pub(crate) fn manifest() -> Manifest {
    let slice = |batch, first_offset, rows| SliceRef {
        batch: BatchId(batch),
        range: range(4_096, 900),
        first_offset,
        rows,
        timestamp_min_ns: TIME * 1_000_000 + i64::from(first_offset),
        timestamp_max_ns: TIME * 1_000_000 + i64::from(first_offset) + 7,
    };
    let chunk = |state, slices: &[SliceRef], next_offset| ChunkRecord {
        writer: WriterId(7),
        epoch: Epoch(3),
        state,
        next_offset,
        rows: slices.iter().map(|slice| slice.rows).sum(),
        opened_at_ms: TIME,
        timestamp_min_ns: slices[0].timestamp_min_ns,
        timestamp_max_ns: slices[slices.len() - 1].timestamp_max_ns,
        body_bytes: 9_999,
        slices: slices.iter().copied().collect(),
    };
    let mut shop = NamespaceManifest::new(NamespaceId(1), "eu-1/shop".into(), TIME - 1);
    shop.chunks.insert_mut(ChunkId(10), Arc::new(chunk(ChunkState::Open, &[slice(500, 0, 3), slice(501, 5, 40)], 45)));
    let many: Vec<_> = (0..70).map(|position| slice(501, position * 2, 1)).collect();
    shop.chunks.insert_mut(ChunkId(11), Arc::new(chunk(ChunkState::Closed, &many, 2_048)));
    shop.packs.insert_mut(PackId(601), Arc::new(pack(601, 600, &pack_chunks()[..3])));
    shop.segments.insert_mut(SegmentId(602), Arc::new(segment(602, 600, 3_048, &[ChunkId(1), ChunkId(2)])));
    let producer = ProducerKey { principal: "ann".into(), producer: "file:9f3c".into() };
    shop.producers.insert_mut(producer, ProducerState { last: 70_000, window: 0b1011, updated_at_ms: TIME });
    shop.totals = shop.count_totals();

    let mut manifest = Manifest {
        incarnation: Incarnation(0x1234_5678_9abc_def0),
        version: CommitIndex(4_711),
        state_time_ms: TIME,
        counters: Counters { epoch: 6, namespace: 3, chunk: 400, id: 1 << 20 },
        ..Manifest::default()
    };
    manifest.totals = shop.totals;
    manifest.names.insert_mut(shop.name.clone(), shop.id);
    manifest.unsealed.insert_mut(shop.id);
    manifest.namespaces.insert_mut(shop.id, Arc::new(shop));

    let state =
        |id, live_slices, duplicates: &[u32]| Arc::new(BatchState { record: batch(id), live_slices, slices: 72, duplicates: duplicates.into() });
    manifest.batches.insert_mut(BatchId(500), state(500, 1, &[1]));
    manifest.batches.insert_mut(BatchId(501), state(501, 71, &[]));
    for (id, epoch, duplicates) in [(498, 2, &[][..]), (499, 3, &[0, 71][..]), (20_000, 300, &[][..])] {
        let (at_ms, footer_crc32c) = (TIME - id as i64, 0xdead_beef);
        manifest.retired_batches.insert(RetiredBatch { id: BatchId(id), epoch: Epoch(epoch), at_ms, footer_crc32c, duplicates });
    }
    manifest.objects.insert_mut(ObjectId(600), ObjectState { record: object(600), parts: 2, retired_at_ms: None });
    manifest.objects.insert_mut(ObjectId(90_000), ObjectState { record: object(90_000), parts: 0, retired_at_ms: Some(TIME) });
    manifest.retired_objects.insert_mut(ObjectId(90_000));

    let mut ids = IdBlocks::default();
    ids.add(700, 10);
    ids.add(800, 200);
    assert!(ids.take(705));
    let epoch = |owner, chunk_ids: IdBlocks, open_chunks| EpochRecord { owner, registered_at_ms: TIME - 3, chunk_ids, ids: ids.clone(), open_chunks };
    let mut chunk_ids = IdBlocks::default();
    chunk_ids.add(320, 64);
    let open_chunks = Map::new_sync().insert(ChunkId(10), NamespaceId(1));
    manifest.epochs.insert_mut(Epoch(3), Arc::new(epoch(EpochOwner::Writer(WriterId(7)), chunk_ids, open_chunks)));
    manifest.epochs.insert_mut(Epoch(4), Arc::new(epoch(EpochOwner::Job("seal".into()), IdBlocks::default(), Map::new_sync())));
    manifest.writers.insert_mut(WriterId(7), Epoch(3));
    manifest.jobs.insert_mut("seal".into(), Epoch(4));
    manifest
}

/// The manifest with an empty namespace more.
pub(crate) fn with_another_namespace(mut manifest: Manifest) -> Manifest {
    let bank = NamespaceManifest::new(NamespaceId(2), "bank".into(), TIME);
    manifest.names.insert_mut(bank.name.clone(), bank.id);
    manifest.namespaces.insert_mut(bank.id, Arc::new(bank));
    manifest.version.0 += 1;
    manifest
}
