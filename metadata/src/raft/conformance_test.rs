//! openraft's own suite for storage, on the simulated disk.

use crate::raft::blocking::Blocking;
use crate::raft::config::NodeConfig;
use crate::raft::durable::Durable;
use crate::raft::log_store::LogStore;
use crate::raft::snapshots::SnapshotStore;
use crate::raft::state_machine::StateMachine;
use crate::raft::types::{RaftTypes, StorageError};
use openraft::testing::{StoreBuilder, Suite};
use siltstone_disk::LossyDisk;
use siltstone_format::command::COMMAND_VERSION;
use siltstone_wal::{Wal, WalConfig};
use std::path::Path;
use std::sync::Arc;

struct Builder;

impl StoreBuilder<RaftTypes, LogStore, StateMachine> for Builder {
    async fn build(&self) -> Result<((), LogStore, StateMachine), StorageError> {
        let disk = Arc::new(LossyDisk::new());
        let config = WalConfig { segment_bytes_max: 500, ..WalConfig::default() };
        let wal = Arc::new(Wal::open(disk.clone(), Path::new("/wal"), config, |_| {}).unwrap().0);
        let (snapshots, newest) = SnapshotStore::open(disk, "/snapshots".into(), wal.clone(), Blocking::Threads, COMMAND_VERSION).unwrap();
        let durable = Arc::new(Durable::default());
        // No member of the suite's memberships: its votes come back as they were kept.
        let node_id = u64::MAX;
        Ok((
            (),
            LogStore::new(node_id, wal, durable.clone()),
            StateMachine::new(snapshots, newest, durable, Blocking::Threads, NodeConfig::single().feed_bounds()),
        ))
    }
}

#[test]
fn openrafts_suite_for_storage_passes() {
    Suite::test_all(Builder).unwrap();
}
