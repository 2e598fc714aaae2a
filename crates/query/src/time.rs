//! Times as people write them.
//!
//! Understood: RFC 3339 (`2026-01-02T03:04:05Z`, `2026-01-02 03:04:05+01:00`), the same without an offset (UTC), without seconds, dates, Unix time in
//! seconds, milliseconds, microseconds or nanoseconds (told apart by size), `now`, `today`, `yesterday` (UTC days), a time ago (`15m`, `1h30m`,
//! `2 days ago`), `now-15m` and `now+1h`. What is not: names of time zones, and anything that depends on where the program runs.

use crate::expr::TimeRange;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use siltstone_core::ErrorKind;

const SECOND_NS: i64 = 1_000_000_000;
const MINUTE_NS: i64 = 60 * SECOND_NS;
const DAY_NS: i64 = 24 * 60 * MINUTE_NS;

/// Why a time was not understood.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TimeError {
    #[error("no time at all")]
    Empty,
    #[error("{text:?} is neither a date, a time, a duration nor Unix time")]
    Unknown { text: String },
    #[error("{text:?} is a date or a time of day that does not exist")]
    Nonexistent { text: String },
    #[error("{text} could be seconds, minutes or a time: write a unit, as in {text}m")]
    NoUnit { text: String },
    #[error("{text:?} is too long a duration: 290 years are the most")]
    TooLong { text: String },
    #[error("{text:?} lies outside the years 1678 to 2261")]
    OutOfRange { text: String },
}

impl TimeError {
    /// What the caller should do.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidInput
    }
}

/// The time that a text stands for, in nanoseconds since the Unix epoch: the first one, where it stands for a day or a minute. `now_ns` is what
/// relative times count from.
///
/// # Errors
/// [`TimeError`] for what is not understood.
pub fn parse_time(text: &str, now_ns: i64) -> Result<i64, TimeError> {
    parse_time_span(text, now_ns).map(|span| span.start_ns)
}

/// All the time that a text stands for: a date is a day, `12:30` a minute, `now` one nanosecond.
///
/// # Errors
/// [`TimeError`] for what is not understood.
pub fn parse_time_span(text: &str, now_ns: i64) -> Result<TimeRange, TimeError> {
    let text = text.trim();
    let out_of_range = || TimeError::OutOfRange { text: text.to_owned() };
    let too_long = || TimeError::TooLong { text: text.to_owned() };
    let span = |start_ns: i64, length_ns: i64| {
        let end_ns = start_ns.checked_add(length_ns).ok_or_else(out_of_range)?;
        Ok(TimeRange { start_ns, end_ns })
    };
    if text.is_empty() {
        return Err(TimeError::Empty);
    }
    let today_ns = now_ns.div_euclid(DAY_NS).checked_mul(DAY_NS).ok_or_else(out_of_range)?;
    match text {
        "now" => return span(now_ns, 1),
        "today" => return span(today_ns, DAY_NS),
        "yesterday" => return span(today_ns.checked_sub(DAY_NS).ok_or_else(out_of_range)?, DAY_NS),
        _ => {}
    }
    if let Some(ahead) = text.strip_prefix("now+") {
        let ahead_ns = duration_ns(ahead).ok_or_else(|| unknown(text))?.ok_or_else(too_long)?;
        return span(now_ns.checked_add(ahead_ns).ok_or_else(out_of_range)?, 1);
    }
    let ago = text.strip_prefix("now-").or_else(|| text.strip_suffix("ago")).unwrap_or(text);
    if let Some(ago_ns) = duration_ns(ago) {
        return span(ago_ns.and_then(|ago_ns| now_ns.checked_sub(ago_ns)).ok_or_else(too_long)?, 1);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        let (start_ns, length_ns) = unix_time(text)?;
        return span(start_ns, length_ns);
    }
    if !text.starts_with(|first: char| first.is_ascii_digit()) || text.contains('[') {
        return Err(unknown(text));
    }
    let (start, length_ns) = civil_time(text)?;
    let start_ns = i64::try_from(start.as_nanosecond()).map_err(|_| out_of_range())?;
    span(start_ns, length_ns)
}

fn unknown(text: &str) -> TimeError {
    TimeError::Unknown { text: text.to_owned() }
}

