//! What the machine should do, written with plain sets and no thought of speed. It predicts each reply, and then compares what exists.

use crate::{indexes::Indexes, vectors::Vectors};
use siltstone_core::{BatchId, ChunkId, Epoch, NamespaceId, ObjectId, PackId, SegmentId};
use siltstone_format::command::{ClientKey, CommandBody, CommitBatch, CommitIndexes, CommitMerge, CommitSeal, CommitVectors, Reply, SliceOutcome};
use siltstone_format::manifest::{BatchRecord, ChunkState, Manifest, ObjectRecord, SEQUENCE_WINDOW, is_namespace_name};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Default)]
pub(crate) struct Naive {
    live: BTreeSet<Epoch>,
    owners: BTreeMap<String, Epoch>,
    names: BTreeMap<String, NamespaceId>,
    used_namespaces: BTreeSet<NamespaceId>,
    given_epochs: BTreeSet<Epoch>,
    given_ids: BTreeMap<u64, Epoch>,
    used_ids: BTreeSet<u64>,
    given_chunks: BTreeMap<ChunkId, Epoch>,
    chunks: BTreeMap<ChunkId, Chunk>,
    dead_chunks: BTreeSet<ChunkId>,
    sequences: BTreeMap<(NamespaceId, String, String), BTreeSet<u64>>,
    batches: BTreeMap<BatchId, (BatchRecord, Vec<SliceOutcome>)>,
    objects: BTreeMap<ObjectId, ObjectRecord>,
    packs: BTreeMap<PackId, Part>,
    segments: BTreeMap<SegmentId, Part>,
    vectors: Vectors,
    indexes: Indexes,
}

/// A pack or a segment.
#[derive(Clone)]
struct Part {
    namespace: NamespaceId,
    object: ObjectId,
    chunks: BTreeSet<ChunkId>,
}

#[derive(Clone)]
struct Chunk {
    namespace: NamespaceId,
    epoch: Epoch,
    next_offset: u16,
    /// Offset of each row, and the batch that brought it.
    rows: BTreeMap<u16, BatchId>,
    body_bytes: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    Closed,
    Sealed,
}

impl Naive {
    /// Applies a command whose reply is known, and panics where the reply is not the one to be expected.
    pub(crate) fn apply(&mut self, body: &CommandBody, reply: &Reply) {
        let mut next = self.clone();
        let expected = if body.epoch().is_some_and(|epoch| !self.live.contains(&epoch)) { None } else { next.expect(body, reply) };
        match (expected, reply) {
            (None, Reply::Rejected(_)) => {}
            (Some(expected), reply) if expected == *reply => *self = next,
            (expected, reply) => panic!("{body:?}\nanswered {reply:?}\nexpected {expected:?}"),
        }
    }

