//! Backups: they stay whole while they stand, whoever leads, and go when they are removed.

use crate::support::{Group, LIFE, TestLead, eager};
use async_trait::async_trait;
use siltstone_core::{CommitIndex, CommitToken, ErrorKind, Incarnation};
use siltstone_format::command::{CommandBody, Reply};
use siltstone_format::manifest::{BackupRecord, Manifest, backup_key};
use siltstone_metadata::LocalMetadata;
use siltstone_metadata_client::{ClientError, MetadataClient, MetadataClientExt};
use siltstone_metadata_publish::{BackupError, PublishConfig, Publisher, ask_backup, backups_of, list_backups, load_backup, remove_backup};
use siltstone_store::paths::PathKind;
use siltstone_store::{Effect, Fault, FaultRule, FaultyStore, MemoryStore, Operation};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::watch;

#[tokio::test]
async fn a_backup_is_loaded_long_after_and_goes_when_it_is_removed() {
    let group = Group::in_memory();
    let (mut publisher, _) = group.publisher(eager());
    group.create_namespaces("a", 40).await;
    publisher.round().await.expect("a root");
    ask_backup(group.metadata.as_ref(), "monday").await.expect("asked");
    assert_eq!(backups_of(&group.manifest()), [("monday".to_owned(), None)]);
    publisher.round().await.expect("a root");
    let (name, info) = backups_of(&group.manifest()).remove(0);
    let info = info.expect("it has a root now");
    assert_eq!((name.as_str(), info.incarnation), ("monday", LIFE));
    assert_eq!(list_backups(group.store.as_ref()).await.expect("a list").len(), 1, "the store tells of it before another root is published");
    let backup = load_backup(group.store.as_ref(), Some("monday")).await.expect("a manifest");
    assert_eq!((backup.version, backup.namespaces.size()), (info.version, 40));

    for step in 0..20 {
        group.create_namespaces(&format!("b{step}"), 20).await;
        group.tick_ms(3_600_000).await;
        publisher.round().await.expect("a root");
    }
    assert_eq!(list_backups(group.store.as_ref()).await, Ok(vec![info.clone()]));
    assert_eq!(load_backup(group.store.as_ref(), Some("monday")).await.expect("a manifest"), backup);
    assert_eq!(group.keys(PathKind::SnapshotRoot).await.len(), 2);
    let bytes: usize = crate::support::contents(group.store.as_ref()).await.values().map(bytes::Bytes::len).sum();
    assert!(info.size.expect("a size").snapshot_bytes < bytes as u64);

    remove_backup(group.metadata.as_ref(), "monday").await.expect("removed");
    publisher.round().await.expect("a root");
    assert_eq!(list_backups(group.store.as_ref()).await, Ok(Vec::new()));
    assert_eq!(load_backup(group.store.as_ref(), Some("monday")).await.expect_err("removed").kind(), ErrorKind::NotFound);
    assert_eq!(group.keys(PathKind::SnapshotRoot).await.len(), 1);
}

#[tokio::test]
async fn a_name_is_used_once_and_is_plain() {
    let group = Group::in_memory();
    let metadata = group.metadata.as_ref();
    ask_backup(metadata, "monday").await.expect("asked");
    assert!(matches!(ask_backup(metadata, "monday").await, Err(BackupError::Exists { .. })));
    assert!(matches!(ask_backup(metadata, "a/b").await, Err(BackupError::Name { .. })));
    assert!(matches!(remove_backup(metadata, "tuesday").await, Err(BackupError::Missing { .. })));
    remove_backup(metadata, "monday").await.expect("one that has no root yet is removed as well");
    assert_eq!(backups_of(&group.manifest()), []);
}

