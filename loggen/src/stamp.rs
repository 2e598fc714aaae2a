//! Times as the programs of this world write them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A way to write a time. The comment shows 2026-01-02 03:04:05.123456789 UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimeFormat {
    /// `2026-01-02T03:04:05.123Z`
    Iso,
    /// `2026-01-02T03:04:05Z`
    IsoSeconds,
    /// `2026-01-02T03:04:05.123456Z`
    IsoMicros,
    /// `2026-01-02T03:04:05.123456`
    IsoMicrosPlain,
    /// `2026-01-02T03:04:05.123456789Z`
    IsoNanos,
    /// `2026-01-02T03:04:05.123+0000`
    IsoOffset,
    /// `02/Jan/2026:03:04:05 +0000`
    Clf,
    /// `2026/01/02 03:04:05`
    Slashes,
    /// `26/01/02 03:04:05`
    SlashesShort,
    /// `0102 03:04:05.123456`
    Klog,
    /// `2026-01-02 03:04:05.123 UTC`
    Postgres,
    /// `02 Jan 2026 03:04:05.123`
    Redis,
    /// `2026-01-02 03:04:05,123`
    Log4j,
    /// `2026-01-02 03:04:05.123`
    Spaced,
    /// `2026-01-02`
    Date,
    /// `20260102T030405`
    Compact,
    /// `1767323045.1234567`
    EpochFraction,
    /// `1767323045`
    EpochSeconds,
    /// `1767323045123`
    EpochMillis,
}

impl TimeFormat {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "iso" => Self::Iso,
            "isosec" => Self::IsoSeconds,
            "isous" => Self::IsoMicros,
            "isous2" => Self::IsoMicrosPlain,
            "isons" => Self::IsoNanos,
            "isooff" => Self::IsoOffset,
            "clf" => Self::Clf,
            "nginxerr" => Self::Slashes,
            "shortyear" => Self::SlashesShort,
            "klog" => Self::Klog,
            "pg" => Self::Postgres,
            "redis" => Self::Redis,
            "log4j" => Self::Log4j,
            "envoy" => Self::Spaced,
            "date" => Self::Date,
            "compact" => Self::Compact,
            "epoch" => Self::EpochFraction,
            "epochs" => Self::EpochSeconds,
            "epochms" => Self::EpochMillis,
            _ => return None,
        })
    }
}

/// Writes times. Keeps the last second that it took apart: lines come nearly in order.
#[derive(Clone, Debug)]
pub(crate) struct Stamper {
    second: i64,
    /// `2026-01-02`
    date: String,
    /// `03:04:05`
    clock: String,
    month: &'static str,
}

impl Stamper {
    pub(crate) fn new() -> Self {
        let mut stamper = Self { second: i64::MIN, date: String::new(), clock: String::new(), month: MONTHS[0] };
        stamper.take_apart(0);
        stamper
    }

