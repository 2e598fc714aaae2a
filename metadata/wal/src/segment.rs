//! Segment files: their names, how one is made, and the one that is written.

use crate::WalError;
use crate::format::{HEADER_BYTES, Record, RecordKind, SegmentHeader};
use crate::log::{Slot, Slots};
use crate::metrics::WalMetrics;
use siltstone_disk::{Disk, DiskFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SUFFIX: &str = ".wal";
const TEMPORARY_SUFFIX: &str = ".wal.tmp";

pub(crate) fn segment_path(dir: &Path, id: u64) -> PathBuf {
    dir.join(format!("{id:016x}{SUFFIX}"))
}

/// The id in a segment's file name.
pub(crate) fn segment_id(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(SUFFIX).filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

pub(crate) fn is_temporary(name: &str) -> bool {
    name.ends_with(TEMPORARY_SUFFIX)
}

/// The segment that records are appended to. All of its bytes are durable.
pub(crate) struct ActiveSegment {
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) path: PathBuf,
    pub(crate) id: u64,
    pub(crate) salt: u32,
    pub(crate) len: u32,
    /// Where the records begin that are its own, not repeated from earlier segments.
    pub(crate) prologue_end: u32,
    /// The highest index of an entry in it, truncated ones included.
    pub(crate) entry_index_max: Option<u64>,
}

/// A segment that is complete.
pub(crate) struct ClosedSegment {
    pub(crate) path: PathBuf,
    pub(crate) entry_index_max: Option<u64>,
}

/// Where a new segment stands in the log.
pub(crate) struct Position {
    pub(crate) id: u64,
    pub(crate) first_sequence: u64,
    pub(crate) next_index: u64,
}

/// Makes a segment that begins with the values of all slots, so that every segment before it may go once its entries are purged. The file
/// gets its name only when it is durable: a named segment with a broken header is damage, never a torn write.
///
/// Gives the segment and the next sequence number.
pub(crate) fn create_segment(
    disk: &dyn Disk,
    dir: &Path,
    position: &Position,
    slots: &Slots,
    metrics: &WalMetrics,
) -> Result<(ActiveSegment, u64), WalError> {
    let mut carried: Vec<(RecordKind, u64, &[u8])> = Vec::new();
    if let Some((index, note)) = &slots.purged {
        carried.push((RecordKind::Purge, *index, note));
    }
    for slot in Slot::ALL {
        if let Some(value) = slots.get(slot) {
            carried.push((slot.record_kind(), 0, value));
        }
    }
    let prologue_bytes: usize = carried.iter().map(|(_, _, payload)| crate::format::record_bytes(payload.len())).sum();
    let header = SegmentHeader {
        id: position.id,
        first_sequence: position.first_sequence,
        next_index: position.next_index,
        prologue_bytes: u32::try_from(prologue_bytes).expect("a few payloads, each bounded"),
    };
    let mut bytes = header.encode().to_vec();
    let (_, salt) = SegmentHeader::decode(&bytes).expect("it was just encoded");
    let mut sequence = position.first_sequence;
    for (kind, index, payload) in carried {
        Record { kind, durable_bytes: 0, sequence, index, payload }.encode(salt, &mut bytes);
        sequence += 1;
    }

    let path = segment_path(dir, position.id);
    let temporary = dir.join(format!("{:016x}{TEMPORARY_SUFFIX}", position.id));
    let file = metrics.watch(|| disk.create_new(&temporary)).map_err(|error| WalError::io("create log file", &temporary, error))?;
    metrics.watch(|| file.write_all_at(&bytes, 0)).map_err(|error| WalError::io("write log file", &temporary, error))?;
    metrics.watch_sync(|| file.sync_data()).map_err(|error| WalError::io("sync log file", &temporary, error))?;
    metrics.watch(|| disk.rename_no_replace(&temporary, &path)).map_err(|error| WalError::io("name log file", &path, error))?;
    metrics.watch(|| disk.sync_dir(dir)).map_err(|error| WalError::io("sync log directory", dir, error))?;
    metrics.count_created();
    let len = u32::try_from(bytes.len()).expect("a header and a few bounded payloads");
    debug_assert_eq!(len as usize, HEADER_BYTES + prologue_bytes);
    let active = ActiveSegment { file, path, id: position.id, salt, len, prologue_end: len, entry_index_max: None };
    Ok((active, sequence))
}
