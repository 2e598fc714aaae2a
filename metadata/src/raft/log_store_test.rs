//! How much of what is asked for is durable.

use super::*;
use openraft::storage::RaftLogStorageExt;
use openraft::{BasicNode, CommittedLeaderId};
use siltstone_disk::LossyDisk;
use siltstone_wal::{WalConfig, WalParts};
use std::collections::{BTreeMap, BTreeSet};

const PATIENCE: Duration = Duration::from_millis(50);

fn log_id(index: u64) -> LogId {
    openraft::LogId::new(CommittedLeaderId::new(1, 1), index)
}

fn blank(index: u64) -> Entry<RaftTypes> {
    Entry { log_id: log_id(index), payload: EntryPayload::Blank }
}

/// Three voters: appends are reported early.
fn members() -> Entry<RaftTypes> {
    let nodes: BTreeMap<u64, BasicNode> = [1, 2, 3].map(|id| (id, BasicNode::default())).into();
    Entry { log_id: log_id(0), payload: EntryPayload::Membership(openraft::Membership::new(vec![BTreeSet::from([1, 2, 3])], nodes)) }
}

#[tokio::test(start_paused = true)]
async fn a_part_is_enough_when_the_whole_takes_long_and_no_part_is_too_little() {
    let parts = WalParts::new(Arc::new(LossyDisk::new()), "/wal".as_ref(), WalConfig::default(), |_| {});
    let (wal, stepper, _) = Wal::open_stepped(parts, || {}).unwrap();
    let mut store = LogStore::new(1, Arc::new(wal), Arc::new(Durable::default()));
    store.blocking_append([members(), blank(1), blank(2)]).await.unwrap();
    while stepper.step() {}
    store.blocking_append([blank(3), blank(4)]).await.unwrap();
    store.blocking_append([blank(5)]).await.unwrap();

    let durable = async |before: u64, last: u64| {
        let part = store.until_durable_part(Some(log_id(before)), log_id(last), PATIENCE);
        tokio::time::timeout(Duration::from_secs(60), part).await.map(|durable| durable.unwrap().index)
    };
    assert_eq!(durable(1, 2).await, Ok(2), "all of it");
    assert_eq!(durable(1, 4).await, Ok(2), "what follows may take longer than Raft waits, and longer still when more has come");
    assert_eq!(store.until_durable_part(None, log_id(5), PATIENCE).await.unwrap(), log_id(2));
    assert!(durable(2, 4).await.is_err(), "nothing new: to say so again and again would only have it sent again");
    while stepper.step() {}
    assert_eq!(durable(2, 5).await, Ok(5));
}
