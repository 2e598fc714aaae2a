//! Pattern vectors come, and are joined. A compare-and-swap; a set is of one model, and none is lost in a join.

use super::draft::invalid;
use super::parts;
use siltstone_core::{ModelId, ObjectId};
use siltstone_format::{
    command::{CommitVectors, Rejection, Reply, VectorPart},
    manifest::{Manifest, Map, ModelRecord, NamespaceManifest, Totals, VectorSetRecord},
};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn commit(draft: &mut Manifest, commit: &CommitVectors) -> Result<Reply, Rejection> {
    let models = draft.models.clone();
    parts::commit(
        draft,
        commit.epoch,
        &commit.object,
        &commit.parts,
        |part| part.namespace,
        |part, owner, namespace, released| {
            for set in &part.sets_out {
                parts::take_vectors(owner, &commit.object, set)?;
                check_model(&models, set)?;
            }
            replace(namespace, part, &mut released.objects)?;
            Ok(part.sets_out.len())
        },
    )
}

/// VE-1: a set is of one model that is known, and as wide as it.
fn check_model(models: &Map<ModelId, Arc<ModelRecord>>, set: &VectorSetRecord) -> Result<(), Rejection> {
    match models.get(&set.model) {
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
