//! Why a store is not this group's.

use siltstone_core::{ErrorKind, Incarnation};
use siltstone_store::StoreError;

/// Why a store is not this group's.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OwnerError {
    /// The store does not answer, or does not let us in.
    #[error("learn who owns the object store: {0}")]
    Store(#[from] StoreError),
    /// Another group claimed it.
    #[error(
        "claim the object store: {place} belongs to another group (incarnation {other:x}, this one is {mine:x}); \
         two groups can't share a store: choose another place, or start with the data directory that belongs to it",
        other = .other.0, mine = .incarnation.0
    )]
    OtherOwner {
        /// The store.
        place: String,
        /// Who claimed it.
        other: Incarnation,
        /// Who asked.
        incarnation: Incarnation,
    },
    /// A later life of the group owns it.
    #[error(
        "this group has been superseded: incarnation {by:x} owns {place} now, this one is {mine:x}. The group was restored or recovered elsewhere; \
         stop this one, and reach the group that lives",
        by = .by.0, mine = .incarnation.0
    )]
    Superseded {
        /// The store.
        place: String,
        /// Who owns it.
        by: Incarnation,
        /// Who asked.
        incarnation: Incarnation,
    },
    /// Another took the next life first.
    #[error(
        "succeed the owner of the object store: another restore or recovery took incarnation {taken:x} of {place} first; \
         use the group that it made, or begin again to supersede it",
        taken = .incarnation.0
    )]
    Lost {
        /// The store.
        place: String,
        /// The life that was to be taken.
        incarnation: Incarnation,
    },
    /// There is no owner to succeed.
    #[error("succeed the owner of the object store: nobody ever claimed {place}; is it the right store?")]
    NoOwner {
        /// The store.
        place: String,
    },
    /// The store does not know this life.
    #[error(
        "look who owns the object store: incarnation {mine:x} never claimed {place}; is it the right store, and was it emptied?",
        mine = .incarnation.0
    )]
    Unclaimed {
        /// The store.
        place: String,
        /// Who asked.
        incarnation: Incarnation,
    },
    /// An owner object can't be read.
    #[error("read owner object {key}: {detail}")]
    Damaged {
        /// The object.
        key: String,
        /// What is wrong with it.
        detail: String,
    },
    /// No number is left for another life.
    #[error("succeed the owner of the object store: incarnation {last:x} of {place} has no successor", last = .incarnation.0)]
    UsedUp {
        /// The store.
        place: String,
        /// The owner.
        incarnation: Incarnation,
    },
}

impl OwnerError {
    /// What the caller should do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error) => error.kind(),
            Self::OtherOwner { .. } | Self::Lost { .. } => ErrorKind::Conflict,
            Self::Superseded { .. } => ErrorKind::Fenced,
            Self::NoOwner { .. } | Self::Unclaimed { .. } => ErrorKind::NotFound,
            Self::Damaged { .. } => ErrorKind::Corrupt,
            Self::UsedUp { .. } => ErrorKind::Exhausted,
        }
    }
}
