//! Newtypes for every id. An id is never a bare integer outside this module.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
        pub struct $name(pub $int);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// The tenant wall. Given once by the metadata group, never used again for another name.
    NamespaceId(u32)
);
id!(
    /// A chunk: up to [`CHUNK_ROWS_MAX`](crate::CHUNK_ROWS_MAX) entries of one namespace from one writer. 53 bits, so that a row address fits a
    /// `u64`.
    ChunkId(u64)
);
id!(
    /// An indexer in its ingest role.
    WriterId(u32)
);
id!(
    /// One life of a writer or of a job, given by the metadata group in increasing order and never again. A command of a
    /// fenced epoch changes nothing (EP-1). Every object key carries the epoch of its maker.
    Epoch(u64)
);
id!(
    /// One flush of one writer: the epoch and a counter within it make the object's key.
    BatchId(u64)
);
id!(
    /// An object on the object store that carries packs and segments.
    ObjectId(u64)
);
id!(
    /// A pack: the columns of chunks of one namespace, a byte range of an object.
    PackId(u64)
);
id!(
    /// A segment: an index's read-only structures over chunks of one namespace, a byte range of an object.
    SegmentId(u64)
);
id!(
    /// A set of pattern vectors of one namespace and model: a byte range of an object.
    VectorSetId(u64)
);
id!(
    /// An index over vectors of entries of one namespace and field: a byte range of an object.
    VectorIndexId(u64)
);
id!(
    /// A position in the metadata group's log.
    CommitIndex(u64)
);
id!(
    /// One life of a metadata group: a restored group is a new incarnation.
    Incarnation(u64)
);

/// What an acknowledgement carries: every view at or past it covers the acknowledged entries (AK-1).
///
/// Its text form is `incarnation-index`, both in lower-case hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CommitToken {
    /// The life of the metadata group that gave the token.
    pub incarnation: Incarnation,
    /// The log index of the commit.
    pub index: CommitIndex,
}

impl fmt::Display for CommitToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.incarnation.0, self.index.0)
    }
}

impl std::str::FromStr for CommitToken {
    type Err = ParseCommitTokenError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseCommitTokenError { text: text.to_owned() };
        let (incarnation, index) = text.split_once('-').ok_or_else(error)?;
        Ok(Self {
            incarnation: Incarnation(u64::from_str_radix(incarnation, 16).map_err(|_| error())?),
            index: CommitIndex(u64::from_str_radix(index, 16).map_err(|_| error())?),
        })
    }
}

/// A text that is no commit token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read commit token {text:?}: it is two hexadecimal numbers with a '-' between them")]
pub struct ParseCommitTokenError {
    /// The text as it came.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_token_survives_its_text_form() {
        let token = CommitToken { incarnation: Incarnation(0xfeed), index: CommitIndex(4711) };
        assert_eq!(token.to_string().parse(), Ok(token));
        assert!("xyz".parse::<CommitToken>().is_err());
        assert!("12".parse::<CommitToken>().is_err());
    }
}
