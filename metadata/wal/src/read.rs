//! Reads a log as [`Wal::open`](crate::Wal::open) would find it, and changes nothing: for whoever must leave the files as they are.
//!
//! The same rules hold: a torn tail is left out, anything else that does not read back is damage. What is deliberately not here: files that
//! somebody writes to meanwhile, and damage as a person wants to see it ([`dump`](crate::dump())).

use crate::WalError;
use crate::log::{Log, LogSpan, Slot};
use crate::recover::{read_segments, segment_ids};
use bytes::Bytes;
use siltstone_disk::Disk;
use std::path::{Path, PathBuf};

/// What a log holds.
#[derive(Debug)]
pub struct ReadLog {
    log: Log,
    torn: Option<(PathBuf, u64)>,
}

impl ReadLog {
    /// Reads the log in a directory; `None` where there is none.
    ///
    /// # Errors
    /// As [`Wal::open`](crate::Wal::open).
    pub fn open(disk: &dyn Disk, dir: &Path) -> Result<Option<Self>, WalError> {
        let ids = segment_ids(disk, dir)?;
        let Some(read) = read_segments(dir, &ids, |path| disk.open_read(path))? else { return Ok(None) };
        let torn = (read.scan.torn_end(&read.last, read.next_sequence) - read.scan.end) as u64;
        Ok(Some(Self { log: read.log, torn: (torn > 0).then_some((read.last.path, torn)) }))
    }

    /// The entries with their indexes.
    #[must_use]
    pub fn entries(&self) -> Vec<(u64, Bytes)> {
        self.log.read(0, u64::MAX, usize::MAX)
    }

    /// The indexes that the log holds.
    #[must_use]
    pub fn span(&self) -> LogSpan {
        self.log.span()
    }

    /// The last purged index and its note.
    #[must_use]
    pub fn purged(&self) -> Option<(u64, Bytes)> {
        self.log.slots.purged.clone()
    }

    /// A slot's newest value.
    #[must_use]
    pub fn get(&self, slot: Slot) -> Option<Bytes> {
        self.log.slots.get(slot).cloned()
    }

    /// The file with a torn tail and how many bytes of it count for nothing: see [`Recovery::cut`](crate::Recovery).
    #[must_use]
    pub fn torn(&self) -> Option<&(PathBuf, u64)> {
        self.torn.as_ref()
    }
}
