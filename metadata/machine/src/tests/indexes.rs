//! Vector fields are declared; indexes over them come and are joined.

use super::*;

const FIELD: &str = "text";

/// A group with a namespace of two sealed chunks and an open one, and a job.
fn group() -> (Group, NamespaceId, [ChunkId; 3], Epoch) {
    let mut group = Group::new();
    let (writer, shop, job) = (group.writer(1), group.namespace("shop"), group.job("index"));
    let chunks = [group.closed(writer, shop, 5), group.closed(writer, shop, 7)];
    let seal = group.seal(job, shop, &chunks);
    assert_eq!(group.apply(CommandBody::CommitSeal(seal)), Reply::Done);
    let open = group.chunk(writer);
    group.commit(writer, vec![slice(shop, open, 0, 3)]);
    assert_eq!(group.declare(shop, FIELD, 8), Reply::VectorField { dimension: 8 });
    (group, shop, [chunks[0], chunks[1], open], job)
}

impl Group {
    fn declare(&mut self, namespace: NamespaceId, field: &str, dimension: u16) -> Reply {
        self.apply(CommandBody::DeclareVectorField { namespace, field: field.to_owned(), dimension })
    }

    /// A commit of an index over these chunks in place of others.
    fn indexes(&mut self, epoch: Epoch, namespace: NamespaceId, gone: &[VectorIndexId], chunks: &[ChunkId], vectors: u32) -> CommitIndexes {
        let object = self.object(epoch);
        let index = VectorIndexRecord {
            id: VectorIndexId(self.id(epoch)),
            object: object.id,
            field: FIELD.to_owned(),
            dimension: 8,
            vectors,
            addresses: CheckedRange { offset: 16, len: 50, crc32c: 2 },
            range: ByteRange { offset: 66, len: 500 },
            chunks: ChunkList::new(chunks).unwrap(),
        };
        CommitIndexes { epoch, object, parts: vec![IndexPart { namespace, indexes_in: gone.to_vec(), indexes_out: vec![index] }] }
    }
}

#[test]
fn the_first_declaration_of_a_field_holds() {
    let (mut group, shop, ..) = group();
    assert_eq!(group.declare(shop, FIELD, 9), Reply::VectorField { dimension: 8 });
    assert_eq!(group.declare(shop, "image", 4_096), Reply::VectorField { dimension: 4_096 });
    is_invalid(group.declare(shop, "none", 0), "a dimension of 0");
    is_invalid(group.declare(shop, "wide", 4_097), "a dimension that is too large");
    is_invalid(group.declare(shop, "", 8), "a field without a name");
    is_invalid(group.declare(shop, &"x".repeat(256), 8), "a name that is too long");
    (2..32).for_each(|number| assert_eq!(group.declare(shop, &format!("f{number}"), 1), Reply::VectorField { dimension: 1 }));
    is_invalid(group.declare(shop, "one more", 8), "more fields than there may be");
    let nobody = NamespaceId(99);
    assert_eq!(group.declare(nobody, FIELD, 8), Reply::Rejected(Rejection::UnknownNamespace { namespace: nobody }));
}

#[test]
fn indexes_come_are_joined_and_go_with_their_namespace() {
    let (mut group, shop, [one, two, _], job) = group();
    let first = group.indexes(job, shop, &[], &[one], 5);
    let second = group.indexes(job, shop, &[], &[two], 6);
    for commit in [&first, &second, &first] {
        assert_eq!(group.apply(CommandBody::CommitIndexes(commit.clone())), Reply::Done, "a repeat is answered as the first time");
    }
    let ids = [&first, &second].map(|commit| commit.parts[0].indexes_out[0].id);
    let joined = group.indexes(job, shop, &ids, &[one, two], 11);
    assert_eq!(group.apply(CommandBody::CommitIndexes(joined.clone())), Reply::Done);
    let manifest = group.machine.manifest().clone();
    assert_eq!(manifest.namespace(shop).unwrap().vector_indexes.values().map(AsRef::as_ref).collect::<Vec<_>>(), [&joined.parts[0].indexes_out[0]]);
    assert!(matches!(manifest.object_fate(job, first.object.id), Fate::Retired { .. }));
    let lost = group.indexes(job, shop, &ids[..1], &[one], 5);
    assert_eq!(group.apply(CommandBody::CommitIndexes(lost)), Reply::Rejected(Rejection::IndexConflict { index: ids[0] }));
    assert_eq!(group.apply(CommandBody::DropNamespace { name: "shop".into() }), Reply::Done);
    assert!(matches!(group.machine.manifest().object_fate(job, joined.object.id), Fate::Retired { .. }));
}

#[test]
fn a_chunk_has_one_index_of_a_field_and_is_sealed() {
    let (mut group, shop, [one, two, open], job) = group();
    let first = group.indexes(job, shop, &[], &[one], 5);
    assert_eq!(group.apply(CommandBody::CommitIndexes(first)), Reply::Done);
    for (chunks, conflict) in [(&[one][..], one), (&[one, two][..], one), (&[open][..], open)] {
        let commit = group.indexes(job, shop, &[], chunks, 5);
        assert_eq!(group.apply(CommandBody::CommitIndexes(commit)), Reply::Rejected(Rejection::CoverConflict { chunk: conflict }));
    }
}

#[test]
fn an_index_that_is_not_as_it_says_is_refused() {
    let (mut group, shop, [one, two, _], job) = group();
    let first = group.indexes(job, shop, &[], &[one], 5);
    assert_eq!(group.apply(CommandBody::CommitIndexes(first.clone())), Reply::Done);
    let gone = [first.parts[0].indexes_out[0].id];
    let good = group.indexes(job, shop, &gone, &[one, two], 11);
    type Change = fn(&mut CommitIndexes);
    let changes: [(&str, Change); 9] = [
        ("an empty index", |commit| commit.parts[0].indexes_out[0].vectors = 0),
        ("fewer vectors than went", |commit| commit.parts[0].indexes_out[0].vectors = 4),
        ("an unknown field", |commit| commit.parts[0].indexes_out[0].field.push('x')),
        ("another dimension", |commit| commit.parts[0].indexes_out[0].dimension = 9),
        ("an index in another object", |commit| commit.parts[0].indexes_out[0].object.0 += 1),
        ("an index past the end of its object", |commit| commit.parts[0].indexes_out[0].range.len = 950),
        ("addresses past the end of the object", |commit| commit.parts[0].indexes_out[0].addresses.offset = 951),
        ("chunks that are lost", |commit| {
            let two = commit.parts[0].indexes_out[0].chunks.iter().last().unwrap();
            commit.parts[0].indexes_out[0].chunks = ChunkList::new(&[two]).unwrap();
        }),
        ("a namespace twice", |commit| commit.parts.push(IndexPart { indexes_out: vec![], ..commit.parts[0].clone() })),
    ];
    for (what, change) in changes {
        let mut commit = good.clone();
        change(&mut commit);
        is_invalid(group.apply(CommandBody::CommitIndexes(commit)), what);
    }
    assert_eq!(group.apply(CommandBody::CommitIndexes(good)), Reply::Done);
}
