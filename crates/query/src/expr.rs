//! What a query means, after parsing and analysis. The same expression is answered by the index, by the scan of live rows and, in tests, by
//! brute force; all three follow the meanings that stand here.

use siltstone_core::Severity;
use siltstone_core::pattern::PatternHash;
use std::ops::Bound;
use std::sync::Arc;

/// A predicate over one entry.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// Every entry (`*`).
    All,
    /// No entry. No query string means this by itself: it is what folding leaves of a namespace that a query rules out.
    Nothing,
    /// Every part holds. Never empty.
    And(Vec<Expr>),
    /// At least one part holds. Never empty.
    Or(Vec<Expr>),
    /// The part does not hold. Valid alone.
    Not(Box<Expr>),
    /// Words of the body.
    Text(Text),
    /// A tag or an attribute.
    Field(Field, Predicate),
    /// The severity number lies between the two, both included.
    Severity(Severity, Severity),
    /// The timestamp lies in the range.
    Time(TimeRange),
    /// The body's pattern is one of these, by rising hash. Never empty.
    Patterns(Arc<[PatternHash]>),
    /// The namespace's name: it narrows, and is folded away before an engine sees the expression.
    Namespace(Predicate),
}

/// Words of the body as the analyzer gives them: lower-cased, in order. Tokens are never empty.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Text {
    /// The body has this token.
    Term(String),
    /// The body has these tokens one after another. At least two.
    Phrase(Vec<String>),
    /// The body has a token that starts with this.
    Prefix(String),
}

/// What a field predicate looks at. Comparison is case-sensitive and of the whole value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Field {
    /// The workload.
    Deployment,
    /// The pod.
    Pod,
    /// The container.
    Container,
    /// An attribute by its full name.
    Attribute(String),
}

/// A comparison with a field's value. An entry without the field matches none of them.
#[derive(Clone, PartialEq, Debug)]
pub enum Predicate {
    /// The value is this. A bare `500` equals the text "500" and the numbers 500 and 500.0; a bare `true` equals the text and the truth value; a
    /// quoted literal equals text only.
    Equals(Literal),
    /// A text value starts with this.
    Prefix(String),
    /// The field is there (a tag is there when it is not empty).
    Exists,
    /// A numeric value lies between the bounds; values of other types never match. Tags have no numbers: a range over a tag is refused by the parser.
    Range(Bound<Number>, Bound<Number>),
}

/// A value as it was written in the query.
#[derive(Clone, PartialEq, Debug)]
pub struct Literal {
    /// The characters, without quotes and escapes.
    pub text: String,
    /// The number that an unquoted literal also is.
    pub number: Option<Number>,
    /// The truth value that an unquoted literal also is.
    pub truth: Option<bool>,
}

/// A number of a query. A whole number is compared with whole and floating-point values exactly, never through rounding.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// A whole number.
    Int(i64),
    /// Any other; never NaN.
    Float(f64),
}

/// Nanoseconds since the Unix epoch: `start_ns` included, `end_ns` excluded. `i64::MIN` and `i64::MAX` stand for no bound.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TimeRange {
    /// The first nanosecond inside.
    pub start_ns: i64,
    /// The first nanosecond after.
    pub end_ns: i64,
}

impl TimeRange {
    /// Every time. (The very last nanosecond of the 64-bit range, in the year 2262, is inside too.)
    pub const ALL: Self = Self { start_ns: i64::MIN, end_ns: i64::MAX };

    /// Whether a time lies inside.
    #[must_use]
    pub const fn contains(&self, time_ns: i64) -> bool {
        time_ns >= self.start_ns && (time_ns < self.end_ns || self.end_ns == i64::MAX)
    }

    /// What lies in both; empty (start ≥ end) when they do not meet.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        Self { start_ns: self.start_ns.max(other.start_ns), end_ns: self.end_ns.min(other.end_ns) }
    }
}
