//! The id of an embedding model.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest id, in bytes.
pub const MODEL_ID_BYTES_MAX: usize = 96;

/// Names a model *and* the rule that makes a pattern's text: `NAME+pRULE`, such as `siltstone-static-1+p1`. Vectors of two ids never meet.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelId(Box<str>);

/// Why a text is no model id.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("name a model {id:?}: an id has 1 to 96 of the characters a-z A-Z 0-9 . _ + -, and begins with a letter or digit")]
pub struct ModelIdError {
    /// What was given.
    pub id: String,
}

impl ModelId {
    /// Checks an id.
    ///
    /// # Errors
    /// [`ModelIdError`] where it is empty, too long, or has other characters: it is part of object keys.
    pub fn new(id: &str) -> Result<Self, ModelIdError> {
        let is_sound = id.len() <= MODEL_ID_BYTES_MAX
            && id.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte));
        if is_sound { Ok(Self(id.into())) } else { Err(ModelIdError { id: id.to_owned() }) }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ModelId {
    type Error = ModelIdError;

    fn try_from(id: String) -> Result<Self, ModelIdError> {
        Self::new(&id)
    }
}

impl From<ModelId> for String {
    fn from(id: ModelId) -> Self {
        id.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_could_leave_its_folder_is_refused() {
        for id in ["", "../x", ".hidden", "a/b", "a b", "é", &"x".repeat(97)] {
            assert!(ModelId::new(id).is_err(), "{id:?}");
        }
        assert_eq!(ModelId::new("siltstone-static-1+p1").map(String::from), Ok("siltstone-static-1+p1".to_owned()));
    }
}
