//! Opening a log: reading all segments, cutting a torn tail, refusing damage.
//!
//! A crash may tear only what was written after the last sync that succeeded: a tail of the last segment. Everything else that does not
//! read back as it was written is damage, and the log does not open.

use crate::WalError;
use crate::format::SegmentHeader;
use crate::log::{Log, Slots};
use crate::scan::{Replay, Scan, SegmentFile, mend_tail, scan};
use crate::segment::{ActiveSegment, ClosedSegment, Place, Position, create_segment, is_leftover, segment_id, segment_path};
use siltstone_disk::{Disk, DiskFile, create_dir_durable};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What opening a log found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recovery {
    /// There was no log: a new one was made.
    pub is_new: bool,
    /// Segment files that were read.
    pub segments: usize,
    /// Entries that the log holds.
    pub entries: u64,
    /// The file whose torn tail was cut, and how many bytes went. Unless the disk lost what it had reported as durable, none of them was
    /// acknowledged. A torn record of which not even the beginning reached a recycled file can't be told from what stood there before: then
    /// there is nothing to cut.
    pub cut: Option<(PathBuf, u64)>,
}

/// Everything that the log's thread goes on with.
pub(crate) struct Recovered {
    pub(crate) log: Log,
    pub(crate) active: ActiveSegment,
    pub(crate) closed: VecDeque<ClosedSegment>,
    pub(crate) next_sequence: u64,
    pub(crate) next_index: u64,
    pub(crate) slots: Slots,
    pub(crate) recovery: Recovery,
}

/// All segments of a log, read and found sound.
pub(crate) struct Segments {
    pub(crate) log: Log,
    pub(crate) next_sequence: u64,
    pub(crate) closed: VecDeque<ClosedSegment>,
    /// The one that goes on.
    pub(crate) last: SegmentFile,
    pub(crate) scan: Scan,
}

pub(crate) fn recover(place: &Place<'_>) -> Result<Recovered, WalError> {
    let Place { disk, dir, metrics, .. } = place;
    create_dir_durable(*disk, dir).map_err(|error| WalError::io("create log directory", dir, error))?;
    remove_leftovers(*disk, dir)?;
    let ids = segment_ids(*disk, dir)?;
    let Some(read) = read_segments(dir, &ids, |path| disk.open(path))? else { return create_first(place) };
    let Segments { log, next_sequence, closed, last: current, scan } = read;
    let (cut, file_bytes) = mend_tail(&current, &scan, next_sequence, metrics)?;
    // A name that a killed process left behind un-synced would go at the next loss of power.
    metrics.watch(|| disk.sync_dir(dir)).map_err(|error| WalError::io("sync log directory", dir, error))?;

    let span = log.span();
    let SegmentFile { file, path, id, .. } = current;
    let cut = cut.map(|bytes| (path.clone(), bytes));
    let recovery = Recovery { is_new: false, segments: ids.len(), entries: span.next - span.first, cut };
    let as_len = |bytes: usize| u32::try_from(bytes).map_err(|_| WalError::corrupt(&path, 0, "the file is too long"));
    let active = ActiveSegment {
        id,
        salt: scan.salt,
        len: as_len(scan.end)?,
        file_bytes,
        is_preallocated: scan.header.is_preallocated(),
        prologue_end: as_len(scan.prologue_end)?,
        entry_index_max: scan.entry_index_max,
        file,
        path,
    };
    let slots = log.slots.clone();
    Ok(Recovered { log, active, closed, next_sequence, next_index: span.next, slots, recovery })
}

