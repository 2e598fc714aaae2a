//! What can go wrong with a model.

use siltstone_core::ErrorKind;

/// Why there are no vectors.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model's files are not what they should be.
    #[error("load the model {name}: {detail}")]
    Model {
        /// The model, or the file.
        name: String,
        /// What is wrong with it, and what to do.
        detail: String,
    },
    /// The model failed on a text.
    #[error("embed {texts} texts: {detail}")]
    Run {
        /// How many.
        texts: usize,
        /// What the model said.
        detail: String,
    },
}

impl EmbedError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Model { .. } => ErrorKind::Corrupt,
            Self::Run { .. } => ErrorKind::Internal,
        }
    }
}
