//! Pattern vectors come and are joined.

use super::*;

/// A group with two namespaces, two models and a job.
fn group() -> (Group, [NamespaceId; 2], Epoch) {
    let mut group = Group::new();
    let namespaces = [group.namespace("shop"), group.namespace("bank")];
    ["one+p1", "two+p1"].iter().for_each(|name| _ = group.add_model(name, 8));
    let job = group.job("embed");
    (group, namespaces, job)
}

/// A commit that puts one set of `patterns` patterns in place of these.
fn join(group: &mut Group, job: Epoch, namespace: NamespaceId, of: &[&CommitVectors], name: &str, patterns: u32) -> CommitVectors {
    let mut commit = group.vectors(job, &[(namespace, name, patterns)]);
    commit.parts[0].sets_in = of.iter().flat_map(|commit| &commit.parts[0].sets_out).map(|set| set.id).collect();
    commit
}

#[test]
fn vectors_are_added_and_a_repeat_is_answered_as_the_first_time() {
    let (mut group, [shop, bank], job) = group();
    let commit = group.vectors(job, &[(shop, "one+p1", 5), (bank, "two+p1", 6)]);
    for _ in 0..2 {
        assert_eq!(group.apply(CommandBody::CommitVectors(commit.clone())), Reply::Done);
        let manifest = group.machine.manifest();
        assert_eq!((manifest.totals.vector_sets, manifest.totals.vectors, manifest.totals.vector_bytes), (2, 11, 100));
        assert_eq!(manifest.namespace(shop).unwrap().vectors.values().map(AsRef::as_ref).collect::<Vec<_>>(), [&commit.parts[0].sets_out[0]]);
        assert_eq!(manifest.object_fate(job, commit.object.id), Fate::Named);
    }
    let other = CommitVectors { object: ObjectRecord { len_bytes: 2_000, ..commit.object }, ..commit };
    assert_eq!(group.apply(CommandBody::CommitVectors(other)), Reply::Rejected(Rejection::ObjectConflict { object: commit.object.id }));
}

#[test]
fn vectors_of_an_unknown_model_or_another_dimension_are_refused() {
    let (mut group, [shop, _], job) = group();
    let good = group.vectors(job, &[(shop, "one+p1", 5)]);
    let mut commit = good.clone();
    commit.parts[0].sets_out[0].model = model("three+p1");
    let unknown = Reply::Rejected(Rejection::UnknownModel { model: model("three+p1") });
    assert_eq!(group.apply(CommandBody::CommitVectors(commit)), unknown, "VE-1");
    let mut commit = good.clone();
    commit.parts[0].sets_out[0].dimension = 9;
    is_invalid(group.apply(CommandBody::CommitVectors(commit)), "VE-1: a dimension that is not the model's");
    assert_eq!(group.apply(CommandBody::CommitVectors(good)), Reply::Done);
}

#[test]
fn a_set_that_is_not_as_it_says_is_refused() {
    let (mut group, [shop, _], job) = group();
    let good = group.vectors(job, &[(shop, "one+p1", 5)]);
    type Change = fn(&mut CommitVectors);
    let changes: [(&str, Change); 8] = [
        ("an empty set", |commit| commit.parts[0].sets_out[0].patterns = 0),
        ("vectors of nothing", |commit| commit.parts[0].sets_out[0].dimension = 0),
        ("a set in another object", |commit| commit.parts[0].sets_out[0].object.0 += 1),
        ("a set without bytes", |commit| commit.parts[0].sets_out[0].range.len = 0),
        ("a set past the end of its object", |commit| commit.parts[0].sets_out[0].range.offset = 951),
        ("an object of another epoch", |commit| commit.object.epoch.0 -= 1),
        ("an object without sets", |commit| commit.parts.clear()),
        ("a namespace twice", |commit| commit.parts.push(VectorPart { sets_out: vec![], ..commit.parts[0].clone() })),
    ];
    for (what, change) in changes {
        let mut commit = good.clone();
        change(&mut commit);
        is_invalid(group.apply(CommandBody::CommitVectors(commit)), what);
    }
    assert_eq!(group.apply(CommandBody::CommitVectors(good)), Reply::Done);
}

#[test]
fn ids_of_sets_are_used_once_and_only_by_whom_they_were_given_to() {
    let (mut group, [shop, bank], job) = group();
    let mut commit = group.vectors(job, &[(shop, "one+p1", 5), (bank, "one+p1", 5)]);
    let id = commit.parts[0].sets_out[0].id;
    commit.parts[1].sets_out[0].id = id;
    assert_eq!(group.apply(CommandBody::CommitVectors(commit.clone())), Reply::Rejected(Rejection::IdNotAllocated { id: id.0 }), "twice");
    let other = group.job("other");
    commit.parts[1].sets_out[0].id = VectorSetId(group.id(other));
    let id = commit.parts[1].sets_out[0].id.0;
    assert_eq!(group.apply(CommandBody::CommitVectors(commit)), Reply::Rejected(Rejection::IdNotAllocated { id }), "another's");
}