    /// The reply to be expected (numbers that are given out are taken from the true reply, and must be new); `None` for a refusal.
    fn expect(&mut self, body: &CommandBody, reply: &Reply) -> Option<Reply> {
        match body {
            CommandBody::FoundGroup { .. } => Some(reply.clone()),
            CommandBody::RegisterWriter { writer } => Some(self.register(format!("writer {writer}"), reply)),
            CommandBody::RegisterJob { name } => (!name.is_empty()).then(|| self.register(format!("job {name}"), reply)),
            CommandBody::FenceEpoch { epoch } => {
                if !self.given_epochs.contains(epoch) {
                    return None;
                }
                self.end(*epoch);
                Some(Reply::Done)
            }
            CommandBody::AllocateChunkIds { epoch, count } => {
                let Reply::ChunkIds { first, .. } = *reply else { return None };
                (first.0..first.0 + u64::from(*count)).for_each(|id| assert!(self.given_chunks.insert(ChunkId(id), *epoch).is_none(), "RA-1"));
                Some(Reply::ChunkIds { first, count: *count })
            }
            CommandBody::AllocateIds { epoch, count } => {
                let Reply::Ids { first, .. } = *reply else { return None };
                (first..first + u64::from(*count)).for_each(|id| assert!(self.given_ids.insert(id, *epoch).is_none(), "MF-1"));
                Some(Reply::Ids { first, count: *count })
            }
            CommandBody::CreateNamespace { name } => {
                if let Some(&id) = self.names.get(name) {
                    return Some(Reply::Namespace { id, created: false });
                }
                if !is_namespace_name(name) {
                    return None;
                }
                let Reply::Namespace { id, .. } = *reply else { return None };
                assert!(self.used_namespaces.insert(id), "a namespace id comes once");
                self.names.insert(name.clone(), id);
                Some(Reply::Namespace { id, created: true })
            }
            CommandBody::DropNamespace { name } => {
                if let Some(id) = self.names.remove(name) {
                    let gone: Vec<_> = self.chunks.iter().filter(|(_, chunk)| chunk.namespace == id).map(|(id, _)| *id).collect();
                    gone.iter().for_each(|chunk| self.bury(*chunk));
                    self.packs.retain(|_, pack| pack.namespace != id);
                    self.segments.retain(|_, segment| segment.namespace != id);
                    self.vectors.drop_namespace(id);
                    self.indexes.drop_namespace(id);
                }
                Some(Reply::Done)
            }
            CommandBody::CommitBatch(commit) => self.commit_batch(commit),
            CommandBody::CloseChunks { epoch, chunks } => {
                chunks.iter().for_each(|chunk| self.close(*epoch, *chunk));
                Some(Reply::Done)
            }
            CommandBody::CommitSeal(commit) => self.commit_seal(commit),
            CommandBody::CommitMerge(commit) => self.commit_merge(commit),
            CommandBody::CommitVectors(commit) => self.commit_vectors(commit),
            CommandBody::AddModel { model, dimension, source } => self.vectors.add_model(model, *dimension, source),
            CommandBody::UseModel { model } => self.vectors.use_model(model),
            CommandBody::RemoveModel { model } => self.vectors.remove_model(model),
            CommandBody::DeclareVectorField { namespace, field, dimension } => {
                self.names.values().find(|id| *id == namespace)?;
                self.indexes.declare(*namespace, field, *dimension)
            }
            CommandBody::CommitIndexes(commit) => self.commit_indexes(commit),
            CommandBody::PutSetting { .. } | CommandBody::RaiseVersion { .. } => {
                unreachable!("histories have none; the machine's own tests have examples")
            }
            CommandBody::ForgetRetired { batches, objects, .. } => {
                if batches.iter().any(|id| self.is_batch_named(*id)) || objects.iter().any(|id| self.is_object_named(*id)) {
                    return None;
                }
                batches.iter().for_each(|id| _ = self.batches.remove(id));
                objects.iter().for_each(|id| _ = self.objects.remove(id));
                Some(Reply::Done)
            }
        }
    }

    fn register(&mut self, owner: String, reply: &Reply) -> Reply {
        let Reply::Registered { epoch } = *reply else { panic!("{reply:?}") };
        assert!(self.given_epochs.insert(epoch), "an epoch comes once");
        if let Some(earlier) = self.owners.insert(owner, epoch) {
            self.end(earlier);
        }
        self.live.insert(epoch);
        Reply::Registered { epoch }
    }

    fn end(&mut self, epoch: Epoch) {
        self.live.remove(&epoch);
        let chunks: Vec<_> = self.chunks.keys().copied().collect();
        chunks.into_iter().for_each(|chunk| self.close(epoch, chunk));
    }

    fn close(&mut self, epoch: Epoch, id: ChunkId) {
        let Some(chunk) = self.chunks.get_mut(&id).filter(|chunk| chunk.epoch == epoch && chunk.state == State::Open) else { return };
        chunk.state = State::Closed;
        if chunk.rows.is_empty() {
            self.bury(id);
        }
    }

    fn bury(&mut self, id: ChunkId) {
        self.chunks.remove(&id);
        self.dead_chunks.insert(id);
    }

