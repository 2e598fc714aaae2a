//! Opening a log: reading all segments, cutting a torn tail, refusing damage.
//!
//! A crash may tear only what was written after the last sync that succeeded: a tail of the last segment. Everything else that does not
//! read back as it was written is damage, and the log does not open.

use crate::WalError;
use crate::format::{HEADER_BYTES, Record, RecordKind, SegmentHeader, record_bytes};
use crate::log::{Log, Slots};
use crate::metrics::WalMetrics;
use crate::segment::{ActiveSegment, ClosedSegment, Position, create_segment, is_temporary, segment_id, segment_path};
use siltstone_disk::{Disk, DiskFile, create_dir_durable};
use std::collections::VecDeque;
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
    /// acknowledged.
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

pub(crate) fn recover(disk: &dyn Disk, dir: &Path, metrics: &WalMetrics) -> Result<Recovered, WalError> {
    create_dir_durable(disk, dir).map_err(|error| WalError::io("create log directory", dir, error))?;
    let ids = list_segments(disk, dir)?;
    let Some((last_id, earlier)) = ids.split_last() else { return create_first(disk, dir, metrics) };

    let mut replay: Option<Replay> = None;
    let mut closed = VecDeque::new();
    for id in earlier {
        let path = segment_path(dir, *id);
        let (_, bytes) = read_file(disk, &path)?;
        let scan = scan(&path, &bytes, *id, &mut replay)?;
        if scan.end < bytes.len() {
            return Err(WalError::corrupt(&path, scan.end, "a record is broken, and a later file follows"));
        }
        closed.push_back(ClosedSegment { path, entry_index_max: scan.entry_index_max });
    }
    let path = segment_path(dir, *last_id);
    let (file, bytes) = read_file(disk, &path)?;
    let scan = scan(&path, &bytes, *last_id, &mut replay)?;
    let Replay { log, next_sequence } = replay.expect("a segment was scanned");
    let cut = mend_tail(file.as_ref(), &path, &bytes, &scan, metrics)?.map(|cut| (path.clone(), cut));
    // A name that a killed process left behind un-synced would go at the next loss of power.
    metrics.watch(|| disk.sync_dir(dir)).map_err(|error| WalError::io("sync log directory", dir, error))?;

    let span = log.span();
    // Sequence numbers tell that nothing is missing after the first file; what was before it, if anything, must be purged.
    let is_whole = ids[0] == 1 || log.slots.purged.as_ref().is_some_and(|(purged, _)| purged + 1 == span.first);
    if !is_whole {
        return Err(WalError::corrupt(&segment_path(dir, ids[0]), 0, "entries before this file are missing and were not purged"));
    }
    let recovery = Recovery { is_new: false, segments: ids.len(), entries: span.next - span.first, cut };
    let active = ActiveSegment {
        file,
        path,
        id: *last_id,
        salt: scan.salt,
        len: as_len(scan.end)?,
        prologue_end: as_len(scan.prologue_end)?,
        entry_index_max: scan.entry_index_max,
    };
    let slots = log.slots.clone();
    Ok(Recovered { log, active, closed, next_sequence, next_index: span.next, slots, recovery })
}

fn as_len(bytes: usize) -> Result<u32, WalError> {
    u32::try_from(bytes).map_err(|_| WalError::Corrupt { file: PathBuf::new(), offset: 0, what: "a segment is too long" })
}

fn create_first(disk: &dyn Disk, dir: &Path, metrics: &WalMetrics) -> Result<Recovered, WalError> {
    let position = Position { id: 1, first_sequence: 1, next_index: 0 };
    let (active, next_sequence) = create_segment(disk, dir, &position, &Slots::default(), metrics)?;
    let recovery = Recovery { is_new: true, ..Recovery::default() };
    let (log, slots) = (Log::starting_at(0), Slots::default());
    Ok(Recovered { log, active, closed: VecDeque::new(), next_sequence, next_index: 0, slots, recovery })
}

/// The ids of all segments, in order and without a gap. Files that never got their name are removed.
fn list_segments(disk: &dyn Disk, dir: &Path) -> Result<Vec<u64>, WalError> {
    let entries = disk.list_dir(dir).map_err(|error| WalError::io("list log directory", dir, error))?;
    let mut ids = Vec::new();
    for entry in entries {
        if let Some(id) = segment_id(&entry.name) {
            ids.push(id);
        } else if is_temporary(&entry.name) {
            let path = dir.join(&entry.name);
            disk.remove_file(&path).map_err(|error| WalError::io("remove unfinished log file", &path, error))?;
        }
    }
    ids.sort_unstable();
    if let Some(gap) = ids.windows(2).find(|pair| pair[1] != pair[0] + 1) {
        return Err(WalError::corrupt(&segment_path(dir, gap[0] + 1), 0, "the file is missing between others"));
    }
    Ok(ids)
}

