use super::*;

#[test]
fn lanes_lie_beside_each_other_and_fit_their_ids() {
    let at = |number| Lane::of(number).unwrap();
    assert_eq!(at(0).first(), Counters::default());
    for number in 0..LIVES_MAX - 1 {
        let (last, next) = (at(number).last(), at(number + 1).first());
        assert_eq!((last.epoch + 1, last.namespace + 1, last.chunk + 1, last.id + 1), (next.epoch, next.namespace, next.chunk, next.id));
    }
    let last = at(LIVES_MAX - 1).last();
    assert_eq!(last.namespace, u32::MAX);
    assert!(last.chunk <= siltstone_core::address::CHUNK_ID_MAX && last.id < u64::MAX && last.epoch < u64::MAX);
    assert_eq!(Lane::of(LIVES_MAX), None);
}

#[test]
fn counters_are_those_of_one_life() {
    let lane = |number| Lane::of(number).unwrap();
    for number in [0, 1, 7, LIVES_MAX - 1] {
        assert!(lane(number).first().are_in(lane(number)));
        let last = lane(number).last();
        let used_up = Counters { epoch: last.epoch + 1, namespace: last.namespace.wrapping_add(1), chunk: last.chunk + 1, id: last.id + 1 };
        // The counter of namespaces has no number after the very last one.
        assert_eq!(used_up.are_in(lane(number)), number != LIVES_MAX - 1);
        assert!(!Counters { epoch: last.epoch + 2, ..lane(number).first() }.are_in(lane(number)));
        assert!(!Counters { id: lane(number).first().id - 1, ..lane(number).first() }.are_in(lane(number)));
    }
    assert!(!Counters { chunk: 1, ..lane(1).first() }.are_in(lane(1)));
}

#[test]
fn an_epoch_is_that_of_the_last_life_that_had_begun() {
    let life = |number: u32| FormerLife { incarnation: Incarnation(u64::from(number) + 100), number, until: CommitIndex(9) };
    let lives = Lives::new(5, &[life(0), life(2)]).unwrap();
    let of = |epoch| lives.former_of(Epoch(epoch)).map(|life| life.number);
    assert_eq!((of(0), of(1), of((1 << 32) - 1)), (Some(0), Some(0), Some(0)));
    assert_eq!((of(1 << 32), of(2 << 32), of((5 << 32) - 1)), (Some(0), Some(2), Some(2)));
    assert_eq!((of(5 << 32), of(9 << 32), of(u64::MAX)), (None, None, None));
    assert_eq!(Lives::default().former_of(Epoch(1)), None);
}

#[test]
fn numbers_of_lives_rise_and_end() {
    let life = |number| FormerLife { incarnation: Incarnation(1), number, until: CommitIndex(9) };
    assert!(Lives::new(1, &[life(1)]).is_none() && Lives::new(3, &[life(2), life(1)]).is_none() && Lives::new(LIVES_MAX, &[]).is_none());
    let second = Lives::default().followed_by(3, Incarnation(7), CommitIndex(40)).unwrap();
    assert_eq!((second.number(), second.former()), (3, &[FormerLife { incarnation: Incarnation(7), number: 0, until: CommitIndex(40) }][..]));
    assert!(second.followed_by(3, Incarnation(8), CommitIndex(50)).is_none());
}