/// Nothing is collected while a backup waits for its root, and the next leader makes the root.
#[tokio::test]
async fn a_backup_that_was_asked_for_is_made_by_whoever_leads_next() {
    for nth in 1..6 {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let group = Group::new(store.clone());
        let (mut first, _) = group.publisher(eager());
        group.create_namespaces("a", 10).await;
        first.round().await.expect("a root");
        ask_backup(group.metadata.as_ref(), "monday").await.expect("asked");
        let away = Fault::Unreachable { place: "bucket".to_owned(), detail: "connection refused".to_owned() };
        store.inject(FaultRule::new(Effect::Fail(away)).on(Operation::Put).nth(nth));
        // It may have come through.
        let _ = first.round().await;
        store.heal();
        let (mut second, _) = group.publisher(eager());
        second.round().await.expect("a root");
        let backup = load_backup(store.as_ref(), Some("monday")).await.expect("a manifest");
        assert_eq!(backup.namespaces.size(), 10);
        assert!(backups_of(&group.manifest())[0].1.is_some());
    }
}

#[tokio::test]
async fn the_outcome_of_recording_a_backup_may_be_lost() {
    use siltstone_metadata::Fault as Lost;
    for (fault, another_leads) in
        [Lost::Refused, Lost::RequestLost, Lost::ReplyLost, Lost::Late].into_iter().flat_map(|fault| [(fault, false), (fault, true)])
    {
        let group = Group::in_memory();
        let (mut publisher, _) = group.publisher(eager());
        publisher.round().await.expect("a root");
        ask_backup(group.metadata.as_ref(), "monday").await.expect("asked");
        let mut once = true;
        group.metadata.set_faults(move |body| {
            let strikes = matches!(body, CommandBody::PutSetting { .. }) && std::mem::take(&mut once);
            if strikes { fault } else { Lost::None }
        });
        publisher.round().await.expect_err("the outcome is lost");
        if another_leads {
            // For whom no root is due but for the backup's sake.
            (publisher, _) = group.publisher(PublishConfig { positions_max: u64::MAX, every: Duration::from_secs(3_600), ..eager() });
        }
        publisher.round().await.expect("again");
        let info = backups_of(&group.manifest()).remove(0).1.expect("it has a root");
        let backup = load_backup(group.store.as_ref(), Some("monday")).await.expect("a manifest");
        assert_eq!(backup.version, info.version);
    }
}

/// Asked for while a root is put, and while it is looked what may be collected.
#[tokio::test(start_paused = true)]
async fn a_backup_covers_what_was_before_it_was_asked_for_and_nothing_goes_before_it_is_made() {
    for (operation, place) in [(Operation::Put, "/metadata/snapshots/"), (Operation::List, "/metadata/snapshots/")] {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
        let group = Group::new(store.clone());
        let (mut publisher, _) = group.publisher(eager());
        group.create_namespaces("a", 10).await;
        publisher.round().await.expect("a root");
        group.create_namespaces("b", 10).await;
        store.inject(FaultRule::new(Effect::Delay(Duration::from_secs(2))).on(operation).on_keys_with(place).nth(1));
        let ask = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            group.create_namespaces("c", 10).await;
            ask_backup(group.metadata.as_ref(), "monday").await.expect("asked")
        };
        let (round, asked_at) = tokio::join!(publisher.round(), ask);
        round.expect("a root");
        assert_eq!(backups_of(&group.manifest()), [("monday".to_owned(), None)], "{operation:?}: the root is older than the asking");
        assert_eq!(group.keys(PathKind::SnapshotRoot).await.len(), 2, "{operation:?}: nothing is collected while a backup waits");
        publisher.round().await.expect("a root");
        let info = backups_of(&group.manifest()).remove(0).1.expect("it has a root");
        assert!(info.version >= asked_at, "{operation:?}");
        assert_eq!(load_backup(store.as_ref(), Some("monday")).await.expect("a manifest").namespaces.size(), 30);
    }
}

/// A member that is behind the group until it asks how far the group is.
struct Behind {
    group: Arc<LocalMetadata>,
    seen: watch::Sender<Manifest>,
}

#[async_trait]
impl MetadataClient for Behind {
    async fn propose(&self, body: CommandBody) -> Result<(CommitToken, Reply), ClientError> {
        self.group.propose(body).await
    }

