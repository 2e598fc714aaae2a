//! Reads one segment's records into the log, and makes its end fit to go on from.

use crate::WalError;
use crate::format::{HEADER_BYTES, Record, RecordKind, SegmentHeader, record_bytes};
use crate::log::Log;
use crate::metrics::WalMetrics;
use crate::segment::segment_path;
use siltstone_disk::DiskFile;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A segment file, read whole.
pub(crate) struct SegmentFile {
    pub(crate) file: Arc<dyn DiskFile>,
    pub(crate) path: PathBuf,
    pub(crate) id: u64,
    pub(crate) bytes: Vec<u8>,
}

impl SegmentFile {
    pub(crate) fn read(dir: &Path, id: u64, open: impl Fn(&Path) -> io::Result<Arc<dyn DiskFile>>) -> Result<Self, WalError> {
        let path = segment_path(dir, id);
        let read = || {
            let file = open(&path)?;
            let len = usize::try_from(file.len()?).map_err(|_| io::ErrorKind::FileTooLarge)?;
            let bytes = file.read_exact_at(0, len)?;
            Ok((file, bytes))
        };
        let (file, bytes) = read().map_err(|error| WalError::io("read log file", &path, error))?;
        Ok(Self { file, path, id, bytes })
    }
}

/// What was read so far.
pub(crate) struct Replay {
    pub(crate) log: Log,
    pub(crate) next_sequence: u64,
}

/// What a segment's records say about its file.
pub(crate) struct Scan {
    pub(crate) header: SegmentHeader,
    pub(crate) salt: u32,
    /// Where the last good record ends.
    pub(crate) end: usize,
    pub(crate) prologue_end: usize,
    /// Bytes that a later write proves to be durable.
    proven: usize,
    pub(crate) entry_index_max: Option<u64>,
}

/// Reads a segment's records into the log, up to its end or to a tail that may be a torn write. Damage that cannot be one is an error.
pub(crate) fn scan(file: &SegmentFile, replay: &mut Option<Replay>) -> Result<Scan, WalError> {
    let bytes = &file.bytes;
    let corrupt = |offset, what| WalError::corrupt(&file.path, offset, what);
    let (header, salt) = SegmentHeader::decode(bytes).map_err(|what| corrupt(0, what))?;
    if header.id != file.id {
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
    let mut scan = Scan { header, salt, end: HEADER_BYTES, prologue_end, proven: prologue_end, entry_index_max: None };
    while let Some(record) = Record::decode(salt, bytes, scan.end) {
        // An earlier life's record whose checksum fits by the chance of 1 in 2³².
        if record.sequence < header.first_sequence {
            break;
        }
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
    Ok(scan)
}

impl Scan {
    /// Why what does not read back at the end of the last segment cannot be a torn write, if it cannot.
    ///
    /// Records of one write may reach the medium in any order, so a later record alone proves nothing; but one of a later write does: that
    /// write began only after the sync of the one before.
    pub(crate) fn proof_of_damage(&self, file: &SegmentFile, next_sequence: u64) -> Option<&'static str> {
        let proves = |(offset, record): (usize, Record<'_>)| {
            let durable = record.durable_bytes as usize;
            durable > self.end && durable <= offset
        };
        let is_proven = Record::live_after(self.salt, &file.bytes, self.end, next_sequence).any(proves);
        is_proven.then_some("a record is broken, and a later one shows that it was durable")
    }

    /// Where the remains of a torn write end; `end` when there are none.
    ///
    /// In a preallocated file that is the last whole record of this life. Had it stayed, a new record of the right length before it would bring
    /// it back to life. Pieces of records need not go: a record is whole only when all of it was written as it was, and the next write begins
    /// where the first piece does.
    pub(crate) fn torn_end(&self, file: &SegmentFile, next_sequence: u64) -> usize {
        let file_end = file.bytes.len();
        if !self.header.is_preallocated() {
            return file_end;
        }
        let broken = Record::broken(&file.bytes, self.end, next_sequence);
        let broken_end = broken.map_or(self.end, |record| (self.end + record_bytes(record.payload.len())).min(file_end));
        Record::live_after(self.salt, &file.bytes, self.end, next_sequence)
            .map(|(offset, record)| offset + record_bytes(record.payload.len()))
            .fold(broken_end, usize::max)
    }
}

/// Cuts what is torn and makes durable what was read. Gives the number of bytes cut, if there was a torn tail, and the file's length.
///
/// Records of the last write may be in the system's memory only: because the process was killed before its sync, or because the sync failed
/// and the system has since taken the bytes for clean. They are written once more, as a sync alone would not help in the second case.
pub(crate) fn mend_tail(file: &SegmentFile, scan: &Scan, next_sequence: u64, metrics: &WalMetrics) -> Result<(Option<u64>, u64), WalError> {
    let torn_end = scan.torn_end(file, next_sequence);
    let SegmentFile { file, path, bytes, .. } = file;
    let cut = torn_end - scan.end;
    let mut file_bytes = bytes.len();
    if cut == 0 && scan.end == scan.proven {
        return Ok((None, file_bytes as u64));
    }
    let mut rewritten = bytes[scan.proven..scan.end].to_vec();
    if cut > 0 {
        tracing::warn!(file = %path.display(), offset = scan.end, bytes = cut, "cut the torn tail of the log: a write that a crash broke off, not acknowledged unless the disk lost what it had reported as durable");
        if scan.header.is_preallocated() {
            rewritten.resize(rewritten.len() + cut, 0);
        } else {
            metrics.watch(|| file.set_len(scan.end as u64)).map_err(|error| WalError::io("cut log file", path, error))?;
            file_bytes = scan.end;
        }
    }
    if !rewritten.is_empty() {
        metrics.watch(|| file.write_all_at(&rewritten, scan.proven as u64)).map_err(|error| WalError::io("rewrite log file", path, error))?;
    }
    metrics.watch_sync(|| file.sync_data()).map_err(|error| WalError::io("sync log file", path, error))?;
    Ok(((cut > 0).then_some(cut as u64), file_bytes as u64))
}
