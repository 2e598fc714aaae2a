//! The batch around its slices: an envelope of kind [`ObjectKind::Batch`].

use super::slice::SliceEncoder;
use crate::container::{ObjectBytes, ObjectKind, ObjectWriter, SectionKind};
use crate::manifest::CheckedRange;
use crate::rows::Rows;

/// Makes one batch.
pub struct BatchWriter {
    object: ObjectWriter,
    encoder: SliceEncoder,
    slice: Vec<u8>,
}

impl Default for BatchWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl BatchWriter {
    /// A batch without slices.
    #[must_use]
    pub fn new() -> Self {
        Self { object: ObjectWriter::new(ObjectKind::Batch), encoder: SliceEncoder::default(), slice: Vec::new() }
    }

    /// Appends rows as a slice. The range is what the commit names, and what [`decode_slice`](super::decode_slice) checks.
    ///
    /// # Panics
    /// When the batch would pass the length of any object (see [`ObjectWriter::add`]): a writer flushes long before.
    pub fn add_slice(&mut self, rows: &Rows) -> CheckedRange {
        self.slice.clear();
        self.encoder.encode(rows, &mut self.slice);
        self.object.add(SectionKind::Slice, &self.slice)
    }

    /// How many bytes the batch has so far.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.object.len_bytes()
    }

    /// The whole object, to be put on the object store before any commit names it (MF-1).
    #[must_use]
    pub fn finish(self) -> ObjectBytes {
        self.object.finish()
    }
}
