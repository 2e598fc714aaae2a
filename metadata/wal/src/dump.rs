//! Lists what a log's files hold, for people: nothing is opened for writing, nothing is judged, and damage is listed, not refused.

use crate::WalError;
use crate::format::{HEADER_BYTES, Record, RecordKind, SegmentHeader, record_bytes};
use crate::recover::segment_ids;
use crate::segment::segment_path;
use bytes::Bytes;
use siltstone_disk::Disk;
use std::io;
use std::path::{Path, PathBuf};

/// One segment file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DumpedSegment {
    /// The file.
    pub file: PathBuf,
    /// Its length.
    pub file_bytes: u64,
    /// Its header, or what is wrong with it; then there are no records, as their checksums begin from the header's.
    pub header: Result<DumpedHeader, &'static str>,
    /// Its records, in the order of their offsets.
    pub records: Vec<DumpedRecord>,
    /// Where the last record that follows its predecessors ends. What lies after it is preallocated, of an earlier life of the file, or broken.
    pub end: u64,
}

/// What a segment's header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DumpedHeader {
    /// Version of the format.
    pub version: u32,
    /// The segment's id.
    pub id: u64,
    /// The sequence number of its first record.
    pub first_sequence: u64,
    /// The index that the next entry had when the segment was made.
    pub next_index: u64,
    /// Bytes of records after the header that repeat values from earlier segments.
    pub prologue_bytes: u32,
}

/// A record, or what looks like the beginning of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DumpedRecord {
    /// Where it begins in the file.
    pub offset: u64,
    /// What it says: `entry`, `truncate`, `purge`, `vote`, `committed`, `snapshot`, `identity`, or `unknown` if it is broken.
    pub kind: &'static str,
    /// Its number in the whole log.
    pub sequence: u64,
    /// The entry's index; 0 for values.
    pub index: u64,
    /// Bytes of the file that were durable when it was written.
    pub durable_bytes: u32,
    /// The checksum that it carries.
    pub checksum: u32,
    /// Whether it is whole.
    pub state: RecordState,
    /// Its payload; of a broken record as much as the file holds.
    pub payload: Bytes,
}

/// Whether a record counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordState {
    /// It is whole, and so is every record before it.
    Whole,
    /// Its checksum is wrong.
    Broken,
    /// It is whole, but one before it is not: the rest of a torn write, or a witness of damage.
    Stranded,
}

/// Reads a log's segments in their order, without changing anything. A log that is in use may be read; its last records may then look broken.
///
/// # Errors
/// The directory can't be listed, or a segment is missing between others; later a file can't be read.
pub fn dump<'a>(disk: &'a dyn Disk, dir: &'a Path) -> Result<impl Iterator<Item = Result<DumpedSegment, WalError>> + 'a, WalError> {
    let ids = segment_ids(disk, dir)?;
    Ok(ids.into_iter().map(move |id| {
        let file = segment_path(dir, id);
        let read = || {
            let open = disk.open_read(&file)?;
            let len = usize::try_from(open.len()?).map_err(|_| io::ErrorKind::FileTooLarge)?;
            open.read_exact_at(0, len)
        };
        let bytes = read().map_err(|error| WalError::io("read log file", &file, error))?;
        Ok(dump_segment(file, &bytes))
    }))
}

fn dump_segment(file: PathBuf, bytes: &[u8]) -> DumpedSegment {
    let file_bytes = bytes.len() as u64;
    let (header, salt) = match SegmentHeader::decode(bytes) {
        Ok(decoded) => decoded,
        Err(what) => return DumpedSegment { file, file_bytes, header: Err(what), records: Vec::new(), end: 0 },
    };
    let mut records = Vec::new();
    let (mut end, mut sequence) = (HEADER_BYTES, header.first_sequence);
    while let Some(record) = Record::decode(salt, bytes, end)
        && record.sequence == sequence
    {
        records.push(dumped(bytes, end, &record, RecordState::Whole));
        end += record_bytes(record.payload.len());
        sequence += 1;
    }
    let stranded: Vec<_> = Record::live_after(salt, bytes, end, sequence).collect();
    if let Some(broken) = Record::broken(bytes, end, sequence) {
        records.push(dumped(bytes, end, &broken, RecordState::Broken));
    }
    records.extend(stranded.iter().map(|(offset, record)| dumped(bytes, *offset, record, RecordState::Stranded)));
    let SegmentHeader { version, id, first_sequence, next_index, prologue_bytes } = header;
    let header = Ok(DumpedHeader { version, id, first_sequence, next_index, prologue_bytes });
    DumpedSegment { file, file_bytes, header, records, end: end as u64 }
}

fn dumped(segment: &[u8], offset: usize, record: &Record<'_>, state: RecordState) -> DumpedRecord {
    let checksum = segment.get(offset..offset + 4).map_or(0, |bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")));
    DumpedRecord {
        offset: offset as u64,
        kind: if state == RecordState::Broken { "unknown" } else { name(record.kind) },
        sequence: record.sequence,
        index: record.index,
        durable_bytes: record.durable_bytes,
        checksum,
        state,
        payload: Bytes::copy_from_slice(record.payload),
    }
}

const fn name(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Entry => "entry",
        RecordKind::Truncate => "truncate",
        RecordKind::Purge => "purge",
        RecordKind::Vote => "vote",
        RecordKind::Committed => "committed",
        RecordKind::Snapshot => "snapshot",
        RecordKind::Identity => "identity",
    }
}
