//! Turns text into vectors.
//!
//! Not here: which patterns want a vector, where vectors are kept, and how they are searched (`siltstone-indexer`, `siltstone-vector`).

mod error;
mod pattern_text;
mod static_model;
mod transformer;
mod wordpiece;

pub use error::EmbedError;
pub use pattern_text::{PATTERN_TEXT_RULE, pattern_text, query_text};
pub use static_model::{BUILT_IN_MODEL, StaticModel};
pub use transformer::{TOKENS_MAX, Transformer, TransformerFiles};

use siltstone_core::ModelId;

/// A model: text in, unit vectors out. The same text always gives the same vector, whatever stands beside it in the batch (to within rounding for
/// transformers).
pub trait Embedder: Send + Sync {
    /// The model and the rule of pattern texts that its vectors belong to.
    fn id(&self) -> &ModelId;

    /// Numbers in a vector.
    fn dimension(&self) -> usize;

    /// One vector of length one per text, in order: `texts.len() × dimension()` numbers, row by row. A text without any known word gets the zero
    /// vector.
    ///
    /// # Errors
    /// [`EmbedError`] where the model cannot run.
    fn embed(&self, texts: &[&str]) -> Result<Vec<f32>, EmbedError>;
}
