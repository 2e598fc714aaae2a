//! The static model: a vector and a weight for each piece of a vocabulary; a text's vector is the weighted mean of its pieces' vectors plus a bias,
//! brought to length one. No layers, so thousands of lines a second on one core; trained so that its vectors are near a transformer's
//! (`embedder/training`).
//!
//! Not here: how it is trained, and which of its words matter to a query.

mod format;

use crate::wordpiece::{Scratch, UNKNOWN, WordPiece};
use crate::{EmbedError, Embedder, PATTERN_TEXT_RULE};
use format::Parts;
use siltstone_core::ModelId;
use std::borrow::Cow;
use std::sync::OnceLock;

/// The model that ships with the program.
static BUILT_IN: &[u8] = include_bytes!("../../model/siltstone-static-1.bin");

/// The name of the built-in model, without the rule of pattern texts.
pub const BUILT_IN_MODEL: &str = "siltstone-static-1";

/// A loaded static model.
pub struct StaticModel {
    id: ModelId,
    parts: Parts,
    bytes: Cow<'static, [u8]>,
    pieces: WordPiece,
}

impl StaticModel {
    /// The built-in model, loaded once.
    #[must_use]
    pub fn built_in() -> &'static Self {
        static LOADED: OnceLock<StaticModel> = OnceLock::new();
        LOADED.get_or_init(|| Self::load(BUILT_IN_MODEL, Cow::Borrowed(BUILT_IN)).expect("the model in the program is whole: a test loads it"))
    }

    /// Loads a model's file. `name` becomes the first part of its id.
    ///
    /// # Errors
    /// [`EmbedError::Model`] where the bytes are no static model, are damaged or cut off, or are of a later version; or where `name` is no id.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, EmbedError> {
        Self::load(name, Cow::Owned(bytes))
    }

    fn load(name: &str, bytes: Cow<'static, [u8]>) -> Result<Self, EmbedError> {
        let broken = |detail: String| EmbedError::Model { name: name.to_owned(), detail };
        let id = ModelId::new(&format!("{name}+p{PATTERN_TEXT_RULE}")).map_err(|error| broken(error.to_string()))?;
        let parts = Parts::parse(&bytes).map_err(|error| broken(error.to_string()))?;
        let pieces = WordPiece::new(parts.pieces(&bytes).map_err(|error| broken(error.to_string()))?);
        Ok(Self { id, parts, bytes, pieces })
    }

    /// Writes the vector of one text into `out`, which is of the model's dimension and zero.
    fn write(&self, text: &str, buffers: &mut Buffers, out: &mut [f32]) {
        buffers.ids.clear();
        self.pieces.cut(text, self.parts.pieces_max, &mut buffers.scratch, &mut buffers.ids);
        let mut weights = 0.0_f32;
        for &id in buffers.ids.iter().filter(|id| **id != UNKNOWN) {
            let row = self.parts.row(&self.bytes, id as usize);
            weights += row.weight;
            for (sum, &number) in out.iter_mut().zip(row.numbers) {
                *sum += row.scale * f32::from(number as i8);
            }
        }
        if weights <= 0.0 {
            return;
        }
        let mut squares = 0.0_f32;
        for (sum, &bias) in out.iter_mut().zip(&self.parts.bias) {
            *sum = *sum / weights + bias;
            squares += *sum * *sum;
        }
        let length = squares.sqrt();
        if length > f32::MIN_POSITIVE {
            out.iter_mut().for_each(|number| *number /= length);
        } else {
            out.fill(0.0);
        }
    }
}

#[derive(Default)]
struct Buffers {
    scratch: Scratch,
    ids: Vec<u32>,
}

impl Embedder for StaticModel {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.parts.dimension
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<f32>, EmbedError> {
        let mut vectors = vec![0.0; texts.len() * self.parts.dimension];
        let mut buffers = Buffers::default();
        for (text, out) in texts.iter().zip(vectors.chunks_exact_mut(self.parts.dimension)) {
            self.write(text, &mut buffers, out);
        }
        Ok(vectors)
    }
}

/// The built-in model's vocabulary, for tests of the cut.
#[cfg(test)]
pub(crate) fn built_in_pieces() -> Vec<&'static str> {
    Parts::parse(BUILT_IN).and_then(|parts| parts.pieces(BUILT_IN)).expect("the model in the program is whole")
}

#[cfg(test)]
#[path = "static_model_test.rs"]
mod tests;
