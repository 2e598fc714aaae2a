//! How answers look: tables for people, JSON lines for scripts, raw bodies for pipes.

pub(crate) mod count;
pub(crate) mod histogram;
pub(crate) mod patterns;
pub(crate) mod rows;

use crate::failure::Failure;
use siltstone_proto::v1::AnswerInfo;
use std::io::{self, IsTerminal, Write};

/// Columns of a screen that does not say how wide it is.
const WIDTH_DEFAULT: usize = 120;

/// Where answers go.
pub(crate) struct Screen {
    out: Box<dyn Write + Send>,
    /// Whether colours are welcome: a terminal, and no NO_COLOR (no-color.org).
    pub is_coloured: bool,
    /// Columns, when lines should be cut to them.
    pub width: Option<usize>,
}

impl Screen {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        let is_terminal = io::stdout().is_terminal();
        let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        Self {
            out: Box::new(io::BufWriter::new(io::stdout())),
            is_coloured: is_terminal && std::env::var_os("NO_COLOR").is_none(),
            width: is_terminal.then(|| columns.or_else(terminal_columns).unwrap_or(WIDTH_DEFAULT)),
        }
    }

    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())?;
        self.bytes(b"\n")
    }

    pub(crate) fn json(&mut self, value: &serde_json::Value) -> Result<(), Failure> {
        self.line(&value.to_string())
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(|error| write_failure(&error))
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| write_failure(&error))
    }

    /// A remark for people, on standard error, so that standard output stays clean.
    pub(crate) fn note(&mut self, text: &str) {
        // What was answered so far stands before the remark, also when both go to one terminal.
        let _ = self.out.flush();
        eprintln!("{text}");
    }

    /// Text in a colour, where colours are welcome.
    pub(crate) fn paint(&self, code: &str, text: &str) -> String {
        if self.is_coloured { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

fn terminal_columns() -> Option<usize> {
    let (_, columns) = console::Term::stdout().size_checked()?;
    Some(usize::from(columns))
}

/// A reader that has gone away (`| head`) is no failure worth a message, but the work ends.
fn write_failure(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Failure { message: String::new(), exit_code: 0 };
    }
    Failure::failed(format!("write the answer: {error}"))
}

/// The line under an answer, and what the server remarked.
pub(crate) fn summary(screen: &mut Screen, what: &str, info: Option<&AnswerInfo>) -> Result<(), Failure> {
    screen.flush()?;
    let elapsed = info.map_or_else(String::new, |info| format!(" in {:.1} ms", info.elapsed_ms));
    screen.note(&format!("{what}{elapsed}"));
    if let Some(info) = info {
        remarks(screen, info);
    }
    Ok(())
}

/// What the server remarked about the query.
pub(crate) fn remarks(screen: &mut Screen, info: &AnswerInfo) {
    degraded(screen, info);
    for hint in &info.hints {
        screen.note(&format!("hint: {}", printable(hint.as_bytes())));
    }
    if info.patterns_waiting > 0 {
        let what = counted(info.patterns_waiting, "pattern has", "patterns have");
        screen.note(&format!("note: {what} no vector yet and rank by words alone; --wait-vectors waits for them"));
    }
    for name in &info.unknown_namespaces {
        screen.note(&format!("note: there is no namespace {name:?}; `siltstone status` lists those that are there"));
    }
}

/// Why the answer took a longer way than it should: told whoever reads the answer.
pub(crate) fn degraded(screen: &mut Screen, info: &AnswerInfo) {
    for reason in &info.degraded {
        screen.note(&format!("degraded: {}", printable(reason.as_bytes())));
    }
}

/// A duration in the largest unit that it is a whole number of: `30s`, `5m`, `1h`, `250ms`.
pub(crate) fn duration_text(ns: i64) -> String {
    let units = [
        ("d", 86_400_000_000_000),
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ];
    let unit = units.into_iter().find(|(_, unit_ns)| ns != 0 && ns % unit_ns == 0);
    unit.map_or_else(|| "0s".to_owned(), |(name, unit_ns)| format!("{}{name}", ns / unit_ns))
}

/// `1 entry`, `2,345 entries`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// A number with a comma between each three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time as RFC 3339 in UTC: with milliseconds for people, with nanoseconds for scripts.
pub(crate) fn time_text(time_ns: i64, decimals: i32) -> String {
    // i64 nanoseconds reach from 1677 to 2262: always inside what a timestamp holds.
    jiff::Timestamp::from_nanosecond(i128::from(time_ns)).map_or_else(|_| time_ns.to_string(), |time| format!("{time:.*}", decimals as usize))
}

/// Text that can't move the cursor, clear the screen, or look like other text: control characters, line and paragraph separators, and characters
/// that are invisible or turn the direction of what follows are shown as escapes.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text.chars().any(is_deceptive) {
        return text.into_owned();
    }
    text.chars().map(|letter| if is_deceptive(letter) { letter.escape_default().to_string() } else { letter.to_string() }).collect()
}

/// Source: Unicode, "Bidirectional Class" and "Default_Ignorable_Code_Point"; "Trojan Source" (CVE-2021-42574).
fn is_deceptive(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let texts: Vec<_> = [0, 12, 123, 1_234, 237_764, 1_000_000].map(grouped).into();
        assert_eq!(texts, ["0", "12", "123", "1,234", "237,764", "1,000,000"]);
    }

    #[test]
    fn durations_are_whole_numbers_of_a_unit() {
        let texts: Vec<_> = [0, 30_000_000_000, 300_000_000_000, 5_400_000_000_000, 172_800_000_000_000, 250_000_000, 7].map(duration_text).into();
        assert_eq!(texts, ["0s", "30s", "5m", "90m", "2d", "250ms", "7ns"]);
    }

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(time_text(1_674_982_122_424_000_000, 3), "2023-01-29T08:48:42.424Z");
        assert_eq!(time_text(-1, 9), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(time_text(i64::MIN, 9), "1677-09-21T00:12:43.145224192Z");
    }

    #[test]
    fn a_log_line_cannot_drive_the_terminal() {
        assert_eq!(printable(b"a\x1b[2Jb\tc"), "a\\u{1b}[2Jb\\tc");
        assert_eq!(printable(b"plain \xff"), "plain \u{fffd}");
    }

    #[test]
    fn a_log_line_cannot_hide_or_turn_what_follows() {
        for letter in "\u{202a}\u{202e}\u{2066}\u{2069}\u{200b}\u{200f}\u{2028}\u{2029}\u{feff}\u{85}".chars() {
            let shown = printable(format!("pay {letter}5 to").as_bytes());
            assert_eq!(shown, format!("pay {}5 to", letter.escape_default()));
            assert!(shown.is_ascii());
        }
        assert_eq!(printable("größe 日本 e\u{301} 👍🏽".as_bytes()), "größe 日本 e\u{301} 👍🏽");
    }
}
