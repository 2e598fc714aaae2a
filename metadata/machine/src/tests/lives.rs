//! Epochs, namespaces and state time.

use super::*;

#[test]
fn nothing_happens_before_the_group_is_founded_and_it_is_founded_once() {
    let mut machine = Machine::new();
    let body = CommandBody::RegisterWriter { writer: WriterId(1) };
    assert_eq!(machine.apply(CommitIndex(1), &Command { proposed_at_ms: 5, body }), Reply::Rejected(Rejection::NotFounded));
    let mut group = Group::new();
    let again = group.apply(CommandBody::FoundGroup { incarnation: Incarnation(10) });
    assert_eq!(again, Reply::Founded { incarnation: Incarnation(9) });
    assert!(matches!(group.apply(CommandBody::FoundGroup { incarnation: Incarnation(0) }), Reply::Rejected(Rejection::Invalid { .. })));
}

#[test]
fn a_new_life_of_a_writer_fences_the_old_one_and_closes_its_chunks() {
    let mut group = Group::new();
    let (old, shop) = (group.writer(1), group.namespace("shop"));
    let (chunk, unused) = (group.chunk(old), group.chunk(old));
    group.commit(old, vec![slice(shop, chunk, 0, 10)]);
    let late = group.batch(old, vec![slice(shop, chunk, 10, 1)]);
    let new = group.writer(1);
    assert!(new > old);
    assert_eq!(group.apply(CommandBody::CommitBatch(late)), Reply::Rejected(Rejection::FencedEpoch { epoch: old }));
    let record = group.machine.manifest().namespace(shop).unwrap().chunks.get(&chunk).unwrap().clone();
    assert_eq!((record.state, record.next_offset), (ChunkState::Closed, 10));
    assert_eq!(group.commit(new, vec![slice(shop, chunk, 10, 1)]).1, Reply::Rejected(Rejection::ChunkNotOpen { chunk }), "not its chunk");
    assert_eq!(group.commit(new, vec![slice(shop, unused, 0, 1)]).1, Reply::Rejected(Rejection::ChunkNotOpen { chunk: unused }), "not its id");
    assert_eq!(group.apply(CommandBody::FenceEpoch { epoch: old }), Reply::Done, "it is fenced already");
    assert_eq!(group.apply(CommandBody::FenceEpoch { epoch: Epoch(77) }), Reply::Rejected(Rejection::UnknownEpoch { epoch: Epoch(77) }));
    assert_eq!(group.machine.manifest().batch_fate(Epoch(77), BatchId(1)), Fate::Foreign);
}

#[test]
fn a_new_life_of_a_job_fences_the_old_one() {
    let mut group = Group::new();
    let old = group.job("seal");
    let other = group.job("merge");
    let new = group.job("seal");
    assert_eq!(group.apply(CommandBody::AllocateIds { epoch: old, count: 1 }), Reply::Rejected(Rejection::FencedEpoch { epoch: old }));
    assert!(group.machine.manifest().is_live(other) && group.machine.manifest().is_live(new) && group.machine.manifest().is_fenced(old));
}

#[test]
fn a_namespace_that_is_dropped_and_created_again_is_another_and_empty() {
    let mut group = Group::new();
    let (writer, shop) = (group.writer(1), group.namespace("shop"));
    assert_eq!(group.namespace("shop"), shop, "creating is finding");
    let chunk = group.chunk(writer);
    let (batch, _) = group.commit(writer, vec![keyed(slice(shop, chunk, 0, 3), "p", 1)]);
    assert_eq!(group.apply(CommandBody::DropNamespace { name: "shop".into() }), Reply::Done);
    assert_eq!(group.apply(CommandBody::DropNamespace { name: "shop".into() }), Reply::Done);
    assert!(matches!(group.machine.manifest().batch_fate(writer, batch), Fate::Retired { .. }));
    assert_eq!(group.machine.manifest().totals, Default::default());
    let late = group.commit(writer, vec![slice(shop, chunk, 3, 1)]).1;
    assert_eq!(late, Reply::Rejected(Rejection::UnknownNamespace { namespace: shop }));
    let again = group.namespace("shop");
    assert!(again > shop);
    assert_eq!(group.commit(writer, vec![slice(again, chunk, 3, 1)]).1, Reply::Rejected(Rejection::ChunkNotOpen { chunk }), "RA-1");
    let new = group.chunk(writer);
    assert_eq!(group.commit(writer, vec![keyed(slice(again, new, 0, 3), "p", 1)]).1, accepted(1), "its producers are forgotten too");
}

#[test]
fn names_of_namespaces_are_checked() {
    let mut group = Group::new();
    let longest = "a".repeat(253);
    for name in ["a", "kube-system", "eu-1.prod/shop", "a.b_c", "7", longest.as_str()] {
        assert!(matches!(group.apply(CommandBody::CreateNamespace { name: name.into() }), Reply::Namespace { created: true, .. }), "{name}");
    }
    let too_long = "a".repeat(254);
    for name in ["", "A", "a b", "-a", "a-", "/a", "a/", "a//b", "a/b/c", "ä", "a\n", too_long.as_str()] {
        let reply = group.apply(CommandBody::CreateNamespace { name: name.into() });
        assert!(matches!(reply, Reply::Rejected(Rejection::NamespaceName { .. })), "{name:?}: {reply:?}");
    }
}

#[test]
fn state_time_never_runs_back_and_never_leaps() {
    let mut machine = Machine::new();
    let mut index = 0;
    let mut at = |proposed_at_ms, body| {
        index += 1;
        machine.apply(CommitIndex(index), &Command { proposed_at_ms, body });
        machine.manifest().state_time_ms
    };
    let job = || CommandBody::RegisterJob { name: "j".into() };
    assert_eq!(at(5_000_000, CommandBody::FoundGroup { incarnation: Incarnation(1) }), 5_000_000);
    assert_eq!(at(4_000_000, job()), 5_000_000);
    assert_eq!(at(i64::MIN, job()), 5_000_000);
    assert_eq!(at(i64::MAX, job()), 5_000_000 + STATE_TIME_JUMP_MS_MAX);
    assert_eq!(at(i64::MAX, CommandBody::RegisterJob { name: String::new() }), 5_000_000 + STATE_TIME_JUMP_MS_MAX, "a refused command moves no time");
}

#[test]
#[should_panic(expected = "log position 3")]
fn a_position_of_the_log_is_applied_once() {
    let mut machine = Machine::new();
    machine.skip(CommitIndex(3));
    machine.skip(CommitIndex(3));
}
