//! Who owns a store: one founder, one successor, whoever comes at once and whatever fails meanwhile.

use bytes::Bytes;
use futures::future::join_all;
use siltstone_core::{ErrorKind, Incarnation};
use siltstone_disk::RealDisk;
use siltstone_metadata_publish::{Claim, OwnerError, check_owner, claim_first, claim_next, fresh_incarnation};
use siltstone_store::paths::ObjectPath;
use siltstone_store::{DirectoryStore, Effect, Fault, FaultRule, FaultyStore, MemoryStore, ObjectStore, Operation};
use std::sync::Arc;
use std::time::Duration;

const NOW_MS: i64 = 1_764_554_400_000;
const A: Incarnation = Incarnation(700);
const B: Incarnation = Incarnation(900);

/// Both kinds of stores; the directory lives as long as the guard.
async fn stores() -> (tempfile::TempDir, [Arc<dyn ObjectStore>; 2]) {
    let dir = tempfile::tempdir().expect("a directory");
    let directory = DirectoryStore::open(Arc::new(RealDisk), dir.path()).await.expect("a store");
    (dir, [Arc::new(MemoryStore::new()), Arc::new(directory)])
}

#[tokio::test]
async fn the_founder_owns_the_store_and_may_ask_again() {
    let (_dir, stores) = stores().await;
    for store in stores {
        for again in 0..2 {
            let claim = claim_first(store.as_ref(), A, NOW_MS + again).await.expect("the founder");
            assert_eq!(claim, Claim { incarnation: A, life: 0 });
        }
        check_owner(store.as_ref(), A).await.expect("the owner");
    }
}

#[tokio::test]
async fn another_group_is_refused_and_leaves_no_trace() {
    let (_dir, stores) = stores().await;
    for store in stores {
        claim_first(store.as_ref(), A, NOW_MS).await.expect("the founder");
        // One that is higher must not become the owner by asking.
        for other in [Incarnation(1), B] {
            let error = claim_first(store.as_ref(), other, NOW_MS).await.expect_err("another group");
            assert!(matches!(error, OwnerError::OtherOwner { other: A, incarnation, .. } if incarnation == other), "{error}");
            assert_eq!(error.kind(), ErrorKind::Conflict);
        }
        check_owner(store.as_ref(), A).await.expect("still the owner");
    }
}

#[tokio::test]
async fn a_successor_supersedes_and_lives_are_counted() {
    let (_dir, stores) = stores().await;
    for store in stores {
        let store = store.as_ref();
        claim_first(store, A, NOW_MS).await.expect("the founder");
        for life in 1..4 {
            let claim = claim_next(store, NOW_MS, 40 + u64::from(life)).await.expect("a successor");
            assert_eq!(claim, Claim { incarnation: Incarnation(A.0 + u64::from(life)), life });
            let error = check_owner(store, Incarnation(claim.incarnation.0 - 1)).await.expect_err("superseded");
            assert!(matches!(error, OwnerError::Superseded { by, .. } if by == claim.incarnation), "{error}");
            assert_eq!(error.kind(), ErrorKind::Fenced);
            assert_eq!(claim_first(store, claim.incarnation, NOW_MS).await, Ok(claim), "a restored group asks as a founded one does");
        }
        let error = claim_first(store, A, NOW_MS).await.expect_err("superseded");
        assert!(matches!(error, OwnerError::Superseded { .. }), "{error}");
    }
}

#[tokio::test]
async fn an_owner_object_of_the_older_form_is_a_first_life() {
    let store = MemoryStore::new();
    let key = ObjectPath::Owner { incarnation: A }.key();
    store.put(&key, Bytes::from(A.0.to_string())).await.expect("put");
    assert_eq!(claim_first(&store, A, NOW_MS).await, Ok(Claim { incarnation: A, life: 0 }));
    let error = claim_first(&store, B, NOW_MS).await.expect_err("another group");
    assert!(matches!(error, OwnerError::OtherOwner { other: A, .. }), "{error}");
    assert_eq!(claim_next(&store, NOW_MS, 5).await, Ok(Claim { incarnation: Incarnation(701), life: 1 }));
}

#[tokio::test]
async fn a_store_without_an_owner_has_no_successor_and_a_stranger_owns_nothing() {
    let store = MemoryStore::new();
    let error = claim_next(&store, NOW_MS, 5).await.expect_err("no owner");
    assert!(matches!(error, OwnerError::NoOwner { .. }), "{error}");
    let error = check_owner(&store, A).await.expect_err("no claim");
    assert!(matches!(error, OwnerError::Unclaimed { incarnation: A, .. }), "{error}");
    claim_first(&store, A, NOW_MS).await.expect("the founder");
    assert!(matches!(check_owner(&store, B).await, Err(OwnerError::Unclaimed { incarnation: B, .. })));
}

