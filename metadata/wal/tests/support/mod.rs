//! A log's contents as plain data, a model of them, and shorthands.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

use bytes::Bytes;
use siltstone_disk::{Disk, LossyDisk};
use siltstone_wal::{ReadLog, Recovery, Slot, Stepper, Wal, WalConfig, WalError, WalParts};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

/// Small segments, so that a short test meets several, some of them preallocated in parts and some recycled.
pub fn config() -> WalConfig {
    WalConfig { segment_bytes_max: 700, grow_bytes: 256, spare_segments_max: 2, ..WalConfig::default() }
}

/// How many rounds of a sweep are run: `normal`, or more in a soak.
pub fn rounds(normal: u64) -> u64 {
    let text = std::env::var("SILTSTONE_WAL_ROUNDS").unwrap_or_default();
    if text.is_empty() { normal } else { normal.max(text.parse().expect("SILTSTONE_WAL_ROUNDS is a number of rounds")) }
}

pub fn dir() -> &'static Path {
    Path::new("/data/raft")
}

pub fn try_open(disk: &LossyDisk) -> Result<(Wal, Recovery), WalError> {
    Wal::open(Arc::new(disk.clone()), dir(), config(), |_| {})
}

pub fn open(disk: &LossyDisk) -> Wal {
    try_open(disk).unwrap().0
}

/// One record's worth of change.
#[derive(Clone, Debug)]
pub enum Step {
    Append(Vec<u8>),
    Vote(u8),
    Committed(u8),
    Snapshot(u8),
    Identity(u8),
    Truncate(u64),
    Purge(u64),
}

/// What a log says, with indexes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Contents {
    pub first: u64,
    pub entries: Vec<Vec<u8>>,
    pub slots: [Option<Vec<u8>>; 4],
    pub purged: Option<u64>,
}

impl Contents {
    pub fn of(wal: &Wal) -> Self {
        let span = wal.span();
        let read = wal.read(0, u64::MAX, usize::MAX).unwrap();
        assert!(read.iter().map(|(index, _)| *index).eq(span.first..span.next));
        Self {
            first: span.first,
            entries: read.into_iter().map(|(_, payload)| payload.to_vec()).collect(),
            slots: [Slot::Vote, Slot::Committed, Slot::Snapshot, Slot::Identity].map(|slot| wal.get(slot).map(|value| value.to_vec())),
            purged: wal.purged().map(|(index, note)| {
                assert_eq!(note, format!("purged {index}"));
                index
            }),
        }
    }

    /// What is read of a log without opening it, which changes none of its files; nothing where there is none.
    pub fn read(disk: &LossyDisk) -> Result<Self, WalError> {
        if disk.list_dir(dir()).is_err() {
            return Ok(Self::default());
        }
        let before = files(disk);
        let read = ReadLog::open(disk, dir());
        assert_eq!(files(disk), before);
        let Some(log) = read? else { return Ok(Self::default()) };
        assert!(log.entries().iter().map(|(index, _)| *index).eq(log.span().first..log.span().next));
        Ok(Self {
            first: log.span().first,
            entries: log.entries().into_iter().map(|(_, payload)| payload.to_vec()).collect(),
            slots: [Slot::Vote, Slot::Committed, Slot::Snapshot, Slot::Identity].map(|slot| log.get(slot).map(|value| value.to_vec())),
            purged: log.purged().map(|(index, _)| index),
        })
    }

    pub fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// The model: what a step does.
    pub fn apply(&mut self, step: &Step) {
        match step {
            Step::Append(payload) => self.entries.push(payload.clone()),
            Step::Vote(value) => self.slots[0] = Some(vec![*value; 9]),
            Step::Committed(value) => self.slots[1] = Some(vec![*value; 2]),
            Step::Snapshot(value) => self.slots[2] = Some(vec![*value; 30]),
            Step::Identity(value) => self.slots[3] = Some(vec![*value; 5]),
            Step::Truncate(index) => self.entries.truncate(usize::try_from(index - self.first).unwrap()),
            Step::Purge(index) => {
                let dropped = usize::try_from((index + 1).saturating_sub(self.first)).unwrap().min(self.entries.len());
                self.entries.drain(..dropped);
                self.first = self.first.max(index + 1);
                self.purged = self.purged.max(Some(*index));
            }
        }
    }
}

