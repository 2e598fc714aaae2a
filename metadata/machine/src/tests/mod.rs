//! The machine by example. Random histories are in `tests/model`.

mod backups;
mod batches;
mod group_lives;
mod indexes;
mod lives;
mod models;
mod seals;
mod settings;
mod vectors;

use super::*;
use siltstone_core::{BatchId, ChunkId, Epoch, ModelId, NamespaceId, ObjectId, PackId, SegmentId, VectorIndexId, VectorSetId, WriterId};
use siltstone_format::command::{
    ChunkEnd, ClientKey, CommitBatch, CommitIndexes, CommitMerge, CommitSeal, CommitVectors, IndexPart, MergePart, SealPart, SliceCommit,
    SliceOutcome, VectorPart,
};
use siltstone_format::manifest::{
    BatchRecord, ByteRange, CheckedRange, ChunkList, ChunkState, Fate, ModelRecord, ModelState, ObjectRecord, PackChunks, PackRecord, SegmentRecord,
    VectorIndexRecord, VectorSetRecord,
};

const FOOTER: CheckedRange = CheckedRange { offset: 900, len: 100, crc32c: 7 };

struct Group {
    machine: Machine,
    now_ms: i64,
}

impl Group {
    fn new() -> Self {
        let mut group = Self { machine: Machine::new(), now_ms: 1_000_000 };
        assert_eq!(group.apply(CommandBody::FoundGroup { incarnation: Incarnation(9) }), Reply::Founded { incarnation: Incarnation(9) });
        group
    }

    fn apply(&mut self, body: CommandBody) -> Reply {
        self.now_ms += 1;
        let index = CommitIndex(self.machine.manifest().version.0 + 1);
        let before = self.machine.manifest().clone();
        let reply = self.machine.apply(index, &Command { proposed_at_ms: self.now_ms, body });
        if matches!(reply, Reply::Rejected(_)) {
            let after = Manifest { version: before.version, ..self.machine.manifest().clone() };
            assert_eq!(after, before, "EP-1: a refused command changes nothing");
        }
        let restored = Machine::restore(&self.machine.snapshot().unwrap()).unwrap();
        assert_eq!(restored.manifest(), self.machine.manifest(), "what is counted anew is what was kept up");
        reply
    }

    fn writer(&mut self, writer: u32) -> Epoch {
        match self.apply(CommandBody::RegisterWriter { writer: WriterId(writer) }) {
            Reply::Registered { epoch } => epoch,
            other => panic!("{other:?}"),
        }
    }

    fn job(&mut self, name: &str) -> Epoch {
        match self.apply(CommandBody::RegisterJob { name: name.into() }) {
            Reply::Registered { epoch } => epoch,
            other => panic!("{other:?}"),
        }
    }

    fn namespace(&mut self, name: &str) -> NamespaceId {
        match self.apply(CommandBody::CreateNamespace { name: name.into() }) {
            Reply::Namespace { id, .. } => id,
            other => panic!("{other:?}"),
        }
    }

    fn id(&mut self, epoch: Epoch) -> u64 {
        match self.apply(CommandBody::AllocateIds { epoch, count: 1 }) {
            Reply::Ids { first, .. } => first,
            other => panic!("{other:?}"),
        }
    }

    fn chunk(&mut self, epoch: Epoch) -> ChunkId {
        match self.apply(CommandBody::AllocateChunkIds { epoch, count: 1 }) {
            Reply::ChunkIds { first, .. } => first,
            other => panic!("{other:?}"),
        }
    }

    fn batch(&mut self, epoch: Epoch, slices: Vec<SliceCommit>) -> CommitBatch {
        let id = BatchId(self.id(epoch));
        CommitBatch { epoch, batch: BatchRecord { id, epoch, len_bytes: 1_000, footer: FOOTER }, slices, close: Vec::new() }
    }

    fn commit(&mut self, epoch: Epoch, slices: Vec<SliceCommit>) -> (BatchId, Reply) {
        let commit = self.batch(epoch, slices);
        (commit.batch.id, self.apply(CommandBody::CommitBatch(commit)))
    }

    fn object(&mut self, epoch: Epoch) -> ObjectRecord {
        ObjectRecord { id: ObjectId(self.id(epoch)), epoch, len_bytes: 1_000, footer: FOOTER }
    }

