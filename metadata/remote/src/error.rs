//! Why a group is not followed.

use siltstone_core::{CommitIndex, ErrorKind, Incarnation};
use siltstone_format::{envelope::EnvelopeError, snapshot::SnapshotError};

/// Why a group is not followed, or not by this member at this time.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FollowError {
    /// No addresses were given, or one of them is none.
    #[error("follow the metadata group at {address:?}: {reason}")]
    Address {
        /// The address.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Other work was begun under this group's earlier life, whose positions and ids mean nothing now.
    #[error(
        "follow the metadata group: it now lives as incarnation {now:x}, not {before:x} (it was restored, or this is another group); start again",
        now = .now.0, before = .before.0
    )]
    OtherIncarnation {
        /// The life that was followed.
        before: Incarnation,
        /// The life that was met.
        now: Incarnation,
    },
    /// A newer program wrote this: passing over it would give a state that the group does not have.
    #[error("follow the metadata group: log position {index} holds a command that this program does not know; update this program ({source})")]
    UnknownCommand {
        /// The place.
        index: CommitIndex,
        /// What is not known.
        source: EnvelopeError,
    },
    /// A newer program wrote this.
    #[error("follow the metadata group: its state is in a form that this program does not know; update this program ({source})")]
    UnknownState {
        /// What is not known.
        source: SnapshotError,
    },
    /// A member sent what does not fit; another way there may do better.
    #[error("follow the metadata group from position {position}: {detail}")]
    Broken {
        /// The position that was reached.
        position: CommitIndex,
        /// What does not fit.
        detail: String,
    },
    /// A member lags behind what the leader has answered.
    #[error("follow metadata member {address}: it has applied {applied} and lacks {wanted}, which the leader has applied; is its disk slow?")]
    Lags {
        /// The member.
        address: String,
        /// What it has applied, by its own word.
        applied: CommitIndex,
        /// What it lacks.
        wanted: CommitIndex,
    },
    /// No member had a manifest to show in time.
    #[error("follow the metadata group: no member had anything to show within {waited_ms} ms{}", lines(.members))]
    NotReady {
        /// How long it was waited for.
        waited_ms: u64,
        /// The members by address, and what each of them says.
        members: Vec<(String, String)>,
    },
    /// A member is not reached, has ended, or has nothing to say.
    #[error("follow metadata member {address}: {reason}")]
    Lost {
        /// The member.
        address: String,
        /// What is known of the cause.
        reason: String,
    },
}

impl FollowError {
    /// Whether trying again with this program is of no use.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::OtherIncarnation { .. } | Self::UnknownCommand { .. } | Self::UnknownState { .. } | Self::Address { .. })
    }

    /// What the caller should do about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Address { .. } => ErrorKind::InvalidInput,
            Self::OtherIncarnation { .. } => ErrorKind::Conflict,
            Self::UnknownCommand { .. } | Self::UnknownState { .. } => ErrorKind::Unsupported,
            Self::Broken { .. } => ErrorKind::Corrupt,
            Self::Lost { .. } | Self::Lags { .. } | Self::NotReady { .. } => ErrorKind::Unavailable,
        }
    }
}

fn lines(members: &[(String, String)]) -> String {
    members.iter().map(|(address, reason)| format!("\n  {address}: {reason}")).collect()
}
