//! How a source is read. Everything here but the format's override decides about entries, and so stands in the producer's name.

use crate::input::Format;
use crate::limits::{PARQUET_READER_VERSION, READER_VERSION};
use crate::mapping::Mapping;
use crate::npy::VectorsFile;
use siltstone_core::Severity;

/// How a source is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportOptions {
    /// The format, where it is not to be found out by the name and the content.
    pub format: Option<Format>,
    /// Which keys are which fields. Not used for plain text.
    pub mapping: Mapping,
    /// The namespace of entries that bring none; empty when there is none, and such entries are refused.
    pub namespace: String,
    /// The deployment of entries that bring none.
    pub deployment: String,
    /// The pod of entries that bring none.
    pub pod: String,
    /// The container of entries that bring none.
    pub container: String,
    /// The severity of entries that bring none.
    pub severity: Severity,
    /// Whether the timestamp at the start of a line of plain text is taken as the entry's. The body keeps it in any case.
    pub detect_timestamps: bool,
    /// A file with a vector for each record.
    pub vectors: Option<VectorsFile>,
    /// Columns of Parquet that are vectors; `None` for all lists of floats. Others become attributes.
    pub vector_columns: Option<Vec<String>>,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            format: None,
            mapping: Mapping::default(),
            namespace: String::new(),
            deployment: String::new(),
            pod: String::new(),
            container: String::new(),
            severity: Severity::UNSPECIFIED,
            detect_timestamps: true,
            vectors: None,
            vector_columns: None,
        }
    }
}

impl ImportOptions {
    /// A digest of all that decides which entries the same content gives; all but the vectors of a file of their own.
    pub(crate) fn digest(&self, format: Format) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_derive_key("siltstone import options");
        let version = if format == Format::Parquet { PARQUET_READER_VERSION } else { READER_VERSION };
        hasher.update(&version.to_le_bytes());
        hasher.update(&[format as u8, self.severity.number(), u8::from(self.detect_timestamps)]);
        for text in [&self.namespace, &self.deployment, &self.pod, &self.container] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        self.mapping.digest_into(&mut hasher);
        if let Some(columns) = &self.vector_columns {
            hasher.update(b"vector columns");
            for column in columns {
                hasher.update(&(column.len() as u64).to_le_bytes());
                hasher.update(column.as_bytes());
            }
        }
        hasher.finalize()
    }
}
