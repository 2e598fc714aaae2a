//! Pattern vectors come, and are joined. A compare-and-swap; a set is of one model, and none is lost in a join.

use super::draft::{self, Touched, invalid};
use super::{parts, retire};
use siltstone_core::{ModelId, NamespaceId, ObjectId};
use siltstone_format::{
    command::{CommitVectors, Rejection, Reply, VectorPart},
    manifest::{Manifest, NamespaceManifest, Totals, VectorSetRecord},
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn commit(draft: &mut Manifest, commit: &CommitVectors) -> Result<Reply, Rejection> {
    if parts::is_repeat(draft, commit.epoch, &commit.object)? {
        return Ok(Reply::Done);
    }
    let mut owner = draft::epoch(draft, commit.epoch)?;
    parts::take_object(&mut owner, commit.epoch, &commit.object)?;
    let mut touched = Touched::default();
    let mut released = Vec::new();
    let mut seen = BTreeSet::<NamespaceId>::new();
    let mut parts_count = 0;
    for part in &commit.parts {
        if !seen.insert(part.namespace) {
            return Err(invalid(format!("namespace {} is named twice", part.namespace)));
        }
        for set in &part.sets_out {
            parts::take_vectors(&mut owner, &commit.object, set)?;
            check_model(draft, set)?;
        }
        replace(touched.namespace(draft, part.namespace)?, part, &mut released)?;
        parts_count += part.sets_out.len();
    }
    touched.put_back(draft);
    draft::put_epoch(draft, commit.epoch, owner);
    parts::put_object(draft, commit.object, parts_count)?;
    released.into_iter().for_each(|object| retire::release_object(draft, object));
    Ok(Reply::Done)
}

/// VE-1: a set is of one model that is known, and as wide as it.
fn check_model(draft: &Manifest, set: &VectorSetRecord) -> Result<(), Rejection> {
    match draft.models.get(&set.model) {
        None => Err(Rejection::UnknownModel { model: set.model.clone() }),
        Some(model) if model.dimension == set.dimension => Ok(()),
        Some(model) => Err(invalid(format!("vector set {} has dimension {}, its model {} has {}", set.id, set.dimension, model.id, model.dimension))),
    }
}

fn replace(namespace: &mut NamespaceManifest, part: &VectorPart, released: &mut Vec<ObjectId>) -> Result<(), Rejection> {
    // A join may drop what stands twice; it never has fewer patterns than the largest of its inputs.
    let mut largest = BTreeMap::<ModelId, u32>::new();
    for &id in &part.sets_in {
        let set = namespace.vectors.get(&id).cloned().ok_or(Rejection::VectorConflict { set: id })?;
        namespace.vectors.remove_mut(&id);
        namespace.totals.subtract(&Totals::of_vectors(&set));
        released.push(set.object);
        let most = largest.entry(set.model.clone()).or_default();
        *most = set.patterns.max(*most);
    }
    for (model, patterns) in largest {
        if !part.sets_out.iter().any(|set| set.model == model && set.patterns >= patterns) {
            return Err(invalid(format!("a join of vectors of model {model} would lose some")));
        }
    }
    for set in &part.sets_out {
        namespace.totals.add_vectors(set);
        namespace.vectors.insert_mut(set.id, Arc::new(set.clone()));
    }
    Ok(())
}