    fn pack(&mut self, epoch: Epoch, object: ObjectRecord, namespace: NamespaceId, chunks: &[ChunkId]) -> PackRecord {
        let id = PackId(self.id(epoch));
        let manifest = self.machine.manifest();
        let sealed: Vec<_> = chunks.iter().map(|chunk| manifest.namespace(namespace).unwrap().chunks.get(chunk).unwrap().sealed(*chunk)).collect();
        let chunks = PackChunks::new(&sealed).unwrap();
        PackRecord {
            id,
            object: object.id,
            range: ByteRange { offset: 0, len: 900 },
            footer: CheckedRange { offset: 800, len: 100, crc32c: 1 },
            chunks,
        }
    }

    fn segment(&mut self, epoch: Epoch, object: ObjectRecord, rows: u64, chunks: &[ChunkId]) -> SegmentRecord {
        let range = ByteRange { offset: 0, len: 400 };
        SegmentRecord {
            id: SegmentId(self.id(epoch)),
            object: object.id,
            range,
            footer: CheckedRange { offset: 300, len: 100, crc32c: 1 },
            definition_version: 1,
            rows,
            chunks: ChunkList::new(chunks).unwrap(),
        }
    }

    /// A chunk of this many rows, closed.
    fn closed(&mut self, epoch: Epoch, namespace: NamespaceId, rows: u16) -> ChunkId {
        let chunk = self.chunk(epoch);
        let commit = CommitBatch { close: vec![chunk], ..self.batch(epoch, vec![slice(namespace, chunk, 0, rows)]) };
        assert_eq!(self.apply(CommandBody::CommitBatch(commit)), accepted(1));
        chunk
    }

    fn seal(&mut self, epoch: Epoch, namespace: NamespaceId, chunks: &[ChunkId]) -> CommitSeal {
        let object = self.object(epoch);
        let pack = self.pack(epoch, object, namespace, chunks);
        let rows = pack.chunks.iter().map(|chunk| u64::from(chunk.rows)).sum();
        let segment = self.segment(epoch, object, rows, chunks);
        let inputs = pack.chunks.iter().map(|chunk| ChunkEnd { chunk: chunk.chunk, end_offset: chunk.end_offset }).collect();
        CommitSeal { epoch, object, parts: vec![SealPart { namespace, inputs, packs: vec![pack], segments: vec![segment] }] }
    }

    /// Models in these tests have dimension 8, where nothing else is said.
    fn add_model(&mut self, name: &str, dimension: u16) -> Reply {
        self.apply(CommandBody::AddModel { model: model(name), dimension, source: String::new() })
    }

    /// A commit of a set of each (namespace, model, number of patterns); a namespace at most once.
    fn vectors(&mut self, epoch: Epoch, sets: &[(NamespaceId, &str, u32)]) -> CommitVectors {
        let object = self.object(epoch);
        let mut parts = Vec::new();
        for &(namespace, name, patterns) in sets {
            let (id, range) = (VectorSetId(self.id(epoch)), CheckedRange { offset: 16, len: 50, crc32c: 2 });
            let set = VectorSetRecord { id, object: object.id, model: model(name), dimension: 8, patterns, range };
            parts.push(VectorPart { namespace, sets_in: Vec::new(), sets_out: vec![set] });
        }
        CommitVectors { epoch, object, parts }
    }
}

fn model(id: &str) -> ModelId {
    ModelId::new(id).unwrap()
}

/// The refusal of what cannot be.
#[track_caller]
fn is_invalid(reply: Reply, what: &str) {
    assert!(matches!(reply, Reply::Rejected(Rejection::Invalid { .. })), "{what}: {reply:?}");
}

fn slice(namespace: NamespaceId, chunk: ChunkId, first_offset: u16, rows: u16) -> SliceCommit {
    SliceCommit {
        namespace,
        chunk,
        first_offset,
        rows,
        range: CheckedRange { offset: 10, len: 50, crc32c: 3 },
        timestamp_min_ns: i64::from(first_offset) * 100,
        timestamp_max_ns: i64::from(first_offset) * 100 + i64::from(rows),
        body_bytes: u64::from(rows) * 80,
        key: None,
    }
}

fn keyed(slice: SliceCommit, producer: &str, sequence: u64) -> SliceCommit {
    SliceCommit { key: Some(ClientKey { principal: "ann".into(), producer: producer.into(), sequence }), ..slice }
}

fn accepted(count: usize) -> Reply {
    Reply::BatchCommitted { outcomes: vec![SliceOutcome::Accepted; count] }
}
