//! Keys of objects, checked once where they are made.
//!
//! What is deliberately not here: which keys exist and what they mean (`paths`).

use std::fmt;
use std::sync::Arc;

/// The longest key in bytes, the prefix of a bucket included: S3 allows 1,024, file systems 4,096 with the root's path; `paths` needs 100.
pub(crate) const KEY_BYTES_MAX: usize = 500;
/// The longest part of a key in bytes: with what a temporary name adds it stays below the 255 bytes that file systems allow.
pub(crate) const PART_BYTES_MAX: usize = 200;

/// The key of an object: parts of `[A-Za-z0-9._=-]` joined by `/`; no part is empty or starts with a dot.
///
/// So no key leaves its directory, and none collides with a temporary file, whose name starts with a dot.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(Arc<str>);

/// A text that is no key or no prefix of one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("read object key {key:?}: {reason}")]
pub struct InvalidKey {
    /// The text as it came.
    pub key: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl ObjectKey {
    /// Checks a key.
    ///
    /// # Errors
    /// [`InvalidKey`] with the rule that the key breaks.
    pub fn parse(key: &str) -> Result<Self, InvalidKey> {
        if key.is_empty() {
            return Err(InvalidKey { key: String::new(), reason: "it is empty" });
        }
        check(key, false)?;
        Ok(Self(key.into()))
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Checks a prefix of keys: empty, or what may start a key. It may end with `/` or inside a part.
pub(crate) fn check_prefix(prefix: &str) -> Result<(), InvalidKey> {
    if prefix.is_empty() { Ok(()) } else { check(prefix, true) }
}

/// Whether a name of a directory can be a part of a key; a temporary file's name is not.
pub(crate) fn is_part(name: &str) -> bool {
    part_fault(name).is_none()
}

fn check(key: &str, last_part_may_be_empty: bool) -> Result<(), InvalidKey> {
    let error = |reason| Err(InvalidKey { key: key.to_owned(), reason });
    if key.len() > KEY_BYTES_MAX {
        return error("it is longer than 500 bytes");
    }
    let mut parts = key.split('/').peekable();
    while let Some(part) = parts.next() {
        if part.is_empty() && last_part_may_be_empty && parts.peek().is_none() {
            continue;
        }
        if let Some(reason) = part_fault(part) {
            return error(reason);
        }
    }
    Ok(())
}

fn part_fault(part: &str) -> Option<&'static str> {
    if part.is_empty() {
        Some("a part between slashes is empty")
    } else if part.starts_with('.') {
        Some("a part starts with a dot")
    } else if part.len() > PART_BYTES_MAX {
        Some("a part is longer than 200 bytes")
    } else if !part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'=' | b'-')) {
        Some("a byte is none of A-Z a-z 0-9 . _ = -")
    } else {
        None
    }
}

impl AsRef<str> for ObjectKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectKey({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_that_could_leave_their_directory_are_refused() {
        for key in ["", "/", "/a", "a/", "a//b", "..", "a/../b", "a/..", ".tmp", "a/.b", "a\0b", "a\\b", "a b", "ä", "a\n", "~", "a:b"] {
            assert!(ObjectKey::parse(key).is_err(), "{key:?}");
        }
        assert!(ObjectKey::parse(&"a".repeat(PART_BYTES_MAX + 1)).is_err());
        assert!(ObjectKey::parse(&vec!["a"; KEY_BYTES_MAX].join("/")).is_err());
        for key in ["a", "a/b", "v1/00ff/x-y_z.1=2", "A..b"] {
            assert_eq!(ObjectKey::parse(key).map(|key| key.to_string()), Ok(key.to_owned()));
        }
    }

    #[test]
    fn a_prefix_may_end_anywhere_in_a_key() {
        for prefix in ["", "a", "a/", "a/b", "v1/00"] {
            assert_eq!(check_prefix(prefix), Ok(()));
        }
        for prefix in ["/", "/a", "a//", "../", "a/.", "a b"] {
            assert!(check_prefix(prefix).is_err(), "{prefix:?}");
        }
    }

    proptest! {
        #[test]
        fn no_accepted_key_has_a_part_that_moves_up(key in ".{0,40}") {
            if let Ok(key) = ObjectKey::parse(&key) {
                prop_assert!(key.as_str().split('/').all(|part| !part.is_empty() && part != "." && part != ".."));
            }
        }
    }
}
