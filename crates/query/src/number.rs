//! Numbers and literals of a query.

use crate::expr::{Literal, Number};
use std::cmp::Ordering;

/// 2^63, the first floating-point number above every `i64`.
const ABOVE_INT: f64 = 9_223_372_036_854_775_808.0;

impl Number {
    /// A decimal number: a sign, digits, a fraction, an exponent. Hexadecimal, infinity, NaN and what overflows are not numbers.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E'));
        if !is_plain || !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        if let Ok(whole) = text.parse() {
            return Some(Self::Int(whole));
        }
        text.parse().ok().filter(|number: &f64| number.is_finite()).map(Self::Float)
    }

    /// Compares exactly, never through rounding: 2^53 + 1 is above 2^53 as a floating-point number. `other` must not be NaN.
    #[must_use]
    pub fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => left.cmp(&right),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(&right).unwrap_or(Ordering::Equal),
            (Self::Int(left), Self::Float(right)) => compare_int_float(left, right),
            (Self::Float(left), Self::Int(right)) => compare_int_float(right, left).reverse(),
        }
    }
}

fn compare_int_float(int: i64, float: f64) -> Ordering {
    if float >= ABOVE_INT {
        return Ordering::Less;
    }
    if float < -ABOVE_INT {
        return Ordering::Greater;
    }
    // The whole part now fits an `i64`, and truncation is exact.
    let whole = float.trunc();
    int.cmp(&(whole as i64)).then_with(|| 0.0_f64.partial_cmp(&(float - whole)).unwrap_or(Ordering::Equal))
}

impl Literal {
    /// A value that was written without quotes: the number or truth value that it looks like, as well as its text.
    #[must_use]
    pub fn bare<T>(text: T) -> Self
    where
        T: Into<String>,
    {
        let text = text.into();
        let number = Number::from_text(&text);
        let truth = match text.as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        Self { text, number, truth }
    }

    /// A value that was written in quotes: text only.
    #[must_use]
    pub fn quoted<T>(text: T) -> Self
    where
        T: Into<String>,
    {
        Self { text: text.into(), number: None, truth: None }
    }

    /// Whether this equals the literal of the same characters without quotes.
    pub(crate) fn is_bare(&self) -> bool {
        self.number.is_some() || self.truth.is_some() || (Number::from_text(&self.text).is_none() && !matches!(self.text.as_str(), "true" | "false"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_floating_point_numbers_compare_exactly() {
        let two_53 = 9_007_199_254_740_992_i64;
        assert_eq!(Number::Int(two_53 + 1).compare(Number::Float(two_53 as f64)), Ordering::Greater);
        assert_eq!(Number::Int(i64::MAX).compare(Number::Float(ABOVE_INT)), Ordering::Less);
        assert_eq!(Number::Int(i64::MIN).compare(Number::Float(-ABOVE_INT)), Ordering::Equal);
        assert_eq!(Number::Int(-2).compare(Number::Float(-2.5)), Ordering::Greater);
        assert_eq!(Number::Int(2).compare(Number::Float(2.5)), Ordering::Less);
        assert_eq!(Number::Float(2.5).compare(Number::Int(2)), Ordering::Greater);
        assert_eq!(Number::Float(500.0).compare(Number::Int(500)), Ordering::Equal);
    }

    #[test]
    fn only_decimal_numbers_are_numbers() {
        assert_eq!(Number::from_text("500"), Some(Number::Int(500)));
        assert_eq!(Number::from_text("-1.5e3"), Some(Number::Float(-1500.0)));
        for text in ["", "-", ".", "e", "inf", "NaN", "0x10", "1_000", "1e999", "10.0.0.1", "250ms", "1-2"] {
            assert_eq!(Number::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn a_bare_literal_is_also_a_number_and_a_truth_value() {
        assert_eq!(Literal::bare("500").number, Some(Number::Int(500)));
        assert_eq!(Literal::bare("true").truth, Some(true));
        assert_eq!(Literal::quoted("500").number, None);
        assert!(Literal::bare("x").is_bare() && !Literal::quoted("true").is_bare() && !Literal::quoted("5").is_bare());
        assert!(Literal::quoted("x").is_bare(), "quotes change nothing about plain text");
    }
}
