//! One value as a source gave it.

use siltstone_core::Value;
use std::borrow::Cow;
use std::fmt::Write;

/// A value as the source gave it. Absence and null never get this far.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Given<'a> {
    Bool(bool),
    Int(i64),
    /// A number in JSON's digits: it is interpreted only once its use is known, so that none are lost.
    Number(&'a str),
    Float(f64),
    Text(Cow<'a, str>),
    /// Bytes that are meant as bytes; a body takes them as they are.
    Bytes(Cow<'a, [u8]>),
    /// A typed point in time, in nanoseconds since the epoch. `None` outside what those can express.
    Time(Option<i64>),
    /// A list, a map or a struct as JSON.
    Json(Cow<'a, str>),
}

impl Given<'_> {
    /// Whether it is one value, not several.
    pub(crate) const fn is_scalar(&self) -> bool {
        !matches!(self, Self::Json(_))
    }

    /// How many bytes it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Bool(_) | Self::Int(_) | Self::Float(_) | Self::Time(_) => 8,
            Self::Number(text) => text.len(),
            Self::Text(text) | Self::Json(text) => text.len(),
            // Written in hexadecimal when they are no text.
            Self::Bytes(bytes) => 2 * bytes.len(),
        }
    }

    /// As a typed attribute. Whole numbers that leave 64 bits signed become text, digit for digit; numbers with a fraction or an exponent become
    /// the nearest float, or text when there is none; bytes that are not UTF-8 become hexadecimal; a time becomes whole nanoseconds.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Bool(truth) => Value::Bool(*truth),
            Self::Int(number) => Value::Int(*number),
            Self::Number(text) => number_value(text),
            Self::Float(number) => Value::Float(*number),
            Self::Text(text) | Self::Json(text) => Value::Str(text.clone().into_owned()),
            Self::Bytes(bytes) => Value::Str(text_or_hexadecimal(bytes)),
            Self::Time(Some(ns)) => Value::Int(*ns),
            Self::Time(None) => Value::Str("out of range".to_owned()),
        }
    }

    /// As text, the way it stood in the source where that was text.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Text(text) | Self::Json(text) => text.into_owned(),
            Self::Number(text) => text.to_owned(),
            other => other.to_value().to_string(),
        }
    }

    /// As a body.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.into_owned(),
            other => other.into_text().into_bytes(),
        }
    }
}

fn number_value(text: &str) -> Value {
    if !text.contains(['.', 'e', 'E']) {
        return text.parse().map_or_else(|_| Value::Str(text.to_owned()), Value::Int);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Value::Float(number),
        _ => Value::Str(text.to_owned()),
    }
}

/// Bytes as text when they are that, else as hexadecimal digits.
pub(crate) fn text_or_hexadecimal(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(
        |_| {
            bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        },
        str::to_owned,
    )
}
