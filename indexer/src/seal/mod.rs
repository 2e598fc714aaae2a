//! Closed chunks become packs and segments: read, encode, put, commit as one compare-and-swap, and the batches are no longer needed.
//!
//! What is deliberately not here: which chunks are closed (the writer and the metadata group say that), merging.

mod build;
mod plan;

pub use plan::{SealConfig, SealPlan, SealUnit};

use crate::job::{JobLife, repeated};
use crate::keys;
use crate::problems::Problems;
use crate::view::{LiveRows, Packs, ViewError};
use build::{Built, build_unit};
pub(crate) use build::{DEFAULT_DEFINITION_VERSION, UnplacedPack};
use futures::stream::{self, StreamExt, TryStreamExt};
use siltstone_core::{ErrorKind, ObjectId, PackId, SegmentId};
use siltstone_format::command::{ChunkEnd, CommitSeal, SealPart};
use siltstone_format::container::{ObjectKind, ObjectWriter, SectionKind};
use siltstone_format::manifest::{Manifest, ObjectRecord};
use siltstone_metadata_client::{ClientError, MetadataClientExt};
use siltstone_segment::SegmentError;
use siltstone_store::{ObjectStore, StoreError};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Why a round of sealing did nothing.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// Rows can't be read.
    #[error("seal: {0}")]
    View(#[from] ViewError),
    /// A segment can't be built.
    #[error("seal: {0}")]
    Segment(#[from] SegmentError),
    /// Rows don't fit together: a bug.
    #[error("seal: join the slices of a chunk: {0}")]
    Rows(#[from] siltstone_format::RowsError),
    /// A pack can't be built: a bug.
    #[error("seal: {0}")]
    Pack(#[from] siltstone_format::pack::PackError),
    /// The records of what was built contradict themselves: a bug.
    #[error("seal: {0}")]
    Record(String),
    /// The object store does not take the object.
    #[error("seal: {0}")]
    Store(#[from] StoreError),
    /// The metadata group does not take the commit.
    #[error("seal: {0}")]
    Metadata(#[from] ClientError),
}

impl SealError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::View(error) => error.kind(),
            Self::Segment(error) => error.kind(),
            Self::Rows(_) | Self::Pack(_) | Self::Record(_) => ErrorKind::Internal,
            Self::Store(error) => error.kind(),
            Self::Metadata(error) => error.kind(),
        }
    }
}

/// Seals what is closed.
pub struct Sealer {
    config: SealConfig,
    job: Arc<JobLife>,
    store: Arc<dyn ObjectStore>,
    packs: Arc<Packs>,
    live: Arc<LiveRows>,
    threads: usize,
    round: Mutex<()>,
}

impl Sealer {
    /// A sealer.
    #[must_use]
    pub(crate) fn new(config: SealConfig, job: Arc<JobLife>, store: Arc<dyn ObjectStore>, packs: Arc<Packs>, live: Arc<LiveRows>) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { config, job, store, packs, live, threads, round: Mutex::new(()) }
    }

    /// Seals as chunks are closed, until the group stops.
    pub async fn run(self: Arc<Self>, problems: Problems) {
        let mut manifests = self.job.metadata().watch();
        let mut waiting_since: Option<Instant> = None;
        loop {
            let manifest = manifests.borrow_and_update().clone();
            let plan = SealPlan::of(&manifest, &self.config);
            let since = (!plan.is_empty()).then(|| *waiting_since.get_or_insert_with(Instant::now));
            let due = since.map(|since| since + Duration::from_millis(self.config.wait_ms_max));
            if plan.body_bytes >= self.config.body_bytes_min || due.is_some_and(|due| due <= Instant::now()) {
                waiting_since = None;
                if let Err(error) = self.seal_round().await {
                    problems.note(&error);
                    tokio::time::sleep(self.job.patience().failure()).await;
                }
                continue;
            }
            tokio::select! {
                changed = manifests.changed() => if changed.is_err() { return },
                () = until(due) => {}
            }
        }
    }

    /// Seals everything that is closed now.
    ///
    /// # Errors
    /// [`SealError`]
    pub async fn seal_all(&self) -> Result<(), SealError> {
        while self.seal_round().await? {}
        Ok(())
    }

    /// One object's worth of what is closed now. Whether there was any. One round at a time: two would build the same chunks, and one in vain.
    async fn seal_round(&self) -> Result<bool, SealError> {
        let _round = self.round.lock().await;
        let manifest = self.job.metadata().manifest();
        let plan = SealPlan::of(&manifest, &self.config);
        if plan.is_empty() {
            return Ok(false);
        }
        self.seal(&manifest, plan).await?;
        Ok(true)
    }

    /// Seals what a plan says: one object, one commit. A commit that loses its compare-and-swap is no error: somebody else was first.
    async fn seal(&self, manifest: &Manifest, plan: SealPlan) -> Result<(), SealError> {
        let (epoch, ids) = self.job.ids(1 + 2 * plan.units.len()).await?;
        let mut ids = ids.into_iter();
        let mut next_id = || ids.next().expect("as many ids as were asked for");
        let object = ObjectId(next_id());
        let units: Vec<_> = plan.units.iter().map(|unit| (unit, PackId(next_id()), SegmentId(next_id()))).collect();
        let build = |(unit, pack, segment)| async move { self.build(manifest, unit, object, pack, segment).await };
        let builds: Vec<_> = units.into_iter().map(build).collect();
        let built: Vec<Built> = stream::iter(builds).buffered(self.threads).try_collect().await?;
        let (record, parts) = self.put(manifest, object, epoch, &plan, built).await?;
        let commit = CommitSeal { epoch, object: record, parts };
        let metadata = self.job.metadata();
        match repeated(self.job.patience(), || metadata.commit_seal(commit.clone())).await {
            Ok(_) => {
                self.forget_live(&plan);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Conflict => {
                tracing::info!(%error, "chunks were sealed by somebody else meanwhile");
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Fenced => {
                self.job.renew().await?;
                Err(error.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn build(&self, manifest: &Manifest, unit: &SealUnit, object: ObjectId, pack: PackId, segment: SegmentId) -> Result<Built, SealError> {
        let mut chunks = Vec::with_capacity(unit.chunks.len());
        for (id, record) in &unit.chunks {
            let mut slices = Vec::with_capacity(record.slices.len());
            for slice in record.slices.iter() {
                slices.push((slice.first_offset, self.packs.slice_rows(manifest, &self.live, slice).await?));
            }
            chunks.push((*id, record.clone(), slices));
        }
        let namespace = unit.namespace;
        tokio::task::spawn_blocking(move || build_unit(namespace, chunks, object, pack, segment)).await.map_err(|_| ViewError::Stopping)?
    }

    /// Puts the object before any command names it (MF-1).
    async fn put(
        &self,
        manifest: &Manifest,
        object: ObjectId,
        epoch: siltstone_core::Epoch,
        plan: &SealPlan,
        built: Vec<Built>,
    ) -> Result<(ObjectRecord, Vec<SealPart>), SealError> {
        let mut parts: BTreeMap<_, SealPart> = BTreeMap::new();
        let part_of = |namespace| SealPart { namespace, inputs: Vec::new(), packs: Vec::new(), segments: Vec::new() };
        let mut writer = ObjectWriter::new(ObjectKind::Object);
        for (unit, mut built) in plan.units.iter().zip(built) {
            let part = parts.entry(unit.namespace).or_insert_with(|| part_of(unit.namespace));
            part.inputs.extend(unit.chunks.iter().map(|(chunk, record)| ChunkEnd { chunk: *chunk, end_offset: record.next_offset }));
            let at = writer.add(SectionKind::Pack, &built.pack_bytes);
            built.pack.place(at);
            part.packs.push(built.pack.0);
            let at = writer.add(SectionKind::Segment, &built.segment_bytes);
            built.segment.range = at.range();
            built.segment.footer = at;
            part.segments.push(built.segment);
        }
        let parts = parts.into_values().collect();
        let finished = writer.finish();
        let record = ObjectRecord { id: object, epoch, len_bytes: finished.bytes.len() as u64, footer: finished.footer };
        let key = keys::of_object(manifest, epoch, object);
        self.store.put(&key, finished.bytes.into()).await?;
        Ok((record, parts))
    }

    fn forget_live(&self, plan: &SealPlan) {
        for slice in plan.units.iter().flat_map(|unit| &unit.chunks).flat_map(|(_, record)| record.slices.iter()) {
            self.live.remove(slice.batch, slice.range.offset);
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