    fn use_id(&mut self, epoch: Epoch, id: u64) -> Option<()> {
        (self.given_ids.get(&id) == Some(&epoch) && self.used_ids.insert(id)).then_some(())
    }

    fn commit_batch(&mut self, commit: &CommitBatch) -> Option<Reply> {
        if let Some((record, outcomes)) = self.batches.get(&commit.batch.id) {
            return (*record == commit.batch && outcomes.len() == commit.slices.len()).then(|| Reply::BatchCommitted { outcomes: outcomes.clone() });
        }
        self.owners.iter().find(|(owner, epoch)| owner.starts_with("writer") && **epoch == commit.epoch)?;
        self.use_id(commit.epoch, commit.batch.id.0)?;
        let mut decided = BTreeMap::<(NamespaceId, ClientKey), SliceOutcome>::new();
        let mut outcomes = Vec::new();
        for slice in &commit.slices {
            self.names.values().find(|id| **id == slice.namespace)?;
            if self.given_chunks.get(&slice.chunk) != Some(&commit.epoch) || self.dead_chunks.contains(&slice.chunk) {
                return None;
            }
            let new =
                Chunk { namespace: slice.namespace, epoch: commit.epoch, next_offset: 0, rows: BTreeMap::new(), body_bytes: 0, state: State::Open };
            let chunk = self.chunks.entry(slice.chunk).or_insert(new);
            let end = slice.first_offset + slice.rows;
            if chunk.namespace != slice.namespace || chunk.state != State::Open || chunk.next_offset != slice.first_offset || end > 2_048 {
                return None;
            }
            chunk.next_offset = end;
            let outcome = match &slice.key {
                None => SliceOutcome::Accepted,
                Some(key) => match decided.get(&(slice.namespace, key.clone())) {
                    Some(&outcome) => outcome,
                    None => {
                        let seen = self.sequences.entry((slice.namespace, key.principal.clone(), key.producer.clone())).or_default();
                        let too_old = seen.last().is_some_and(|last| key.sequence + SEQUENCE_WINDOW <= *last);
                        let outcome = if too_old || !seen.insert(key.sequence) { SliceOutcome::Duplicate } else { SliceOutcome::Accepted };
                        decided.insert((slice.namespace, key.clone()), outcome);
                        outcome
                    }
                },
            };
            if outcome == SliceOutcome::Accepted {
                chunk.body_bytes += slice.body_bytes;
                for offset in slice.first_offset..end {
                    assert!(chunk.rows.insert(offset, commit.batch.id).is_none(), "RA-1");
                }
            }
            outcomes.push(outcome);
        }
        let full = commit.slices.iter().map(|slice| slice.chunk).filter(|chunk| self.chunks[chunk].next_offset == 2_048);
        let full: Vec<_> = full.collect();
        full.iter().chain(&commit.close).for_each(|chunk| self.close(commit.epoch, *chunk));
        self.batches.insert(commit.batch.id, (commit.batch, outcomes.clone()));
        Some(Reply::BatchCommitted { outcomes })
    }

    fn commit_seal(&mut self, commit: &CommitSeal) -> Option<Reply> {
        if let Some(known) = self.objects.get(&commit.object.id) {
            return (*known == commit.object).then_some(Reply::Done);
        }
        self.use_id(commit.epoch, commit.object.id.0)?;
        for part in &commit.parts {
            for input in &part.inputs {
                let chunk = self.chunks.get_mut(&input.chunk).filter(|chunk| chunk.namespace == part.namespace && chunk.state == State::Closed)?;
                if chunk.next_offset != input.end_offset {
                    return None;
                }
                chunk.state = State::Sealed;
            }
            for pack in &part.packs {
                self.use_id(commit.epoch, pack.id.0)?;
                let chunks = pack.chunks.iter().map(|chunk| chunk.chunk).collect();
                self.packs.insert(pack.id, Part { namespace: part.namespace, object: commit.object.id, chunks });
            }
            for segment in &part.segments {
                self.use_id(commit.epoch, segment.id.0)?;
                let chunks = segment.chunks.iter().collect();
                self.segments.insert(segment.id, Part { namespace: part.namespace, object: commit.object.id, chunks });
            }
        }
        self.objects.insert(commit.object.id, commit.object);
        Some(Reply::Done)
    }

