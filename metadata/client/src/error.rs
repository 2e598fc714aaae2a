//! Why a call to the metadata group failed.

use siltstone_core::{CommitIndex, CommitToken, ErrorKind, Incarnation};
use siltstone_format::command::Rejection;

/// Why a call to the metadata group failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ClientError {
    /// The command was not taken in: it changed nothing and never will. Try again later.
    #[error("reach the metadata group: {reason}")]
    Unavailable {
        /// What is known of the cause.
        reason: String,
    },
    /// The member in this process has ended, because it was told to or because its storage failed: it takes nothing in any more.
    #[error("reach the metadata group: its member in this process has ended: {reason}")]
    Ended {
        /// What is known of the cause.
        reason: String,
    },
    /// Whether the command is applied is not known, and it may yet be. Repeat the very same command, or fence your epoch.
    #[error("learn the outcome of a command: {reason}")]
    UnknownOutcome {
        /// What is known of the cause.
        reason: String,
    },
    /// The machine refused it: it changed nothing.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The machine answered something that does not fit the question.
    #[error("read the answer to {command}: it is of another kind")]
    UnexpectedReply {
        /// The command's name.
        command: &'static str,
    },
    /// The token is of another life of the group, whose positions mean nothing here.
    #[error("wait for commit {token}: the group now lives as incarnation {incarnation:x}", incarnation = .incarnation.0)]
    OtherIncarnation {
        /// The token that was waited for.
        token: CommitToken,
        /// The life that holds.
        incarnation: Incarnation,
    },
    /// The group has stopped before it came to that position.
    #[error("wait for log position {index}: the group has stopped")]
    Stopped {
        /// The position.
        index: CommitIndex,
    },
}

impl ClientError {
    /// What the caller should do about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Unavailable { .. } | Self::Ended { .. } | Self::Stopped { .. } => ErrorKind::Unavailable,
            Self::UnknownOutcome { .. } => ErrorKind::Unknown,
            Self::Rejected(rejection) => rejection.kind(),
            Self::UnexpectedReply { .. } => ErrorKind::Internal,
            Self::OtherIncarnation { .. } => ErrorKind::NotFound,
        }
    }
    /// Whether the group will not come back within this process: trying again is of no use here.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Ended { .. } | Self::Stopped { .. })
    }
}
