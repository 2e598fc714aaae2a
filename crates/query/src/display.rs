//! The canonical text of an expression: for `explain`, for caches, and read back by the parser to the same expression.
//!
//! [`crate::parse()`] of the text gives a simplified expression back unchanged (tested as a property), unless it is
//! larger than the parser takes: the text writes out every AND and more parentheses than are needed. Tokens must be the analyzer's, as
//! [`Text`] demands: others would be analyzed again on the way back.

use crate::expr::{Expr, Field, Literal, Number, Predicate, Text, TimeRange};
use crate::reserved::{Reserved, is_name_part, is_name_start};
use jiff::Timestamp;
use siltstone_core::Severity;
use siltstone_core::pattern::PatternHash;
use std::fmt::{self, Display as _, Write as _};
use std::ops::Bound;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Nothing => f.write_str("NOT *"),
            Self::And(parts) => joined(f, parts, " AND "),
            Self::Or(parts) => joined(f, parts, " OR "),
            Self::Not(part) => {
                f.write_str("NOT ")?;
                operand(f, part)
            }
            Self::Text(text) => text.fmt(f),
            Self::Field(field, predicate) => predicate_of(f, &field.to_string(), predicate),
            Self::Severity(first, last) => severity(f, *first, *last),
            Self::Time(range) => range.fmt(f),
            Self::Patterns(hashes) => patterns(f, hashes),
            Self::Namespace(predicate) => predicate_of(f, "namespace", predicate),
        }
    }
}

fn patterns(f: &mut fmt::Formatter<'_>, hashes: &[PatternHash]) -> fmt::Result {
    match hashes {
        [only] => write!(f, "pattern:{only}"),
        [] => f.write_str("NOT *"),
        [first, rest @ ..] => {
            write!(f, "pattern:({first}")?;
            rest.iter().try_for_each(|hash| write!(f, " OR {hash}"))?;
            f.write_str(")")
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[Expr], separator: &str) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            f.write_str(separator)?;
        }
        operand(f, part)?;
    }
    Ok(())
}

fn operand(f: &mut fmt::Formatter<'_>, part: &Expr) -> fmt::Result {
    // Parentheses around AND inside OR are not needed, but no reader has to know that.
    if matches!(part, Expr::And(_) | Expr::Or(_)) { write!(f, "({part})") } else { part.fmt(f) }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Term(token) => f.write_str(&analyzable(token)),
            Self::Phrase(tokens) => write!(f, "\"{}\"", analyzable(&tokens.join(" "))),
            Self::Prefix(token) => write!(f, "{}*", analyzable(token)),
        }
    }
}

/// Text that the analyzer turns into the given tokens. `İ` is the only letter whose lower case is two characters, the second of which would cut
/// the token.
fn analyzable(tokens: &str) -> String {
    tokens.replace("i\u{307}", "\u{130}")
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deployment => f.write_str("deployment"),
            Self::Pod => f.write_str("pod"),
            Self::Container => f.write_str("container"),
            Self::Attribute(name) if is_bare_name(name) => f.write_str(name),
            Self::Attribute(name) => quoted(f, name),
        }
    }
}

fn is_bare_name(name: &str) -> bool {
    let mut characters = name.chars();
    // A `-` at the end would make an arrow of `name>5`.
    characters.next().is_some_and(is_name_start) && characters.all(is_name_part) && !name.ends_with('-') && Reserved::from_name(name).is_none()
}

fn predicate_of(f: &mut fmt::Formatter<'_>, name: &str, predicate: &Predicate) -> fmt::Result {
    f.write_str(name)?;
    match predicate {
        Predicate::Equals(literal) => {
            f.write_str(":")?;
            literal.fmt(f)
        }
        Predicate::Prefix(prefix) => {
            f.write_str(":")?;
            value(f, prefix)?;
            f.write_str("*")
        }
        Predicate::Exists => f.write_str(":*"),
        Predicate::Range(Bound::Unbounded, Bound::Unbounded) => f.write_str(":[* TO *]"),
        Predicate::Range(Bound::Included(lower), Bound::Unbounded) => write!(f, ">={lower}"),
        Predicate::Range(Bound::Excluded(lower), Bound::Unbounded) => write!(f, ">{lower}"),
        Predicate::Range(Bound::Unbounded, Bound::Included(upper)) => write!(f, "<={upper}"),
        Predicate::Range(Bound::Unbounded, Bound::Excluded(upper)) => write!(f, "<{upper}"),
        Predicate::Range(lower, upper) => {
            match lower {
                Bound::Included(lower) => write!(f, ":[{lower}")?,
                Bound::Excluded(lower) => write!(f, ":{{{lower}")?,
                Bound::Unbounded => f.write_str(":[*")?,
            }
            match upper {
                Bound::Included(upper) => write!(f, " TO {upper}]"),
                Bound::Excluded(upper) => write!(f, " TO {upper}}}"),
                Bound::Unbounded => f.write_str(" TO *]"),
            }
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_bare() { value(f, &self.text) } else { quoted(f, &self.text) }
    }
}

/// A value without quotes where it needs none.
fn value(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let is_plain = |character: char| character.is_alphanumeric() || matches!(character, '.' | '_' | '-' | '+' | '@');
    if !text.is_empty() && text.chars().all(is_plain) { f.write_str(text) } else { quoted(f, text) }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            f.write_char('\\')?;
        }
        f.write_char(character)?;
    }
    f.write_char('"')
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            // `Debug` keeps the `.0` that tells 1.0 from 1, and writes the shortest digits that read back the same.
            Self::Float(number) => write!(f, "{number:?}"),
        }
    }
}

fn severity(f: &mut fmt::Formatter<'_>, first: Severity, last: Severity) -> fmt::Result {
    if first == Severity::UNSPECIFIED && last > first {
        // No range of the language begins there.
        f.write_str("(severity:unspecified OR ")?;
        severity(f, Severity::TRACE, last)?;
        return f.write_str(")");
    }
    let name = first.name();
    match Severity::range_of_name(name) {
        Some(range) if range == (first, last) => write!(f, "severity:{name}"),
        Some((start, _)) if start == first && last.number() == Severity::MAX => write!(f, "severity>={name}"),
        _ if first == last => write!(f, "severity:{}", first.number()),
        _ => write!(f, "severity:[{} TO {}]", first.number(), last.number()),
    }
}

impl fmt::Display for TimeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.start_ns, self.end_ns) {
            (i64::MIN, i64::MAX) => f.write_str("timestamp:*"),
            (start_ns, i64::MAX) => write!(f, "timestamp>={}", time(start_ns)),
            (i64::MIN, end_ns) => write!(f, "timestamp<{}", time(end_ns)),
            (start_ns, end_ns) => write!(f, "timestamp:[{} TO {}}}", time(start_ns), time(end_ns)),
        }
    }
}

fn time(time_ns: i64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(time_ns)).expect("64-bit nanoseconds end in 2262, jiff's years in 9999")
}
