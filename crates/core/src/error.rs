//! What an error tells its caller to do. Crates have error enums of their own; at a boundary each maps to one kind.

use std::fmt;

/// What the caller should do about an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ErrorKind {
    /// Mend the input: trying again changes nothing.
    InvalidInput,
    /// The caller may not do this.
    PermissionDenied,
    /// The thing that was named does not exist.
    NotFound,
    /// What was to be made exists, or a compare-and-swap lost.
    Conflict,
    /// A limit was reached: slow down, then try again.
    Throttled,
    /// Space or a quota that waiting does not free: a human must act.
    Exhausted,
    /// A part is away for now: try again.
    Unavailable,
    /// The outcome is unknown: repeat the same request with the same key.
    Unknown,
    /// Stored bytes are damaged. The object's name stands in the message.
    Corrupt,
    /// The caller's epoch is over: it must start again under a new one.
    Fenced,
    /// Not built yet, or not in this configuration.
    Unsupported,
    /// A bug of ours.
    Internal,
}

impl ErrorKind {
    /// Whether the same request may succeed later without anybody's help.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Throttled | Self::Unavailable | Self::Unknown)
    }

    /// A short name for logs and metric labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid_input",
            Self::PermissionDenied => "permission_denied",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Throttled => "throttled",
            Self::Exhausted => "exhausted",
            Self::Unavailable => "unavailable",
            Self::Unknown => "unknown",
            Self::Corrupt => "corrupt",
            Self::Fenced => "fenced",
            Self::Unsupported => "unsupported",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
