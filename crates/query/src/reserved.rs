//! The field names with a meaning of their own.

/// A field name that is not an attribute's, when it is written without quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reserved {
    Body,
    Container,
    Deployment,
    Namespace,
    Near,
    Pattern,
    Pod,
    Severity,
    Timestamp,
}

impl Reserved {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "body" => Self::Body,
            "container" => Self::Container,
            "deployment" => Self::Deployment,
            "namespace" => Self::Namespace,
            "near" => Self::Near,
            "pattern" => Self::Pattern,
            "pod" => Self::Pod,
            "severity" => Self::Severity,
            "timestamp" => Self::Timestamp,
            _ => return None,
        })
    }
}

/// Whether an attribute name may begin with this character without quotes.
pub(crate) fn is_name_start(character: char) -> bool {
    character.is_alphabetic() || matches!(character, '_' | '@')
}

/// Whether an attribute name may go on with this character without quotes.
pub(crate) fn is_name_part(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '.' | '_' | '-' | '/' | '@')
}
