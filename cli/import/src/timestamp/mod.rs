//! Timestamps from numbers and texts, in nanoseconds since the Unix epoch.
//!
//! What is deliberately not here: formats without a year (RFC 3164 syslog, klog), which need a clock to be understood, and time zones by name
//! beyond a few fixed ones: a name that is not known makes the timestamp unreadable, because a guess would be wrong by hours.

mod calendar;
mod number;

use crate::error::MappingError;
use std::str::FromStr;

/// The unit of a numeric timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl TimeUnit {
    /// How many nanoseconds it has.
    pub(crate) const fn ns(self) -> i64 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Millis => 1_000_000,
            Self::Micros => 1_000,
            Self::Nanos => 1,
        }
    }

    /// The unit that a key's name says.
    pub(crate) fn of_key(key: &str) -> Option<Self> {
        key.rsplit_once('_').and_then(|(_, suffix)| suffix.parse().ok())
    }

    /// The unit that a number's size suggests: a date between 1973 and 5138 in each unit but for the smallest. Below 10¹¹ seconds, below 10¹⁴
    /// milliseconds, below 10¹⁷ microseconds, else nanoseconds.
    pub(crate) const fn of_magnitude(number: u128) -> Self {
        match number {
            0..100_000_000_000 => Self::Seconds,
            100_000_000_000..100_000_000_000_000 => Self::Millis,
            100_000_000_000_000..100_000_000_000_000_000 => Self::Micros,
            _ => Self::Nanos,
        }
    }
}

impl FromStr for TimeUnit {
    type Err = MappingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "s" => Ok(Self::Seconds),
            "ms" => Ok(Self::Millis),
            "us" => Ok(Self::Micros),
            "ns" => Ok(Self::Nanos),
            _ => Err(MappingError::UnknownUnit { unit: text.to_owned() }),
        }
    }
}

pub(crate) use number::{timestamp_from_float, timestamp_from_number};

/// Reads a whole text as a timestamp: RFC 3339 and its relatives (a space for the `T`, `/` between the parts of the date, a comma before the
/// fraction, no zone, which means UTC), the format of access logs, or a number of `unit`s. `None` when it is none of these, or lies outside
/// the years 1677 to 2262 that 64 bits of nanoseconds span.
#[must_use]
pub fn timestamp_from_text(text: &str, unit: Option<TimeUnit>) -> Option<i64> {
    let text = text.trim();
    if let Some((ns, rest)) = calendar::date_time(text.as_bytes()).or_else(|| calendar::access_log_time(text.as_bytes())) {
        return if rest.is_empty() { Some(ns) } else { None };
    }
    timestamp_from_number(text, unit)
}

/// How far into a line the bracket of an access log's time may stand: behind a host, an identity and a user.
const ACCESS_LOG_PREFIX_BYTES_MAX: usize = 256;

/// Reads the timestamp that a line begins with, perhaps in brackets or quotes: the dates of [`timestamp_from_text`], or the bracketed time of an
/// access log behind host, identity and user. Numbers alone are not taken for timestamps.
#[must_use]
pub fn timestamp_at_start(line: &[u8]) -> Option<i64> {
    let trimmed = line.trim_ascii_start();
    let inner = trimmed.strip_prefix(b"[").or_else(|| trimmed.strip_prefix(b"\"")).or_else(|| trimmed.strip_prefix(b"(")).unwrap_or(trimmed);
    if let Some((ns, rest)) = calendar::date_time(inner) {
        // 2024-01-02T03:04:05.678garbage is no time.
        return if rest.first().is_some_and(u8::is_ascii_alphanumeric) { None } else { Some(ns) };
    }
    let prefix = &line[..line.len().min(ACCESS_LOG_PREFIX_BYTES_MAX)];
    let bracket = memchr::memchr(b'[', prefix)?;
    // host identity user: three words, so that a bracket somewhere in a sentence is not meant.
    if line[..bracket].split(|&byte| byte == b' ').filter(|word| !word.is_empty()).count() != 3 {
        return None;
    }
    let (ns, rest) = calendar::access_log_time(&line[bracket + 1..])?;
    if rest.first() == Some(&b']') { Some(ns) } else { None }
}

#[cfg(test)]
#[path = "timestamp_test.rs"]
mod tests;
