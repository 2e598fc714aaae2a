//! What is known of one namespace and model: which patterns have a vector, and where patterns were looked for.

use super::{EmbedJobError, EmbedSources};
use crate::view::ViewError;
use rustc_hash::{FxHashMap, FxHashSet};
use siltstone_core::pattern::PatternHash;
use siltstone_core::{BatchId, ModelId, SegmentId, VectorSetId};
use siltstone_format::manifest::{Manifest, NamespaceManifest};
use std::sync::Arc;

/// A pattern without a vector, and its bytes.
pub(super) type Wanted = (PatternHash, Arc<[u8]>);

/// A memory of the manifest; it can be thrown away.
#[derive(Default)]
pub(super) struct Known {
    /// The namespace as it was when nothing was left to do.
    up_to_date: Option<Arc<NamespaceManifest>>,
    sets: FxHashSet<VectorSetId>,
    patterns: FxHashSet<PatternHash>,
    /// Where every pattern had a vector, or is among `missing`.
    segments: FxHashSet<SegmentId>,
    slices: FxHashSet<(BatchId, u64)>,
    missing: FxHashMap<PatternHash, Arc<[u8]>>,
}

impl Known {
    pub(super) fn is_up_to_date(&self, namespace: &Arc<NamespaceManifest>) -> bool {
        self.up_to_date.as_ref().is_some_and(|known| Arc::ptr_eq(known, namespace))
    }

    pub(super) fn note_up_to_date(&mut self, namespace: &Arc<NamespaceManifest>) {
        self.up_to_date = Some(namespace.clone());
    }

    /// Learns which patterns have a vector from sets that came since. Sets that went were joined, or went with their model.
    pub(super) async fn learn_sets(
        &mut self,
        sources: &EmbedSources,
        manifest: &Manifest,
        namespace: &NamespaceManifest,
        model: &ModelId,
    ) -> Result<(), EmbedJobError> {
        let had = if self.sets.iter().any(|set| !namespace.vectors.contains_key(set)) {
            self.sets.clear();
            std::mem::take(&mut self.patterns).len()
        } else {
            0
        };
        for record in namespace.vectors.values().filter(|record| record.model == *model) {
            if self.sets.contains(&record.id) {
                continue;
            }
            let vectors = sources.vectors.open_once(manifest, record).await?;
            for hash in vectors.hashes() {
                self.patterns.insert(*hash);
                self.missing.remove(hash);
            }
            self.sets.insert(record.id);
        }
        if self.patterns.len() < had {
            // Some vectors are gone: their patterns are looked for again.
            self.segments.clear();
            self.slices.clear();
        }
        Ok(())
    }

    /// The patterns that have no vector, by rising hash.
    pub(super) async fn wanted(
        &mut self,
        sources: &EmbedSources,
        manifest: &Manifest,
        namespace: &NamespaceManifest,
    ) -> Result<Vec<Wanted>, EmbedJobError> {
        let mut slices = FxHashSet::default();
        for slice in namespace.chunks.values().flat_map(|chunk| chunk.slices.iter()) {
            let id = (slice.batch, slice.range.offset);
            slices.insert(id);
            if self.slices.contains(&id) {
                continue;
            }
            let rows = sources.packs.slice_rows(manifest, &sources.live, slice).await?;
            for pattern in &rows.patterns {
                self.note(pattern.hash, &pattern.bytes);
            }
        }
        self.slices = slices;
        for record in namespace.segments.values() {
            if self.segments.contains(&record.id) {
                continue;
            }
            let reader = sources.segments.open_once(manifest, record).await?;
            let failed = |source| ViewError::Segment { segment: record.id, key: String::new(), source };
            for (hash, number) in reader.patterns_by_hash().map_err(failed)? {
                if !self.patterns.contains(hash) && !self.missing.contains_key(hash) {
                    self.note(*hash, reader.pattern_bytes(*number).map_err(failed)?);
                }
            }
            self.segments.insert(record.id);
        }
        self.segments.retain(|segment| namespace.segments.contains_key(segment));
        let mut wanted: Vec<Wanted> = self.missing.iter().map(|(hash, bytes)| (*hash, bytes.clone())).collect();
        wanted.sort_unstable_by_key(|(hash, _)| *hash);
        Ok(wanted)
    }

    fn note(&mut self, hash: PatternHash, bytes: &[u8]) {
        if !self.patterns.contains(&hash) {
            self.missing.entry(hash).or_insert_with(|| bytes.into());
        }
    }
}
