//! Models come, serve and go.

use super::*;

#[test]
fn a_model_is_added_once_and_just_so() {
    let mut group = Group::new();
    assert_eq!(group.add_model("one+p1", 8), Reply::Done);
    let added = group.machine.manifest().models.clone();
    let record = ModelRecord {
        id: model("one+p1"),
        dimension: 8,
        source: String::new(),
        state: ModelState::Filling,
        added_at_ms: group.machine.manifest().state_time_ms,
    };
    assert_eq!(added.get(&model("one+p1")).map(AsRef::as_ref), Some(&record));
    assert_eq!(group.add_model("one+p1", 8), Reply::Done, "it is known just so");
    assert_eq!(group.machine.manifest().models, added, "and stays as it was added");
    is_invalid(group.add_model("one+p1", 9), "another dimension");
    let from = |source: &str| CommandBody::AddModel { model: model("one+p1"), dimension: 8, source: source.into() };
    is_invalid(group.apply(from("dir")), "another source");
}

#[test]
fn a_model_that_no_vector_could_be_of_is_refused() {
    let mut group = Group::new();
    is_invalid(group.add_model("one+p1", 0), "vectors of nothing");
    is_invalid(group.add_model("one+p1", 4_097), "vectors that no set can hold");
    assert_eq!(group.add_model("widest+p1", 4_096), Reply::Done);
    let from = |len| CommandBody::AddModel { model: model("far+p1"), dimension: 8, source: "s".repeat(len) };
    is_invalid(group.apply(from(4_097)), "a source without an end");
    assert_eq!(group.apply(from(4_096)), Reply::Done);
}

#[test]
fn a_group_knows_sixteen_models_at_once() {
    let mut group = Group::new();
    (0..16).for_each(|number| assert_eq!(group.add_model(&format!("m{number}"), 8), Reply::Done));
    is_invalid(group.add_model("m16", 8), "one too many");
    assert_eq!(group.add_model("m3", 8), Reply::Done, "that one is known");
    assert_eq!(group.apply(CommandBody::RemoveModel { model: model("m3") }), Reply::Done);
    assert_eq!(group.add_model("m16", 8), Reply::Done);
}

#[test]
fn one_model_serves_and_it_is_a_known_one() {
    let mut group = Group::new();
    let unknown = Reply::Rejected(Rejection::UnknownModel { model: model("one+p1") });
    assert_eq!(group.apply(CommandBody::UseModel { model: model("one+p1") }), unknown);
    assert_eq!(group.machine.manifest().serving_model(), None);
    for name in ["one+p1", "two+p1"] {
        group.add_model(name, 8);
    }
    assert_eq!(group.machine.manifest().serving_model(), None, "a new model serves when it is told to");
    for name in ["one+p1", "two+p1", "two+p1", "one+p1"] {
        assert_eq!(group.apply(CommandBody::UseModel { model: model(name) }), Reply::Done);
        let serving: Vec<_> = group.machine.manifest().models.values().filter(|model| model.state == ModelState::Serving).collect();
        assert_eq!(serving.iter().map(|model| model.id.as_str()).collect::<Vec<_>>(), [name]);
    }
}

#[test]
fn the_model_that_serves_is_not_removed() {
    let mut group = Group::new();
    ["one+p1", "two+p1"].iter().for_each(|name| _ = group.add_model(name, 8));
    group.apply(CommandBody::UseModel { model: model("one+p1") });
    is_invalid(group.apply(CommandBody::RemoveModel { model: model("one+p1") }), "it serves");
    group.apply(CommandBody::UseModel { model: model("two+p1") });
    assert_eq!(group.apply(CommandBody::RemoveModel { model: model("one+p1") }), Reply::Done);
    assert_eq!(group.apply(CommandBody::RemoveModel { model: model("one+p1") }), Reply::Done, "there is none");
}

#[test]
fn vectors_go_with_their_model_and_their_objects_retire() {
    let mut group = Group::new();
    let (shop, bank, job) = (group.namespace("shop"), group.namespace("bank"), group.job("embed"));
    ["one+p1", "two+p1"].iter().for_each(|name| _ = group.add_model(name, 8));
    let one = group.vectors(job, &[(shop, "one+p1", 5), (bank, "one+p1", 6)]);
    let both = group.vectors(job, &[(shop, "one+p1", 7), (bank, "two+p1", 8)]);
    for commit in [&one, &both] {
        assert_eq!(group.apply(CommandBody::CommitVectors(commit.clone())), Reply::Done);
    }
    assert_eq!(group.apply(CommandBody::RemoveModel { model: model("one+p1") }), Reply::Done);
    let manifest = group.machine.manifest();
    assert!(manifest.namespace(shop).unwrap().vectors.is_empty());
    assert_eq!((manifest.totals.vector_sets, manifest.totals.vectors), (1, 8));
    assert!(matches!(manifest.object_fate(job, one.object.id), Fate::Retired { .. }));
    assert_eq!(manifest.object_fate(job, both.object.id), Fate::Named, "another model's set still lies in it");

    let late = group.vectors(job, &[(shop, "one+p1", 5)]);
    let unknown = Reply::Rejected(Rejection::UnknownModel { model: model("one+p1") });
    assert_eq!(group.apply(CommandBody::CommitVectors(late)), unknown, "vectors that come after their model went");
    group.add_model("one+p1", 16);
    assert_eq!(group.machine.manifest().totals.vector_sets, 1, "a model that comes again begins without vectors");
}
