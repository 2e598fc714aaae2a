use super::*;
use openraft::{CommittedLeaderId, EntryPayload, LogId};

fn entry(term: u64, index: u64) -> (Entry<RaftTypes>, usize) {
    (Entry { log_id: LogId::new(CommittedLeaderId::new(term, 1), index), payload: EntryPayload::Blank }, 100)
}

fn places(read: Option<Vec<Entry<RaftTypes>>>) -> Option<Vec<(u64, u64)>> {
    read.map(|entries| entries.iter().map(|entry| (entry.log_id.leader_id.term, entry.log_id.index)).collect())
}

#[test]
fn what_was_appended_is_read_and_what_is_missing_is_not_guessed() {
    let recent = Recent::default();
    assert_eq!(places(recent.read(0, 1, 1_000)), None);
    recent.push((5..9).map(|index| entry(1, index)).collect());
    assert_eq!(places(recent.read(5, 9, 1_000)), Some(vec![(1, 5), (1, 6), (1, 7), (1, 8)]));
    assert_eq!(places(recent.read(4, 6, 1_000)), None, "the entry before the first is in the log alone");
    assert_eq!(places(recent.read(8, 10, 1_000)), None);
    assert_eq!(places(recent.read(7, 7, 1_000)), None);
    assert_eq!(places(recent.read(6, 9, 250)), Some(vec![(1, 6), (1, 7)]), "bounded in bytes");
    assert_eq!(places(recent.read(6, 9, 1)), Some(vec![(1, 6)]), "at least one");
}

#[test]
fn entries_that_are_cut_off_are_never_read_again() {
    let recent = Recent::default();
    recent.push((5..9).map(|index| entry(1, index)).collect());
    recent.truncate(7);
    assert_eq!(places(recent.read(6, 8, 1_000)), None);
    recent.push(vec![entry(2, 7)]);
    assert_eq!(places(recent.read(6, 8, 1_000)), Some(vec![(1, 6), (2, 7)]));
    // Others before all of them, as when a leader of another term begins earlier.
    recent.truncate(3);
    recent.push(vec![entry(3, 3)]);
    assert_eq!(places(recent.read(3, 4, 1_000)), Some(vec![(3, 3)]));
    assert_eq!(places(recent.read(3, 8, 1_000)), None);
}

#[test]
fn what_is_given_up_goes_and_a_gap_begins_anew() {
    let recent = Recent::default();
    recent.push((5..9).map(|index| entry(1, index)).collect());
    recent.purge(6);
    assert_eq!(places(recent.read(6, 9, 1_000)), None);
    assert_eq!(places(recent.read(7, 9, 1_000)), Some(vec![(1, 7), (1, 8)]));
    // A snapshot stands for all that follows.
    recent.purge(20);
    recent.push(vec![entry(1, 21)]);
    assert_eq!(places(recent.read(21, 22, 1_000)), Some(vec![(1, 21)]));
    assert_eq!(places(recent.read(8, 22, 1_000)), None);
}

#[test]
fn it_is_bounded_in_entries_and_bytes() {
    let recent = Recent::default();
    recent.push((0..10_000).map(|index| entry(1, index)).collect());
    assert_eq!(places(recent.read(10_000 - ENTRIES_MAX as u64, 10_000, usize::MAX)).map(|read| read.len()), Some(ENTRIES_MAX));
    assert_eq!(places(recent.read(10_000 - ENTRIES_MAX as u64 - 1, 10_000, usize::MAX)), None);
    let (large, _) = entry(1, 10_000);
    recent.push(vec![(large, BYTES_MAX)]);
    assert_eq!(places(recent.read(10_000, 10_001, usize::MAX)), Some(vec![(1, 10_000)]));
    assert_eq!(places(recent.read(9_999, 10_001, usize::MAX)), None);
}
