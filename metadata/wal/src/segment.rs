//! Segment files: their names, how one is made, and the one that is written.

use crate::format::{HEADER_BYTES, Record, RecordKind, SegmentHeader, VERSION, record_bytes};
use crate::log::{Slot, Slots};
use crate::metrics::WalMetrics;
use crate::{WalConfig, WalError};
use siltstone_disk::{Disk, DiskFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SUFFIX: &str = ".wal";
const TEMPORARY_SUFFIX: &str = ".wal.tmp";
const SPARE_SUFFIX: &str = ".wal.free";

pub(crate) fn segment_path(dir: &Path, id: u64) -> PathBuf {
    dir.join(format!("{id:016x}{SUFFIX}"))
}

/// The id in a segment's file name.
pub(crate) fn segment_id(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(SUFFIX).filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

/// Whether a file is no segment, but one that was to become one or was one once. Such files are worth nothing after a restart. A spare least
/// of all: a crash may have left it as the second name of a segment, where a disk keeps one rename and loses the one before it.
pub(crate) fn is_leftover(name: &str) -> bool {
    name.ends_with(TEMPORARY_SUFFIX) || name.ends_with(SPARE_SUFFIX)
}

/// The name that a purged segment's file gets when it is kept.
pub(crate) fn spare_path(dir: &Path, id: u64) -> PathBuf {
    dir.join(format!("{id:016x}{SPARE_SUFFIX}"))
}

/// The segment that records are appended to. All of its records are durable.
pub(crate) struct ActiveSegment {
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) path: PathBuf,
    pub(crate) id: u64,
    pub(crate) salt: u32,
    /// Where the last record ends.
    pub(crate) len: u32,
    /// The file's length.
    pub(crate) file_bytes: u64,
    /// Whether the file may be longer than its records.
    pub(crate) is_preallocated: bool,
    /// Where the records begin that are its own, not repeated from earlier segments.
    pub(crate) prologue_end: u32,
    /// The highest index of an entry in it, truncated ones included.
    pub(crate) entry_index_max: Option<u64>,
}

/// A segment that is complete.
pub(crate) struct ClosedSegment {
    pub(crate) path: PathBuf,
    pub(crate) id: u64,
    pub(crate) file_bytes: u64,
    pub(crate) entry_index_max: Option<u64>,
}

/// How long a file should be when records are written up to `end`: not shorter, a multiple of `grow_bytes`, and within a segment.
pub(crate) fn grown_bytes(end: u64, file_bytes: u64, config: &WalConfig) -> u64 {
    if end <= file_bytes || config.grow_bytes == 0 {
        return end.max(file_bytes);
    }
    end.next_multiple_of(u64::from(config.grow_bytes)).min(u64::from(config.segment_bytes_max)).max(end)
}

/// Where a new segment stands in the log.
pub(crate) struct Position {
    pub(crate) id: u64,
    pub(crate) first_sequence: u64,
    pub(crate) next_index: u64,
}

/// Where segments are made.
pub(crate) struct Place<'a> {
    pub(crate) disk: &'a dyn Disk,
    pub(crate) dir: &'a Path,
    pub(crate) config: &'a WalConfig,
    pub(crate) metrics: &'a WalMetrics,
}

/// Makes a segment that begins with the values of all slots, so that every segment before it may go once its entries are purged. The file
/// gets its name only when it is durable: a named segment with a broken header is damage, never a torn write.
///
/// `spare` is a file to write it in.
///
/// Gives the segment and the next sequence number.
pub(crate) fn create_segment(
    place: &Place<'_>,
    position: &Position,
    slots: &Slots,
    spare: Option<PathBuf>,
) -> Result<(ActiveSegment, u64), WalError> {
    let Place { disk, dir, config, metrics } = place;
    let (mut bytes, salt, next_sequence) = encode_beginning(position, slots);
    let len = u32::try_from(bytes.len()).expect("a header and a few bounded payloads");
    let path = segment_path(dir, position.id);
    let is_recycled = spare.is_some();
    let temporary = spare.unwrap_or_else(|| dir.join(format!("{:016x}{TEMPORARY_SUFFIX}", position.id)));
    let open = || {
        let file = if is_recycled { disk.open(&temporary)? } else { disk.create_new(&temporary)? };
        let len = file.len()?;
        Ok((file, len))
    };
    let (file, held_bytes) = metrics.watch(open).map_err(|error| WalError::io("create log file", &temporary, error))?;
    let file_bytes = grown_bytes(u64::from(len), held_bytes, config);
    if file_bytes > held_bytes {
        bytes.resize(usize::try_from(file_bytes).expect("a segment fits in memory"), 0);
    }
    metrics.watch(|| file.write_all_at(&bytes, 0)).map_err(|error| WalError::io("write log file", &temporary, error))?;
    metrics.watch_sync(|| file.sync_data()).map_err(|error| WalError::io("sync log file", &temporary, error))?;
    metrics.watch(|| disk.rename_no_replace(&temporary, &path)).map_err(|error| WalError::io("name log file", &path, error))?;
    metrics.watch(|| disk.sync_dir(dir)).map_err(|error| WalError::io("sync log directory", dir, error))?;
    metrics.count_created(is_recycled);
    let active =
        ActiveSegment { file, path, id: position.id, salt, len, file_bytes, is_preallocated: true, prologue_end: len, entry_index_max: None };
    Ok((active, next_sequence))
}

/// A segment's header and prologue, the salt of its records, and the sequence number of the first of its own.
fn encode_beginning(position: &Position, slots: &Slots) -> (Vec<u8>, u32, u64) {
    let mut carried: Vec<(RecordKind, u64, &[u8])> = Vec::new();
    if let Some((index, note)) = &slots.purged {
        carried.push((RecordKind::Purge, *index, note));
    }
    for slot in Slot::ALL {
        if let Some(value) = slots.get(slot) {
            carried.push((slot.record_kind(), 0, value));
        }
    }
    let prologue_bytes: usize = carried.iter().map(|(_, _, payload)| record_bytes(payload.len())).sum();
    let header = SegmentHeader {
        version: VERSION,
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
    debug_assert_eq!(bytes.len(), HEADER_BYTES + prologue_bytes);
    (bytes, salt, sequence)
}