#[tokio::test]
async fn a_damaged_owner_object_is_named() {
    let store = MemoryStore::new();
    claim_first(&store, A, NOW_MS).await.expect("the founder");
    let key = ObjectPath::Owner { incarnation: A }.key();
    store.put(&key, Bytes::from_static(b"siltstone-owner 2\n")).await.expect("put");
    let error = claim_next(&store, NOW_MS, 5).await.expect_err("damaged");
    assert!(error.to_string().contains(key.as_str()), "{error}");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

/// All lists of claimants are over before the first put of one takes effect, of whichever kind that is.
fn in_lockstep() -> FaultyStore {
    let store = FaultyStore::new(Arc::new(MemoryStore::new()));
    for write in [Operation::PutIfAbsent, Operation::Put] {
        store.inject(FaultRule::new(Effect::Delay(Duration::from_secs(1))).on(write));
    }
    store
}

#[tokio::test(start_paused = true)]
async fn of_groups_that_found_at_once_one_wins() {
    for seed in 1..50_u64 {
        let store = in_lockstep();
        let groups: Vec<Incarnation> = (0..5).map(|group| fresh_incarnation((seed + group).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let outcomes = join_all(groups.iter().map(|group| claim_first(&store, *group, NOW_MS))).await;
        let winners: Vec<Claim> = outcomes.iter().filter_map(|outcome| outcome.clone().ok()).collect();
        assert_eq!(winners.len(), 1, "seed {seed}: {outcomes:?}");
        check_owner(&store, winners[0].incarnation).await.expect("the owner");
        let lost = outcomes.iter().filter(|outcome| matches!(outcome, Err(OwnerError::OtherOwner { other, .. }) if *other == winners[0].incarnation));
        assert_eq!(lost.count(), 4, "seed {seed}: {outcomes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn members_of_one_group_that_found_at_once_all_win() {
    let store = in_lockstep();
    let outcomes = join_all((0..3).map(|member| claim_first(&store, A, NOW_MS + member))).await;
    assert!(outcomes.iter().all(|outcome| *outcome == Ok(Claim { incarnation: A, life: 0 })), "{outcomes:?}");
}

#[tokio::test(start_paused = true)]
async fn of_restorers_that_come_at_once_one_wins_and_the_others_say_so() {
    let store = in_lockstep();
    claim_first(&store, A, NOW_MS).await.expect("the founder");
    let outcomes = join_all((1..=5).map(|claimant| claim_next(&store, NOW_MS, claimant))).await;
    let won: Vec<&Claim> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
    assert_eq!(won, [&Claim { incarnation: Incarnation(701), life: 1 }]);
    let lost = outcomes.iter().filter(|outcome| matches!(outcome, Err(OwnerError::Lost { incarnation: Incarnation(701), .. })));
    assert_eq!(lost.count(), 4, "{outcomes:?}");
}

/// Every request of a claim fails once, before or after it took effect: the claim fails, and the next one succeeds with the same life.
#[tokio::test]
async fn a_claim_is_repeated_after_any_request_was_lost() {
    let timeout = || Fault::Timeout { place: "bucket".to_owned(), after: Duration::from_secs(1) };
    let mut failures = 0;
    for effect in [Effect::Fail(timeout()), Effect::FailAfter(timeout())] {
        for nth in 1..12 {
            let store = FaultyStore::new(Arc::new(MemoryStore::new()));
            store.inject(FaultRule::new(effect.clone()).nth(nth));
            let mut first = claim_first(&store, A, NOW_MS).await;
            failures += usize::from(first.is_err());
            if first.is_err() {
                first = claim_first(&store, A, NOW_MS + 1).await;
            }
            assert_eq!(first, Ok(Claim { incarnation: A, life: 0 }), "{effect:?} at request {nth}");

            store.heal();
            store.inject(FaultRule::new(effect.clone()).nth(nth));
            let mut next = claim_next(&store, NOW_MS, 77).await;
            failures += usize::from(next.is_err());
            if next.is_err() {
                next = claim_next(&store, NOW_MS + 1, 77).await;
            }
            store.heal();
            assert_eq!(next, Ok(Claim { incarnation: Incarnation(701), life: 1 }), "{effect:?} at request {nth}");
            check_owner(&store, Incarnation(701)).await.expect("the owner");
        }
    }
    assert!(failures >= 14, "only {failures} claims met the fault");
}

#[test]
fn fresh_incarnations_leave_room_above() {
    for random in [0, 1, u64::MAX, 1 << 63] {
        let Incarnation(drawn) = fresh_incarnation(random);
        assert!((1..1 << 48).contains(&drawn), "{drawn}");
    }
}
