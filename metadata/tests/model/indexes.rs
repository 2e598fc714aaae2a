//! Vector fields and indexes over entries' vectors in the naive model.

use siltstone_core::{ChunkId, NamespaceId, ObjectId, VectorIndexId};
use siltstone_format::command::{IndexPart, Reply};
use siltstone_format::manifest::{Manifest, VectorIndexRecord};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Default)]
pub(crate) struct Indexes {
    /// The dimension of each field.
    fields: BTreeMap<(NamespaceId, String), u16>,
    indexes: BTreeMap<VectorIndexId, (NamespaceId, VectorIndexRecord)>,
}

impl Indexes {
    pub(crate) fn declare(&mut self, namespace: NamespaceId, field: &str, dimension: u16) -> Option<Reply> {
        let key = (namespace, field.to_owned());
        if !self.fields.contains_key(&key) && (field.is_empty() || dimension == 0) {
            return None;
        }
        let dimension = *self.fields.entry(key).or_insert(dimension);
        Some(Reply::VectorField { dimension })
    }

    pub(crate) fn drop_namespace(&mut self, id: NamespaceId) {
        self.fields.retain(|(namespace, _), _| *namespace != id);
        self.indexes.retain(|_, (namespace, _)| *namespace != id);
    }

    /// `None` where an index that goes is not there, a chunk would have two indexes of a field or none any more, or vectors would be lost.
    pub(crate) fn replace<F>(&mut self, part: &IndexPart, is_sealed: F) -> Option<()>
    where
        F: Fn(ChunkId) -> bool,
    {
        let mut gone = Vec::new();
        for id in &part.indexes_in {
            gone.push(self.indexes.remove(id).filter(|(namespace, _)| *namespace == part.namespace)?.1);
        }
        for index in &part.indexes_out {
            if index.vectors == 0 || index.chunks.is_empty() || self.fields.get(&(part.namespace, index.field.clone())) != Some(&index.dimension) {
                return None;
            }
            let covered = self.chunks_of(part.namespace, &index.field);
            if index.chunks.iter().any(|chunk| covered.contains(&chunk) || !is_sealed(chunk)) {
                return None;
            }
            assert!(self.indexes.insert(index.id, (part.namespace, index.clone())).is_none(), "MF-1: an id comes once");
        }
        for index in &gone {
            let of_field = |indexes: &[VectorIndexRecord]| -> u64 {
                indexes.iter().filter(|other| other.field == index.field).map(|other| u64::from(other.vectors)).sum()
            };
            let covered = self.chunks_of(part.namespace, &index.field);
            if of_field(&part.indexes_out) < of_field(&gone) || !index.chunks.iter().all(|chunk| covered.contains(&chunk)) {
                return None;
            }
        }
        Some(())
    }

    fn chunks_of(&self, namespace: NamespaceId, field: &str) -> BTreeSet<ChunkId> {
        let of_field = self.indexes.values().filter(|(owner, index)| *owner == namespace && index.field == field);
        of_field.flat_map(|(_, index)| index.chunks.iter()).collect()
    }

    pub(crate) fn is_object_named(&self, id: ObjectId) -> bool {
        self.indexes.values().any(|(_, index)| index.object == id)
    }

    /// Panics where the manifest is not what this model says.
    pub(crate) fn check(&self, manifest: &Manifest) {
        let (mut fields, mut found) = (BTreeMap::new(), BTreeMap::new());
        for namespace in manifest.namespaces.values() {
            for (name, field) in &namespace.vector_fields {
                assert_eq!(name.as_ref(), field.name);
                fields.insert((namespace.id, field.name.clone()), field.dimension);
            }
            let sealed: BTreeSet<ChunkId> = namespace.sealed_chunks().map(|(_, chunk)| chunk.chunk).collect();
            let mut covered = BTreeSet::new();
            for (id, index) in &namespace.vector_indexes {
                assert_eq!((*id, namespace.vector_fields.get(index.field.as_str()).map(|field| field.dimension)), (index.id, Some(index.dimension)));
                for chunk in index.chunks.iter() {
                    assert!(sealed.contains(&chunk), "index {id} names chunk {chunk}, which no pack of its namespace has (NS-1)");
                    assert!(covered.insert((&index.field, chunk)), "chunk {chunk} has two indexes of {:?}", index.field);
                }
                assert!(found.insert(*id, (namespace.id, index.as_ref().clone())).is_none(), "NS-1: index {id} is there twice");
            }
        }
        assert_eq!(fields, self.fields, "the first declaration holds");
        assert_eq!(found, self.indexes);
    }
}
