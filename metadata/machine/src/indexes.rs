//! Vector fields are declared, and indexes over them come and are joined. A compare-and-swap; a chunk has one index of a field at most, and none is
//! lost in a join.

use super::draft::{Touched, invalid};
use super::parts;
use siltstone_core::{ChunkId, NamespaceId, ObjectId};
use siltstone_format::{
    command::{CommitIndexes, IndexPart, Rejection, Reply},
    manifest::{Manifest, NamespaceManifest, VECTOR_FIELD_LEN_MAX, VECTOR_FIELDS_MAX, VectorFieldRecord},
    vectors::DIMENSION_MAX,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The first declaration holds; the reply says what it is.
pub(super) fn declare(draft: &mut Manifest, namespace: NamespaceId, field: &str, dimension: u16) -> Result<Reply, Rejection> {
    let mut touched = Touched::default();
    let manifest = touched.namespace(draft, namespace)?;
    if let Some(known) = manifest.vector_fields.get(field) {
        return Ok(Reply::VectorField { dimension: known.dimension });
    }
    if field.is_empty() || field.len() > VECTOR_FIELD_LEN_MAX {
        return Err(invalid(format!("a vector field's name has 1 to {VECTOR_FIELD_LEN_MAX} bytes")));
    }
    if dimension == 0 || usize::from(dimension) > DIMENSION_MAX {
        return Err(invalid(format!("a vector has 1 to {DIMENSION_MAX} numbers, not {dimension}")));
    }
    if manifest.vector_fields.size() >= VECTOR_FIELDS_MAX {
        return Err(invalid(format!("namespace {namespace} has {VECTOR_FIELDS_MAX} vector fields already")));
    }
    manifest.vector_fields.insert_mut(field.into(), Arc::new(VectorFieldRecord { name: field.to_owned(), dimension }));
    touched.put_back(draft);
    Ok(Reply::VectorField { dimension })
}

pub(super) fn commit(draft: &mut Manifest, commit: &CommitIndexes) -> Result<Reply, Rejection> {
    parts::commit(
        draft,
        commit.epoch,
        &commit.object,
        &commit.parts,
        |part| part.namespace,
        |part, owner, namespace, released| {
            for index in &part.indexes_out {
                parts::take_index(owner, &commit.object, index)?;
            }
            replace(namespace, part, &mut released.objects)?;
            Ok(part.indexes_out.len())
        },
    )
}

fn replace(namespace: &mut NamespaceManifest, part: &IndexPart, released: &mut Vec<ObjectId>) -> Result<(), Rejection> {
    let mut before = BTreeSet::<(String, ChunkId)>::new();
    let mut vectors = BTreeMap::<String, u64>::new();
    for &id in &part.indexes_in {
        let index = namespace.vector_indexes.get(&id).cloned().ok_or(Rejection::IndexConflict { index: id })?;
        namespace.vector_indexes.remove_mut(&id);
        before.extend(index.chunks.iter().map(|chunk| (index.field.clone(), chunk)));
        *vectors.entry(index.field.clone()).or_default() += u64::from(index.vectors);
        released.push(index.object);
    }
    let mut covered: BTreeSet<(&str, ChunkId)> = BTreeSet::new();
    for index in namespace.vector_indexes.values() {
        covered.extend(index.chunks.iter().map(|chunk| (index.field.as_str(), chunk)));
    }
    let mut after = part.indexes_out.iter().flat_map(|index| index.chunks.iter().map(|chunk| (index.field.clone(), chunk)));
    // A plain join, whose chunks were checked when the indexes that go came, need not look at the packs.
    let sealed: BTreeSet<ChunkId> = match after.all(|chunk| before.contains(&chunk)) {
        true => BTreeSet::new(),
        false => namespace.sealed_chunks().map(|(_, chunk)| chunk.chunk).collect(),
    };
    for index in &part.indexes_out {
        if namespace.vector_fields.get(index.field.as_str()).is_none_or(|field| field.dimension != index.dimension) {
            return Err(invalid(format!("index {} is of a field that is not declared so", index.id)));
        }
        for chunk in index.chunks.iter() {
            let is_known = before.remove(&(index.field.clone(), chunk));
            if !covered.insert((&index.field, chunk)) || !(is_known || sealed.contains(&chunk)) {
                return Err(Rejection::CoverConflict { chunk });
            }
        }
        vectors.entry(index.field.clone()).and_modify(|left| *left = left.saturating_sub(u64::from(index.vectors)));
    }
    if !before.is_empty() || vectors.values().any(|left| *left != 0) {
        return Err(invalid("the indexes that come cover every chunk and vector of those that go"));
    }
    for index in &part.indexes_out {
        namespace.vector_indexes.insert_mut(index.id, Arc::new(index.clone()));
    }
    Ok(())
}