/// A date or a date and time, and how long what was written is.
fn civil_time(text: &str) -> Result<(Timestamp, i64), TimeError> {
    let at_utc = |time: DateTime| TimeZone::UTC.to_timestamp(time);
    let length_ns = precision_ns(text);
    let parsed = if text.len() <= "2026-01-02".len() {
        text.parse::<Date>().and_then(|date| at_utc(date.at(0, 0, 0, 0)))
    } else {
        text.parse::<Timestamp>().or_else(|_| text.parse::<DateTime>().and_then(at_utc))
    };
    let is_date_shaped = text.as_bytes().get(4) == Some(&b'-');
    parsed.map(|time| (time, length_ns)).map_err(|_| if is_date_shaped { TimeError::Nonexistent { text: text.to_owned() } } else { unknown(text) })
}

/// A day for a date, a minute without seconds, else the last digit of the fraction.
fn precision_ns(text: &str) -> i64 {
    let Some(clock) = text.get("2026-01-02T".len()..) else { return DAY_NS };
    let clock = clock.split(['Z', 'z', '+', '-']).next().unwrap_or(clock);
    match clock.split_once(['.', ',']) {
        Some((_, fraction)) => fraction_unit_ns(fraction.len()),
        None if clock.matches(':').count() == 1 => MINUTE_NS,
        None => SECOND_NS,
    }
}

/// How long the last of that many decimal digits of a second is.
fn fraction_unit_ns(digits: usize) -> i64 {
    10_i64.pow(9 - u32::try_from(digits.min(9)).unwrap_or(9))
}

/// Unix time and the length of its unit. The sizes leave seconds up to the year 5138 and finer units from 1973 on.
fn unix_time(text: &str) -> Result<(i64, i64), TimeError> {
    let out_of_range = || TimeError::OutOfRange { text: text.to_owned() };
    if let Some((seconds, fraction)) = text.split_once('.') {
        if fraction.is_empty() || fraction.len() > 9 || fraction.contains('.') || seconds.len() < 9 {
            return Err(unknown(text));
        }
        let seconds: i64 = seconds.parse().map_err(|_| out_of_range())?;
        let unit_ns = fraction_unit_ns(fraction.len());
        let fraction: i64 = fraction.parse().map_err(|_| unknown(text))?;
        let start_ns = seconds.checked_mul(SECOND_NS).and_then(|start_ns| start_ns.checked_add(fraction * unit_ns));
        return Ok((start_ns.ok_or_else(out_of_range)?, unit_ns));
    }
    let number: i64 = text.parse().map_err(|_| out_of_range())?;
    let unit_ns = match text.len() {
        // The epoch itself. Other short numbers are durations without a unit rather than times in 1970.
        1 if number == 0 => SECOND_NS,
        ..9 => return Err(TimeError::NoUnit { text: text.to_owned() }),
        9..=11 => SECOND_NS,
        12..=14 => 1_000_000,
        15..=17 => 1_000,
        _ => 1,
    };
    Ok((number.checked_mul(unit_ns).ok_or_else(out_of_range)?, unit_ns))
}

/// `1h30m`, `15 min`, `2 days`. `None` for anything else; no unit, no duration. `Some(None)` for one that 64 bits do not hold.
fn duration_ns(text: &str) -> Option<Option<i64>> {
    let mut rest = text.trim();
    let mut total_ns = Some(0_i64);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|character: char| !character.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let letters = after.find(|character: char| !character.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let unit_ns = match unit {
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" | "sec" | "secs" | "second" | "seconds" => SECOND_NS,
            "m" | "min" | "mins" | "minute" | "minutes" => MINUTE_NS,
            "h" | "hr" | "hrs" | "hour" | "hours" => 60 * MINUTE_NS,
            "d" | "day" | "days" => DAY_NS,
            "w" | "week" | "weeks" => 7 * DAY_NS,
            _ => return None,
        };
        if number.is_empty() {
            return None;
        }
        let part_ns = number.parse::<i64>().ok().and_then(|number| number.checked_mul(unit_ns));
        total_ns = total_ns.zip(part_ns).and_then(|(total_ns, part_ns)| total_ns.checked_add(part_ns));
        rest = after.trim_start();
    }
    Some(total_ns)
}

#[cfg(test)]
#[path = "time_test.rs"]
mod tests;