#[test]
fn vectors_of_a_namespace_or_an_epoch_that_is_gone_are_refused() {
    let (mut group, [shop, bank], job) = group();
    let (one, both) = (group.vectors(job, &[(shop, "one+p1", 5)]), group.vectors(job, &[(shop, "one+p1", 5), (bank, "one+p1", 6)]));
    let late = group.vectors(job, &[(bank, "one+p1", 5), (shop, "one+p1", 5)]);
    for commit in [&one, &both] {
        assert_eq!(group.apply(CommandBody::CommitVectors(commit.clone())), Reply::Done);
    }
    group.apply(CommandBody::DropNamespace { name: "shop".into() });
    let manifest = group.machine.manifest();
    assert_eq!((manifest.totals.vector_sets, manifest.totals.vectors), (1, 6), "vectors go with their namespace");
    assert!(matches!(manifest.object_fate(job, one.object.id), Fate::Retired { .. }));
    assert_eq!(manifest.object_fate(job, both.object.id), Fate::Named);
    let unknown = Reply::Rejected(Rejection::UnknownNamespace { namespace: shop });
    assert_eq!(group.apply(CommandBody::CommitVectors(late.clone())), unknown);
    group.job("embed");
    assert_eq!(group.apply(CommandBody::CommitVectors(late)), Reply::Rejected(Rejection::FencedEpoch { epoch: job }), "EP-1");
}

#[test]
fn a_join_replaces_sets_and_retires_their_objects() {
    let (mut group, [shop, _], job) = group();
    let sets = [group.vectors(job, &[(shop, "one+p1", 5)]), group.vectors(job, &[(shop, "one+p1", 6)])];
    for commit in &sets {
        group.apply(CommandBody::CommitVectors(commit.clone()));
    }
    let join = join(&mut group, job, shop, &[&sets[0], &sets[1]], "one+p1", 9);
    assert_eq!(group.apply(CommandBody::CommitVectors(join.clone())), Reply::Done);
    assert_eq!(group.apply(CommandBody::CommitVectors(join.clone())), Reply::Done, "a repeat is answered as the first time");
    let manifest = group.machine.manifest();
    assert_eq!((manifest.totals.vector_sets, manifest.totals.vectors), (1, 9));
    sets.iter().for_each(|commit| assert!(matches!(manifest.object_fate(job, commit.object.id), Fate::Retired { .. })));
    let objects = sets.iter().map(|commit| commit.object.id).collect();
    assert_eq!(group.apply(CommandBody::ForgetRetired { epoch: job, batches: vec![], objects }), Reply::Done);
    let named = CommandBody::ForgetRetired { epoch: job, batches: vec![], objects: vec![join.object.id] };
    assert_eq!(group.apply(named), Reply::Rejected(Rejection::StillNamed { id: join.object.id.0 }));
}

#[test]
fn a_join_that_lost_the_race_changes_nothing() {
    let (mut group, [shop, bank], job) = group();
    let set = group.vectors(job, &[(shop, "one+p1", 5)]);
    group.apply(CommandBody::CommitVectors(set.clone()));
    let id = set.parts[0].sets_out[0].id;
    let conflict = Reply::Rejected(Rejection::VectorConflict { set: id });
    let (first, second) = (join(&mut group, job, shop, &[&set], "one+p1", 5), join(&mut group, job, shop, &[&set], "one+p1", 5));
    let elsewhere = join(&mut group, job, bank, &[&set], "one+p1", 5);
    let twice = join(&mut group, job, shop, &[&set, &set], "one+p1", 5);
    assert_eq!(group.apply(CommandBody::CommitVectors(elsewhere)), conflict, "NS-1: another namespace's set");
    assert_eq!(group.apply(CommandBody::CommitVectors(twice)), conflict, "a set goes once");
    assert_eq!(group.apply(CommandBody::CommitVectors(first)), Reply::Done);
    assert_eq!(group.apply(CommandBody::CommitVectors(second)), conflict);
}

#[test]
fn a_join_loses_no_vectors() {
    let (mut group, [shop, _], job) = group();
    let sets = [group.vectors(job, &[(shop, "one+p1", 5)]), group.vectors(job, &[(shop, "two+p1", 6)])];
    for commit in &sets {
        group.apply(CommandBody::CommitVectors(commit.clone()));
    }
    let fewer = join(&mut group, job, shop, &[&sets[0]], "one+p1", 4);
    is_invalid(group.apply(CommandBody::CommitVectors(fewer)), "fewer patterns than the largest of its inputs");
    let other = join(&mut group, job, shop, &[&sets[0]], "two+p1", 5);
    is_invalid(group.apply(CommandBody::CommitVectors(other)), "VE-1: in place of one model's vectors, another's");
    let one = join(&mut group, job, shop, &[&sets[0], &sets[1]], "one+p1", 11);
    is_invalid(group.apply(CommandBody::CommitVectors(one)), "VE-1: two models in one set");
    let mut gone = group.vectors(job, &[(shop, "two+p1", 1)]);
    gone.parts[0].sets_in = vec![sets[0].parts[0].sets_out[0].id];
    is_invalid(group.apply(CommandBody::CommitVectors(gone)), "a set that goes and has no heir");
}
