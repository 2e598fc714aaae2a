//! Namespaces come and go; an id never comes twice.

use super::{draft, retire};
use siltstone_core::NamespaceId;
use siltstone_format::{
    command::{Rejection, Reply},
    manifest::{ChunkState, Manifest, NamespaceManifest, is_namespace_name},
};
use std::sync::Arc;

/// Bytes of a refused name that the refusal repeats.
const NAME_ECHO_LEN_MAX: usize = 256;

pub(super) fn create(draft: &mut Manifest, name: &str) -> Result<Reply, Rejection> {
    if let Some(&id) = draft.names.get(name) {
        return Ok(Reply::Namespace { id, created: false });
    }
    if !is_namespace_name(name) {
        let cut = name.floor_char_boundary(NAME_ECHO_LEN_MAX);
        return Err(Rejection::NamespaceName { name: name[..cut].to_owned() });
    }
    let id = NamespaceId(draft.counters.namespace);
    // The very last lane ends one earlier: its counter could not say that it is used up.
    let next = id.0.checked_add(1).filter(|_| id.0 <= draft.lives.lane().last().namespace);
    draft.counters.namespace = next.ok_or_else(|| draft::used_up(draft, "namespace ids"))?;
    let name: Arc<str> = name.into();
    draft.names.insert_mut(name.clone(), id);
    draft.namespaces.insert_mut(id, Arc::new(NamespaceManifest::new(id, name, draft.state_time_ms)));
    Ok(Reply::Namespace { id, created: true })
}

pub(super) fn drop(draft: &mut Manifest, name: &str) -> Result<Reply, Rejection> {
    let Some(&id) = draft.names.get(name) else { return Ok(Reply::Done) };
    let namespace = draft.namespaces.get(&id).expect("a name is that of a namespace").clone();
    for (chunk, record) in &namespace.chunks {
        record.slices.iter().for_each(|slice| retire::release_batch(draft, slice.batch));
        if record.state == ChunkState::Open {
            let mut owner = draft::epoch(draft, record.epoch)?;
            owner.open_chunks.remove_mut(chunk);
            draft::put_epoch(draft, record.epoch, owner);
        }
    }
    namespace.packs.values().for_each(|pack| retire::release_object(draft, pack.object));
    namespace.segments.values().for_each(|segment| retire::release_object(draft, segment.object));
    namespace.vectors.values().for_each(|set| retire::release_object(draft, set.object));
    namespace.vector_indexes.values().for_each(|index| retire::release_object(draft, index.object));
    draft.totals.subtract(&namespace.totals);
    draft.unsealed.remove_mut(&id);
    draft.names.remove_mut(name);
    draft.namespaces.remove_mut(&id);
    Ok(Reply::Done)
}
