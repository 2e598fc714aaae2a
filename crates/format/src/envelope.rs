//! The envelope around every record that stands alone (commands, replies, snapshot parts): magic, version, length, checksum, payload.
//!
//! ```text
//! 0   4  magic
//! 4   2  version, little-endian
//! 6   4  length of the payload in bytes, little-endian
//! 10  4  CRC-32C over bytes 0..10 and the payload, little-endian
//! 14  …  payload (postcard)
//! ```
//!
//! What is not here: what a payload means, and the choice among versions (each format's own `decode`).

use serde::{Serialize, de::DeserializeOwned};
use siltstone_core::ErrorKind;

/// Bytes before the payload.
pub const HEADER_LEN: usize = 14;

/// Why bytes are no record.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// Fewer bytes than the header or its length field asks for.
    #[error("read {what}: {len} bytes are too few, {needed} are needed")]
    Short {
        /// What was read.
        what: &'static str,
        /// The bytes that there are.
        len: usize,
        /// The bytes that are needed.
        needed: usize,
    },
    /// Bytes after the record's end.
    #[error("read {what}: {extra} bytes follow its end")]
    Trailing {
        /// What was read.
        what: &'static str,
        /// How many bytes are too many.
        extra: usize,
    },
    /// Another kind of record, or none.
    #[error("read {what}: it does not begin with its magic number")]
    Magic {
        /// What was read.
        what: &'static str,
    },
    /// The bytes were changed.
    #[error("read {what}: its checksum is {found:08x}, not {expected:08x}")]
    Checksum {
        /// What was read.
        what: &'static str,
        /// The checksum in the header.
        expected: u32,
        /// The checksum of the bytes.
        found: u32,
    },
    /// Written by a newer program, or never.
    #[error("read {what}: version {version} is not known to this program, which reads up to version {version_max}")]
    Version {
        /// What was read.
        what: &'static str,
        /// The version in the header.
        version: u16,
        /// The newest version that is read.
        version_max: u16,
    },
    /// The checksum is right, yet the payload is not what the version says.
    #[error("read {what}: {detail}")]
    Payload {
        /// What was read.
        what: &'static str,
        /// What is wrong.
        detail: String,
    },
    /// More than the length field can say.
    #[error("write {what}: {len} bytes do not fit one record")]
    TooLong {
        /// What was written.
        what: &'static str,
        /// The payload's length.
        len: usize,
    },
}

impl EnvelopeError {
    /// What the caller should do about it.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Version { .. } => ErrorKind::Unsupported,
            Self::TooLong { .. } => ErrorKind::InvalidInput,
            _ => ErrorKind::Corrupt,
        }
    }
}

/// A kind of record: its name for messages, its magic number and the newest version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// The name that errors use.
    pub what: &'static str,
    /// The first four bytes.
    pub magic: [u8; 4],
    /// The version that is written, and the newest that is read.
    pub version: u16,
}

impl Kind {
    /// The record of a value.
    ///
    /// # Errors
    /// [`EnvelopeError::TooLong`] past 4 GiB, [`EnvelopeError::Payload`] when the value cannot be serialized.
    pub fn encode<T>(&self, value: &T) -> Result<Vec<u8>, EnvelopeError>
    where
        T: Serialize + ?Sized,
    {
        let mut bytes = Vec::with_capacity(HEADER_LEN + 256);
        bytes.extend_from_slice(&self.magic);
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
        let mut bytes = postcard::to_extend(value, bytes).map_err(|error| EnvelopeError::Payload { what: self.what, detail: error.to_string() })?;
        let len = bytes.len() - HEADER_LEN;
        let stored = u32::try_from(len).map_err(|_| EnvelopeError::TooLong { what: self.what, len })?;
        bytes[6..10].copy_from_slice(&stored.to_le_bytes());
        let checksum = checksum(&bytes[..10], &bytes[HEADER_LEN..]);
        bytes[10..14].copy_from_slice(&checksum.to_le_bytes());
        Ok(bytes)
    }

    /// The value of a record that fills `bytes`.
    ///
    /// # Errors
    /// Any [`EnvelopeError`] of reading; never a panic, whatever the bytes.
    pub fn decode<T>(&self, bytes: &[u8]) -> Result<T, EnvelopeError>
    where
        T: DeserializeOwned,
    {
        let (value, rest) = self.decode_prefix(bytes)?;
        if rest.is_empty() { Ok(value) } else { Err(EnvelopeError::Trailing { what: self.what, extra: rest.len() }) }
    }

    /// The value of the record at the start of `bytes`, and the bytes after it.
    ///
    /// # Errors
    /// As [`Kind::decode`].
    pub fn decode_prefix<'a, T>(&self, bytes: &'a [u8]) -> Result<(T, &'a [u8]), EnvelopeError>
    where
        T: DeserializeOwned,
    {
        let (record, rest) = self.split(bytes)?;
        let payload = &record[HEADER_LEN..];
        let (value, extra) =
            postcard::take_from_bytes(payload).map_err(|error| EnvelopeError::Payload { what: self.what, detail: error.to_string() })?;
        if extra.is_empty() { Ok((value, rest)) } else { Err(EnvelopeError::Trailing { what: self.what, extra: extra.len() }) }
    }

    /// The version of a record of this kind, from its first bytes alone; `None` for any other. Nothing else is checked.
    #[must_use]
    pub fn version_of(&self, bytes: &[u8]) -> Option<u16> {
        let header = bytes.first_chunk::<HEADER_LEN>()?;
        (header[..4] == self.magic).then(|| u16::from_le_bytes([header[4], header[5]]))
    }

    /// The checked bytes of the record at the start of `bytes`, and the bytes after it.
    ///
    /// # Errors
    /// As [`Kind::decode`], but for the payload.
    pub fn split<'a>(&self, bytes: &'a [u8]) -> Result<(&'a [u8], &'a [u8]), EnvelopeError> {
        let what = self.what;
        let Some(header) = bytes.first_chunk::<HEADER_LEN>() else {
            return Err(EnvelopeError::Short { what, len: bytes.len(), needed: HEADER_LEN });
        };
        if header[..4] != self.magic {
            return Err(EnvelopeError::Magic { what });
        }
        let version = u16::from_le_bytes([header[4], header[5]]);
        let needed = HEADER_LEN + u32::from_le_bytes([header[6], header[7], header[8], header[9]]) as usize;
        let expected = u32::from_le_bytes([header[10], header[11], header[12], header[13]]);
        if bytes.len() < needed {
            return Err(EnvelopeError::Short { what, len: bytes.len(), needed });
        }
        let (record, rest) = bytes.split_at(needed);
        let found = checksum(&record[..10], &record[HEADER_LEN..]);
        if found != expected {
            return Err(EnvelopeError::Checksum { what, expected, found });
        }
        if version == 0 || version > self.version {
            return Err(EnvelopeError::Version { what, version, version_max: self.version });
        }
        Ok((record, rest))
    }
}

fn checksum(head: &[u8], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(head), payload)
}
