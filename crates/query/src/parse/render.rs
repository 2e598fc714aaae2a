//! An error as a person reads it: the query, a mark under the place, the help.

use super::error::ParseError;
use std::fmt::Write as _;
use unicode_width::UnicodeWidthChar;

/// How many characters of a long line are shown on each side of the place.
const CONTEXT_CHARS: usize = 60;

impl ParseError {
    /// Several lines for a terminal:
    ///
    /// ```text
    /// error: the quote is never closed
    ///   checkout "connection refused
    ///            ^
    ///   help: add a " at the end, …
    /// ```
    ///
    /// The marks stand under exactly the wrong characters, wide characters and marks of combination counted as terminals show them. Of a query of
    /// several lines the one with the place is shown, of a long line the part around it. No newline at the end.
    #[must_use]
    pub fn render(&self) -> String {
        let start = self.span.start;
        let line_start = self.query[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.query[start..].find('\n').map_or(self.query.len(), |at| start + at);
        let end = self.span.end.clamp(start, line_end);

        let (before, cut_before) = last_chars(&self.query[line_start..start], CONTEXT_CHARS);
        let (marked, cut_marked) = first_chars(&self.query[start..end], CONTEXT_CHARS);
        let (after, cut_after) = if cut_marked { ("", true) } else { first_chars(&self.query[end..line_end], CONTEXT_CHARS) };

        let mut shown = String::from(if cut_before { "…" } else { "" });
        push_printable(&mut shown, before);
        let indent = width(&shown);
        let mut place = String::new();
        push_printable(&mut place, marked);
        let marks = width(&place).max(1);
        shown.push_str(&place);
        push_printable(&mut shown, after);
        if cut_after {
            shown.push('…');
        }
        let mut out = String::new();
        let written = write!(out, "error: {}\n  {shown}\n  {:indent$}{:^<marks$}\n  help: {}", self.problem, "", "", self.help());
        written.expect("a String takes everything");
        out
    }
}

fn first_chars(text: &str, count: usize) -> (&str, bool) {
    match text.char_indices().nth(count) {
        Some((at, _)) => (&text[..at], true),
        None => (text, false),
    }
}

fn last_chars(text: &str, count: usize) -> (&str, bool) {
    match text.char_indices().rev().nth(count) {
        Some((at, character)) => (&text[at + character.len_utf8()..], true),
        None => (text, false),
    }
}

/// Control characters would move the marks or worse.
fn push_printable(out: &mut String, text: &str) {
    out.extend(text.chars().map(|character| if character.is_control() { ' ' } else { character }));
}

fn width(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(0)).sum()
}

#[cfg(test)]
#[path = "render_test.rs"]
mod tests;
