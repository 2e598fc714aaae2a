//! Models by the group's records: loaded once, kept while the process lives.

use parking_lot::Mutex;
use siltstone_core::{ErrorKind, ModelId};
use siltstone_embedder::{EmbedError, Embedder, StaticModel, Transformer};
use siltstone_format::manifest::ModelRecord;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Why a model is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Its files, or a run.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// The files are another model's than the record says.
    #[error(
        "load the model {wanted} from {source_path:?}: the files there are the model {found}; put the right ones there, or remove the model and add it anew"
    )]
    Another {
        /// The model of the record.
        wanted: ModelId,
        /// The model that was found.
        found: ModelId,
        /// Where.
        source_path: String,
    },
    /// Its vectors have another dimension than the record says.
    #[error("load the model {model}: its vectors have {found} numbers, not {wanted} as the group knows; remove it and add it anew")]
    Dimension {
        /// The model.
        model: ModelId,
        /// What the record says.
        wanted: u16,
        /// What the model says.
        found: usize,
    },
}

impl ModelError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Embed(error) => error.kind(),
            Self::Another { .. } | Self::Dimension { .. } => ErrorKind::InvalidInput,
        }
    }
}

/// Loaded models.
#[derive(Default)]
pub struct Models {
    loaded: Mutex<BTreeMap<ModelId, Arc<dyn Embedder>>>,
}

impl Models {
    /// The model that ships with the program.
    #[must_use]
    pub fn built_in() -> &'static StaticModel {
        StaticModel::built_in()
    }

    /// The model of a record, loaded if it is not. Blocks while it loads.
    ///
    /// # Errors
    /// [`ModelError`]
    pub fn get(&self, record: &ModelRecord) -> Result<Arc<dyn Embedder>, ModelError> {
        if let Some(loaded) = self.loaded.lock().get(&record.id) {
            return Ok(loaded.clone());
        }
        let model: Arc<dyn Embedder> = if record.source.is_empty() { Arc::new(BuiltIn) } else { Arc::new(open(Path::new(&record.source))?) };
        if model.id() != &record.id {
            return Err(ModelError::Another { wanted: record.id.clone(), found: model.id().clone(), source_path: record.source.clone() });
        }
        if model.dimension() != usize::from(record.dimension) {
            return Err(ModelError::Dimension { model: record.id.clone(), wanted: record.dimension, found: model.dimension() });
        }
        self.loaded.lock().insert(record.id.clone(), model.clone());
        Ok(model)
    }

    /// Drops models that the group no longer knows.
    pub fn retain<F>(&self, is_known: F)
    where
        F: Fn(&ModelId) -> bool,
    {
        self.loaded.lock().retain(|id, _| is_known(id));
    }
}

/// Opens a model's folder; its name is the folder's.
///
/// # Errors
/// [`EmbedError`]
pub fn open(folder: &Path) -> Result<Transformer, EmbedError> {
    let name: String = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let name: String = name.chars().map(|char| if char.is_ascii_alphanumeric() || "._-".contains(char) { char } else { '-' }).take(60).collect();
    Transformer::open(if name.is_empty() { "model" } else { &name }, folder)
}

/// The built-in model, which lives as long as the program.
struct BuiltIn;

impl Embedder for BuiltIn {
    fn id(&self) -> &ModelId {
        Models::built_in().id()
    }

    fn dimension(&self) -> usize {
        Models::built_in().dimension()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<f32>, EmbedError> {
        Models::built_in().embed(texts)
    }
}
