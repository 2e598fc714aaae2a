//! Segments and packs of one size become one: only structures and locations are rewritten, never addresses (RA-1), and every answer stays the
//! same (RK-1).
//!
//! What is deliberately not here: which parts of a namespace are live (the manifest), deleting what was replaced (`gc`).

mod plan;

pub use plan::{MergeConfig, MergePlan};

use crate::job::{JobLife, repeated};
use crate::keys;
use crate::problems::Problems;
use crate::seal::{DEFAULT_DEFINITION_VERSION, SealError, UnplacedPack};
use crate::view::{Packs, Segments, ViewError};
use siltstone_core::{ErrorKind, ObjectId, PackId, SegmentId};
use siltstone_format::command::{CommitMerge, MergePart};
use siltstone_format::container::{ObjectKind, ObjectWriter, SectionKind};
use siltstone_format::manifest::{
    ByteRange, CheckedRange, ChunkList, Manifest, NamespaceManifest, ObjectRecord, PackChunk, PackChunks, PackRecord, SegmentRecord,
};
use siltstone_format::pack::PackWriter;
use siltstone_metadata_client::MetadataClientExt;
use siltstone_segment::SegmentReader;
use siltstone_store::ObjectStore;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Joins what the plans say, namespace by namespace.
pub struct Merger {
    config: MergeConfig,
    job: Arc<JobLife>,
    store: Arc<dyn ObjectStore>,
    packs: Arc<Packs>,
    segments: Arc<Segments>,
    round: Mutex<()>,
}

impl Merger {
    /// A merger.
    #[must_use]
    pub(crate) fn new(config: MergeConfig, job: Arc<JobLife>, store: Arc<dyn ObjectStore>, packs: Arc<Packs>, segments: Arc<Segments>) -> Self {
        Self { config, job, store, packs, segments, round: Mutex::new(()) }
    }

