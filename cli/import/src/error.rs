//! What ends an import. What refuses a single line or row is a [`Refusal`](crate::Refusal), not an error.

use crate::input::Compression;
use siltstone_core::ErrorKind;
use std::io;

/// Why a source cannot be read, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be opened.
    #[error("open {source_name}: {error}")]
    Open {
        /// The source's name.
        source_name: String,
        /// What the system said.
        error: io::Error,
    },
    /// The file has no stable content that could be read twice.
    #[error("open {source_name}: it is not a regular file, so it has no content to be known by; give it on stdin with a source id")]
    NotRegular {
        /// The source's name.
        source_name: String,
    },
    /// A directory was named.
    #[error("open {source_name}: it is a directory; name the files in it, as in {source_name}/*.log")]
    IsDirectory {
        /// The source's name.
        source_name: String,
    },
    /// Reading failed.
    #[error("read {source_name} after {bytes} bytes: {error}")]
    Read {
        /// The source's name.
        source_name: String,
        /// How far the source was read, in bytes as stored.
        bytes: u64,
        /// What the system said.
        error: io::Error,
    },
    /// The compressed data ends before its end mark.
    #[error("decompress {source_name}: the {compression} data ends in the middle, after {bytes} bytes; what stood before was read")]
    Truncated {
        /// The source's name.
        source_name: String,
        /// How it is compressed.
        compression: Compression,
        /// How far the source was read, in bytes as stored.
        bytes: u64,
    },
    /// The compressed data is damaged.
    #[error("decompress {source_name}: the {compression} data is damaged near byte {bytes}: {detail}; what stood before was read")]
    Damaged {
        /// The source's name.
        source_name: String,
        /// How it is compressed.
        compression: Compression,
        /// How far the source was read, in bytes as stored.
        bytes: u64,
        /// What the decompressor said.
        detail: String,
    },
    /// A file of vectors that is no array of rows of floats, or has more or fewer rows than there are records.
    #[error("read the vectors of {source_name}: {detail}")]
    Npy {
        /// The file.
        source_name: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The file is not the one that was hashed.
    #[error("read {source_name}: it changed while it was imported; import it again when it is still")]
    Changed {
        /// The source's name.
        source_name: String,
    },
    /// The content is of a kind that is not read.
    #[error("read {source_name}: it looks like {what}, which is not read; {advice}")]
    Unsupported {
        /// The source's name.
        source_name: String,
        /// What it looks like.
        what: &'static str,
        /// What to do about it.
        advice: &'static str,
    },
    /// The name or the option says Parquet, the content does not.
    #[error("read {source_name} as Parquet: it does not begin with PAR1")]
    NotParquet {
        /// The source's name.
        source_name: String,
    },
    /// The Parquet file is damaged or uses what is not supported.
    #[error("decode Parquet {source_name} near row {row}: {detail}")]
    Parquet {
        /// The source's name.
        source_name: String,
        /// The last row that was read, counted from 1.
        row: u64,
        /// What the decoder said.
        detail: String,
    },
    /// The temporary copy of a Parquet stream failed.
    #[error("copy {source_name} to a temporary file, which Parquet needs: {error}")]
    Spool {
        /// The source's name.
        source_name: String,
        /// What the system said.
        error: io::Error,
    },
}

impl ImportError {
    /// What the caller should do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Open { error, .. } => match error.kind() {
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
                _ => ErrorKind::Unavailable,
            },
            Self::Read { .. } => ErrorKind::Unavailable,
            Self::NotRegular { .. } | Self::IsDirectory { .. } | Self::NotParquet { .. } | Self::Npy { .. } => ErrorKind::InvalidInput,
            Self::Truncated { .. } | Self::Damaged { .. } | Self::Parquet { .. } => ErrorKind::Corrupt,
            Self::Changed { .. } => ErrorKind::Conflict,
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::Spool { error, .. } => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Exhausted,
                _ => ErrorKind::Unavailable,
            },
        }
    }
}

/// Why a mapping cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// The file is neither the TOML nor the JSON that is expected.
    #[error("read the mapping: {detail}")]
    Syntax {
        /// What the parser said.
        detail: String,
    },
    /// A flag without `=`.
    #[error("read the mapping {text:?}: it is FIELD=KEY[,KEY…]")]
    NotAnAssignment {
        /// The flag's value.
        text: String,
    },
    /// A field without a key, or with an empty one.
    #[error("map the field {field}: it needs a key, as in {field}=KEY")]
    NoKey {
        /// The field.
        field: &'static str,
    },
    /// A mapping file that says nothing.
    #[error("read the mapping: it is empty; each line gives a field its key, as in body = \"message\"")]
    Empty,
    /// A field that entries do not have.
    #[error("map the field {field:?}: it is none of timestamp, severity, namespace, deployment, pod, container, body")]
    UnknownField {
        /// The name.
        field: String,
    },
    /// A unit that is not known.
    #[error("read the unit {unit:?}: it is none of s, ms, us, ns")]
    UnknownUnit {
        /// The name.
        unit: String,
    },
    /// One key for two fields.
    #[error("map the key {key:?}: it would be both {first} and {second}")]
    KeyTwice {
        /// The key.
        key: String,
        /// The field that has it.
        first: &'static str,
        /// The field that was to have it, too.
        second: &'static str,
    },
    /// More keys than one entry's fields may be looked up under.
    #[error("map {keys} keys: at most {keys_max} are possible")]
    TooManyKeys {
        /// How many there are.
        keys: usize,
        /// How many there may be.
        keys_max: usize,
    },
}

impl MappingError {
    /// What the caller should do.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidInput
    }
}
