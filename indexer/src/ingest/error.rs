//! Why a write failed as a whole. Single entries that can't be taken are refusals, not errors.

use siltstone_core::ErrorKind;
use siltstone_metadata_client::ClientError;
use siltstone_store::StoreError;

/// Why none of a request's entries was acknowledged.
#[derive(Clone, Debug, thiserror::Error)]
pub enum IngestError {
    /// The object store did not take the batch.
    #[error("write a batch to the object store: {0}")]
    Store(#[from] StoreError),
    /// The metadata group did not take the commit, or its answer was lost.
    #[error("commit a batch: {0}")]
    Metadata(#[from] ClientError),
    /// The writer begins anew; what it had not committed is not there.
    #[error("write: the writer begins a new life after {cause}; send the request again (with the same key it is taken once)")]
    Restarted {
        /// What happened.
        cause: String,
        /// What kind of thing that was.
        kind: ErrorKind,
    },
    /// The group is away, and what became of a commit is known only once it is back.
    #[error(
        "write: whether the entries were taken in is not known, and will not be before the metadata group is back ({cause}); \
         send the request again (with the same key it is taken once)"
    )]
    OutcomeUnknown {
        /// What happened.
        cause: String,
    },
    /// The server is going down.
    #[error("write: the server is shutting down; send the request again to another, or later")]
    Stopping,
    /// A client key that can't be one.
    #[error("write: {reason}")]
    Key {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Nothing is known of the request's sequence any more.
    #[error(
        "write: sequence {sequence} lies 64 or more behind {newest}, the newest of this producer, so it is not known whether it came before: send it with \
         a new sequence if it did not; a sender that never runs so far ahead of what is acknowledged may set in_order"
    )]
    TooFarBehind {
        /// The request's sequence.
        sequence: u64,
        /// The newest one of its producer.
        newest: u64,
    },
    /// The request is too large for the memory that writes may take.
    #[error("write: the request has {bytes} bytes, the limit is {bytes_max}; send smaller requests")]
    TooLarge {
        /// Bytes of bodies and attributes.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
}

impl IngestError {
    /// Whether entries whose flush ended so may exist, or come to exist.
    pub(super) const fn is_in_doubt(&self) -> bool {
        // What is not on the store is not committed, and the group's word that it took nothing in holds for ever.
        !matches!(self, Self::Store(_) | Self::Metadata(ClientError::Unavailable { .. }))
    }

    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => error.kind(),
            Self::Metadata(error) => match error.kind() {
                // A writer's epoch is its own affair: to the caller it is a server that begins anew.
                ErrorKind::Fenced | ErrorKind::Conflict => ErrorKind::Unavailable,
                kind => kind,
            },
            Self::Restarted { kind, .. } => *kind,
            Self::OutcomeUnknown { .. } => ErrorKind::Unknown,
            Self::Stopping => ErrorKind::Unavailable,
            Self::TooFarBehind { .. } => ErrorKind::Conflict,
            Self::Key { .. } | Self::TooLarge { .. } => ErrorKind::InvalidInput,
        }
    }
}
