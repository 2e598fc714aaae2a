//! One flush: encode the batch, put it on the object store, commit it, tell which slices exist.

use super::append::Flush;
use super::error::IngestError;
use super::group::GroupHealth;
use super::storage::StorageHealth;
use crate::Patience;
use crate::keys;
use crate::view::LiveRows;
use bytes::Bytes;
use siltstone_core::{BatchId, CommitToken, Epoch, ErrorKind, NamespaceId};
use siltstone_format::Rows;
use siltstone_format::batch::BatchWriter;
use siltstone_format::command::{ClientKey, CommitBatch, SliceCommit, SliceOutcome};
use siltstone_format::manifest::{BatchRecord, CheckedRange};
use siltstone_metadata_client::{ClientError, MetadataClient, MetadataClientExt};
use siltstone_store::ObjectStore;
use std::sync::Arc;
use tokio::sync::watch;

/// What flushes need.
#[derive(Clone)]
pub(super) struct Flusher {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) metadata: Arc<dyn MetadataClient>,
    pub(super) live: Arc<LiveRows>,
    pub(super) patience: Patience,
    pub(super) storage: StorageHealth,
    pub(super) group: GroupHealth,
}

/// A committed flush.
#[derive(Debug)]
pub(super) struct Flushed {
    pub(super) token: CommitToken,
    /// Client batches that had come before.
    pub(super) duplicates: Vec<(NamespaceId, ClientKey)>,
}

/// The order of commits: batches are encoded and put side by side, but a chunk's offsets must be committed one after another.
pub(super) struct Turn {
    /// Fulfilled by the flush before; `None` for the first.
    before: Option<watch::Receiver<bool>>,
    after: watch::Sender<bool>,
}

impl Turn {
    /// The turn after the one that `before` is told of, and what tells of this one.
    pub(super) fn after(before: Option<watch::Receiver<bool>>) -> (Self, watch::Receiver<bool>) {
        let (after, told) = watch::channel(false);
        (Self { before, after }, told)
    }

    /// Waits until the flush before is committed.
    async fn come(&self) -> Result<(), IngestError> {
        let Some(mut before) = self.before.clone() else { return Ok(()) };
        match before.wait_for(|is_committed| *is_committed).await {
            Ok(_) => Ok(()),
            Err(_) => Err(IngestError::Restarted { cause: "the flush before failed".to_owned(), kind: ErrorKind::Unavailable }),
        }
    }

    fn pass_on(&self) {
        // Nobody may wait: this is the last flush for now.
        let _ = self.after.send(true);
    }
}

struct Encoded {
    bytes: Bytes,
    commit: CommitBatch,
    rows: Vec<Arc<Rows>>,
}

impl Flusher {
    /// Makes a flush's rows durable, then existent. Nothing is acknowledged before this returns (AK-1).
    pub(super) async fn flush(&self, flush: Flush, epoch: Epoch, batch: BatchId, turn: Turn) -> Result<Flushed, IngestError> {
        if flush.slices.is_empty() {
            turn.come().await?;
            let token = self.metadata.close_chunks(epoch, flush.close).await?;
            turn.pass_on();
            return Ok(Flushed { token, duplicates: Vec::new() });
        }
        let encoded = tokio::task::spawn_blocking(move || encode(flush, epoch, batch)).await.map_err(|_| IngestError::Stopping)?;
        let Encoded { bytes, commit, rows } = encoded;
        let key = keys::of_batch(&self.metadata.manifest(), epoch, batch);
        let put = self.store.put(&key, bytes).await;
        self.storage.learn(put.as_ref().copied());
        put?;
        // Before the commit, so that no view ever has to read back what is in memory here.
        for (slice, rows) in commit.slices.iter().zip(rows) {
            self.live.insert(batch, slice.range.offset, rows);
        }
        let committed = match turn.come().await {
            Ok(()) => self.commit(&commit).await.map_err(IngestError::from),
            Err(error) => Err(error),
        };
        let (token, outcomes) = committed.inspect_err(|_| self.live.remove_batch(batch))?;
        turn.pass_on();
        let mut duplicates = Vec::new();
        for (slice, outcome) in commit.slices.into_iter().zip(outcomes) {
            if outcome == SliceOutcome::Duplicate {
                self.live.remove(batch, slice.range.offset);
                duplicates.extend(slice.key.map(|key| (slice.namespace, key)));
            }
        }
        Ok(Flushed { token, duplicates })
    }

    /// Commits, trying for a while. It fails as unavailable only where no try was taken in, so that the batch will never exist.
    async fn commit(&self, commit: &CommitBatch) -> Result<(CommitToken, Vec<SliceOutcome>), ClientError> {
        let started = tokio::time::Instant::now();
        let mut may_be_taken_in = false;
        loop {
            let outcome = self.metadata.commit_batch(commit.clone()).await;
            self.group.learn(&outcome);
            may_be_taken_in |= matches!(outcome, Err(ClientError::UnknownOutcome { .. }));
            match outcome {
                Err(error) if error.kind().is_retryable() && !error.is_final() && started.elapsed() < self.patience.unknown_outcome_max() => {
                    tracing::warn!(batch = commit.batch.id.0, %error, "the commit is tried again");
                    tokio::time::sleep(self.patience.retry()).await;
                }
                Err(ClientError::Unavailable { reason }) if may_be_taken_in => return Err(ClientError::UnknownOutcome { reason }),
                outcome => return outcome,
            }
        }
    }
}

fn encode(flush: Flush, epoch: Epoch, batch: BatchId) -> Encoded {
    let mut writer = BatchWriter::new();
    let mut slices = Vec::with_capacity(flush.slices.len());
    let mut rows = Vec::with_capacity(flush.slices.len());
    for slice in flush.slices {
        let range = writer.add_slice(&slice.rows);
        let (timestamp_min_ns, timestamp_max_ns) = slice.rows.time_range_ns().expect("a slice has rows");
        slices.push(SliceCommit {
            namespace: slice.rows.namespace,
            chunk: slice.chunk,
            first_offset: slice.first_offset,
            rows: u16::try_from(slice.rows.len()).expect("a slice lies within a chunk"),
            range: CheckedRange { offset: range.offset, len: range.len, crc32c: range.crc32c },
            timestamp_min_ns,
            timestamp_max_ns,
            body_bytes: slice.body_bytes,
            key: slice.key,
        });
        rows.push(Arc::new(slice.rows));
    }
    let finished = writer.finish();
    let record = BatchRecord { id: batch, epoch, len_bytes: finished.bytes.len() as u64, footer: finished.footer };
    Encoded { bytes: finished.bytes.into(), commit: CommitBatch { epoch, batch: record, slices, close: flush.close }, rows }
}
