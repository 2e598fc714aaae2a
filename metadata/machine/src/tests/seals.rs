//! Seals, merges and what retires.

use super::*;

#[test]
fn rows_live_in_a_batch_then_in_a_pack_and_the_batch_retires() {
    let mut group = Group::new();
    let (writer, shop) = (group.writer(1), group.namespace("shop"));
    let chunk = group.chunk(writer);
    let (batch, reply) = group.commit(writer, vec![slice(shop, chunk, 0, 10), slice(shop, chunk, 10, 5)]);
    assert_eq!(reply, accepted(2));
    let record = group.machine.manifest().namespace(shop).unwrap().chunks.get(&chunk).unwrap().clone();
    assert_eq!((record.rows, record.next_offset, record.state, record.slices.len()), (15, 15, ChunkState::Open, 2));
    assert_eq!(group.apply(CommandBody::CloseChunks { epoch: writer, chunks: vec![chunk] }), Reply::Done);
    assert_eq!(group.machine.manifest().sealable().count(), 1);

    let job = group.job("seal");
    let seal = group.seal(job, shop, &[chunk]);
    assert_eq!(group.apply(CommandBody::CommitSeal(seal.clone())), Reply::Done);
    let manifest = group.machine.manifest().clone();
    assert_eq!((manifest.totals.rows, manifest.totals.chunks_sealed, manifest.totals.slices), (15, 1, 0));
    assert!(matches!(manifest.batch_fate(writer, batch), Fate::Retired { .. }));
    assert_eq!(manifest.object_fate(job, seal.object.id), Fate::Named);
    assert_eq!(manifest.unsealed_namespaces().count(), 0);
    assert_eq!(group.apply(CommandBody::CommitSeal(seal)), Reply::Done, "a repeat is answered as the first time");
    assert_eq!(group.machine.manifest().totals, manifest.totals);

    let batches = group.machine.manifest().batches_retired_before(i64::MAX).map(|batch| batch.id).collect::<Vec<_>>();
    assert_eq!(batches, [batch]);
    assert_eq!(group.apply(CommandBody::ForgetRetired { epoch: job, batches, objects: vec![] }), Reply::Done);
    assert_eq!(group.machine.manifest().batch_fate(writer, batch), Fate::Pending);
    group.apply(CommandBody::FenceEpoch { epoch: writer });
    assert_eq!(group.machine.manifest().batch_fate(writer, batch), Fate::Garbage);
}

#[test]
fn a_seal_of_what_is_not_as_it_says_changes_nothing() {
    let mut group = Group::new();
    let (writer, shop, job) = (group.writer(1), group.namespace("shop"), group.job("seal"));
    let open = group.chunk(writer);
    group.commit(writer, vec![slice(shop, open, 0, 3)]);
    let closed = group.closed(writer, shop, 7);
    let conflict = |chunk| Reply::Rejected(Rejection::ChunkConflict { chunk });
    let seal = group.seal(job, shop, &[open]);
    assert_eq!(group.apply(CommandBody::CommitSeal(seal)), conflict(open), "an open chunk");

    let good = group.seal(job, shop, &[closed]);
    let mut seal = good.clone();
    seal.parts[0].inputs[0].end_offset = 6;
    assert_eq!(group.apply(CommandBody::CommitSeal(seal)), conflict(closed), "another length");
    let mut seal = good.clone();
    seal.parts[0].namespace = group.namespace("bank");
    assert_eq!(group.apply(CommandBody::CommitSeal(seal)), conflict(closed), "another namespace");
    let mut seal = good.clone();
    seal.parts[0].packs.clear();
    assert!(matches!(group.apply(CommandBody::CommitSeal(seal)), Reply::Rejected(Rejection::Invalid { .. })), "a chunk without a pack");
    let mut seal = good.clone();
    seal.parts[0].segments[0].rows += 1;
    assert!(matches!(group.apply(CommandBody::CommitSeal(seal)), Reply::Rejected(Rejection::Invalid { .. })), "rows that are not there");
    let mut seal = good.clone();
    let mut wrong = seal.parts[0].packs[0].chunks.get(closed).unwrap();
    wrong.rows -= 1;
    seal.parts[0].packs[0].chunks = PackChunks::new(&[wrong]).unwrap();
    assert!(matches!(group.apply(CommandBody::CommitSeal(seal)), Reply::Rejected(Rejection::Invalid { .. })), "a lost row");
    let mut seal = good.clone();
    seal.object.len_bytes = 10;
    assert!(matches!(group.apply(CommandBody::CommitSeal(seal)), Reply::Rejected(Rejection::Invalid { .. })), "a range outside the object");

    assert_eq!(group.apply(CommandBody::CommitSeal(good.clone())), Reply::Done);
    let other = CommitSeal { object: ObjectRecord { len_bytes: 2_000, ..good.object }, ..good.clone() };
    assert_eq!(group.apply(CommandBody::CommitSeal(other)), Reply::Rejected(Rejection::ObjectConflict { object: good.object.id }));
    let racing = CommitSeal { object: group.object(job), ..good };
    let reply = group.apply(CommandBody::CommitSeal(racing));
    assert!(matches!(reply, Reply::Rejected(_)), "it is sealed: {reply:?}");
}

