//! What can be wrong with a query.

use crate::time::TimeError;
use siltstone_core::ErrorKind;
use std::fmt;

/// Bytes `start..end` of the query's text, both on character boundaries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

/// A query that cannot be answered as it stands: what is wrong, where, and what to do about it.
///
/// `Display` gives one line; [`ParseError::render`] gives the query with the place marked, and the help.
#[derive(Clone, PartialEq, Debug)]
pub struct ParseError {
    pub(super) problem: Problem,
    pub(super) span: Span,
    pub(super) query: String,
}

impl ParseError {
    pub(super) fn new(query: &str, problem: Problem, span: Span) -> Self {
        Self { problem, span, query: query.to_owned() }
    }

    /// What is wrong.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Where. Lies within the query's text; empty at its end when something is missing there.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// The position of the first wrong character, counted in characters from 1.
    #[must_use]
    pub fn position(&self) -> usize {
        self.query[..self.span.start].chars().count() + 1
    }

    /// The query as it was written.
    #[must_use]
    pub fn query(&self) -> &str {
        &self.query
    }

    /// What the caller should do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self.problem {
            Problem::Unsupported(_) => ErrorKind::Unsupported,
            _ => ErrorKind::InvalidInput,
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parse the query at character {}: {} ({})", self.position(), self.problem, self.help())
    }
}

impl std::error::Error for ParseError {}

/// What is wrong with a query.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Problem {
    #[error("the query is empty")]
    Empty,
    #[error("the query has {bytes} bytes, more than {max}", max = super::TEXT_BYTES_MAX)]
    TooLong { bytes: usize },
    #[error("parentheses and NOT nest deeper than {max} levels", max = super::DEPTH_MAX)]
    TooDeep,
    #[error("the quote is never closed")]
    OpenQuote,
    #[error("the parenthesis is never closed")]
    OpenGroup,
    #[error("the parenthesis closes nothing")]
    StrayClose,
    #[error("the parentheses hold nothing")]
    EmptyGroup,
    #[error("{operator} has nothing on its left")]
    NothingLeft { operator: &'static str },
    #[error("{operator} has nothing on its right")]
    NothingRight { operator: &'static str },
    #[error("{field} has no value")]
    MissingValue { field: String },
    #[error("a comparison has no field")]
    MissingField,
    #[error("no letter or digit to search for")]
    NoToken { is_quoted: bool },
    #[error("the word is {count} words to the index, and only one of them can be a prefix")]
    PrefixOfPhrase { parts: Vec<String>, count: usize },
    #[error("the * does not follow a letter or a digit")]
    PrefixOfNothing { word: String },
    #[error("{0} is not supported yet")]
    Unsupported(Unsupported),
    #[error("unknown severity {word:?}")]
    UnknownSeverity { word: String, suggestion: Option<&'static str> },
    #[error("no severity lies there")]
    NoSeverity,
    #[error("a comparison needs a number, not {word:?}")]
    NotANumber { word: String },
    #[error("the range ends before it starts")]
    SwappedRange,
    #[error("nothing lies in the range")]
    EmptyRange,
    #[error("the range is not complete")]
    BrokenRange,
    #[error("{field} is text, and text has no ranges")]
    RangeOverText { field: String },
    #[error("the time is not understood: {0}")]
    BadTime(TimeError),
    #[error("a comparison takes one value, not a group")]
    GroupAfterComparison,
    #[error("a field inside the group of the field {field}")]
    FieldInGroup { field: String },
    #[error("a - before a digit in a group is either a minus or a NOT")]
    MinusInGroup,
    #[error("near: stands inside {place}")]
    NearInside { place: &'static str },
    #[error("near: stands twice")]
    NearTwice,
    #[error("near: has nothing to look for")]
    NearNothing,
    #[error("{word:?} is no pattern")]
    NotAPattern { word: String },
    #[error("an entry without a {field} has no {field} to compare with")]
    EmptyTag { field: String },
}

/// What is understood, and refused until it is built (RQ-1: an error, never an empty answer).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsupported {
    #[error("a wildcard inside or before a word")]
    Wildcard,
    #[error("a regular expression")]
    Regex,
    #[error("a fuzzy word or a phrase with slop (~)")]
    Fuzzy,
    #[error("a boost (^)")]
    Boost,
    #[error("a phrase that ends in a prefix")]
    PhrasePrefix,
    #[error("a comparison with !=")]
    NotEqual,
    #[error("a NOT written as !")]
    Bang,
    #[error("a prefix of a severity or a time")]
    TypedPrefix,
}
