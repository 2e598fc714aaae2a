use super::*;
use crate::decorate::{CountingStore, Effect, FaultRule, FaultyStore, StoreMetrics};
use crate::{Fault, MemoryStore};
use siltstone_core::ErrorKind;

struct Setting {
    faulty: Arc<FaultyStore>,
    metrics: Arc<StoreMetrics>,
    store: RetryStore,
}

fn setting() -> Setting {
    let faulty = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let metrics = Arc::new(StoreMetrics::default());
    let counting = CountingStore::new(faulty.clone(), Arc::clone(&metrics));
    Setting { faulty, metrics, store: RetryStore::new(Arc::new(counting), RetryPolicy::default(), 7) }
}

fn key() -> ObjectKey {
    ObjectKey::parse("a/b").unwrap()
}

fn unreachable() -> Fault {
    Fault::Unreachable { place: "http://s3".to_owned(), detail: "connection refused".to_owned() }
}

fn timeout() -> Fault {
    Fault::Timeout { place: "http://s3".to_owned(), after: Duration::from_secs(1) }
}

fn denied() -> Fault {
    Fault::AccessDenied { place: "http://s3".to_owned(), detail: "status 403".to_owned(), check: "the keys" }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_retries_conforms() {
    crate::conformance::run(Arc::new(setting().store)).await;
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_waited_for() {
    for fault in [unreachable(), timeout(), Fault::Unavailable { detail: "status 500".to_owned() }] {
        let Setting { faulty, metrics, store } = setting();
        faulty.inject(FaultRule::new(Effect::Fail(fault)).times(3));
        assert_eq!(store.put(&key(), Bytes::from_static(b"x")).await, Ok(()));
        assert_eq!(metrics.of(Operation::Put).requests, 4);
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_are_bounded_and_the_last_error_is_given() {
    let Setting { faulty, metrics, store } = setting();
    faulty.inject(FaultRule::new(Effect::Fail(unreachable())));
    let began = Instant::now();
    let error = store.get(&key()).await.unwrap_err();
    assert_eq!(error.fault, unreachable());
    assert_eq!(metrics.of(Operation::Get).requests, u64::from(RetryPolicy::default().attempts_max));
    let waited = began.elapsed();
    assert!(waited >= Duration::from_millis(1_550) && waited <= Duration::from_millis(3_200), "{waited:?} is half to whole of 3.1 s");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_pass_is_asked_once() {
    let full = Fault::Full { place: "/data".to_owned(), detail: "no space".to_owned() };
    for fault in [Fault::NotFound, full, Fault::Other { detail: "?".to_owned() }, Fault::ShortRead { want: 2, got: 1 }] {
        let Setting { faulty, metrics, store } = setting();
        faulty.inject(FaultRule::new(Effect::Fail(fault.clone())));
        assert_eq!(store.get(&key()).await.unwrap_err().fault, fault);
        assert_eq!(metrics.of(Operation::Get).requests, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_the_store_asks_for_is_kept() {
    let Setting { faulty, store, .. } = setting();
    let slow_down = Fault::Throttled { detail: "SlowDown".to_owned(), retry_after: Some(Duration::from_secs(20)) };
    faulty.inject(FaultRule::new(Effect::Fail(slow_down)).times(1));
    let began = Instant::now();
    assert_eq!(store.put(&key(), Bytes::new()).await, Ok(()));
    assert!(began.elapsed() >= Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_bound_is_not_begun() {
    let Setting { faulty, metrics, store } = setting();
    let slow_down = Fault::Throttled { detail: "SlowDown".to_owned(), retry_after: Some(Duration::from_secs(3_600)) };
    faulty.inject(FaultRule::new(Effect::Fail(slow_down)));
    let began = Instant::now();
    assert_eq!(store.put(&key(), Bytes::new()).await.unwrap_err().kind(), ErrorKind::Throttled);
    assert_eq!((metrics.of(Operation::Put).requests, began.elapsed()), (1, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_denied_operation_is_held_back_until_access_is_mended() {
    let Setting { faulty, metrics, store } = setting();
    faulty.inject(FaultRule::new(Effect::Fail(denied())).on(Operation::Put));
    for _ in 0..1_000 {
        let error = store.put(&key(), Bytes::new()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert_eq!(error.fault, denied(), "the reason stays the store's");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // Three, then one in 30 s of 100 s, where each caller would have sent its own.
    assert_eq!(metrics.of(Operation::Put).requests, 6);
    assert!(store.get(&key()).await.unwrap_err().is_not_found(), "other operations go on");
    faulty.heal();
    tokio::time::sleep(RetryPolicy::default().denied_pause).await;
    assert_eq!(store.put(&key(), Bytes::new()).await, Ok(()));
    assert_eq!(store.put(&key(), Bytes::new()).await, Ok(()), "all requests go through again");
    assert_eq!(metrics.of(Operation::Put).requests, 8);
}

#[tokio::test(start_paused = true)]
async fn one_denied_object_does_not_hold_back_the_others() {
    let Setting { faulty, metrics, store } = setting();
    store.put(&key(), Bytes::new()).await.unwrap();
    faulty.inject(FaultRule::new(Effect::Fail(denied())).on_keys_with("closed"));
    let closed = ObjectKey::parse("closed").unwrap();
    for _ in 0..10 {
        assert_eq!(store.get(&closed).await.unwrap_err().kind(), ErrorKind::PermissionDenied);
        assert!(store.get(&key()).await.is_ok());
    }
    assert_eq!(metrics.of(Operation::Get).requests, 20);
}

#[tokio::test(start_paused = true)]
async fn a_conditional_put_whose_answer_was_lost_still_wins() {
    let Setting { faulty, store, .. } = setting();
    faulty.inject(FaultRule::new(Effect::FailAfter(timeout())).on(Operation::PutIfAbsent).times(1));
    assert_eq!(store.put_if_absent(&key(), Bytes::from_static(b"mine")).await, Ok(()));
    assert_eq!(store.get(&key()).await.unwrap(), &b"mine"[..]);
}

#[tokio::test(start_paused = true)]
async fn a_conditional_put_that_lost_while_its_answer_was_lost_has_lost() {
    let Setting { faulty, store, .. } = setting();
    faulty.put(&key(), Bytes::from_static(b"theirs")).await.unwrap();
    faulty.inject(FaultRule::new(Effect::FailAfter(timeout())).on(Operation::PutIfAbsent).times(1));
    assert_eq!(store.put_if_absent(&key(), Bytes::from_static(b"mine")).await.unwrap_err().fault, Fault::AlreadyExists);
    assert_eq!(store.get(&key()).await.unwrap(), &b"theirs"[..]);
}

#[tokio::test(start_paused = true)]
async fn one_seed_gives_the_same_waits_and_another_gives_others() {
    let waits = |seed| {
        let store = RetryStore::new(Arc::new(MemoryStore::new()), RetryPolicy::default(), seed);
        (1..40).map(|attempts| store.delay(attempts)).collect::<Vec<_>>()
    };
    assert_eq!(waits(1), waits(1));
    assert_ne!(waits(1), waits(2));
    assert!(waits(3).iter().all(|wait| *wait <= RetryPolicy::default().delay_max));
}