    fn take_apart(&mut self, second: i64) {
        // What lies outside jiff's years -9999 to 9999 is written as the epoch.
        let time = TimeZone::UTC.to_datetime(Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH));
        self.second = second;
        self.date.clear();
        self.clock.clear();
        push_number(&mut self.date, time.year().unsigned_abs().into(), 4);
        for number in [time.month(), time.day()] {
            self.date.push('-');
            push_number(&mut self.date, number.unsigned_abs().into(), 2);
        }
        for (separator, number) in [("", time.hour()), (":", time.minute()), (":", time.second())] {
            self.clock.push_str(separator);
            push_number(&mut self.clock, number.unsigned_abs().into(), 2);
        }
        self.month = MONTHS[usize::from(time.month().unsigned_abs()).clamp(1, 12) - 1];
    }

    /// Appends `time_us`, microseconds since the Unix epoch. `noise_ns` (0 to 999) fills the digits below.
    pub(crate) fn write(&mut self, out: &mut String, format: TimeFormat, time_us: i64, noise_ns: u64) {
        let second = time_us.div_euclid(1_000_000);
        if second != self.second {
            self.take_apart(second);
        }
        let micros = time_us.rem_euclid(1_000_000).unsigned_abs();
        let (date, clock) = (self.date.as_str(), self.clock.as_str());
        let (year, month_number, day) = (&date[..4], &date[5..7], &date[8..]);
        let mut push = |parts: &[&str]| parts.iter().for_each(|part| out.push_str(part));
        match format {
            TimeFormat::Iso | TimeFormat::IsoOffset => push(&[date, "T", clock, "."]),
            TimeFormat::IsoSeconds => push(&[date, "T", clock, "Z"]),
            TimeFormat::IsoMicros | TimeFormat::IsoMicrosPlain | TimeFormat::IsoNanos => push(&[date, "T", clock, "."]),
            TimeFormat::Clf => push(&[day, "/", self.month, "/", year, ":", clock, " +0000"]),
            TimeFormat::Slashes => push(&[year, "/", month_number, "/", day, " ", clock]),
            TimeFormat::SlashesShort => push(&[&year[2..], "/", month_number, "/", day, " ", clock]),
            TimeFormat::Klog => push(&[month_number, day, " ", clock, "."]),
            TimeFormat::Postgres | TimeFormat::Spaced => push(&[date, " ", clock, "."]),
            TimeFormat::Redis => push(&[day, " ", self.month, " ", year, " ", clock, "."]),
            TimeFormat::Log4j => push(&[date, " ", clock, ","]),
            TimeFormat::Date => push(&[date]),
            TimeFormat::Compact => push(&[year, month_number, day, "T", &clock[..2], &clock[3..5], &clock[6..]]),
            TimeFormat::EpochFraction | TimeFormat::EpochSeconds | TimeFormat::EpochMillis => push_number(out, second.unsigned_abs(), 1),
        }
        match format {
            TimeFormat::Iso
            | TimeFormat::IsoOffset
            | TimeFormat::Postgres
            | TimeFormat::Spaced
            | TimeFormat::Redis
            | TimeFormat::Log4j
            | TimeFormat::EpochMillis => {
                push_number(out, micros / 1_000, 3);
            }
            TimeFormat::IsoMicros | TimeFormat::IsoMicrosPlain | TimeFormat::Klog => push_number(out, micros, 6),
            TimeFormat::IsoNanos => push_number(out, micros * 1_000 + noise_ns, 9),
            TimeFormat::EpochFraction => {
                out.push('.');
                push_number(out, micros * 10 + noise_ns / 100, 7);
            }
            _ => {}
        }
        out.push_str(match format {
            TimeFormat::Iso | TimeFormat::IsoMicros | TimeFormat::IsoNanos => "Z",
            TimeFormat::IsoOffset => "+0000",
            TimeFormat::Postgres => " UTC",
            _ => "",
        });
    }
}

/// Appends a number with at least `digits` digits.
pub(crate) fn push_number(out: &mut String, mut number: u64, digits: usize) {
    // 2^64 has 20 digits.
    let mut buffer = [b'0'; 20];
    let mut at = buffer.len();
    while number > 0 {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    at = at.min(buffer.len() - digits.min(buffer.len()));
    out.push_str(str::from_utf8(&buffer[at..]).expect("digits"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_written_as_its_comment_says() {
        let mut stamper = Stamper::new();
        for (name, expected) in [
            ("iso", "2026-01-02T03:04:05.123Z"),
            ("isosec", "2026-01-02T03:04:05Z"),
            ("isous", "2026-01-02T03:04:05.123456Z"),
            ("isous2", "2026-01-02T03:04:05.123456"),
            ("isons", "2026-01-02T03:04:05.123456789Z"),
            ("isooff", "2026-01-02T03:04:05.123+0000"),
            ("clf", "02/Jan/2026:03:04:05 +0000"),
            ("nginxerr", "2026/01/02 03:04:05"),
            ("shortyear", "26/01/02 03:04:05"),
            ("klog", "0102 03:04:05.123456"),
            ("pg", "2026-01-02 03:04:05.123 UTC"),
            ("redis", "02 Jan 2026 03:04:05.123"),
            ("log4j", "2026-01-02 03:04:05,123"),
            ("envoy", "2026-01-02 03:04:05.123"),
            ("date", "2026-01-02"),
            ("compact", "20260102T030405"),
            ("epoch", "1767323045.1234567"),
            ("epochs", "1767323045"),
            ("epochms", "1767323045123"),
        ] {
            let mut out = String::new();
            stamper.write(&mut out, TimeFormat::from_name(name).expect("a format"), 1_767_323_045_123_456, 789);
            assert_eq!(out, expected, "{name}");
        }
    }

    #[test]
    fn numbers_are_padded_and_never_cut() {
        let mut out = String::new();
        for (number, digits) in [(0, 1), (7, 3), (12_345, 2), (u64::MAX, 1), (0, 0)] {
            push_number(&mut out, number, digits);
            out.push(' ');
        }
        assert_eq!(out, "0 007 12345 18446744073709551615  ");
    }
}
