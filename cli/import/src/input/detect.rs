//! What the content of a source is.

use crate::error::ImportError;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// What the content of a source is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Each line is a body.
    Text,
    /// Each line is a JSON object.
    Ndjson,
    /// Apache Parquet.
    Parquet,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Text => "text",
            Self::Ndjson => "ndjson",
            Self::Parquet => "parquet",
        })
    }
}

/// A word that is no format.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("read the format {text:?}: it is none of text, ndjson, parquet")]
pub struct ParseFormatError {
    text: String,
}

impl FromStr for Format {
    type Err = ParseFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" | "plain" => Ok(Self::Text),
            "ndjson" | "jsonl" | "json" => Ok(Self::Ndjson),
            "parquet" => Ok(Self::Parquet),
            _ => Err(ParseFormatError { text: text.to_owned() }),
        }
    }
}

/// How much of the content is looked at. A longer first line still shows how it begins.
pub(crate) const SAMPLE_BYTES: usize = 64 << 10;

/// The mark at both ends of a Parquet file.
pub(crate) const PARQUET_MAGIC: &[u8] = b"PAR1";

/// The format: the one that was asked for, else the extension's, else the content's.
///
/// # Errors
/// When the content is of a kind that is not read, or is to be Parquet and is not.
pub(crate) fn format_of(asked: Option<Format>, source_name: &str, sample: &[u8]) -> Result<Format, ImportError> {
    let by_extension = format_of_extension(source_name);
    let format = match asked.or(by_extension) {
        Some(format) => format,
        None if sample.starts_with(PARQUET_MAGIC) => Format::Parquet,
        None if begins_with_object(sample) => Format::Ndjson,
        None => Format::Text,
    };
    // A name may lie about the encoding, so only the option silences this. Zeros alone are no sign where the name says text.
    if asked.is_none()
        && format != Format::Parquet
        && let Some((what, advice)) = unsupported(sample).or_else(|| binary(sample).filter(|_| by_extension.is_none()))
    {
        return Err(ImportError::Unsupported { source_name: source_name.to_owned(), what, advice });
    }
    if format == Format::Parquet && !sample.starts_with(PARQUET_MAGIC) {
        return Err(ImportError::NotParquet { source_name: source_name.to_owned() });
    }
    Ok(format)
}

/// The format that a name promises. `.log` promises nothing: many programs write JSON into such files.
fn format_of_extension(name: &str) -> Option<Format> {
    let path = Path::new(name);
    let extension = |path: &Path| path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let mut found = extension(path)?;
    if matches!(found.as_str(), "gz" | "gzip" | "zst" | "zstd") {
        found = extension(Path::new(path.file_stem()?))?;
    }
    match found.as_str() {
        "txt" => Some(Format::Text),
        "ndjson" | "jsonl" | "json" => Some(Format::Ndjson),
        "parquet" | "pq" => Some(Format::Parquet),
        _ => None,
    }
}

/// Whether the first line that holds anything is, or begins like, a JSON object.
fn begins_with_object(sample: &[u8]) -> bool {
    let text = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample).trim_ascii_start();
    let line = match memchr::memchr(b'\n', text) {
        Some(end) => &text[..end],
        None if sample.len() < SAMPLE_BYTES => text,
        None => {
            let [b'{', rest @ ..] = text else { return false };
            return matches!(rest.trim_ascii_start().first(), Some(b'"'));
        }
    };
    line.first() == Some(&b'{') && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

/// What the content looks like when it is of a kind that is not read, and what to do about it.
fn unsupported(sample: &[u8]) -> Option<(&'static str, &'static str)> {
    const UNPACK: &str = "unpack it and import what is in it";
    const CONVERT: &str = "convert it to UTF-8, for example with iconv";
    match sample {
        [0xfd, b'7', b'z', b'X', b'Z', ..] => Some(("xz data", UNPACK)),
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', ..] => Some(("bzip2 data", UNPACK)),
        [b'P', b'K', 3, 4, ..] => Some(("a zip archive", UNPACK)),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some(("lz4 data", UNPACK)),
        [0x1f, 0x8b, ..] => Some(("gzip data within compressed data", UNPACK)),
        _ if sample.get(257..262) == Some(b"ustar") => Some(("a tar archive", UNPACK)),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some(("UTF-16 text", CONVERT)),
        _ => None,
    }
}

/// Text has no zeros, unless a log was cut under the program that writes it.
fn binary(sample: &[u8]) -> Option<(&'static str, &'static str)> {
    memchr::memchr(0, sample).map(|_| ("binary data", "give the format as text to import its lines anyway"))
}

#[cfg(test)]
#[path = "detect_test.rs"]
mod tests;
