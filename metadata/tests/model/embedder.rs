//! What an embedder proposes: vectors of new patterns, joins of sets, and models that come, serve and go. At times it is mistaken.

use rand::{RngExt, rngs::SmallRng, seq::IndexedRandom};
use siltstone_core::{Epoch, ModelId, ObjectId, VectorSetId};
use siltstone_format::command::{CommandBody, CommitVectors, VectorPart};
use siltstone_format::manifest::{CheckedRange, Manifest, ModelRecord, NamespaceManifest, ObjectRecord, VectorSetRecord};

/// Ids that a commit takes at most: its object's, and a set of each of four namespaces and three models.
pub(crate) const IDS_MAX: usize = 13;

fn model(rng: &mut SmallRng) -> ModelId {
    ModelId::new(["one+p1", "two+p1", "two+p2"].choose(rng).expect("not empty")).expect("a sound id")
}

pub(crate) fn add_model(rng: &mut SmallRng) -> CommandBody {
    let dimension = *[8, 8, 8, 8, 16, 0].choose(rng).expect("not empty");
    let source = ["", "", "", "s3://models/one"].choose(rng).expect("not empty");
    CommandBody::AddModel { model: model(rng), dimension, source: (*source).to_owned() }
}

pub(crate) fn use_model(rng: &mut SmallRng) -> CommandBody {
    CommandBody::UseModel { model: model(rng) }
}

pub(crate) fn remove_model(rng: &mut SmallRng) -> CommandBody {
    CommandBody::RemoveModel { model: model(rng) }
}

/// A commit of one who knows `view`; `ids` are [`IDS_MAX`] of its epoch's.
pub(crate) fn commit_vectors(rng: &mut SmallRng, view: &Manifest, epoch: Epoch, ids: Vec<u64>) -> Option<CommandBody> {
    let mut ids = ids.into_iter();
    let footer = CheckedRange { offset: 900, len: 100, crc32c: 7 };
    let object = ObjectRecord { id: ObjectId(ids.next()?), epoch, len_bytes: 1_000, footer };
    let models: Vec<_> = view.models.values().map(AsRef::as_ref).collect();
    let mut parts = Vec::new();
    for namespace in view.namespaces.values().take(4) {
        let part = part(rng, namespace, &models, object.id, &mut ids)?;
        if !part.sets_out.is_empty() {
            parts.push(part);
        }
    }
    if rng.random_range(0..6) == 0 {
        spoil(rng, view, &mut parts);
    }
    (!parts.is_empty()).then_some(CommandBody::CommitVectors(CommitVectors { epoch, object, parts }))
}

fn part(
    rng: &mut SmallRng,
    namespace: &NamespaceManifest,
    models: &[&ModelRecord],
    object: ObjectId,
    ids: &mut impl Iterator<Item = u64>,
) -> Option<VectorPart> {
    let mut part = VectorPart { namespace: namespace.id, sets_in: Vec::new(), sets_out: Vec::new() };
    for model in models {
        if rng.random_range(0..2) == 0 {
            continue;
        }
        let joins = rng.random_range(0..2) == 0;
        let mut largest = 0;
        for set in namespace.vectors.values().filter(|set| joins && set.model == model.id) {
            if rng.random_range(0..3) != 0 {
                part.sets_in.push(set.id);
                largest = set.patterns.max(largest);
            }
        }
        part.sets_out.push(VectorSetRecord {
            id: VectorSetId(ids.next()?),
            object,
            model: model.id.clone(),
            dimension: model.dimension,
            // At times a join that brings nothing new.
            patterns: largest + rng.random_range(u32::from(largest == 0)..9),
            range: CheckedRange { offset: 16, len: rng.random_range(1..800), crc32c: rng.random_range(0..9) },
        });
    }
    Some(part)
}

fn spoil(rng: &mut SmallRng, view: &Manifest, parts: &mut Vec<VectorPart>) {
    let Some(part) = parts.first_mut() else { return };
    let elsewhere = view.namespaces.values().filter(|namespace| namespace.id != part.namespace).find_map(|namespace| namespace.vectors.keys().next());
    match (rng.random_range(0..6), part.sets_out.first_mut()) {
        (0, Some(set)) => set.patterns = 0,
        (1, Some(set)) => set.dimension += 1,
        (2, Some(set)) => set.patterns = 1,
        // A join that forgets a model.
        (3, Some(_)) => _ = part.sets_out.pop(),
        (4, _) => part.sets_in.extend(elsewhere),
        _ => {
            let again = VectorPart { namespace: part.namespace, sets_in: Vec::new(), sets_out: Vec::new() };
            parts.push(again);
        }
    }
}
