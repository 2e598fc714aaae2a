//! Remarks on what is valid but perhaps not meant, and names that are nearly right.

use super::Hint;
use super::error::Span;
use super::token::{FieldName, Word};
use crate::expr::Predicate;
use crate::reserved::{Reserved, is_name_part, is_name_start};

/// Names under which other systems know what has a field of its own here.
const FIELD_HINTS: [(&str, &str); 14] = [
    ("level", "severity"),
    ("lvl", "severity"),
    ("loglevel", "severity"),
    ("severity_text", "severity"),
    ("time", "timestamp"),
    ("@timestamp", "timestamp"),
    ("message", "body"),
    ("msg", "body"),
    ("log", "body"),
    ("app", "deployment"),
    ("k8s.namespace.name", "namespace"),
    ("k8s.deployment.name", "deployment"),
    ("k8s.pod.name", "pod"),
    ("k8s.container.name", "container"),
];

pub(super) fn of_attribute(name: &FieldName, hints: &mut Vec<Hint>) {
    if name.is_quoted {
        return;
    }
    let lower = name.text.to_lowercase();
    let text = if Reserved::from_name(&lower).is_some() {
        format!("{} is read as an attribute: names are case-sensitive, the field is {lower}:", name.text)
    } else if let Some((_, field)) = FIELD_HINTS.iter().find(|(other, _)| *other == lower) {
        format!("{} is read as an attribute: did you mean {field}:?", name.text)
    } else {
        return;
    };
    hints.push(Hint { span: name.span, text });
}

/// `status:5*` finds no number: only text has a beginning.
pub(super) fn of_predicate(name: &FieldName, predicate: &Predicate, span: Span, hints: &mut Vec<Hint>) {
    if let Predicate::Prefix(prefix) = predicate
        && prefix.starts_with(|first: char| first.is_ascii_digit())
        && prefix.chars().all(|character| character.is_ascii_digit() || character == '.')
    {
        let text = format!("{}:{prefix}* compares text: numbers are compared as in {}>={prefix}", name.text, name.text);
        hints.push(Hint { span, text });
    }
}

pub(super) fn of_word(word: &Word, span: Span, hints: &mut Vec<Hint>) {
    if word.is_quoted {
        return;
    }
    let text = match word.text.as_str() {
        operator @ ("and" | "or" | "not") => format!("{operator} is read as a word to find: the operator is {}", operator.to_uppercase()),
        text if text.starts_with('\'') || text.ends_with('\'') => "single quotes mean nothing here: phrases stand in double quotes".to_owned(),
        text if text.contains(['\u{201c}', '\u{201d}', '\u{201e}']) => {
            "curly quotes mean nothing here: phrases stand in straight double quotes".to_owned()
        }
        text => match name_before_equals(text) {
            Some(name) => format!("{name}=… is looked for in the body: an attribute is written {name}:value"),
            None => return,
        },
    };
    hints.push(Hint { span, text });
}

fn name_before_equals(text: &str) -> Option<&str> {
    let (name, value) = text.split_once('=')?;
    (!value.is_empty() && name.starts_with(is_name_start) && name.chars().all(is_name_part)).then_some(name)
}

/// The severity that a word was probably meant to be: at most two letters away.
pub(super) fn similar_severity(word: &str) -> Option<&'static str> {
    const NAMES: [&str; 7] = ["trace", "debug", "info", "warn", "error", "fatal", "unspecified"];
    // Longer words are at least three letters from all names but the last.
    let word: String = word.chars().take(20).flat_map(char::to_lowercase).collect();
    NAMES
        .into_iter()
        .map(|name| (edits(&word, name), name))
        .min()
        .filter(|(edits, name)| *edits <= 2 && *edits < name.len() - 1)
        .map(|(_, name)| name)
}

/// Levenshtein distance.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (above, letter) in left.chars().enumerate() {
        let mut diagonal = above;
        row[0] = above + 1;
        for (at, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