/// Reads the segments with these ids, in order; `None` where there are none. Changes nothing.
pub(crate) fn read_segments(dir: &Path, ids: &[u64], open: impl Fn(&Path) -> io::Result<Arc<dyn DiskFile>>) -> Result<Option<Segments>, WalError> {
    let Some(first_id) = ids.first() else { return Ok(None) };
    let mut replay: Option<Replay> = None;
    let mut closed = VecDeque::new();
    let mut last = SegmentFile::read(dir, *first_id, &open)?;
    for id in &ids[1..] {
        let next = SegmentFile::read(dir, *id, &open)?;
        let scan = scan(&last, &mut replay)?;
        check_complete(&last, &scan, &next, replay.as_ref())?;
        let SegmentFile { path, bytes, id, .. } = std::mem::replace(&mut last, next);
        closed.push_back(ClosedSegment { path, id, file_bytes: bytes.len() as u64, entry_index_max: scan.entry_index_max });
    }
    let scan = scan(&last, &mut replay)?;
    let Replay { log, next_sequence } = replay.expect("a segment was scanned");
    if let Some(proof) = scan.proof_of_damage(&last, next_sequence) {
        return Err(WalError::corrupt(&last.path, scan.end, proof));
    }
    // Sequence numbers tell that nothing is missing after the first file; what was before it, if anything, must be purged.
    let is_whole = *first_id == 1 || log.slots.purged.as_ref().is_some_and(|(purged, _)| purged + 1 == log.span().first);
    if !is_whole {
        return Err(WalError::corrupt(&segment_path(dir, *first_id), 0, "entries before this file are missing and were not purged"));
    }
    Ok(Some(Segments { log, next_sequence, closed, last, scan }))
}

fn create_first(place: &Place<'_>) -> Result<Recovered, WalError> {
    let position = Position { id: 1, first_sequence: 1, next_index: 0 };
    let (active, next_sequence) = create_segment(place, &position, &Slots::default(), None)?;
    let recovery = Recovery { is_new: true, ..Recovery::default() };
    let (log, slots) = (Log::starting_at(0), Slots::default());
    Ok(Recovered { log, active, closed: VecDeque::new(), next_sequence, next_index: 0, slots, recovery })
}

/// Removes files that are no segments.
fn remove_leftovers(disk: &dyn Disk, dir: &Path) -> Result<(), WalError> {
    let entries = disk.list_dir(dir).map_err(|error| WalError::io("list log directory", dir, error))?;
    for entry in entries.iter().filter(|entry| is_leftover(&entry.name)) {
        let path = dir.join(&entry.name);
        disk.remove_file(&path).map_err(|error| WalError::io("remove unused log file", &path, error))?;
    }
    Ok(())
}

/// Whether a directory holds a log, sound or not. Changes nothing, where opening it would make one.
///
/// # Errors
/// [`WalError`] when the directory is there and can't be looked at.
pub fn holds_log(disk: &dyn Disk, dir: &Path) -> Result<bool, WalError> {
    match disk.list_dir(dir) {
        Ok(entries) => Ok(entries.iter().any(|entry| segment_id(&entry.name).is_some())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(WalError::io("list log directory", dir, error)),
    }
}

/// The ids of all segments, in order and without a gap.
pub(crate) fn segment_ids(disk: &dyn Disk, dir: &Path) -> Result<Vec<u64>, WalError> {
    let entries = disk.list_dir(dir).map_err(|error| WalError::io("list log directory", dir, error))?;
    let mut ids: Vec<u64> = entries.iter().filter_map(|entry| segment_id(&entry.name)).collect();
    ids.sort_unstable();
    match ids.windows(2).find(|pair| pair[1] != pair[0] + 1) {
        Some(gap) => Err(WalError::corrupt(&segment_path(dir, gap[0] + 1), 0, "the file is missing between others")),
        None => Ok(ids),
    }
}

/// That a segment which others follow is whole.
fn check_complete(file: &SegmentFile, scan: &Scan, next: &SegmentFile, replay: Option<&Replay>) -> Result<(), WalError> {
    let what = "a record is broken, and a later file follows";
    let (follows, _) = SegmentHeader::decode(&next.bytes).map_err(|what| WalError::corrupt(&next.path, 0, what))?;
    let is_short = replay.is_some_and(|replay| replay.next_sequence < follows.first_sequence);
    let has_rest = !scan.header.is_preallocated() && scan.end < file.bytes.len();
    if is_short || has_rest { Err(WalError::corrupt(&file.path, scan.end, what)) } else { Ok(()) }
}