#[test]
fn one_object_seals_chunks_of_many_namespaces() {
    let mut group = Group::new();
    let (writer, shop, bank, job) = (group.writer(1), group.namespace("shop"), group.namespace("bank"), group.job("seal"));
    let (one, two) = (group.closed(writer, shop, 5), group.closed(writer, bank, 6));
    let mut seal = group.seal(job, shop, &[one]);
    let mut other = group.seal(job, bank, &[two]).parts.remove(0);
    other.packs[0].object = seal.object.id;
    other.segments[0].object = seal.object.id;
    seal.parts.push(other);
    assert_eq!(group.apply(CommandBody::CommitSeal(seal.clone())), Reply::Done);
    assert_eq!(group.machine.manifest().objects.get(&seal.object.id).unwrap().parts, 4);
    group.apply(CommandBody::DropNamespace { name: "shop".into() });
    assert_eq!(group.machine.manifest().object_fate(job, seal.object.id), Fate::Named);
    group.apply(CommandBody::DropNamespace { name: "bank".into() });
    assert!(matches!(group.machine.manifest().object_fate(job, seal.object.id), Fate::Retired { .. }));
}

#[test]
fn a_merge_replaces_segments_and_packs_and_retires_their_objects() {
    let mut group = Group::new();
    let (writer, shop, job) = (group.writer(1), group.namespace("shop"), group.job("merge"));
    let (one, two) = (group.closed(writer, shop, 5), group.closed(writer, shop, 6));
    let seals = [group.seal(job, shop, &[one]), group.seal(job, shop, &[two])];
    seals.iter().for_each(|seal| assert_eq!(group.apply(CommandBody::CommitSeal(seal.clone())), Reply::Done));
    let chunks: Vec<_> = seals.iter().flat_map(|seal| seal.parts[0].packs[0].chunks.iter()).collect();
    let object = group.object(job);
    let segment = group.segment(job, object, 11, &[one, two]);
    let pack =
        PackRecord { id: PackId(group.id(job)), object: object.id, chunks: PackChunks::new(&chunks).unwrap(), ..seals[0].parts[0].packs[0].clone() };
    let part = MergePart {
        namespace: shop,
        segments_in: seals.iter().map(|seal| seal.parts[0].segments[0].id).collect(),
        segments_out: vec![segment],
        packs_in: seals.iter().map(|seal| seal.parts[0].packs[0].id).collect(),
        packs_out: vec![pack],
    };
    let merge = |part: &MergePart| CommandBody::CommitMerge(CommitMerge { epoch: job, object, parts: vec![part.clone()] });

    let uncovering = MergePart {
        segments_out: vec![SegmentRecord { rows: 5, chunks: ChunkList::new(&[one]).unwrap(), ..part.segments_out[0].clone() }],
        ..part.clone()
    };
    assert!(matches!(group.apply(merge(&uncovering)), Reply::Rejected(Rejection::Invalid { .. })), "a chunk loses its cover");
    let twice = MergePart { segments_in: part.segments_in[..1].to_vec(), ..part.clone() };
    assert_eq!(group.apply(merge(&twice)), Reply::Rejected(Rejection::CoverConflict { chunk: two }));
    let losing =
        MergePart { packs_out: vec![PackRecord { chunks: PackChunks::new(&chunks[..1]).unwrap(), ..part.packs_out[0].clone() }], ..part.clone() };
    assert!(matches!(group.apply(merge(&losing)), Reply::Rejected(Rejection::Invalid { .. })), "a chunk loses its rows");

    let before = group.machine.manifest().totals;
    assert_eq!(group.apply(merge(&part)), Reply::Done);
    assert_eq!(group.apply(merge(&part)), Reply::Done, "a repeat is answered as the first time");
    let manifest = group.machine.manifest();
    assert_eq!((manifest.totals.rows, manifest.totals.body_bytes, manifest.totals.packs), (before.rows, before.body_bytes, 1));
    seals.iter().for_each(|seal| assert!(matches!(manifest.object_fate(job, seal.object.id), Fate::Retired { .. })));
    let forget = |objects| CommandBody::ForgetRetired { epoch: job, batches: vec![], objects };
    let named = Reply::Rejected(Rejection::StillNamed { id: object.id.0 });
    assert_eq!(group.apply(forget(vec![seals[0].object.id, object.id])), named);
    assert_eq!(group.apply(forget(seals.iter().map(|seal| seal.object.id).collect())), Reply::Done);
    let late = group.apply(CommandBody::CommitSeal(seals[0].clone()));
    let id = seals[0].object.id.0;
    assert_eq!(late, Reply::Rejected(Rejection::IdNotAllocated { id }), "MF-1: what was deleted is never named again");
}

#[test]
fn an_index_is_built_over_packs_that_have_none() {
    let mut group = Group::new();
    let (writer, shop, job) = (group.writer(1), group.namespace("shop"), group.job("index"));
    let (one, two) = (group.closed(writer, shop, 5), group.closed(writer, shop, 6));
    let mut seal = group.seal(job, shop, &[one]);
    seal.parts[0].segments.clear();
    group.apply(CommandBody::CommitSeal(seal));
    let object = group.object(job);
    let build = |segment: SegmentRecord| {
        let part = MergePart { namespace: shop, segments_in: vec![], segments_out: vec![segment], packs_in: vec![], packs_out: vec![] };
        CommandBody::CommitMerge(CommitMerge { epoch: job, object, parts: vec![part] })
    };
    let segment = group.segment(job, object, 11, &[one, two]);
    assert_eq!(group.apply(build(segment.clone())), Reply::Rejected(Rejection::CoverConflict { chunk: two }), "a chunk that is not sealed");
    let segment = SegmentRecord { rows: 5, chunks: ChunkList::new(&[one]).unwrap(), ..segment };
    assert_eq!(group.apply(build(segment)), Reply::Done);
}