    fn manifest(&self) -> Manifest {
        self.seen.borrow().clone()
    }

    fn watch(&self) -> watch::Receiver<Manifest> {
        self.seen.subscribe()
    }

    async fn read_index(&self) -> Result<CommitIndex, ClientError> {
        self.seen.send_replace(self.group.manifest());
        self.group.read_index().await
    }
}

/// The former leader, which does not know yet that it is fenced, makes a root for a backup of which the next leader, which is behind, knows nothing.
/// Shards that it names may be gone by then, so it must not be the backup's; and the next leader must delete nothing for not knowing.
#[tokio::test]
async fn who_is_fenced_records_no_backup_and_a_leader_that_is_behind_makes_it() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let group = Group::new(store.clone());
    let (mut former, _) = group.publisher(eager());
    group.create_namespaces("a", 10).await;
    former.round().await.expect("a root");

    let behind = Arc::new(Behind { group: group.metadata.clone(), seen: watch::Sender::new(group.manifest()) });
    let lead = Arc::new(TestLead::default());
    lead.leads.store(true, Ordering::Relaxed);
    let mut next = Publisher::new(eager(), store.clone(), behind, group.clock.clone(), lead);
    let away = Fault::Unreachable { place: "bucket".to_owned(), detail: "connection refused".to_owned() };
    store.inject(FaultRule::new(Effect::Fail(away)).on(Operation::List).on_keys_with("/metadata/shards/"));
    next.round().await.expect_err("it puts a root, and can't look what may be collected");
    store.heal();

    group.create_namespaces("b", 10).await;
    ask_backup(group.metadata.as_ref(), "monday").await.expect("asked");
    assert_eq!(former.round().await.expect_err("fenced").kind(), ErrorKind::Fenced);
    assert_eq!(backups_of(&group.manifest()), [("monday".to_owned(), None)]);
    let before = group.keys(PathKind::SnapshotRoot).await;
    next.round().await.expect("it would collect");
    assert_eq!(group.keys(PathKind::SnapshotRoot).await, before, "a backup waits");
    next.round().await.expect("a root");
    let info = backups_of(&group.manifest()).remove(0).1.expect("it has a root");
    let backup = load_backup(store.as_ref(), Some("monday")).await.expect("a manifest");
    assert_eq!((backup.version, backup.namespaces.size()), (info.version, 20));
    assert_eq!(group.keys(PathKind::SnapshotRoot).await.len(), 1);
}

/// A group that was restored from a backup finds in its settings that the backup waits for its root: it is not to make one.
#[tokio::test]
async fn what_a_former_life_was_asked_for_is_dropped() {
    let group = Group::in_memory();
    let record = BackupRecord { incarnation: Incarnation(LIFE.0 - 1), asked_at_ms: 0, root: None };
    group.metadata.put_setting(&backup_key("monday"), Some(record.encode()), None).await.expect("a setting");
    let (mut publisher, _) = group.publisher(eager());
    publisher.round().await.expect("a root");
    assert_eq!(backups_of(&group.manifest()), []);
    assert_eq!(list_backups(group.store.as_ref()).await, Ok(Vec::new()));
}

/// As of a newer program, before its members all were.
#[tokio::test]
async fn nothing_is_collected_while_a_backup_is_not_understood() {
    let group = Group::in_memory();
    group.metadata.put_setting(&backup_key("monday"), Some(b"of a later version".to_vec()), None).await.expect("a setting");
    let (mut publisher, _) = group.publisher(eager());
    for step in 0..3 {
        group.create_namespaces(&format!("a{step}"), 3).await;
        publisher.round().await.expect("a root");
    }
    assert_eq!(group.keys(PathKind::SnapshotRoot).await.len(), 3);
    remove_backup(group.metadata.as_ref(), "monday").await.expect("removed");
    publisher.round().await.expect("a root");
    assert_eq!(group.keys(PathKind::SnapshotRoot).await.len(), 1);
}
