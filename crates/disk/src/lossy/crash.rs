//! What a loss of power leaves: everything synced, and of the rest whatever the seed says.
//!
//! A seed first picks one of four temperaments, so that a sweep over seeds meets the pure cases as well as the mixed ones. What is not
//! simulated: bytes that were synced and rot later, and old contents of the medium appearing in a file.

use super::node::{Change, DirNode, FileNode, Node, WriteFate, write_at};
use crate::rng::Rng;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// What a disk writes in one piece.
const SECTOR_BYTES: usize = 512;

/// How much of what was not synced is left.
#[derive(Clone, Copy)]
enum Temperament {
    LoseAll,
    KeepAll,
    /// Everything before one change, and part of that one: a disk that writes in order.
    Prefix {
        cut: u64,
    },
    /// Each change for itself: a disk that writes in any order.
    Subset,
}

pub(super) struct Crash {
    rng: Rng,
    temperament: Temperament,
    /// Old file to its image: a file of two names stays one file.
    files: HashMap<*const Mutex<FileNode>, Arc<Mutex<FileNode>>>,
}

impl Crash {
    /// `sequence` is the newest change's number.
    pub(super) fn new(seed: u64, sequence: u64, oldest_pending: u64) -> Self {
        let mut rng = Rng::new(seed);
        let temperament = match rng.below(8) {
            0 => Temperament::LoseAll,
            1 => Temperament::KeepAll,
            2..=4 => Temperament::Prefix { cut: oldest_pending + rng.below(sequence.saturating_sub(oldest_pending) + 2) },
            _ => Temperament::Subset,
        };
        Self { rng, temperament, files: HashMap::new() }
    }

    /// The directory as it is found after power returns.
    pub(super) fn dir_image(&mut self, dir: &Mutex<DirNode>) -> DirNode {
        let (mut names, modified_ms) = {
            let dir = dir.lock();
            let mut names = dir.durable.clone();
            for pending in &dir.pending {
                if self.keeps_name(pending.sequence) {
                    pending.change.apply(&mut names);
                }
            }
            (names, dir.modified_ms)
        };
        for node in names.values_mut() {
            *node = match node {
                Node::File(file) => Node::File(self.file_image(file)),
                Node::Dir(dir) => Node::Dir(Arc::new(Mutex::new(self.dir_image(dir)))),
            };
        }
        DirNode { live: names.clone(), durable: names, pending: Vec::new(), modified_ms }
    }

    fn file_image(&mut self, file: &Arc<Mutex<FileNode>>) -> Arc<Mutex<FileNode>> {
        if let Some(image) = self.files.get(&Arc::as_ptr(file)) {
            return image.clone();
        }
        let mut image = FileNode::default();
        {
            let file = file.lock();
            image.durable.clone_from(&file.durable);
            for pending in &file.pending {
                match pending.fate {
                    WriteFate::Durable => pending.change.apply(&mut image.durable),
                    WriteFate::Open | WriteFate::Doomed => self.apply_some(pending.sequence, &pending.change, &mut image.durable),
                }
            }
            image.modified_ms = file.modified_ms;
        }
        image.live.clone_from(&image.durable);
        let image = Arc::new(Mutex::new(image));
        self.files.insert(Arc::as_ptr(file), image.clone());
        image
    }

    const fn keeps_name(&mut self, sequence: u64) -> bool {
        match self.temperament {
            Temperament::LoseAll => false,
            Temperament::KeepAll => true,
            Temperament::Prefix { cut } => sequence < cut,
            Temperament::Subset => self.rng.coin(),
        }
    }

    fn apply_some(&mut self, sequence: u64, change: &Change, contents: &mut Vec<u8>) {
        match self.temperament {
            Temperament::LoseAll => {}
            Temperament::KeepAll => change.apply(contents),
            Temperament::Prefix { cut } if sequence < cut => change.apply(contents),
            Temperament::Prefix { cut } if sequence == cut => self.tear(change, contents),
            Temperament::Prefix { .. } => {}
            Temperament::Subset => match self.rng.below(4) {
                0 => {}
                1 => change.apply(contents),
                _ => self.tear(change, contents),
            },
        }
    }

    /// Part of a write: its first bytes, or some of its sectors. A change of length is whole or not there.
    fn tear(&mut self, change: &Change, contents: &mut Vec<u8>) {
        let Change::Write { offset, bytes } = change else {
            if self.rng.coin() {
                change.apply(contents);
            }
            return;
        };
        if self.rng.coin() {
            let kept = usize::try_from(self.rng.below(bytes.len() as u64 + 1)).expect("below a length");
            write_at(contents, *offset, &bytes[..kept]);
        } else {
            let mut at = *offset;
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let room = SECTOR_BYTES - usize::try_from(at % SECTOR_BYTES as u64).expect("below a sector");
                let (sector, after) = rest.split_at(room.min(rest.len()));
                if self.rng.coin() {
                    write_at(contents, at, sector);
                }
                at += sector.len() as u64;
                rest = after;
            }
        }
        // The file's new length may be on the medium without the bytes: they read as zeros.
        let end = super::node::to_index(*offset) + bytes.len();
        if contents.len() < end && self.rng.below(4) == 0 {
            contents.resize(end, 0);
        }
    }
}

/// The number of the oldest change that no sync has covered; `none` when all is synced.
pub(super) fn oldest_pending(dir: &Mutex<DirNode>, none: u64) -> u64 {
    let dir = dir.lock();
    let mut oldest = dir.pending.first().map_or(none, |pending| pending.sequence.min(none));
    for node in dir.live.values().chain(dir.durable.values()) {
        oldest = oldest.min(match node {
            Node::File(file) => file.lock().pending.first().map_or(none, |pending| pending.sequence),
            Node::Dir(dir) => oldest_pending(dir, none),
        });
    }
    oldest
}
