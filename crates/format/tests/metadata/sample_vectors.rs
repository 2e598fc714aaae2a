//! One value of everything that has to do with models and pattern vectors. What version 1 had before is in `sample`.

use crate::sample;
use siltstone_core::pattern::PatternHash;
use siltstone_core::{Epoch, ModelId, NamespaceId, ObjectId, VectorSetId};
use siltstone_format::command::{Command, CommandBody, CommitVectors, Rejection, Reply, VectorPart};
use siltstone_format::manifest::{CheckedRange, Manifest, ModelRecord, ModelState, NamespaceManifest, ObjectRecord, ObjectState, VectorSetRecord};
use siltstone_format::vectors::PatternVectors;
use std::sync::Arc;

const TIME: i64 = 1_700_000_000_000;

pub(crate) fn model(id: &str) -> ModelId {
    ModelId::new(id).unwrap()
}

fn object(id: u64) -> ObjectRecord {
    let footer = CheckedRange { offset: 69_000, len: 1_000, crc32c: 0xdead_beef };
    ObjectRecord { id: ObjectId(id), epoch: Epoch(4), len_bytes: 70_000, footer }
}

fn set(id: u64, object: u64, name: &str, dimension: u16, patterns: u32) -> VectorSetRecord {
    let range = CheckedRange { offset: 16, len: 60_000, crc32c: 0xcafe };
    VectorSetRecord { id: VectorSetId(id), object: ObjectId(object), model: model(name), dimension, patterns, range }
}

pub(crate) fn commands() -> Vec<Command> {
    let wide = "minilm-l6-v2+p1";
    let bodies = vec![
        CommandBody::CommitVectors(CommitVectors {
            epoch: Epoch(4),
            object: object(620),
            parts: vec![
                VectorPart { namespace: NamespaceId(1), sets_in: vec![], sets_out: vec![set(621, 620, wide, 384, 200)] },
                VectorPart {
                    namespace: NamespaceId(70_000),
                    sets_in: vec![VectorSetId(3), VectorSetId(1 << 40)],
                    sets_out: vec![set(622, 620, "static-1+p1", 64, 3), set(623, 620, wide, 384, u32::MAX)],
                },
            ],
        }),
        CommandBody::AddModel { model: model(wide), dimension: 384, source: "s3://models/minilm".into() },
        CommandBody::UseModel { model: model(wide) },
        CommandBody::RemoveModel { model: model("static-1+p1") },
    ];
    (0..).zip(bodies).map(|(position, body)| Command { proposed_at_ms: TIME + position, body }).collect()
}

pub(crate) fn replies() -> [(&'static str, Reply); 2] {
    [
        ("unknown_model", Reply::Rejected(Rejection::UnknownModel { model: model("static-1+p1") })),
        ("vector_conflict", Reply::Rejected(Rejection::VectorConflict { set: VectorSetId(3) })),
    ]
}

/// The manifest of `sample`, with two models, and sets of them in a namespace that has rows and in one that has none.
pub(crate) fn manifest() -> Manifest {
    let mut manifest = sample::with_another_namespace(sample::manifest());
    for (name, dimension, source, state) in [("static-1+p1", 64, "", ModelState::Serving), ("minilm-l6-v2+p1", 384, "s3://m", ModelState::Filling)] {
        let record = ModelRecord { id: model(name), dimension, source: source.into(), state, added_at_ms: TIME };
        manifest.models.insert_mut(record.id.clone(), Arc::new(record));
    }
    let sets = [(1, set(621, 620, "static-1+p1", 64, 200)), (1, set(622, 620, "minilm-l6-v2+p1", 384, 90)), (2, set(631, 630, "static-1+p1", 64, 3))];
    for (namespace, set) in sets {
        let mut changed = NamespaceManifest::clone(manifest.namespace(NamespaceId(namespace)).unwrap());
        changed.totals.add_vectors(&set);
        manifest.totals.add_vectors(&set);
        changed.vectors.insert_mut(set.id, Arc::new(set));
        manifest.namespaces.insert_mut(changed.id, Arc::new(changed));
    }
    for (id, parts) in [(620, 2), (630, 1)] {
        manifest.objects.insert_mut(ObjectId(id), ObjectState { record: object(id), parts, retired_at_ms: None });
    }
    manifest
}

/// Vectors of three patterns, one of them without length.
pub(crate) fn pattern_vectors() -> PatternVectors {
    let vectors = [
        (PatternHash(1 << 100), [0.0, 0.0, 0.0, 0.0, 0.0]),
        (PatternHash(300), [0.6, -0.8, 0.0, 0.001, 0.1]),
        (PatternHash(u128::MAX), [-1.0, 1.0, 0.5, -0.5, 0.25]),
    ];
    let vectors: Vec<_> = vectors.iter().map(|(hash, vector)| (*hash, vector.as_slice())).collect();
    PatternVectors::new(&model("static-1+p1"), 5, &vectors).unwrap()
}
