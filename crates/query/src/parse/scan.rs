//! Characters one after another, and the two shapes that values have: quoted text and bare words.
//!
//! In quotes a backslash protects `"` and `\`; before anything else it is itself, so that text pasted from a log stays what it was. In a bare word
//! it protects any character that is neither a letter nor a digit.

use super::error::{Problem, Span, Unsupported};
use super::token::Word;

/// A place in the query.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    /// Goes past `expected` if it stands here.
    pub(super) fn eat(&mut self, expected: &str) -> bool {
        let is_here = self.rest().starts_with(expected);
        if is_here {
            self.at += expected.len();
        }
        is_here
    }

    pub(super) fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    pub(super) fn span_from(&self, start: usize) -> Span {
        Span { start, end: self.at }
    }
}

/// The text between the quote that stands here and the next one.
pub(super) fn quoted_text(cursor: &mut Cursor<'_>) -> Result<String, (Problem, Span)> {
    let start = cursor.at;
    cursor.next();
    let opening = cursor.span_from(start);
    let mut text = String::new();
    loop {
        match cursor.next() {
            None => return Err((Problem::OpenQuote, opening)),
            Some('"') => return Ok(text),
            Some('\\') if matches!(cursor.peek(), Some('"' | '\\')) => text.extend(cursor.next()),
            Some(character) => text.push(character),
        }
    }
}

/// What follows a quoted text at once: `*` makes a prefix of it, `~` and `^` are refused.
pub(super) fn quoted_word(text: String, cursor: &mut Cursor<'_>) -> Word {
    let start = cursor.at;
    let is_prefix = cursor.eat("*");
    let refused = match cursor.peek() {
        Some('~') => Some(Unsupported::Fuzzy),
        Some('^') => Some(Unsupported::Boost),
        Some('*' | '?') => Some(Unsupported::Wildcard),
        _ => None,
    };
    let refused = refused.map(|what| {
        while cursor.peek().is_some_and(|character| !is_end(character, false)) {
            cursor.next();
        }
        (Problem::Unsupported(what), cursor.span_from(start))
    });
    Word { text, is_quoted: true, is_prefix, refused }
}

/// Whether a bare word ends before this character.
fn is_end(character: char, is_in_range: bool) -> bool {
    character.is_whitespace() || matches!(character, '(' | ')' | '"') || (is_in_range && matches!(character, ']' | '}'))
}

/// The bare word that begins here; empty if none does.
pub(super) fn bare_word(cursor: &mut Cursor<'_>, is_in_range: bool) -> Result<Word, (Problem, Span)> {
    let start = cursor.at;
    let mut text = String::new();
    // Where wildcards stand: in the query, and in `text`.
    let mut wildcards: Vec<(Span, usize, char)> = Vec::new();
    // How much of `text` was protected by a backslash or quotes and is not looked at for operators.
    let mut protected_to = 0;
    while let Some(character) = cursor.peek() {
        // `user="alice smith"` is one word, as logfmt writes it.
        if character == '"' && text.ends_with('=') {
            text.push_str(&quoted_text(cursor)?);
            protected_to = text.len();
            continue;
        }
        if is_end(character, is_in_range) {
            break;
        }
        let place = cursor.at;
        cursor.next();
        match character {
            '\\' if cursor.peek().is_some_and(|next| !next.is_alphanumeric()) => {
                text.extend(cursor.next());
                protected_to = text.len();
                continue;
            }
            '*' | '?' => wildcards.push((cursor.span_from(place), text.len(), character)),
            _ => {}
        }
        text.push(character);
    }
    let word = cursor.span_from(start);
    let mut is_prefix = false;
    if let Some(&(_, at, '*')) = wildcards.last()
        && at + 1 == text.len()
    {
        text.pop();
        wildcards.pop();
        is_prefix = true;
    }
    let refused = refuse(&cursor.text[word.start..word.end], &text[protected_to.min(text.len())..], wildcards.first().map(|(span, ..)| *span), word);
    Ok(Word { text, is_quoted: false, is_prefix, refused })
}

/// Forms that other query languages give a meaning. `raw` is the word as written, `tail` its end without protected characters.
fn refuse(raw: &str, tail: &str, wildcard: Option<Span>, word: Span) -> Option<(Problem, Span)> {
    let refused = |what, span| Some((Problem::Unsupported(what), span));
    if raw.len() > 2 && raw.starts_with('/') && raw.ends_with('/') && !raw.ends_with("\\/") {
        return refused(Unsupported::Regex, word);
    }
    if let Some(span) = wildcard {
        return refused(Unsupported::Wildcard, span);
    }
    let head = tail.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    let operator_span = |operator: &str| {
        // The operator and what follows it stand at the end of the word, as they do at the end of the tail.
        let length = operator.len() + tail.len() - head.len();
        Span { start: word.end - length, end: word.end }
    };
    if head.len() > 1 && head.ends_with('~') {
        return refused(Unsupported::Fuzzy, operator_span("~"));
    }
    if head.len() > 1 && head.ends_with('^') && head.len() < tail.len() {
        return refused(Unsupported::Boost, operator_span("^"));
    }
    None
}
