use super::*;
use openraft::{BasicNode, CommittedLeaderId};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

fn is_durable(durable: &Durable, index: u64) -> Option<Result<(), LogFailed>> {
    match pin!(durable.wait(index)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

fn membership(index: u64, configs: &[&[u64]]) -> Membership {
    let configs: Vec<BTreeSet<u64>> = configs.iter().map(|voters| voters.iter().copied().collect()).collect();
    let nodes: BTreeMap<u64, BasicNode> = configs.iter().flatten().map(|id| (*id, BasicNode::default())).collect();
    let log_id = openraft::LogId::new(CommittedLeaderId::new(1, 1), index);
    Membership::new(Some(log_id), openraft::Membership::new(configs, nodes))
}

#[test]
fn an_entry_is_durable_when_its_own_append_is() {
    let durable = Durable::default();
    let (first, second) = (durable.begin(5), durable.begin(8));
    assert_eq!(is_durable(&durable, 4), Some(Ok(())), "it stands before what is on its way");
    assert_eq!((is_durable(&durable, 5), is_durable(&durable, 9)), (None, None));
    durable.complete(first, true);
    assert_eq!((is_durable(&durable, 7), is_durable(&durable, 8)), (Some(Ok(())), None));
    durable.complete(second, true);
    assert_eq!(is_durable(&durable, 9), Some(Ok(())));
}

#[test]
fn an_append_that_was_cut_off_vouches_for_nothing_that_took_its_place() {
    let durable = Durable::default();
    let cut = durable.begin(5);
    durable.truncate(5);
    let next = durable.begin(5);
    durable.complete(cut, true);
    assert_eq!(is_durable(&durable, 5), None, "WA-1");
    durable.complete(next, true);
    assert_eq!(is_durable(&durable, 5), Some(Ok(())));
}

#[test]
fn nothing_becomes_durable_once_the_log_failed() {
    let durable = Durable::default();
    let first = durable.begin(1);
    durable.complete(first, true);
    let second = durable.begin(2);
    durable.complete(second, false);
    assert_eq!((is_durable(&durable, 1), is_durable(&durable, 2)), (Some(Ok(())), Some(Err(LogFailed))));
}

#[test]
fn the_newest_membership_that_stands_decides_whether_others_are_needed() {
    let durable = Durable::default();
    assert!(!durable.needs_others(), "nothing is known: no append is reported early");
    durable.note_membership(&membership(1, &[&[1]]));
    assert!(!durable.needs_others());
    durable.note_membership(&membership(7, &[&[1], &[1, 2, 3]]));
    assert!(durable.needs_others());
    durable.truncate(7);
    assert!(!durable.needs_others());
    durable.note_membership(&membership(8, &[&[1], &[1, 2, 3]]));
    durable.note_membership(&membership(9, &[&[1, 2, 3]]));
    // Told again, as after a restart.
    durable.note_membership(&membership(8, &[&[1], &[1, 2, 3]]));
    assert!(durable.needs_others());
    durable.note_membership(&membership(12, &[&[1]]));
    assert!(!durable.needs_others());
}
