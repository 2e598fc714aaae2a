//! Models come, serve and go. At most one serves; its vectors are never dropped.

use super::draft::{Touched, invalid};
use super::retire;
use siltstone_core::{ModelId, NamespaceId, VectorSetId};
use siltstone_format::{
    command::{Rejection, Reply},
    manifest::{Manifest, ModelRecord, ModelState, NamespaceManifest, Totals},
    vectors::DIMENSION_MAX,
};
use std::sync::Arc;

/// Models that a group knows at once: each is embedded for, pattern by pattern.
const MODELS_MAX: usize = 16;
/// Bytes of a place of a model's files.
const SOURCE_LEN_MAX: usize = 4_096;

pub(super) fn add(draft: &mut Manifest, model: &ModelId, dimension: u16, source: &str) -> Result<Reply, Rejection> {
    if let Some(known) = draft.models.get(model) {
        let is_same = known.dimension == dimension && known.source == source;
        return if is_same {
            Ok(Reply::Done)
        } else {
            Err(invalid(format!("model {model} is known with another dimension or source; remove it first")))
        };
    }
    if dimension == 0 || usize::from(dimension) > DIMENSION_MAX {
        return Err(invalid(format!("model {model} has dimension {dimension}; vectors have 1 to {DIMENSION_MAX} numbers")));
    }
    if source.len() > SOURCE_LEN_MAX {
        return Err(invalid(format!("the source of model {model} has more than {SOURCE_LEN_MAX} bytes")));
    }
    if draft.models.size() >= MODELS_MAX {
        return Err(invalid(format!("{MODELS_MAX} models are known already; remove one first")));
    }
    let record =
        ModelRecord { id: model.clone(), dimension, source: source.to_owned(), state: ModelState::Filling, added_at_ms: draft.state_time_ms };
    draft.models.insert_mut(model.clone(), Arc::new(record));
    Ok(Reply::Done)
}

pub(super) fn serve(draft: &mut Manifest, model: &ModelId) -> Result<Reply, Rejection> {
    if !draft.models.contains_key(model) {
        return Err(Rejection::UnknownModel { model: model.clone() });
    }
    let models: Vec<_> = draft.models.values().cloned().collect();
    for known in models {
        let state = if known.id == *model { ModelState::Serving } else { ModelState::Filling };
        if known.state != state {
            draft.models.insert_mut(known.id.clone(), Arc::new(ModelRecord { state, ..ModelRecord::clone(&known) }));
        }
    }
    Ok(Reply::Done)
}

pub(super) fn remove(draft: &mut Manifest, model: &ModelId) -> Result<Reply, Rejection> {
    match draft.models.get(model) {
        None => return Ok(Reply::Done),
        Some(known) if known.state == ModelState::Serving => {
            return Err(invalid(format!("model {model} serves; use another one first")));
        }
        Some(_) => {}
    }
    draft.models.remove_mut(model);
    let mut touched = Touched::default();
    let mut released = Vec::new();
    let of_model = |namespace: &NamespaceManifest| -> Vec<VectorSetId> {
        namespace.vectors.values().filter(|set| set.model == *model).map(|set| set.id).collect()
    };
    let namespaces: Vec<(NamespaceId, Vec<VectorSetId>)> = draft.namespaces.iter().map(|(id, namespace)| (*id, of_model(namespace))).collect();
    for (id, sets) in namespaces.into_iter().filter(|(_, sets)| !sets.is_empty()) {
        let namespace = touched.namespace(draft, id)?;
        for id in sets {
            let Some(set) = namespace.vectors.get(&id).cloned() else { continue };
            namespace.vectors.remove_mut(&id);
            namespace.totals.subtract(&Totals::of_vectors(&set));
            released.push(set.object);
        }
    }
    touched.put_back(draft);
    released.into_iter().for_each(|object| retire::release_object(draft, object));
    Ok(Reply::Done)
}
