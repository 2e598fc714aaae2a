//! Random histories: writers that crash, retries, late commands, seals, merges, vectors and indexes made from old manifests, garbage collection
//! between them.

use crate::{embedder, naive::Naive, vector_indexer};
use rand::{Rng, RngExt, SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use siltstone_core::{BatchId, ChunkId, CommitIndex, Epoch, Incarnation, NamespaceId, ObjectId, PackId, SegmentId, WriterId};
use siltstone_format::command::{
    ChunkEnd, ClientKey, Command, CommandBody, CommitBatch, CommitMerge, CommitSeal, MergePart, Reply, SealPart, SliceCommit,
};
use siltstone_format::manifest::{
    BatchRecord, ByteRange, CheckedRange, ChunkList, ChunkState, EpochOwner, Fate, Manifest, NamespaceManifest, ObjectRecord, PackChunk, PackChunks,
    PackRecord, SegmentRecord,
};
use siltstone_metadata::Machine;
use std::collections::{BTreeMap, BTreeSet};

const FOOTER: CheckedRange = CheckedRange { offset: 900, len: 100, crc32c: 7 };

pub(crate) struct History {
    rng: SmallRng,
    machine: Machine,
    naive: Naive,
    log: Vec<Command>,
    /// Commands on their way: they arrive late, or never.
    late: Vec<CommandBody>,
    /// Old manifests, as sealers and merges hold them.
    views: Vec<Manifest>,
    /// Stored objects by their key; batches and others. A deleted one must never be named again (MF-1).
    stored: BTreeSet<(Epoch, u64, bool)>,
    deleted: BTreeSet<(Epoch, u64, bool)>,
    now_ms: i64,
    /// How often each kind of command was applied and refused.
    pub(crate) counts: BTreeMap<(&'static str, bool), u32>,
}

impl History {
    pub(crate) fn new(seed: u64) -> Self {
        let mut history = Self {
            rng: SmallRng::seed_from_u64(seed),
            machine: Machine::new(),
            naive: Naive::default(),
            log: Vec::new(),
            late: Vec::new(),
            views: Vec::new(),
            stored: BTreeSet::new(),
            deleted: BTreeSet::new(),
            now_ms: 1_000,
            counts: BTreeMap::new(),
        };
        history.apply(CommandBody::FoundGroup { incarnation: Incarnation(seed + 1) });
        history
    }

    pub(crate) fn step(&mut self) {
        let body = match self.rng.random_range(0..144) {
            0..3 => Some(CommandBody::RegisterWriter { writer: WriterId(self.rng.random_range(0..3)) }),
            3..5 => Some(CommandBody::RegisterJob {
                name: ["seal", "merge", ""].choose(&mut self.rng).map(|name| (*name).to_owned()).expect("not empty"),
            }),
            5 => Some(CommandBody::FenceEpoch { epoch: self.epoch() }),
            6..9 => Some(CommandBody::CreateNamespace {
                name: ["shop", "eu/bank", "a", "No", ""].choose(&mut self.rng).map(|name| (*name).to_owned()).expect("not empty"),
            }),
            9 if self.rng.random_range(0..4) == 0 => Some(CommandBody::DropNamespace { name: "shop".to_owned() }),
            9..14 => Some(CommandBody::AllocateChunkIds { epoch: self.epoch(), count: self.rng.random_range(0..6) }),
            14..24 => Some(CommandBody::AllocateIds { epoch: self.epoch(), count: self.rng.random_range(0..40) }),
            24..55 => self.commit_batch(),
            55..60 => self.close_chunks(),
            60..74 => self.commit_seal(),
            74..84 => self.commit_merge(),
            84..88 => return self.collect(),
            // A retry of any earlier command, as it was.
            88..93 => self.log.choose(&mut self.rng).map(|command| command.body.clone()),
            93..98 => {
                let at = self.rng.random_range(0..=self.late.len());
                (at < self.late.len()).then(|| self.late.swap_remove(at))
            }
            98..102 => Some(embedder::add_model(&mut self.rng)),
            102..104 => Some(embedder::use_model(&mut self.rng)),
            104..106 => Some(embedder::remove_model(&mut self.rng)),
            106..122 => self.commit_vectors(),
            122..138 => self.commit_indexes(),
            138..142 => vector_indexer::declare_field(&mut self.rng, self.machine.manifest()),
            _ => return self.views.push(self.machine.manifest().clone()),
        };
        let Some(body) = body else { return };
        self.note_stored(&body);
        match self.rng.random_range(0..10) {
            0 => self.late.push(body),
            1 => {
                self.late.push(body.clone());
                self.apply(body);
            }
            _ => self.apply(body),
        }
    }

    /// Compares with the model, and the state with what comes back of its snapshot.
    pub(crate) fn check(&self) {
        self.naive.check(self.machine.manifest());
        let restored = Machine::restore(&self.machine.snapshot().unwrap()).unwrap();
        assert_eq!(restored.manifest(), self.machine.manifest());
        for &(epoch, id, is_batch) in &self.deleted {
            let named = if is_batch { self.naive.is_batch_named(BatchId(id)) } else { self.naive.is_object_named(ObjectId(id)) };
            assert!(!named, "MF-1: {id} of epoch {epoch} was deleted and is named");
        }
    }

    /// The same commands make the same bytes, also where the machine is restored from a snapshot in between.
    pub(crate) fn check_replay(&self) {
        let mut again = Machine::new();
        let mut midway = Machine::new();
        for (position, command) in (1..).zip(&self.log) {
            assert_eq!(again.apply(CommitIndex(position), command), midway.apply(CommitIndex(position), command));
            if position % 37 == 0 {
                midway = Machine::restore(&midway.snapshot().unwrap()).unwrap();
            }
        }
        let expected = self.machine.snapshot().unwrap();
        assert_eq!(again.snapshot().unwrap(), expected);
        assert_eq!(midway.snapshot().unwrap(), expected);
    }

    fn apply(&mut self, body: CommandBody) {
        self.now_ms += self.rng.random_range(-50..200);
        let command = Command { proposed_at_ms: self.now_ms, body };
        let command = Command::decode(&command.encode().unwrap()).unwrap();
        let before = self.machine.manifest().clone();
        let index = CommitIndex(before.version.0 + 1);
        let reply = self.machine.apply(index, &command);
        assert_eq!(Reply::decode(&reply.encode().unwrap()).as_ref(), Ok(&reply));
        self.naive.apply(&command.body, &reply);
        let is_refused = matches!(reply, Reply::Rejected(_));
        if is_refused {
            assert_eq!(Manifest { version: index, ..before.clone() }, *self.machine.manifest(), "EP-1");
        }
        assert!(self.machine.manifest().state_time_ms >= before.state_time_ms);
        *self.counts.entry((command.body.name(), is_refused)).or_default() += 1;
        if matches!(&command.body, CommandBody::CommitVectors(commit) if commit.parts.iter().any(|part| !part.sets_in.is_empty())) {
            *self.counts.entry(("join_vectors", is_refused)).or_default() += 1;
        }
        if matches!(&command.body, CommandBody::CommitIndexes(commit) if commit.parts.iter().any(|part| !part.indexes_in.is_empty())) {
            *self.counts.entry(("join_indexes", is_refused)).or_default() += 1;
        }
        self.log.push(command);
    }

    /// Puts what the command names on the store, as its proposer did before.
    fn note_stored(&mut self, body: &CommandBody) {
        let stored = match body {
            CommandBody::CommitBatch(commit) => (commit.epoch, commit.batch.id.0, true),
            CommandBody::CommitSeal(commit) => (commit.epoch, commit.object.id.0, false),
            CommandBody::CommitMerge(commit) => (commit.epoch, commit.object.id.0, false),
            CommandBody::CommitVectors(commit) => (commit.epoch, commit.object.id.0, false),
            CommandBody::CommitIndexes(commit) => (commit.epoch, commit.object.id.0, false),
            _ => return,
        };
        if !self.deleted.contains(&stored) {
            self.stored.insert(stored);
        }
    }

    /// Deletes what may be deleted, then forgets it.
    fn collect(&mut self) {
        let manifest = self.machine.manifest().clone();
        for stored in std::mem::take(&mut self.stored) {
            let (epoch, id, is_batch) = stored;
            let fate = if is_batch { manifest.batch_fate(epoch, BatchId(id)) } else { manifest.object_fate(epoch, ObjectId(id)) };
            let place = if matches!(fate, Fate::Garbage | Fate::Retired { .. }) { &mut self.deleted } else { &mut self.stored };
            place.insert(stored);
        }
        let mut batches: Vec<_> = manifest.batches_retired_before(i64::MAX).map(|batch| batch.id).collect();
        let mut objects: Vec<_> = manifest.objects_retired_before(i64::MAX).map(|object| object.id).collect();
        if self.rng.random_range(0..6) == 0 {
            // A collector that is mistaken.
            batches.extend(manifest.batches.keys().next());
            objects.extend(manifest.objects.keys().next());
        }
        let epoch = self.epoch();
        self.apply(CommandBody::ForgetRetired { epoch, batches, objects });
    }

    /// Mostly a live epoch, at times a fenced one or one that never was.
    fn epoch(&mut self) -> Epoch {
        let manifest = self.machine.manifest();
        if self.rng.random_range(0..12) == 0 {
            return Epoch(self.rng.random_range(0..=manifest.counters.epoch));
        }
        let live: Vec<_> = manifest.epochs.keys().copied().collect();
        live.choose(&mut self.rng).copied().unwrap_or(Epoch(1))
    }

    fn view(&mut self) -> Manifest {
        let old = self.views.choose(&mut self.rng);
        if self.rng.random_range(0..4) == 0 && old.is_some() { old.cloned().expect("just seen") } else { self.machine.manifest().clone() }
    }

    /// The first `count` ids that an epoch has left.
    fn ids(view: &Manifest, epoch: Epoch, count: usize) -> Option<Vec<u64>> {
        let ids: Vec<u64> = view.epochs.get(&epoch)?.ids.iter().flat_map(|(first, count)| first..first + count).take(count).collect();
        (ids.len() == count).then_some(ids)
    }

    fn commit_batch(&mut self) -> Option<CommandBody> {
        let view = self.view();
        let writers: Vec<_> = view.writers.values().copied().collect();
        let epoch = *writers.choose(&mut self.rng)?;
        let record = view.epochs.get(&epoch)?;
        let mut fresh: Vec<ChunkId> = record.chunk_ids.iter().flat_map(|(first, count)| first..first + count).map(ChunkId).collect();
        let mut open: Vec<(ChunkId, NamespaceId, u16)> = Vec::new();
        for (&chunk, &namespace) in &record.open_chunks {
            open.push((chunk, namespace, view.namespace(namespace)?.chunks.get(&chunk)?.next_offset));
        }
        let namespaces: Vec<_> = view.namespaces.keys().copied().collect();
        let id = BatchId(*Self::ids(&view, epoch, 1)?.first()?);
        let mut slices = Vec::new();
        for _ in 0..self.rng.random_range(1..6) {
            if open.is_empty() || self.rng.random_range(0..3) == 0 {
                let Some(chunk) = fresh.pop() else { continue };
                open.push((chunk, *namespaces.choose(&mut self.rng)?, 0));
            }
            let at = self.rng.random_range(0..open.len());
            let (chunk, namespace, next_offset) = &mut open[at];
            let room = 2_048 - *next_offset;
            if room == 0 {
                continue;
            }
            let rows = if self.rng.random_range(0..6) == 0 { room } else { self.rng.random_range(1..=room.min(9)) };
            let slice = self.slice(*chunk, *namespace, *next_offset, rows);
            *next_offset += rows;
            slices.push(slice);
        }
        if let Some(slice) = slices.first_mut()
            && self.rng.random_range(0..15) == 0
        {
            match self.rng.random_range(0..3) {
                0 => slice.first_offset += 1,
                1 => slice.namespace = NamespaceId(slice.namespace.0 % 3 + 1),
                _ => slice.chunk = ChunkId(self.rng.random_range(0..view.counters.chunk + 2)),
            }
        }
        let close = open.iter().map(|(chunk, ..)| *chunk).filter(|_| self.rng.random_range(0..4) == 0).collect();
        let batch = BatchRecord { id, epoch, len_bytes: 1_000, footer: CheckedRange { crc32c: self.rng.next_u32(), ..FOOTER } };
        let is_possible = slices.iter().all(|slice| slice.first_offset + slice.rows <= 2_048) && !slices.is_empty();
        is_possible.then_some(CommandBody::CommitBatch(CommitBatch { epoch, batch, slices, close }))
    }

    fn slice(&mut self, chunk: ChunkId, namespace: NamespaceId, first_offset: u16, rows: u16) -> SliceCommit {
        let time = self.rng.random_range(-1_000_000..1_000_000);
        let key = (self.rng.random_range(0..3) != 0).then(|| ClientKey {
            principal: "ann".into(),
            producer: ["one", "two"].choose(&mut self.rng).map(|name| (*name).to_owned()).expect("not empty"),
            sequence: self.now_ms as u64 / 100 + self.rng.random_range(0..80),
        });
        SliceCommit {
            namespace,
            chunk,
            first_offset,
            rows,
            range: CheckedRange { offset: 10, len: self.rng.random_range(1..100), crc32c: 3 },
            timestamp_min_ns: time,
            timestamp_max_ns: time + self.rng.random_range(0..1_000),
            body_bytes: self.rng.random_range(0..10_000),
            key,
        }
    }

    fn close_chunks(&mut self) -> Option<CommandBody> {
        let epoch = self.epoch();
        let view = self.view();
        let chunks = view.epochs.get(&epoch)?.open_chunks.keys().copied().collect();
        Some(CommandBody::CloseChunks { epoch, chunks })
    }

    fn job(&mut self, view: &Manifest) -> Option<Epoch> {
        let jobs: Vec<_> = view.epochs.iter().filter(|(_, record)| matches!(record.owner, EpochOwner::Job(_))).map(|(epoch, _)| *epoch).collect();
        jobs.choose(&mut self.rng).copied()
    }

    fn commit_seal(&mut self) -> Option<CommandBody> {
        let view = self.view();
        let epoch = self.job(&view)?;
        let mut ids = Self::ids(&view, epoch, 10)?.into_iter();
        let object = ObjectRecord { id: ObjectId(ids.next()?), epoch, len_bytes: 1_000, footer: FOOTER };
        let mut parts = Vec::new();
        // At times a sealer that takes a chunk which still grows.
        let takes_open = self.rng.random_range(0..10) == 0;
        for namespace in view.unsealed_namespaces().take(3) {
            let ripe = namespace.chunks.iter().filter(|(_, chunk)| chunk.rows != 0 && (takes_open || chunk.state == ChunkState::Closed));
            let chunks: Vec<PackChunk> = ripe.map(|(id, chunk)| chunk.sealed(*id)).filter(|_| self.rng.random_range(0..3) != 0).collect();
            if chunks.is_empty() {
                continue;
            }
            let inputs = chunks.iter().map(|chunk| ChunkEnd { chunk: chunk.chunk, end_offset: chunk.end_offset }).collect();
            let segments = if self.rng.random_range(0..4) == 0 { vec![] } else { vec![segment(SegmentId(ids.next()?), object.id, &chunks)] };
            let packs = vec![pack(PackId(ids.next()?), object.id, &chunks)];
            parts.push(SealPart { namespace: namespace.id, inputs, packs, segments });
        }
        (!parts.is_empty()).then_some(CommandBody::CommitSeal(CommitSeal { epoch, object, parts }))
    }

    fn commit_merge(&mut self) -> Option<CommandBody> {
        let view = self.view();
        let epoch = self.job(&view)?;
        let mut ids = Self::ids(&view, epoch, 10)?.into_iter();
        let object = ObjectRecord { id: ObjectId(ids.next()?), epoch, len_bytes: 1_000, footer: FOOTER };
        let mut parts = Vec::new();
        for namespace in view.namespaces.values() {
            let part = self.merge_part(namespace, object.id, &mut ids)?;
            if !part.segments_out.is_empty() || !part.packs_out.is_empty() {
                parts.push(part);
            }
        }
        (!parts.is_empty()).then_some(CommandBody::CommitMerge(CommitMerge { epoch, object, parts }))
    }

    fn commit_vectors(&mut self) -> Option<CommandBody> {
        let view = self.view();
        let epoch = self.job(&view)?;
        let ids = Self::ids(&view, epoch, embedder::IDS_MAX)?;
        embedder::commit_vectors(&mut self.rng, &view, epoch, ids)
    }

    fn commit_indexes(&mut self) -> Option<CommandBody> {
        let view = self.view();
        let epoch = self.job(&view)?;
        let ids = Self::ids(&view, epoch, vector_indexer::IDS_MAX)?;
        vector_indexer::commit_indexes(&mut self.rng, &view, epoch, ids)
    }

    fn merge_part(&mut self, namespace: &NamespaceManifest, object: ObjectId, ids: &mut impl Iterator<Item = u64>) -> Option<MergePart> {
        let segments_in: Vec<_> = namespace.segments.keys().copied().filter(|_| self.rng.random_range(0..2) == 0).collect();
        let packs_in: Vec<_> = namespace.packs.keys().copied().filter(|_| self.rng.random_range(0..3) == 0).collect();
        let sealed: BTreeMap<ChunkId, PackChunk> = namespace.sealed_chunks().map(|(_, chunk)| (chunk.chunk, chunk)).collect();
        let mut covered: BTreeSet<ChunkId> =
            segments_in.iter().flat_map(|id| namespace.segments.get(id).into_iter().flat_map(|segment| segment.chunks.iter())).collect();
        if self.rng.random_range(0..3) == 0 {
            // An index over packs that have none yet, or, at times, that have one already.
            covered.extend(sealed.keys().copied().filter(|_| self.rng.random_range(0..2) == 0));
        }
        if self.rng.random_range(0..10) == 0 {
            // A merge that forgets a chunk.
            covered.pop_first();
        }
        let covered: Vec<_> = covered.iter().map(|chunk| sealed[chunk]).collect();
        let mut packed: Vec<_> = packs_in.iter().flat_map(|id| namespace.packs.get(id).into_iter().flat_map(|pack| pack.chunks.iter())).collect();
        packed.sort_by_key(|chunk| chunk.chunk);
        let segments_out = if covered.is_empty() { vec![] } else { vec![segment(SegmentId(ids.next()?), object, &covered)] };
        let packs_out = if packed.is_empty() { vec![] } else { vec![pack(PackId(ids.next()?), object, &packed)] };
        Some(MergePart { namespace: namespace.id, segments_in, segments_out, packs_in, packs_out })
    }
}

fn pack(id: PackId, object: ObjectId, chunks: &[PackChunk]) -> PackRecord {
    let footer = CheckedRange { offset: 100, len: 100, crc32c: 1 };
    PackRecord { id, object, range: ByteRange { offset: 0, len: 200 }, footer, chunks: PackChunks::new(chunks).unwrap() }
}

fn segment(id: SegmentId, object: ObjectId, chunks: &[PackChunk]) -> SegmentRecord {
    let ids: Vec<_> = chunks.iter().map(|chunk| chunk.chunk).collect();
    SegmentRecord {
        id,
        object,
        range: ByteRange { offset: 200, len: 200 },
        footer: CheckedRange { offset: 300, len: 100, crc32c: 1 },
        definition_version: 1,
        rows: chunks.iter().map(|chunk| u64::from(chunk.rows)).sum(),
        chunks: ChunkList::new(&ids).unwrap(),
    }
}
