use super::*;
use crate::ClientError;
use async_trait::async_trait;
use siltstone_core::{CommitIndex, CommitToken};
use siltstone_format::{
    command::{CommandBody, Reply},
    manifest::Manifest,
};
use tokio::sync::watch;
use tokio::time::Instant;

/// Notes what is renewed; fails now and then.
struct Group {
    begun: Instant,
    renewed: Mutex<Vec<(Duration, Vec<Epoch>)>>,
    over: Mutex<Vec<Epoch>>,
    fails: AtomicBool,
}

#[async_trait]
impl MetadataClient for Group {
    async fn propose(&self, _: CommandBody) -> Result<(CommitToken, Reply), ClientError> {
        unreachable!("a keeper proposes nothing")
    }

    fn manifest(&self) -> Manifest {
        Manifest::default()
    }

    fn watch(&self) -> watch::Receiver<Manifest> {
        watch::channel(Manifest::default()).1
    }

    async fn read_index(&self) -> Result<CommitIndex, ClientError> {
        unreachable!("a keeper reads nothing")
    }

    async fn renew(&self, epochs: &[Epoch]) -> Result<Renewal, ClientError> {
        if self.fails.load(Ordering::Acquire) {
            std::future::pending::<()>().await;
        }
        self.renewed.lock().push((self.begun.elapsed(), epochs.to_vec()));
        let over = self.over.lock().iter().filter(|epoch| epochs.contains(epoch)).copied().collect();
        Ok(Renewal { over, lease: Duration::from_secs(3) })
    }
}

fn group() -> Arc<Group> {
    Arc::new(Group { begun: Instant::now(), renewed: Mutex::default(), over: Mutex::default(), fails: AtomicBool::new(false) })
}

#[tokio::test(start_paused = true)]
async fn all_epochs_that_are_held_are_renewed_a_third_of_the_lease_apart() {
    let group = group();
    let keeper = EpochKeeper::start(group.clone());
    let (first, second) = (keeper.hold(Epoch(5)), keeper.hold(Epoch(7)));
    sleep(Duration::from_millis(6_000)).await;
    drop(second);
    sleep(Duration::from_millis(1_000)).await;
    assert_eq!(first.epoch(), Epoch(5));
    drop(first);
    sleep(Duration::from_secs(60)).await;
    let renewed = group.renewed.lock().clone();
    let (times, epochs): (Vec<_>, Vec<_>) = renewed.into_iter().unzip();
    let (both, one) = epochs.split_at(6);
    assert!(both.iter().all(|epochs| *epochs == [Epoch(5), Epoch(7)]) && one == [vec![Epoch(5)]], "{epochs:?}");
    // The first soon, as the group may have a shorter lease than is usual.
    assert!(times[0] <= SOON + Duration::from_millis(1), "{times:?}");
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= Duration::from_millis(1_001)), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn a_holder_learns_that_its_epoch_is_over_and_a_group_that_does_not_answer_says_nothing() {
    let group = group();
    let keeper = EpochKeeper::start(group.clone());
    let (held, other) = (keeper.hold(Epoch(5)), keeper.hold(Epoch(6)));
    group.fails.store(true, Ordering::Release);
    group.over.lock().push(Epoch(5));
    sleep(Duration::from_secs(60)).await;
    assert!(!held.is_over() && group.renewed.lock().is_empty());
    group.fails.store(false, Ordering::Release);
    sleep(Duration::from_secs(10)).await;
    assert!(held.is_over() && !other.is_over());
    let last = group.renewed.lock().last().cloned();
    assert_eq!(last.map(|(_, epochs)| epochs), Some(vec![Epoch(6)]), "what is over is not renewed");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_gets_no_answer_costs_no_lease() {
    let group = group();
    let keeper = EpochKeeper::start(group.clone());
    let held = keeper.hold(Epoch(5));
    sleep(Duration::from_secs(10)).await;
    group.fails.store(true, Ordering::Release);
    // Two renewals are a second apart, so that one begins in this time, and none after it.
    sleep(Duration::from_millis(1_000)).await;
    group.fails.store(false, Ordering::Release);
    sleep(Duration::from_secs(10)).await;
    let times: Vec<Duration> = group.renewed.lock().iter().map(|(at, _)| *at).collect();
    let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!((Duration::from_millis(2_000)..Duration::from_secs(3)).contains(&longest), "{longest:?} between renewals, a lease is 3 s");
    assert!(!held.is_over());
}

#[tokio::test(start_paused = true)]
async fn a_keeper_that_is_gone_renews_nothing_more() {
    let group = group();
    let keeper = EpochKeeper::start(group.clone());
    let held = keeper.hold(Epoch(5));
    drop(keeper);
    sleep(Duration::from_secs(60)).await;
    assert!(group.renewed.lock().is_empty() && !held.is_over());
}