/// Submits a step; `done` is told when it is durable.
pub fn submit(wal: &Wal, step: &Step, done: siltstone_wal::Done) -> Result<(), WalError> {
    match step {
        Step::Append(payload) => wal.append(wal.span().next, vec![Bytes::copy_from_slice(payload)], done),
        Step::Vote(value) => wal.set(Slot::Vote, vec![*value; 9].into(), Some(done)),
        Step::Committed(value) => wal.set(Slot::Committed, vec![*value; 2].into(), Some(done)),
        Step::Snapshot(value) => wal.set(Slot::Snapshot, vec![*value; 30].into(), Some(done)),
        Step::Identity(value) => wal.set(Slot::Identity, vec![*value; 5].into(), Some(done)),
        Step::Truncate(index) => wal.truncate_from(*index, done),
        Step::Purge(index) => wal.purge_to(*index, format!("purged {index}").into(), Some(done)),
    }
}

/// Opens a log without a thread: sweeps open so many that starting threads would take most of their time.
pub fn try_open_stepped(disk: &LossyDisk) -> Result<(Wal, Stepper), WalError> {
    let parts = WalParts::new(Arc::new(disk.clone()), dir(), config(), |_| {});
    Wal::open_stepped(parts, || {}).map(|(wal, stepper, _)| (wal, stepper))
}

/// Runs a step in a log without a thread.
pub fn run_stepped(wal: &Wal, stepper: &Stepper, step: &Step) {
    let (sender, receiver) = mpsc::channel();
    submit(wal, step, Box::new(move |outcome| sender.send(outcome).unwrap())).unwrap();
    assert!(stepper.step());
    receiver.try_recv().unwrap().unwrap();
}

pub fn run(wal: &Wal, step: &Step) {
    Wal::blocking(|done| submit(wal, step, done)).unwrap();
}

pub fn files(disk: &LossyDisk) -> BTreeMap<PathBuf, Vec<u8>> {
    let read = |path: &Path| {
        let file = disk.open(path).unwrap();
        file.read_exact_at(0, usize::try_from(file.len().unwrap()).unwrap()).unwrap()
    };
    disk.list_dir(dir()).unwrap().iter().map(|entry| dir().join(&entry.name)).map(|path| (path.clone(), read(&path))).collect()
}

/// All states that a log may be in after a crash, from nothing to all steps.
pub fn prefixes(steps: &[Step]) -> Vec<Contents> {
    let mut model = Contents::default();
    let mut prefixes = vec![model.clone()];
    for step in steps {
        model.apply(step);
        prefixes.push(model.clone());
    }
    prefixes
}

/// Where the records of each segment end.
pub fn ends(disk: &LossyDisk) -> BTreeMap<PathBuf, usize> {
    let segments = siltstone_wal::dump(disk, dir()).unwrap().map(Result::unwrap);
    segments.map(|segment| (segment.file, usize::try_from(segment.end).unwrap())).collect()
}

/// A disk that holds exactly these files, all durable.
pub fn disk_with(files: &BTreeMap<PathBuf, Vec<u8>>) -> LossyDisk {
    let disk = LossyDisk::new();
    siltstone_disk::create_dir_durable(&disk, dir()).unwrap();
    for (path, bytes) in files {
        let file = disk.create_new(path).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        file.sync_data().unwrap();
    }
    disk.sync_dir(dir()).unwrap();
    disk
}

/// A script that meets every kind of record, several segments, truncations and purges.
pub fn script(count: u64, seed: u64) -> Vec<Step> {
    script_from(Contents::default(), count, seed)
}

/// The same for a log that holds something already.
pub fn script_from(mut model: Contents, count: u64, seed: u64) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for number in 0..count {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let roll = random >> 40;
        let value = u8::try_from(number % 251).unwrap();
        let held = model.entries.len() as u64;
        let step = match roll % 16 {
            0 => Step::Vote(value),
            1 => Step::Committed(value),
            2 => Step::Snapshot(value),
            3 if held > 2 => Step::Truncate(model.next() - (roll >> 4) % 3),
            4 if held > 4 => Step::Purge(model.first + (roll >> 4) % (held - 2)),
            5 if roll >> 4 & 7 == 0 => Step::Purge(model.next() + 5),
            6 if roll >> 4 & 3 == 0 => Step::Identity(value),
            _ => Step::Append(vec![value; usize::try_from((roll >> 4) % 120).unwrap()]),
        };
        model.apply(&step);
        steps.push(step);
    }
    steps
}
