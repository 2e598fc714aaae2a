//! What a member's log holds, as plain values: to make logs whose records are sound and whose values are not.

use super::stepped::{DIR, Files, config, disk_with, files};
use bytes::Bytes;
use siltstone_disk::LossyDisk;
use siltstone_wal::{Slot, Stepper, Wal, WalError, WalParts};
use std::path::Path;
use std::sync::Arc;

pub const SLOTS: [Slot; 4] = [Slot::Vote, Slot::Committed, Slot::Snapshot, Slot::Identity];

/// What a log holds.
#[derive(Clone, Default)]
pub struct Values {
    pub slots: [Option<Bytes>; 4],
    pub purged: Option<(u64, Bytes)>,
    pub entries: Vec<(u64, Bytes)>,
}

fn open(disk: &LossyDisk) -> (Wal, Stepper) {
    let parts = WalParts::new(Arc::new(disk.clone()), &Path::new(DIR).join("wal"), config().wal, |error: &WalError| panic!("{error}"));
    let (wal, stepper, _) = Wal::open_stepped(parts, || {}).unwrap();
    (wal, stepper)
}

impl Values {
    pub fn of(directory: &Files) -> Self {
        let (wal, _) = open(&disk_with(directory));
        Self { slots: SLOTS.map(|slot| wal.get(slot)), purged: wal.purged(), entries: wal.read(0, u64::MAX, usize::MAX).unwrap() }
    }

    /// The directory with a log that was made anew from these values.
    pub fn write(&self, directory: &Files) -> Files {
        let disk = LossyDisk::new();
        let (wal, stepper) = open(&disk);
        for (slot, value) in SLOTS.into_iter().zip(&self.slots) {
            if let Some(value) = value {
                wal.set(slot, value.clone(), Some(Box::new(|outcome| outcome.unwrap()))).unwrap();
            }
        }
        if let Some((index, note)) = &self.purged {
            wal.purge_to(*index, note.clone(), Some(Box::new(|outcome| outcome.unwrap()))).unwrap();
        }
        for (index, payload) in &self.entries {
            wal.append(*index, vec![payload.clone()], Box::new(|outcome| outcome.unwrap())).unwrap();
        }
        while stepper.step() {}
        wal.close();
        let log = Path::new(DIR).join("wal");
        let others = directory.iter().filter(|(path, _)| !path.starts_with(&log)).map(|(path, bytes)| (path.clone(), bytes.clone()));
        files(&disk).into_iter().chain(others).collect()
    }

    /// Each value, to be changed.
    pub fn each(&mut self) -> impl Iterator<Item = (String, &mut Bytes)> {
        let slots = SLOTS.iter().zip(&mut self.slots).filter_map(|(slot, value)| Some((format!("{slot:?}"), value.as_mut()?)));
        let purged = self.purged.iter_mut().map(|(_, note)| ("Purged".to_owned(), note));
        slots.chain(purged).chain(self.entries.iter_mut().map(|(index, payload)| (format!("Entry {index}"), payload)))
    }
}
