//! What a backup pins is not forgotten.

use super::*;
use siltstone_format::manifest::{BackupRecord, BackupRoot, backup_key};

impl Group {
    /// A backup of the state as it is.
    fn back_up(&mut self, name: &str) {
        let manifest = self.machine.manifest();
        let root = BackupRoot {
            epoch: Epoch(1),
            version: manifest.version,
            at_ms: manifest.state_time_ms,
            id_end: manifest.counters.id,
            snapshot_bytes: 0,
            objects: 0,
            object_bytes: 0,
        };
        let record = BackupRecord { incarnation: manifest.incarnation, asked_at_ms: root.at_ms, root: Some(root) };
        let put = CommandBody::PutSetting { key: backup_key(name), value: Some(record.encode()), expected: None };
        assert!(matches!(self.apply(put), Reply::Setting { .. }));
    }

    fn retired(&self) -> Vec<BatchId> {
        self.machine.manifest().batches_retired_before(i64::MAX).map(|batch| batch.id).collect()
    }
}

#[test]
fn what_a_backup_names_is_kept_until_it_is_removed_and_what_came_later_is_not() {
    let mut group = Group::new();
    let (writer, shop, job) = (group.writer(1), group.namespace("shop"), group.job("seal"));
    let named = group.closed(writer, shop, 10);
    let first = *group.machine.manifest().batches.keys().next().unwrap();
    group.back_up("monday");
    let later = group.closed(writer, shop, 5);
    let second = *group.machine.manifest().batches.keys().next_back().unwrap();
    for chunk in [named, later] {
        let seal = group.seal(job, shop, &[chunk]);
        assert_eq!(group.apply(CommandBody::CommitSeal(seal)), Reply::Done);
    }
    assert_eq!(group.retired(), [second], "only what no backup pins is offered");
    let forget = |batch| CommandBody::ForgetRetired { epoch: job, batches: vec![batch], objects: vec![] };
    let pinned = Reply::Rejected(Rejection::StillNamed { id: first.0 });
    assert_eq!(group.apply(forget(first)), pinned);
    assert!(matches!(group.machine.manifest().batch_fate(writer, first), Fate::Retired { .. }));
    assert_eq!(group.apply(forget(second)), Reply::Done);

    let remove = CommandBody::PutSetting { key: backup_key("monday"), value: None, expected: None };
    assert!(matches!(group.apply(remove), Reply::Setting { .. }));
    assert_eq!(group.retired(), [first]);
    assert_eq!(group.apply(forget(first)), Reply::Done);
}

#[test]
fn an_object_that_a_backup_names_is_kept_when_its_namespace_is_dropped() {
    let mut group = Group::new();
    let (writer, shop, job) = (group.writer(1), group.namespace("shop"), group.job("seal"));
    let chunk = group.closed(writer, shop, 10);
    let seal = group.seal(job, shop, &[chunk]);
    let object = seal.object.id;
    assert_eq!(group.apply(CommandBody::CommitSeal(seal)), Reply::Done);
    group.back_up("monday");
    assert_eq!(group.apply(CommandBody::DropNamespace { name: "shop".into() }), Reply::Done);
    let offered = |group: &Group| group.machine.manifest().objects_retired_before(i64::MAX).map(|object| object.id).collect::<Vec<_>>();
    assert_eq!(offered(&group), []);
    let forget = CommandBody::ForgetRetired { epoch: job, batches: vec![], objects: vec![object] };
    assert_eq!(group.apply(forget.clone()), Reply::Rejected(Rejection::StillNamed { id: object.0 }));
    group.apply(CommandBody::PutSetting { key: backup_key("monday"), value: None, expected: None });
    assert_eq!(offered(&group), [object]);
    assert_eq!(group.apply(forget), Reply::Done);
}