    fn commit_merge(&mut self, commit: &CommitMerge) -> Option<Reply> {
        if let Some(known) = self.objects.get(&commit.object.id) {
            return (*known == commit.object).then_some(Reply::Done);
        }
        self.use_id(commit.epoch, commit.object.id.0)?;
        for part in &commit.parts {
            for id in &part.packs_in {
                self.packs.remove(id).filter(|pack| pack.namespace == part.namespace)?;
            }
            let mut uncovered = BTreeSet::new();
            for id in &part.segments_in {
                uncovered.extend(self.segments.remove(id).filter(|segment| segment.namespace == part.namespace)?.chunks);
            }
            for pack in &part.packs_out {
                self.use_id(commit.epoch, pack.id.0)?;
                let chunks = pack.chunks.iter().map(|chunk| chunk.chunk).collect();
                self.packs.insert(pack.id, Part { namespace: part.namespace, object: commit.object.id, chunks });
            }
            for segment in &part.segments_out {
                self.use_id(commit.epoch, segment.id.0)?;
                let chunks: BTreeSet<_> = segment.chunks.iter().collect();
                let is_covered = |other: &Part| !other.chunks.is_disjoint(&chunks);
                let is_sealed =
                    |chunk: &ChunkId| self.chunks.get(chunk).is_some_and(|chunk| chunk.namespace == part.namespace && chunk.state == State::Sealed);
                if self.segments.values().any(is_covered) || !chunks.iter().all(is_sealed) {
                    return None;
                }
                uncovered.retain(|chunk| !chunks.contains(chunk));
                self.segments.insert(segment.id, Part { namespace: part.namespace, object: commit.object.id, chunks });
            }
            if !uncovered.is_empty() {
                return None;
            }
        }
        self.objects.insert(commit.object.id, commit.object);
        Some(Reply::Done)
    }

    fn commit_vectors(&mut self, commit: &CommitVectors) -> Option<Reply> {
        if let Some(known) = self.objects.get(&commit.object.id) {
            return (*known == commit.object).then_some(Reply::Done);
        }
        self.use_id(commit.epoch, commit.object.id.0)?;
        let mut seen = BTreeSet::new();
        for part in &commit.parts {
            self.names.values().find(|id| **id == part.namespace).filter(|_| seen.insert(part.namespace))?;
            for set in &part.sets_out {
                self.use_id(commit.epoch, set.id.0)?;
            }
            self.vectors.replace(part)?;
        }
        if commit.parts.iter().all(|part| part.sets_out.is_empty()) {
            return None;
        }
        self.objects.insert(commit.object.id, commit.object);
        Some(Reply::Done)
    }

    fn commit_indexes(&mut self, commit: &CommitIndexes) -> Option<Reply> {
        if let Some(known) = self.objects.get(&commit.object.id) {
            return (*known == commit.object).then_some(Reply::Done);
        }
        self.use_id(commit.epoch, commit.object.id.0)?;
        let mut seen = BTreeSet::new();
        for part in &commit.parts {
            self.names.values().find(|id| **id == part.namespace).filter(|_| seen.insert(part.namespace))?;
            for index in &part.indexes_out {
                self.use_id(commit.epoch, index.id.0)?;
            }
            let chunks = &self.chunks;
            let is_sealed = |id| chunks.get(&id).is_some_and(|chunk| chunk.namespace == part.namespace && chunk.state == State::Sealed);
            self.indexes.replace(part, is_sealed)?;
        }
        if commit.parts.iter().all(|part| part.indexes_out.is_empty()) {
            return None;
        }
        self.objects.insert(commit.object.id, commit.object);
        Some(Reply::Done)
    }

