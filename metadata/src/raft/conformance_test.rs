//! openraft's own suite for storage, on the simulated disk.

use crate::raft::log_store::LogStore;
use crate::raft::snapshots::SnapshotStore;
use crate::raft::state_machine::StateMachine;
use crate::raft::types::{RaftTypes, StorageError};
use openraft::testing::{StoreBuilder, Suite};
use siltstone_disk::LossyDisk;
use siltstone_wal::{Wal, WalConfig};
use std::path::Path;
use std::sync::Arc;

struct Builder;

impl StoreBuilder<RaftTypes, LogStore, StateMachine> for Builder {
    async fn build(&self) -> Result<((), LogStore, StateMachine), StorageError> {
        let disk = Arc::new(LossyDisk::new());
        let config = WalConfig { segment_bytes_max: 500, ..WalConfig::default() };
        let wal = Arc::new(Wal::open(disk.clone(), Path::new("/wal"), config, |_| {}).unwrap().0);
        let (snapshots, newest) = SnapshotStore::open(disk, "/snapshots".into(), wal.clone()).unwrap();
        Ok(((), LogStore::new(wal), StateMachine::new(Arc::new(snapshots), newest)))
    }
}

#[test]
fn openrafts_suite_for_storage_passes() {
    Suite::test_all(Builder).unwrap();
}
