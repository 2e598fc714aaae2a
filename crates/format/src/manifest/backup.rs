//! Backups: settings whose keys begin with [`BACKUP_KEY_PREFIX`]. A backup is asked for, then a root is published that covers the asking, then the
//! record says which. From the asking on it pins: what is retired later than that, and existed at the root's position, is not deleted (MF-1).
//!
//! What is not here: who publishes (`siltstone-metadata-publish`).

use super::Manifest;
use crate::envelope::{EnvelopeError, Kind};
use serde::{Deserialize, Serialize};
use siltstone_core::{CommitIndex, Epoch, Incarnation};
use std::ops::Bound;

/// What the keys of backups' settings begin with; a backup's name follows.
pub const BACKUP_KEY_PREFIX: &str = "backup/";

/// Bytes that a backup's name has at most.
pub const BACKUP_NAME_LEN_MAX: usize = 128;

const RECORD: Kind = Kind { what: "backup record", magic: *b"SLbk", version: 1 };

/// A backup.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BackupRecord {
    /// The life of the group that was asked, and that makes it.
    pub incarnation: Incarnation,
    /// State time that its maker knew when it asked: what is retired from then on may be named by the root.
    pub asked_at_ms: i64,
    /// The published root; `None` until there is one.
    pub root: Option<BackupRoot>,
}

/// The published root of a backup.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BackupRoot {
    /// The publisher's epoch.
    pub epoch: Epoch,
    /// The position of the log that it covers.
    pub version: CommitIndex,
    /// State time at that position.
    pub at_ms: i64,
    /// The next id to be given out at that position: it names nothing from there on.
    pub id_end: u64,
    /// Bytes of root and shards.
    pub snapshot_bytes: u64,
    /// Batches and objects that it names.
    pub objects: u64,
    /// Their bytes.
    pub object_bytes: u64,
}

impl BackupRecord {
    /// A record from its stored form.
    ///
    /// # Errors
    /// [`EnvelopeError`] for any bytes that are not one whole record.
    pub fn decode(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        RECORD.decode(bytes)
    }

    /// The stored form.
    ///
    /// # Panics
    /// Never: it is a few numbers.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        RECORD.encode(self).expect("a few numbers fit one record")
    }
}

/// What backups keep from being deleted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pins(Vec<Pin>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pin {
    from_ms: i64,
    id_end: u64,
}

impl Pins {
    /// Whether a backup names the batch or object of this id that was retired at this state time.
    #[must_use]
    pub fn keep(&self, id: u64, retired_at_ms: i64) -> bool {
        self.0.iter().any(|pin| id < pin.id_end && retired_at_ms >= pin.from_ms)
    }
}

/// The key of a backup's setting.
#[must_use]
pub fn backup_key(name: &str) -> String {
    format!("{BACKUP_KEY_PREFIX}{name}")
}

