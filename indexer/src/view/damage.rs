//! Indexes over vectors that were found damaged. What an index says can be said without it, from the stored vectors, so damage costs time and not
//! answers: queries compare its rows one by one and say so (RQ-1), and the index job builds it anew.
//!
//! What was found is kept in memory: after a restart the next query finds it again.

use super::ViewError;
use parking_lot::Mutex;
use siltstone_core::{ErrorKind, VectorIndexId};
use siltstone_format::manifest::{Manifest, VectorIndexRecord};
use std::collections::BTreeMap;
use tokio::sync::Notify;

/// What is known to be damaged.
#[derive(Default)]
pub(crate) struct DamagedIndexes {
    found: Mutex<BTreeMap<VectorIndexId, Damage>>,
    /// What was found and not told of yet, mended since or not.
    untold: Mutex<Vec<String>>,
    noticed: Notify,
}

struct Damage {
    text: String,
    /// Not so where a newer version wrote it: two versions side by side would undo each other's work for ever.
    must_be_rebuilt: bool,
}

impl DamagedIndexes {
    /// What is to be said of an answer without an index that can't be read. An error that tells of no damage stays one: a store that does not answer
    /// would not give the vectors either.
    pub(super) fn note(&self, record: &VectorIndexRecord, error: ViewError) -> Result<String, ViewError> {
        if let ViewError::DamagedIndex { text } = error {
            return Ok(text);
        }
        let must_be_rebuilt = match error.kind() {
            ErrorKind::Corrupt => true,
            ErrorKind::Unsupported => false,
            _ => return Err(error),
        };
        let end = if must_be_rebuilt { "until it is built anew" } else { "until a version that reads it runs here" };
        let vectors = record.vectors;
        let text = format!("{error}; without it, the rows of its {vectors} vectors of {:?} are compared one by one, {end}", record.field);
        if self.found.lock().insert(record.id, Damage { text: text.clone(), must_be_rebuilt }).is_none() {
            self.untold.lock().push(text.clone());
            self.noticed.notify_one();
        }
        Ok(text)
    }

    /// What was said of an index.
    pub(super) fn text_of(&self, index: VectorIndexId) -> Option<String> {
        self.found.lock().get(&index).map(|damage| damage.text.clone())
    }

    pub(super) fn forget(&self, indexes: &[VectorIndexId]) {
        self.found.lock().retain(|index, _| !indexes.contains(index));
    }

    /// Whether an index is to be built anew.
    pub(crate) fn must_be_rebuilt(&self, index: VectorIndexId) -> bool {
        self.found.lock().get(&index).is_some_and(|damage| damage.must_be_rebuilt)
    }

    /// Forgets what no longer exists: a query that ran on an old view may have found it late.
    pub(crate) fn keep_named(&self, manifest: &Manifest) {
        let is_named = |index: &VectorIndexId| manifest.namespaces.values().any(|namespace| namespace.vector_indexes.contains_key(index));
        self.found.lock().retain(|index, _| is_named(index));
    }

    /// What was found since the last call.
    pub(crate) fn news(&self) -> Vec<String> {
        std::mem::take(&mut self.untold.lock())
    }

    /// Returns once something is found; at once where that was since the last call.
    pub(crate) async fn noticed(&self) {
        self.noticed.notified().await;
    }
}
