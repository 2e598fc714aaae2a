//! Timestamps that are numbers, kept exact: decimal digits are never passed through a float.

use super::TimeUnit;

/// Reads a decimal number, perhaps signed and with a fraction, as a timestamp. Without a unit its size tells it. `None` when it is no number or
/// leaves the range.
pub(crate) fn timestamp_from_number(text: &str, unit: Option<TimeUnit>) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        // An exponent: rare enough for the detour, and already inexact where it was written.
        return if digits.contains(['e', 'E']) && digits.starts_with(|first: char| first.is_ascii_digit()) {
            timestamp_from_float(text.parse().ok()?, unit)
        } else {
            None
        };
    }
    // 38 digits fit u128; more leave the range of a timestamp in any unit.
    let whole: u128 = whole.parse().ok()?;
    let unit_ns = u128::from(unit.unwrap_or_else(|| TimeUnit::of_magnitude(whole)).ns().unsigned_abs());
    // Nine digits of a fraction are the most that a nanosecond of a second needs.
    let billionths = fraction.bytes().chain(std::iter::repeat(b'0')).take(9).fold(0u128, |sum, digit| sum * 10 + u128::from(digit - b'0'));
    let ns = whole.checked_mul(unit_ns)?.checked_add(billionths * unit_ns / 1_000_000_000)?;
    let ns = i128::try_from(ns).ok()?;
    i64::try_from(if negative { -ns } else { ns }).ok()
}

/// Reads a float as a timestamp. `None` when it leaves the range.
pub(crate) fn timestamp_from_float(number: f64, unit: Option<TimeUnit>) -> Option<i64> {
    if !number.is_finite() {
        return None;
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast of a float saturates, and what saturates is out of range below"
    )]
    let unit = unit.unwrap_or_else(|| TimeUnit::of_magnitude(number.abs() as u128));
    #[allow(clippy::cast_precision_loss, reason = "a unit is a power of ten below 2^53")]
    let ns = number * unit.ns() as f64;
    #[allow(clippy::cast_precision_loss, reason = "the bound is the power of two next to it, which is out of range itself")]
    let bound = i64::MAX as f64;
    #[allow(clippy::cast_possible_truncation, reason = "checked against the bound")]
    if ns.abs() < bound { Some(ns as i64) } else { None }
}
