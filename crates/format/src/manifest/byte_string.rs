//! Bytes that are written and read in one piece. As a list of numbers they have the same form, but are gone through one by one.

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;

/// Bytes that were read.
pub(super) struct ByteString(pub(super) Vec<u8>);

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
    where
        D: Deserializer<'de>,
    {
        deserializer.deserialize_bytes(ByteStringVisitor)
    }
}

struct ByteStringVisitor;

impl Visitor<'_> for ByteStringVisitor {
    type Value = ByteString;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<ByteString, E>
    where
        E: Error,
    {
        Ok(ByteString(bytes.to_vec()))
    }
}