fn read_file(disk: &dyn Disk, path: &Path) -> Result<(Arc<dyn DiskFile>, Vec<u8>), WalError> {
    let read = || {
        let file = disk.open(path)?;
        let len = usize::try_from(file.len()?).map_err(|_| std::io::ErrorKind::FileTooLarge)?;
        let bytes = file.read_exact_at(0, len)?;
        Ok((file, bytes))
    };
    read().map_err(|error| WalError::io("read log file", path, error))
}

/// What was read so far.
struct Replay {
    log: Log,
    next_sequence: u64,
}

struct Scan {
    salt: u32,
    /// Where the last good record ends.
    end: usize,
    prologue_end: usize,
    /// Bytes that a later write proves to be durable.
    proven: usize,
    entry_index_max: Option<u64>,
}

/// Reads a segment's records into the log, up to its end or to a tail that may be a torn write. Damage that cannot be one is an error.
fn scan(path: &Path, bytes: &[u8], id: u64, replay: &mut Option<Replay>) -> Result<Scan, WalError> {
    let corrupt = |offset, what| WalError::corrupt(path, offset, what);
    let (header, salt) = SegmentHeader::decode(bytes).map_err(|what| corrupt(0, what))?;
    if header.id != id {
        return Err(corrupt(0, "the file has another segment's name"));
    }
    let replay = replay.get_or_insert_with(|| Replay { log: Log::starting_at(header.next_index), next_sequence: header.first_sequence });
    if header.first_sequence != replay.next_sequence {
        return Err(corrupt(0, "records between this file and the one before are missing"));
    }
    if header.next_index != replay.log.span().next {
        return Err(corrupt(0, "the file does not go on where the one before ended"));
    }
    let prologue_end = HEADER_BYTES + header.prologue_bytes as usize;
    let mut scan = Scan { salt, end: HEADER_BYTES, prologue_end, proven: prologue_end, entry_index_max: None };
    while let Some(record) = Record::decode(salt, bytes, scan.end) {
        if record.sequence != replay.next_sequence {
            return Err(corrupt(scan.end, "a record is not the next one"));
        }
        if record.durable_bytes as usize > scan.end {
            return Err(corrupt(scan.end, "a record says that bytes after it were durable before it"));
        }
        replay.log.replay(&record).map_err(|what| corrupt(scan.end, what))?;
        if record.kind == RecordKind::Entry {
            scan.entry_index_max = scan.entry_index_max.max(Some(record.index));
        }
        replay.next_sequence += 1;
        scan.proven = scan.proven.max(record.durable_bytes as usize);
        scan.end += record_bytes(record.payload.len());
    }
    if scan.end < prologue_end {
        return Err(corrupt(scan.end, "a record that was durable before the file got its name is broken"));
    }
    if scan.end < bytes.len() && Record::proves_durable(salt, bytes, scan.end) {
        return Err(corrupt(scan.end, "a record is broken, and a later one shows that it was durable"));
    }
    Ok(scan)
}

/// Cuts what is torn and makes durable what was read. Gives the number of bytes cut.
///
/// Records of the last write may be in the system's memory only: because the process was killed before its sync, or because the sync failed
/// and the system has since taken the bytes for clean. They are written once more, as a sync alone would not help in the second case.
fn mend_tail(file: &dyn DiskFile, path: &Path, bytes: &[u8], scan: &Scan, metrics: &WalMetrics) -> Result<Option<u64>, WalError> {
    let cut = bytes.len() - scan.end;
    if cut == 0 && scan.end == scan.proven {
        return Ok(None);
    }
    if cut > 0 {
        tracing::warn!(file = %path.display(), offset = scan.end, bytes = cut, "cut the torn tail of the log: a write that a crash broke off, not acknowledged unless the disk lost what it had reported as durable");
        metrics.watch(|| file.set_len(scan.end as u64)).map_err(|error| WalError::io("cut log file", path, error))?;
    }
    let unproven = &bytes[scan.proven..scan.end];
    if !unproven.is_empty() {
        metrics.watch(|| file.write_all_at(unproven, scan.proven as u64)).map_err(|error| WalError::io("rewrite log file", path, error))?;
    }
    metrics.watch_sync(|| file.sync_data()).map_err(|error| WalError::io("sync log file", path, error))?;
    Ok((cut > 0).then_some(cut as u64))
}
