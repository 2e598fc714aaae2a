//! One searchable record, and the values it is made of.

use crate::EntryVector;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An entry as it arrives, before it has a row address.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Entry {
    /// The name of the tenant wall. Empty means missing: the entry is refused, never given to a default.
    pub namespace: String,
    /// The workload, empty if unknown.
    pub deployment: String,
    /// The pod, empty if unknown.
    pub pod: String,
    /// The container, empty if unknown.
    pub container: String,
    /// Nanoseconds since the Unix epoch; `None` when the source had none: the observed time is then used, and flagged.
    pub timestamp_ns: Option<i64>,
    /// How bad it is, as OpenTelemetry numbers it.
    pub severity: Severity,
    /// The line, byte for byte. Not always UTF-8.
    pub body: Vec<u8>,
    /// Everything else, by name. A name occurs once; where a source repeats one, the last value wins.
    pub attributes: Vec<(String, Value)>,
    /// Vectors that came with the entry, by field. A field occurs once; where a source repeats one, the last wins.
    pub vectors: Vec<EntryVector>,
}

/// A typed attribute value. Types stay as they came.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Value {
    /// UTF-8 text.
    Str(String),
    /// A whole number.
    Int(i64),
    /// A floating-point number. NaN is kept, and matches no comparison.
    Float(f64),
    /// True or false.
    Bool(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Str(text) => f.write_str(text),
            Self::Int(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Bool(truth) => truth.fmt(f),
        }
    }
}

/// What was noticed about an entry at arrival. Stored with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct EntryFlags(pub u8);

impl EntryFlags {
    /// The source had no timestamp: the observed time stands in for it.
    pub const TIMESTAMP_OBSERVED: u8 = 1;
    /// The timestamp lies more than an hour after arrival.
    pub const TIMESTAMP_FUTURE: u8 = 2;

    /// Whether the timestamp is the observed time.
    #[must_use]
    pub const fn is_timestamp_observed(self) -> bool {
        self.0 & Self::TIMESTAMP_OBSERVED != 0
    }

    /// Whether the timestamp lay in the future at arrival.
    #[must_use]
    pub const fn is_timestamp_future(self) -> bool {
        self.0 & Self::TIMESTAMP_FUTURE != 0
    }
}

/// An OpenTelemetry severity number, 0 (unspecified) to 24.
/// Source: OpenTelemetry log data model, "Field: `SeverityNumber`".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Severity(u8);

impl Severity {
    /// Not given.
    pub const UNSPECIFIED: Self = Self(0);
    /// The first number of the range `trace`.
    pub const TRACE: Self = Self(1);
    /// The first number of the range `debug`.
    pub const DEBUG: Self = Self(5);
    /// The first number of the range `info`.
    pub const INFO: Self = Self(9);
    /// The first number of the range `warn`.
    pub const WARN: Self = Self(13);
    /// The first number of the range `error`.
    pub const ERROR: Self = Self(17);
    /// The first number of the range `fatal`.
    pub const FATAL: Self = Self(21);
    /// The largest number.
    pub const MAX: u8 = 24;

    /// A severity from OpenTelemetry's number; what is outside 0..=24 is unspecified.
    #[must_use]
    pub const fn from_number(number: u8) -> Self {
        if number <= Self::MAX { Self(number) } else { Self::UNSPECIFIED }
    }

    /// OpenTelemetry's number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The name of the range that the number lies in.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "unspecified",
            1..=4 => "trace",
            5..=8 => "debug",
            9..=12 => "info",
            13..=16 => "warn",
            17..=20 => "error",
            _ => "fatal",
        }
    }

    /// The first and the last number of the range of a name, in any case, with the names that loggers use. `None` for any other word.
    #[must_use]
    pub fn range_of_name(name: &str) -> Option<(Self, Self)> {
        let first = match name.to_ascii_lowercase().as_str() {
            "unspecified" => return Some((Self::UNSPECIFIED, Self::UNSPECIFIED)),
            "trace" | "verbose" | "finest" | "debug5" | "debug4" | "debug3" | "debug2" => Self::TRACE,
            "debug" | "fine" | "finer" | "config" | "dbug" | "debug1" => Self::DEBUG,
            "info" | "information" | "informational" | "notice" | "log" => Self::INFO,
            "warn" | "warning" => Self::WARN,
            "error" | "err" | "severe" => Self::ERROR,
            "fatal" | "critical" | "crit" | "panic" | "alert" | "emerg" | "emergency" => Self::FATAL,
            _ => return None,
        };
        Some((first, Self(first.0 + 3)))
    }

    /// The severity that a logger's word means: the first number of its range, or unspecified.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        Self::range_of_name(name).map_or(Self::UNSPECIFIED, |(first, _)| first)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_the_name_of_its_range() {
        for number in 0..=Severity::MAX {
            let severity = Severity::from_number(number);
            let (first, last) = Severity::range_of_name(severity.name()).expect("a name that we print is a name that we read");
            assert!(first <= severity && severity <= last, "{number}");
        }
        assert_eq!(Severity::from_number(25), Severity::UNSPECIFIED);
        assert_eq!(Severity::from_name("WARNING"), Severity::WARN);
        assert_eq!(Severity::from_name("loud"), Severity::UNSPECIFIED);
    }
}
