//! What an error tells its caller to do, and what it tells people. Crates have error enums of their own; at a boundary each maps to one kind.

use std::error::Error;
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

/// An error and what caused it, in one line. Causes that repeat what is said already are left out.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    text_with_causes(error.to_string(), error.source())
}

/// The same for what is not an error of its own: a text, and what caused it.
#[must_use]
pub fn text_with_causes(mut text: String, mut cause: Option<&(dyn Error + 'static)>) -> String {
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Told(&'static str, Option<Box<Told>>);

    impl fmt::Display for Told {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Told {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as &dyn Error)
        }
    }

    #[test]
    fn causes_follow_what_they_caused_and_nothing_is_said_twice() {
        let innermost = Told("refused", None);
        let between = Told("connect: refused", Some(Box::new(innermost)));
        let outermost = Told("send", Some(Box::new(between)));
        assert_eq!(with_causes(&outermost), "send: connect: refused");
        assert_eq!(text_with_causes("told".to_owned(), None), "told");
    }
}
