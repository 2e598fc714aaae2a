//! What to do about each problem.

use super::error::{ParseError, Problem, Unsupported};
use super::{DEPTH_MAX, TEXT_BYTES_MAX};

impl ParseError {
    /// What to do about it, in one sentence without a full stop.
    #[must_use]
    pub fn help(&self) -> String {
        let place = || self.query[self.span.start..self.span.end].trim_matches('"').to_owned();
        match &self.problem {
            Problem::Empty => "write * for every entry".to_owned(),
            Problem::TooLong { .. } => format!("split it into queries of at most {TEXT_BYTES_MAX} bytes"),
            Problem::TooDeep => format!("rewrite it with at most {DEPTH_MAX} levels"),
            Problem::OpenQuote => "add a \" at the end, or write \\\" for a quote that belongs to the text".to_owned(),
            Problem::OpenGroup => "add a ) at the end, or put the ( in double quotes".to_owned(),
            Problem::StrayClose => "remove it, or put it in double quotes".to_owned(),
            Problem::EmptyGroup => "remove them, or put the text in double quotes".to_owned(),
            Problem::NothingLeft { operator } | Problem::NothingRight { operator: operator @ ("AND" | "OR" | "NOT") } => {
                format!("add what is missing, or write \"{operator}\" in double quotes to search for the word")
            }
            Problem::NothingRight { operator } => format!("put what it negates right after the {operator}"),
            Problem::MissingValue { field } => {
                format!("write the value right after it, without a space, or put it in double quotes to search for the word: \"{}\"", escape(field))
            }
            Problem::MissingField => "write the field right before it, without a space: latency_ms>250".to_owned(),
            Problem::NoToken { is_quoted: false } if matches!(place().as_str(), "&&" | "||" | "&" | "|" | "!") => {
                "write AND, OR or NOT in capitals".to_owned()
            }
            Problem::NoToken { is_quoted: false } if place() == "-" => "write the - right before what it negates, or remove it".to_owned(),
            Problem::NoToken { .. } => "the index holds letters and digits only: remove this, or add a word of the line".to_owned(),
            Problem::PrefixOfPhrase { parts, .. } => match parts.split_last() {
                Some((last, others)) => format!("write \"{}\" {last}* to find both anywhere in the line, or leave out the *", others.join(" ")),
                None => "leave out the *".to_owned(),
            },
            Problem::PrefixOfNothing { word } => format!("leave out the *: {}", quote(word)),
            Problem::Unsupported(what) => self.help_unsupported(*what),
            Problem::UnknownSeverity { suggestion: Some(name), .. } => format!("did you mean {name}?"),
            Problem::UnknownSeverity { suggestion: None, .. } => {
                "write one of trace, debug, info, warn, error, fatal, unspecified, or a number from 0 to 24".to_owned()
            }
            Problem::NoSeverity => {
                "severities go from trace (1) to fatal (24); entries without one match none of these: severity:unspecified finds them".to_owned()
            }
            Problem::NotANumber { .. } => {
                "write a number such as 250 or 0.5, without a unit; put the whole in double quotes to search the text for it".to_owned()
            }
            Problem::SwappedRange => "swap the two ends".to_owned(),
            Problem::EmptyRange => "its ends are the same and at least one is left out: { and } leave an end out, [ and ] include it".to_owned(),
            Problem::BrokenRange => "write [1 TO 5], {1 TO 5} to leave out the ends, and * for no bound".to_owned(),
            Problem::RangeOverText { field } => format!("write {field}:value or {field}:val*"),
            Problem::BadTime(_) => "write 2026-01-02T03:04:05Z, 2026-01-02, Unix time, now, 15m or \"15m ago\"".to_owned(),
            Problem::GroupAfterComparison => "put the comparison into the group: status:(>=500 OR 404)".to_owned(),
            Problem::FieldInGroup { .. } => "close the group first, or put the value in double quotes".to_owned(),
            Problem::MinusInGroup => "write NOT 5, or [-5 TO -5] for the number".to_owned(),
            Problem::NearInside { .. } => {
                "it ranks what the rest of the query lets through, so it stands beside the rest: near:\"database is down\" severity>=warn; \
                put \"near\" in double quotes if you mean an attribute of that name"
                    .to_owned()
            }
            Problem::NearTwice => "say all of it in one: near:\"database is down, payments fail\"".to_owned(),
            Problem::NearNothing => "write what the lines should mean: near:\"database is down\"".to_owned(),
            Problem::NotAPattern { .. } => {
                "write the 32 hexadecimal digits that `siltstone patterns` shows; put \"pattern\" in double quotes if you mean an \
                attribute of that name"
                    .to_owned()
            }
            Problem::EmptyTag { field } => format!("write -{field}:* for the entries without one"),
        }
    }

    fn help_unsupported(&self, what: Unsupported) -> String {
        match what {
            Unsupported::Wildcard => "one * at the end of a word is: time*; in double quotes * and ? are plain characters".to_owned(),
            Unsupported::Regex => format!("put a path in double quotes: {}", quote(&self.query[self.span.start..self.span.end])),
            Unsupported::Fuzzy => "write the word as it is in the line, or its start and a *".to_owned(),
            Unsupported::Boost => "remove it; in double quotes ^ is a plain character".to_owned(),
            Unsupported::PhrasePrefix => "leave out the * after the quote, or search for the words one by one".to_owned(),
            Unsupported::NotEqual => "write -field:value".to_owned(),
            Unsupported::Bang => "write -word or NOT word; in double quotes ! is a plain character".to_owned(),
            Unsupported::TypedPrefix => "write severity>=warn, or a range of times".to_owned(),
        }
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", escape(text))
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
