//! Dates and times of day in digits. Sources: RFC 3339 section 5.6; the Apache HTTP server's common log format; RFC 5322 section 4.3 for the
//! names of North American zones.

/// Reads `YYYY-MM-DD HH:MM:SS` with the variations of RFC 3339 and its relatives, and gives what stands behind it.
///
/// A date that is none (the 31st of June) is no timestamp; a leap second is the first second of the next minute. Digits of a fraction beyond the
/// ninth are dropped.
pub(super) fn date_time(text: &[u8]) -> Option<(i64, &[u8])> {
    // Cheap refusal of most texts that begin with something else.
    if text.len() < 19 || !matches!(text[4], b'-' | b'/') || text[7] != text[4] || !matches!(text[10], b'T' | b't' | b' ' | b'_') {
        return None;
    }
    let date = Date { year: number(&text[0..4])?, month: number(&text[5..7])?, day: number(&text[8..10])? };
    let (second_of_day, rest) = time_of_day(&text[11..])?;
    let (fraction_ns, rest) = fraction(rest);
    let (offset_s, rest) = zone(rest)?;
    Some((nanoseconds(&date, second_of_day, fraction_ns, offset_s)?, rest))
}

/// Reads `DD/Mon/YYYY:HH:MM:SS ±HHMM`, and gives what stands behind it.
pub(super) fn access_log_time(text: &[u8]) -> Option<(i64, &[u8])> {
    const MONTHS: [&[u8; 3]; 12] = [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
    if text.len() < 20 || text[2] != b'/' || text[6] != b'/' || text[11] != b':' {
        return None;
    }
    let month = MONTHS.iter().zip(1..).find(|(name, _)| text[3..6] == name[..])?.1;
    let date = Date { year: number(&text[7..11])?, month, day: number(&text[0..2])? };
    let (second_of_day, rest) = time_of_day(&text[12..])?;
    let (offset_s, rest) = zone(rest)?;
    Some((nanoseconds(&date, second_of_day, 0, offset_s)?, rest))
}

struct Date {
    year: i64,
    month: i64,
    day: i64,
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
}

/// `HH:MM:SS`, as seconds.
fn time_of_day(text: &[u8]) -> Option<(i64, &[u8])> {
    if text.len() < 8 || text[2] != b':' || text[5] != b':' {
        return None;
    }
    let (hour, minute, second) = (number(&text[0..2])?, number(&text[3..5])?, number(&text[6..8])?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some((hour * 3_600 + minute * 60 + second, &text[8..]))
}

/// A dot or comma and digits, as nanoseconds.
fn fraction(text: &[u8]) -> (i64, &[u8]) {
    let [b'.' | b',', digits @ ..] = text else { return (0, text) };
    let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if len == 0 {
        return (0, text);
    }
    let ns = digits[..len].iter().chain(std::iter::repeat(&b'0')).take(9).fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    (ns, &digits[len..])
}

/// An offset or the name of a zone, as seconds east of Greenwich; nothing is UTC. `None` when it is a zone that is not known.
fn zone(text: &[u8]) -> Option<(i64, &[u8])> {
    let trimmed = text.strip_prefix(b" ").unwrap_or(text);
    match trimmed {
        [b'Z' | b'z', rest @ ..] if !rest.first().is_some_and(u8::is_ascii_alphanumeric) => return Some((0, rest)),
        // Behind a space only four digits are an offset, as in "03:04:05 -0700"; "03:04:05 -12 left" begins a message.
        [sign @ (b'+' | b'-'), digits @ ..] => {
            if let Some((seconds, rest)) = offset(digits)
                && (trimmed.len() == text.len() || digits.len() - rest.len() >= 4)
            {
                return Some((if *sign == b'-' { -seconds } else { seconds }, rest));
            }
        }
        _ => {}
    }
    let len = trimmed.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (name, rest) = trimmed.split_at(len);
    if rest.first().is_some_and(u8::is_ascii_digit) {
        return Some((0, text));
    }
    let hours = match name {
        b"UTC" | b"GMT" | b"WET" => 0,
        b"CET" | b"WEST" => 1,
        b"CEST" | b"EET" => 2,
        b"EEST" | b"MSK" => 3,
        b"JST" | b"KST" => 9,
        b"EDT" => -4,
        b"EST" | b"CDT" => -5,
        b"MDT" => -6,
        b"MST" | b"PDT" => -7,
        b"PST" => -8,
        // Each of these is the zone of several countries.
        b"CST" | b"IST" | b"BST" | b"AST" | b"ECT" => return None,
        // A word of the message: "03:04:05 INFO started".
        _ => return Some((0, text)),
    };
    Some((hours * 3_600, rest))
}

/// `HH:MM`, `HHMM` or `HH`, as seconds.
fn offset(digits: &[u8]) -> Option<(i64, &[u8])> {
    let hours = number(digits.get(0..2)?)?;
    let (minutes, rest) = match &digits[2..] {
        [b':', tens, ones, rest @ ..] if tens.is_ascii_digit() && ones.is_ascii_digit() => (number(&[*tens, *ones])?, rest),
        [tens, ones, rest @ ..] if tens.is_ascii_digit() && ones.is_ascii_digit() => (number(&[*tens, *ones])?, rest),
        rest => (0, rest),
    };
    if hours > 23 || minutes > 59 || rest.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    Some((hours * 3_600 + minutes * 60, rest))
}

fn nanoseconds(date: &Date, second_of_day: i64, fraction_ns: i64, offset_s: i64) -> Option<i64> {
    let Date { year, month, day } = *date;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_in_month = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap),
        1..=12 => 31,
        _ => return None,
    };
    if day < 1 || day > days_in_month {
        return None;
    }
    // Days since 1970-01-01 in the Gregorian calendar, with years that begin in March so that the leap day is the last.
    let march_year = if month <= 2 { year - 1 } else { year };
    let march_month = (month + 9) % 12;
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    let days = 365 * march_year + march_year.div_euclid(4) - march_year.div_euclid(100) + march_year.div_euclid(400) + day_of_year - 719_468;
    let seconds = days * 86_400 + second_of_day - offset_s;
    i64::try_from(i128::from(seconds) * 1_000_000_000 + i128::from(fraction_ns)).ok()
}
