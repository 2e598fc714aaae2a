//! Models and sets of pattern vectors in the naive model.

use siltstone_core::{ModelId, NamespaceId, ObjectId, VectorSetId};
use siltstone_format::command::{Reply, VectorPart};
use siltstone_format::manifest::{Manifest, ModelState, VectorSetRecord};
use std::collections::BTreeMap;

#[derive(Clone, Default)]
pub(crate) struct Vectors {
    /// Dimension and source of each model.
    models: BTreeMap<ModelId, (u16, String)>,
    serving: Option<ModelId>,
    sets: BTreeMap<VectorSetId, (NamespaceId, VectorSetRecord)>,
}

impl Vectors {
    pub(crate) fn add_model(&mut self, model: &ModelId, dimension: u16, source: &str) -> Option<Reply> {
        let record = (dimension, source.to_owned());
        let is_sound = dimension != 0 && *self.models.entry(model.clone()).or_insert(record.clone()) == record;
        is_sound.then_some(Reply::Done)
    }

    pub(crate) fn use_model(&mut self, model: &ModelId) -> Option<Reply> {
        self.models.get(model)?;
        self.serving = Some(model.clone());
        Some(Reply::Done)
    }

    pub(crate) fn remove_model(&mut self, model: &ModelId) -> Option<Reply> {
        if self.serving.as_ref() == Some(model) {
            return None;
        }
        self.models.remove(model);
        self.sets.retain(|_, (_, set)| set.model != *model);
        Some(Reply::Done)
    }

    pub(crate) fn drop_namespace(&mut self, id: NamespaceId) {
        self.sets.retain(|_, (namespace, _)| *namespace != id);
    }

    /// `None` where a set that goes is not there, a model is not known, or a join would lose vectors.
    pub(crate) fn replace(&mut self, part: &VectorPart) -> Option<()> {
        for id in &part.sets_in {
            let (_, gone) = self.sets.remove(id).filter(|(namespace, _)| *namespace == part.namespace)?;
            part.sets_out.iter().find(|set| set.model == gone.model && set.patterns >= gone.patterns)?;
        }
        for set in &part.sets_out {
            let (dimension, _) = self.models.get(&set.model)?;
            if *dimension != set.dimension || set.patterns == 0 {
                return None;
            }
            assert!(self.sets.insert(set.id, (part.namespace, set.clone())).is_none(), "MF-1: an id comes once");
        }
        Some(())
    }

    pub(crate) fn is_object_named(&self, id: ObjectId) -> bool {
        self.sets.values().any(|(_, set)| set.object == id)
    }

    /// Panics where the manifest is not what this model says.
    pub(crate) fn check(&self, manifest: &Manifest) {
        let models = manifest.models.iter().map(|(id, model)| {
            assert_eq!(*id, model.id);
            (id.clone(), (model.dimension, model.source.clone()))
        });
        assert_eq!(models.collect::<BTreeMap<_, _>>(), self.models);
        let serving: Vec<_> = manifest.models.values().filter(|model| model.state == ModelState::Serving).map(|model| &model.id).collect();
        assert_eq!(serving, self.serving.iter().collect::<Vec<_>>(), "one model serves at most, and once one does it is never none");
        assert_eq!(manifest.serving_model().map(|model| &model.id), self.serving.as_ref());

        let mut found = BTreeMap::new();
        for namespace in manifest.namespaces.values() {
            for (id, set) in &namespace.vectors {
                assert_eq!(*id, set.id);
                assert_eq!(manifest.models.get(&set.model).map(|model| model.dimension), Some(set.dimension), "VE-1");
                assert!(found.insert(*id, (namespace.id, set.as_ref().clone())).is_none(), "NS-1: set {id} is there twice");
            }
        }
        assert_eq!(found, self.sets);
        let sets = self.sets.values().map(|(_, set)| set);
        let vectors: u64 = sets.clone().map(|set| u64::from(set.patterns)).sum();
        let bytes: u64 = sets.map(|set| u64::from(set.range.len)).sum();
        let totals = manifest.totals;
        assert_eq!((totals.vector_sets, totals.vectors, totals.vector_bytes), (self.sets.len() as u64, vectors, bytes));
    }
}