    /// Merges as segments come, until the group stops.
    pub async fn run(self: Arc<Self>, problems: Problems) {
        let mut manifests = self.job.metadata().watch();
        loop {
            manifests.mark_unchanged();
            match self.merge_one().await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    problems.note(&format_args!("merge: {error}"));
                    tokio::time::sleep(self.job.patience().failure()).await;
                }
            }
            if manifests.changed().await.is_err() {
                return;
            }
        }
    }

    /// Merges until no plan is left.
    ///
    /// # Errors
    /// [`SealError`]
    pub async fn merge_all(&self) -> Result<(), SealError> {
        while self.merge_one().await? {}
        Ok(())
    }

    /// Carries out the first plan of the newest manifest. Whether there was one. One at a time: two would join the same things, and one in vain.
    async fn merge_one(&self) -> Result<bool, SealError> {
        let _round = self.round.lock().await;
        let manifest = &self.job.metadata().manifest();
        let planned =
            manifest.namespaces.values().map(|namespace| (namespace, MergePlan::of(namespace, &self.config))).find(|(_, plan)| !plan.is_empty());
        let Some((namespace, plan)) = planned else {
            return Ok(false);
        };
        let (epoch, ids) = self.job.ids(3).await?;
        let object = ObjectId(ids[0]);
        let mut writer = ObjectWriter::new(ObjectKind::Object);
        let mut part = MergePart {
            namespace: namespace.id,
            segments_in: plan.segments.iter().map(|segment| segment.id).collect(),
            segments_out: Vec::new(),
            packs_in: plan.packs.iter().map(|pack| pack.id).collect(),
            packs_out: Vec::new(),
        };
        if !plan.packs.is_empty() {
            let (bytes, mut pack) = self.join_packs(manifest, namespace, &plan.packs, object, PackId(ids[1])).await?;
            pack.place(writer.add(SectionKind::Pack, &bytes));
            part.packs_out.push(pack.0);
        }
        if !plan.segments.is_empty() {
            let (bytes, mut segment) = self.join_segments(manifest, &plan.segments, object, SegmentId(ids[2])).await?;
            let at = writer.add(SectionKind::Segment, &bytes);
            segment.range = at.range();
            segment.footer = at;
            part.segments_out.push(segment);
        }
        let finished = writer.finish();
        let record = ObjectRecord { id: object, epoch, len_bytes: finished.bytes.len() as u64, footer: finished.footer };
        let key = keys::of_object(manifest, epoch, object);
        self.store.put(&key, finished.bytes.into()).await?;
        let commit = CommitMerge { epoch, object: record, parts: vec![part] };
        let metadata = self.job.metadata();
        match repeated(self.job.patience(), || metadata.commit_merge(commit.clone())).await {
            Ok(_) => {
                for part in &commit.parts {
                    self.segments.forget(&part.segments_in);
                    self.packs.forget(&part.packs_in);
                }
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::Conflict => {
                tracing::info!(%error, "what was to be merged is gone meanwhile");
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::Fenced => {
                self.job.renew().await?;
                Err(error.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn join_segments(
        &self,
        manifest: &Manifest,
        inputs: &[Arc<SegmentRecord>],
        object: ObjectId,
        id: SegmentId,
    ) -> Result<(Vec<u8>, SegmentRecord), SealError> {
        let mut readers: Vec<Arc<SegmentReader>> = Vec::with_capacity(inputs.len());
        for input in inputs {
            readers.push(self.segments.open_once(manifest, input).await?);
        }
        let mut chunks: Vec<_> = inputs.iter().flat_map(|input| input.chunks.iter()).collect();
        chunks.sort_unstable();
        let bytes = tokio::task::spawn_blocking(move || siltstone_segment::merge(&readers.iter().map(Arc::as_ref).collect::<Vec<_>>()))
            .await
            .map_err(|_| ViewError::Stopping)??;
        let record = SegmentRecord {
            id,
            object,
            range: ByteRange::default(),
            footer: CheckedRange::default(),
            definition_version: inputs.iter().map(|input| input.definition_version).min().unwrap_or(DEFAULT_DEFINITION_VERSION),
            rows: inputs.iter().map(|input| input.rows).sum(),
            chunks: ChunkList::new(&chunks).map_err(|error| SealError::Record(error.to_string()))?,
        };
        Ok((bytes, record))
    }

    async fn join_packs(
        &self,
        manifest: &Manifest,
        namespace: &NamespaceManifest,
        inputs: &[Arc<PackRecord>],
        object: ObjectId,
        id: PackId,
    ) -> Result<(Vec<u8>, UnplacedPack), SealError> {
        let mut chunks: Vec<(PackChunk, &Arc<PackRecord>)> =
            inputs.iter().flat_map(|pack| pack.chunks.iter().map(move |chunk| (chunk, pack))).collect();
        chunks.sort_unstable_by_key(|(chunk, _)| chunk.chunk);
        let mut writer = PackWriter::new(namespace.id);
        // Chunk by chunk: decoded, those of a whole pack would be many times its size.
        for (chunk, pack) in &chunks {
            let id = chunk.chunk;
            let rows = self.packs.chunk_rows_once(manifest, pack, id).await?;
            let added = tokio::task::spawn_blocking(move || writer.add_chunk(id, &rows.rows, &rows.offsets).map(|()| writer));
            writer = added.await.map_err(|_| ViewError::Stopping)??;
        }
        let finished = tokio::task::spawn_blocking(move || writer.finish()).await.map_err(|_| ViewError::Stopping)?;
        let sealed: Vec<PackChunk> = chunks.into_iter().map(|(chunk, _)| chunk).collect();
        let record = PackRecord {
            id,
            object,
            range: ByteRange::default(),
            footer: finished.footer,
            chunks: PackChunks::new(&sealed).map_err(|error| SealError::Record(error.to_string()))?,
        };
        Ok((finished.bytes, UnplacedPack(record)))
    }
}