/// Whether a backup can have this name: 1 to [`BACKUP_NAME_LEN_MAX`] of `A-Z a-z 0-9 . _ -`.
#[must_use]
pub fn is_backup_name(name: &str) -> bool {
    (1..=BACKUP_NAME_LEN_MAX).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

impl Manifest {
    /// Backups by name, with the position of their last change.
    pub fn backups(&self) -> impl Iterator<Item = (&str, CommitIndex, Result<BackupRecord, EnvelopeError>)> {
        let from = self.settings.range::<str, _>((Bound::Included(BACKUP_KEY_PREFIX), Bound::Unbounded));
        let backups = from.map_while(|(key, setting)| Some((key.strip_prefix(BACKUP_KEY_PREFIX)?, setting)));
        backups.map(|(name, setting)| (name, setting.changed_at, BackupRecord::decode(&setting.value)))
    }

    /// What backups keep from being deleted. One that is not understood keeps everything.
    #[must_use]
    pub fn pins(&self) -> Pins {
        let pin = |record: Result<BackupRecord, EnvelopeError>| match record {
            Ok(BackupRecord { root: Some(root), .. }) => Pin { from_ms: root.at_ms, id_end: root.id_end },
            Ok(BackupRecord { asked_at_ms, root: None, .. }) => Pin { from_ms: asked_at_ms, id_end: u64::MAX },
            Err(_) => Pin { from_ms: i64::MIN, id_end: u64::MAX },
        };
        Pins(self.backups().map(|(_, _, record)| pin(record)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{RetiredBatch, SettingRecord};
    use siltstone_core::BatchId;

    const ROOT: BackupRoot = BackupRoot {
        epoch: Epoch(3),
        version: CommitIndex(70_000),
        at_ms: 1_000,
        id_end: 50,
        snapshot_bytes: 123_456,
        objects: 7,
        object_bytes: 1 << 30,
    };

    fn record(root: Option<BackupRoot>) -> BackupRecord {
        BackupRecord { incarnation: Incarnation(0x5f0c_6f9d_2b0e), asked_at_ms: 500, root }
    }

    /// Version 1.
    const ASKED: &str = "534c626b01000a0000004ccfc4c28ed6f4fcc6e117e80700";
    const MADE: &str = "534c626b01001a0000000e3ea3d38ed6f4fcc6e117e8070103f0a204d00f32c0c407078080808004";

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn with(records: &[(&str, Vec<u8>)]) -> Manifest {
        let mut manifest = Manifest::default();
        for (key, value) in records {
            let record = SettingRecord { key: (*key).to_owned(), value: value.clone(), changed_at: CommitIndex(4) };
            manifest.settings.insert_mut((*key).into(), record.into());
        }
        manifest
    }

    #[test]
    fn records_have_the_bytes_of_their_version_and_come_back() {
        for (record, golden) in [(record(None), ASKED), (record(Some(ROOT)), MADE)] {
            assert_eq!(hex(&record.encode()), golden);
            assert_eq!(BackupRecord::decode(&record.encode()), Ok(record));
        }
    }

    #[test]
    fn any_damage_of_a_record_is_seen() {
        let bytes = record(Some(ROOT)).encode();
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(BackupRecord::decode(&damaged).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(BackupRecord::decode(&bytes[..len]).is_err(), "cut to {len} bytes");
        }
    }

    #[test]
    fn a_backup_pins_what_existed_then_and_was_retired_later() {
        let made = with(&[("backup/a", record(Some(ROOT)).encode())]).pins();
        assert!(made.keep(49, 1_000) && made.keep(1, i64::MAX));
        assert!(!made.keep(49, 999), "it was retired before, so the root does not name it");
        assert!(!made.keep(50, 2_000), "it was made later");
        let asked = with(&[("backup/a", record(None).encode())]).pins();
        assert!(asked.keep(u64::MAX - 1, 500) && !asked.keep(1, 499));
        let unknown = with(&[("backup/a", b"?".to_vec())]).pins();
        assert!(unknown.keep(1, i64::MIN), "what is not understood keeps everything");
    }

    #[test]
    fn other_settings_are_no_backups() {
        let record = record(None).encode();
        let manifest = with(&[("backup", record.clone()), ("backup.x", record.clone()), ("backup/b", record.clone()), ("backup0", record)]);
        assert_eq!(manifest.backups().map(|(name, at, _)| (name, at)).collect::<Vec<_>>(), [("b", CommitIndex(4))]);
    }

    #[test]
    fn what_is_pinned_is_not_offered_for_deletion() {
        let mut manifest = with(&[("backup/a", record(Some(ROOT)).encode())]);
        for (id, at_ms) in [(48, 900), (49, 1_500), (50, 1_500)] {
            manifest.retired_batches.insert(RetiredBatch { id: BatchId(id), epoch: Epoch(1), at_ms, footer_crc32c: 0, duplicates: &[] });
        }
        let offered = |manifest: &Manifest| manifest.batches_retired_before(5_000).map(|batch| batch.id.0).collect::<Vec<_>>();
        assert_eq!(offered(&manifest), [48, 50]);
        manifest.settings.remove_mut("backup/a");
        assert_eq!(offered(&manifest), [48, 49, 50]);
    }

    #[test]
    fn names_are_plain() {
        assert!(is_backup_name("before-upgrade_1.2") && is_backup_name(&"x".repeat(128)));
        for name in ["", "a/b", "a b", "ä", &"x".repeat(129)] {
            assert!(!is_backup_name(name), "{name:?}");
        }
    }
}