    pub(crate) fn is_batch_named(&self, id: BatchId) -> bool {
        self.chunks.values().any(|chunk| chunk.state != State::Sealed && chunk.rows.values().any(|batch| *batch == id))
    }

    pub(crate) fn is_object_named(&self, id: ObjectId) -> bool {
        let is_in_part = self.packs.values().chain(self.segments.values()).any(|part| part.object == id);
        is_in_part || self.vectors.is_object_named(id) || self.indexes.is_object_named(id)
    }

    /// Panics where the manifest is not what this model says.
    pub(crate) fn check(&self, manifest: &Manifest) {
        assert_eq!(manifest.epochs.keys().copied().collect::<BTreeSet<_>>(), self.live, "EP-1");
        let names: BTreeMap<_, _> = manifest.namespaces.values().map(|namespace| (namespace.name.to_string(), namespace.id)).collect();
        assert_eq!(names, self.names);
        let (mut seen, mut rows, mut body_bytes) = (BTreeSet::new(), 0, 0);
        for namespace in manifest.namespaces.values() {
            for (id, record) in &namespace.chunks {
                let chunk = &self.chunks[id];
                let slices =
                    record.slices.iter().flat_map(|slice| (slice.first_offset..slice.first_offset + slice.rows).map(|row| (row, slice.batch)));
                let expected = chunk.rows.iter().map(|(row, batch)| (*row, *batch));
                assert!(slices.eq(expected), "AK-1, AK-2: the rows of chunk {id}");
                let is_open = record.state == ChunkState::Open;
                assert_eq!((chunk.namespace, chunk.next_offset, chunk.state == State::Open), (namespace.id, record.next_offset, is_open), "NS-1");
                assert!(chunk.state != State::Sealed && seen.insert(*id), "AK-2: chunk {id} is there twice");
                rows += chunk.rows.len() as u64;
                body_bytes += chunk.body_bytes;
            }
            for (_, sealed) in namespace.sealed_chunks() {
                let chunk = &self.chunks[&sealed.chunk];
                assert_eq!(
                    (chunk.namespace, chunk.next_offset, chunk.rows.len()),
                    (namespace.id, sealed.end_offset, usize::from(sealed.rows)),
                    "NS-1"
                );
                assert!(chunk.state == State::Sealed && seen.insert(sealed.chunk), "AK-2: chunk {} is there twice", sealed.chunk);
                rows += chunk.rows.len() as u64;
                body_bytes += chunk.body_bytes;
            }
            assert_eq!(namespace.totals, namespace.count_totals());
            let covered: Vec<_> = namespace.segments.values().flat_map(|segment| segment.chunks.iter()).collect();
            assert_eq!(covered.iter().collect::<BTreeSet<_>>().len(), covered.len(), "CT-1: a chunk is covered twice");
        }
        assert_eq!(seen, self.chunks.keys().copied().collect(), "AK-1: every chunk with rows, or open, is there");
        assert_eq!((manifest.totals.rows, manifest.totals.body_bytes), (rows, body_bytes));
        self.vectors.check(manifest);
        self.indexes.check(manifest);
        for id in self.batches.keys() {
            assert_eq!(manifest.batches.contains_key(id), self.is_batch_named(*id), "MF-1: batch {id}");
            assert_eq!(manifest.retired_batches.get(*id).is_some(), !self.is_batch_named(*id), "MF-1: batch {id}");
        }
        for id in self.objects.keys() {
            let retired = manifest.objects.get(id).is_some_and(|object| object.retired_at_ms.is_some());
            assert_eq!(retired, !self.is_object_named(*id), "MF-1: object {id}");
            assert_eq!(manifest.retired_objects.contains(id), retired);
        }
        assert_eq!(manifest.batches.size() + manifest.retired_batches.len(), self.batches.len());
        assert_eq!(manifest.objects.size(), self.objects.len());
    }
}
