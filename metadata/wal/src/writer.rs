//! Takes what waits, writes it in one piece, syncs once, reports. Driven by the log's own thread, or step by step by a simulation.

use crate::WalConfig;
use crate::WalError;
use crate::format::{Record, RecordKind, record_bytes};
use crate::log::Slots;
use crate::metrics::WalMetrics;
use crate::queue::{Change, Operation};
use crate::recover::Recovered;
use crate::segment::{ActiveSegment, ClosedSegment, Place, Position, create_segment, grown_bytes, spare_path};
use crate::shared::Shared;
use siltstone_disk::Disk;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct Writer {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    config: WalConfig,
    shared: Arc<Shared>,
    metrics: Arc<WalMetrics>,
    active: ActiveSegment,
    /// Oldest first.
    closed: VecDeque<ClosedSegment>,
    /// Files of purged segments to write again.
    spares: Vec<PathBuf>,
    next_sequence: u64,
    /// The log as it is in the files: behind the log in memory by what waits.
    next_index: u64,
    slots: Slots,
    in_flight: Option<InFlight>,
}

/// A batch that is written and not synced.
struct InFlight {
    batch: Vec<Operation>,
    bytes: usize,
    sync_begun: Duration,
}

impl Writer {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        config: WalConfig,
        shared: Arc<Shared>,
        metrics: Arc<WalMetrics>,
        recovered: Recovered,
    ) -> Self {
        let Recovered { active, closed, next_sequence, next_index, slots, .. } = recovered;
        Self { disk, dir, config, shared, metrics, active, closed, spares: Vec::new(), next_sequence, next_index, slots, in_flight: None }
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) const fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Runs until the log is closed or fails.
    pub(crate) fn run(mut self) {
        while self.shared.wait_for_work() && self.begin() && self.finish() {}
    }

    /// Takes the next batch and writes it. False when there is none or the log failed.
    pub(crate) fn begin(&mut self) -> bool {
        let _guard = PoisonOnPanic(self.shared.clone());
        debug_assert!(self.in_flight.is_none(), "one batch at a time");
        let batch = self.shared.next_batch(&self.config);
        if batch.is_empty() {
            return false;
        }
        match self.write(&batch) {
            Ok(bytes) => {
                let sync_begun = self.metrics.mark_busy();
                self.in_flight = Some(InFlight { batch, bytes, sync_begun });
                true
            }
            Err(error) => {
                self.shared.fail(error, batch);
                false
            }
        }
    }

    /// Syncs the batch in flight, reports it, and removes what it purged. False when the log failed.
    pub(crate) fn finish(&mut self) -> bool {
        let _guard = PoisonOnPanic(self.shared.clone());
        let Some(InFlight { batch, bytes, sync_begun }) = self.in_flight.take() else { return true };
        let synced = self.active.file.sync_data();
        self.metrics.mark_idle();
        self.metrics.count_sync(sync_begun);
        if let Err(error) = synced {
            self.shared.fail(WalError::io("sync log file", &self.active.path, error), batch);
            return false;
        }
        self.active.len += u32::try_from(bytes).expect("the queue bounds a batch far below 4 GiB");
        self.metrics.count_batch(batch.len(), bytes);
        let purges = batch.iter().any(|operation| matches!(operation.change, Change::Purge { .. }));
        self.shared.settle(&batch);
        for operation in batch {
            if let Some(done) = operation.done {
                done(Ok(()));
            }
        }
        if purges && let Err(error) = self.remove_purged() {
            self.shared.fail(error, Vec::new());
            return false;
        }
        true
    }

    /// Forgets the batch in flight, as a killed process does. Its callbacks are dropped, not called.
    pub(crate) fn forget(&mut self) {
        if self.in_flight.take().is_some() {
            self.metrics.mark_idle();
        }
    }

    /// Writes a batch behind what is durable. Gives the bytes of its records.
    fn write(&mut self, batch: &[Operation]) -> Result<usize, WalError> {
        let len: usize = batch.iter().map(|operation| change_bytes(&operation.change)).sum();
        let has_own_records = self.active.len > self.active.prologue_end;
        if has_own_records && self.active.len as usize + len > self.config.segment_bytes_max as usize {
            self.rotate()?;
        }
        let start = u64::from(self.active.len);
        let end = start + len as u64;
        let padded_end = match &self.active {
            ActiveSegment { is_preallocated: true, file_bytes, .. } => grown_bytes(end, *file_bytes, &self.config),
            _ => end,
        };
        // What lies behind the records in a file that is long enough already stays as it is.
        let write_bytes = if padded_end > self.active.file_bytes { padded_end - start } else { len as u64 };
        let write_bytes = usize::try_from(write_bytes).expect("a segment fits in memory");
        let mut bytes = Vec::with_capacity(write_bytes);
        for operation in batch {
            self.encode(&operation.change, &mut bytes);
        }
        debug_assert_eq!(bytes.len(), len);
        bytes.resize(write_bytes, 0);
        let ActiveSegment { file, path, file_bytes, .. } = &mut self.active;
        self.metrics.watch(|| file.write_all_at(&bytes, start)).map_err(|error| WalError::io("write log file", path, error))?;
        *file_bytes = padded_end.max(*file_bytes);
        Ok(len)
    }

    fn encode(&mut self, change: &Change, out: &mut Vec<u8>) {
        match change {
            Change::Append { first_index, payloads } => {
                for (index, payload) in (*first_index..).zip(payloads) {
                    self.encode_record(RecordKind::Entry, index, payload, out);
                    self.active.entry_index_max = self.active.entry_index_max.max(Some(index));
                    self.next_index = index + 1;
                }
            }
            Change::Truncate { index } => {
                self.encode_record(RecordKind::Truncate, *index, &[], out);
                self.next_index = *index;
            }
            Change::Purge { index, note } => {
                self.encode_record(RecordKind::Purge, *index, note, out);
                self.slots.purge(*index, note.clone());
                self.next_index = self.next_index.max(index + 1);
            }
            Change::Set { slot, value } => {
                self.encode_record(slot.record_kind(), 0, value, out);
                self.slots.set(*slot, value.clone());
            }
        }
    }

    fn encode_record(&mut self, kind: RecordKind, index: u64, payload: &[u8], out: &mut Vec<u8>) {
        let record = Record { kind, durable_bytes: self.active.len, sequence: self.next_sequence, index, payload };
        record.encode(self.active.salt, out);
        self.next_sequence += 1;
    }

    /// Begins a new segment. The present one is durable to its end, as the last batch was synced.
    fn rotate(&mut self) -> Result<(), WalError> {
        let position = Position { id: self.active.id + 1, first_sequence: self.next_sequence, next_index: self.next_index };
        let spare = self.spares.pop();
        let place = Place { disk: self.disk.as_ref(), dir: &self.dir, config: &self.config, metrics: &self.metrics };
        let (active, next_sequence) = create_segment(&place, &position, &self.slots, spare)?;
        let full = std::mem::replace(&mut self.active, active);
        let ActiveSegment { path, id, file_bytes, entry_index_max, .. } = full;
        self.closed.push_back(ClosedSegment { path, id, file_bytes, entry_index_max });
        self.next_sequence = next_sequence;
        Ok(())
    }

    /// Removes the oldest segments whose entries are all purged, or keeps their files for later. One at a time with a sync of the directory after
    /// each: two un-synced removals might survive a crash in the wrong order and leave a gap.
    fn remove_purged(&mut self) -> Result<(), WalError> {
        let Some((purged, _)) = &self.slots.purged else { return Ok(()) };
        while let Some(oldest) = self.closed.front()
            && oldest.entry_index_max.is_none_or(|max| max <= *purged)
        {
            let path = &oldest.path;
            // A payload may be longer than a segment should be: such a file is not worth its space.
            let is_kept = self.spares.len() < self.config.spare_segments_max && oldest.file_bytes <= u64::from(self.config.segment_bytes_max);
            let spare = is_kept.then(|| spare_path(&self.dir, oldest.id));
            match &spare {
                Some(spare) => self.metrics.watch(|| self.disk.rename(path, spare)),
                None => self.metrics.watch(|| self.disk.remove_file(path)),
            }
            .map_err(|error| WalError::io("remove log file", path, error))?;
            self.metrics.watch(|| self.disk.sync_dir(&self.dir)).map_err(|error| WalError::io("sync log directory", &self.dir, error))?;
            self.metrics.count_removed();
            // Written again only now that it is durable that the file is no segment any more.
            self.spares.extend(spare);
            self.closed.pop_front();
        }
        Ok(())
    }
}

fn change_bytes(change: &Change) -> usize {
    match change {
        Change::Append { payloads, .. } => payloads.iter().map(|payload| record_bytes(payload.len())).sum(),
        Change::Truncate { .. } => record_bytes(0),
        Change::Purge { note: payload, .. } | Change::Set { value: payload, .. } => record_bytes(payload.len()),
    }
}

/// A panic (of a callback, say) must not leave callers waiting for ever.
struct PoisonOnPanic(Arc<Shared>);

impl Drop for PoisonOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(WalError::Closed, Vec::new());
        }
    }
}
