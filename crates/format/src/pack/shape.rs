//! What the values of a column of variables have in common, and so how they are written.

/// How values look, once a common prefix and suffix are taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// Decimal numbers below 2^64 without leading zeros.
    Decimal,
    /// Decimal numbers of this many digits, leading zeros included.
    Digits(u8),
    /// This many hexadecimal digits, an even number, in lower case.
    HexLower(u8),
    /// The same in upper case.
    HexUpper(u8),
    /// Anything of this length.
    TextFixed(u8),
    /// Anything.
    Text,
}

/// Digits of a number that always fit 64 bits.
pub(super) const DIGITS_MAX: usize = 19;

const DIGIT: u8 = 1;
const LOWER: u8 = 2;
const UPPER: u8 = 4;
const OTHER: u8 = 8;

const CLASSES: [u8; 256] = {
    let mut classes = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'0'..=b'9' => DIGIT,
            b'a'..=b'f' => LOWER,
            b'A'..=b'F' => UPPER,
            _ => OTHER,
        };
        byte += 1;
    }
    classes
};

/// The lengths of the bytes that all values begin and end with, each next to a byte that is no digit, and never overlapping.
/// There is at least one value.
pub(super) fn common_affixes(values: &[&[u8]]) -> (usize, usize) {
    let first = values[0];
    // Most columns are plain numbers: neither end of the first value is worth a look then.
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let mut prefix = first.iter().rposition(|byte| !is_digit(byte)).map_or(0, |last| last + 1);
    if prefix == 0 {
        return (0, 0);
    }
    let mut suffix = first.iter().position(|byte| !is_digit(byte)).map_or(0, |at| first.len() - at);
    for value in &values[1..] {
        prefix = first[..prefix].iter().zip(*value).take_while(|(left, right)| left == right).count();
        suffix = first[first.len() - suffix..].iter().rev().zip(value.iter().rev()).take_while(|(left, right)| left == right).count();
        if prefix + suffix == 0 {
            return (0, 0);
        }
    }
    let prefix = first[..prefix].iter().rposition(|byte| !is_digit(byte)).map_or(0, |last| last + 1);
    let shortest = values.iter().map(|value| value.len()).min().unwrap_or(0);
    let suffix = suffix.min(shortest - prefix);
    let suffix = first[first.len() - suffix..].iter().position(|byte| !is_digit(byte)).map_or(0, |at| suffix - at);
    (prefix, suffix)
}

/// The most specific shape that all values have.
pub(super) fn shape_of<'a, I>(values: I) -> Shape
where
    I: Iterator<Item = &'a [u8]> + Clone,
{
    let mut seen = 0;
    let mut has_leading_zero = false;
    let (mut shortest, mut longest) = (usize::MAX, 0);
    for value in values {
        shortest = shortest.min(value.len());
        longest = longest.max(value.len());
        has_leading_zero |= value.first() == Some(&b'0') && value.len() > 1;
        seen |= value.iter().fold(0, |seen, byte| seen | CLASSES[*byte as usize]);
    }
    let fixed = u8::try_from(longest).ok().filter(|_| shortest == longest && longest > 0);
    match (seen, fixed) {
        (DIGIT, _) if !has_leading_zero && shortest > 0 && longest <= DIGITS_MAX => Shape::Decimal,
        (DIGIT, Some(digits)) if longest <= DIGITS_MAX => Shape::Digits(digits),
        (_, Some(digits)) if digits % 2 == 0 && seen & !(DIGIT | LOWER) == 0 => Shape::HexLower(digits),
        (_, Some(digits)) if digits % 2 == 0 && seen & !(DIGIT | UPPER) == 0 => Shape::HexUpper(digits),
        (_, Some(length)) => Shape::TextFixed(length),
        _ => Shape::Text,
    }
}

/// The number that decimal digits stand for. There are at most [`DIGITS_MAX`].
pub(super) fn parse_decimal(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'))
}

/// Appends a number with at least `digits_min` digits.
pub(super) fn write_decimal(mut value: u64, digits_min: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    while value > 0 {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    let start = start.min(digits.len() - digits_min.clamp(1, digits.len()));
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(values: &[&str]) -> Shape {
        shape_of(values.iter().map(|value| value.as_bytes()))
    }

    #[test]
    fn values_have_the_most_specific_shape() {
        assert_eq!(shape(&["1", "20", "0"]), Shape::Decimal);
        assert_eq!(shape(&["10", "20"]), Shape::Decimal);
        assert_eq!(shape(&["01", "20"]), Shape::Digits(2));
        assert_eq!(shape(&["01", "200"]), Shape::Text);
        assert_eq!(shape(&["0f", "20"]), Shape::HexLower(2));
        assert_eq!(shape(&["0F", "20"]), Shape::HexUpper(2));
        assert_eq!(shape(&["0f", "2F"]), Shape::TextFixed(2));
        assert_eq!(shape(&["", ""]), Shape::Text);
        assert_eq!(shape(&["18446744073709551615"]), Shape::HexLower(20));
        assert_eq!(shape(&["184467440737095516151"]), Shape::TextFixed(21));
    }

    #[test]
    fn affixes_end_beside_something_that_is_no_digit() {
        let affixes = |values: &[&str]| common_affixes(&values.iter().map(|value| value.as_bytes()).collect::<Vec<_>>());
        assert_eq!(affixes(&["12ms", "13ms"]), (0, 2));
        assert_eq!(affixes(&["v12", "v13"]), (1, 0));
        assert_eq!(affixes(&["v12", "v12"]), (1, 0));
        assert_eq!(affixes(&["100", "101"]), (0, 0));
        assert_eq!(affixes(&["a1b", "a1b"]), (3, 0));
        assert_eq!(affixes(&["a1a", "a1ba"]), (1, 1));
        assert_eq!(affixes(&["aa1", "a1"]), (1, 0));
        assert_eq!(affixes(&["1aa", "1a"]), (2, 0));
        assert_eq!(affixes(&["1aa", "2a"]), (0, 1));
        assert_eq!(affixes(&["a", "a"]), (1, 0));
        assert_eq!(affixes(&["", "a"]), (0, 0));
    }

    #[test]
    fn numbers_are_written_with_their_zeros() {
        for (value, digits, text) in [(0, 0, "0"), (0, 2, "00"), (7, 3, "007"), (1234, 3, "1234"), (u64::MAX, 0, "18446744073709551615")] {
            let mut out = Vec::new();
            write_decimal(value, digits, &mut out);
            assert_eq!(out, text.as_bytes());
        }
        assert_eq!(parse_decimal(b"9999999999999999999"), 9_999_999_999_999_999_999);
    }
}
