//! What the lexer makes of the characters.

use super::error::{Problem, Span};

/// A token and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Spanned {
    pub(crate) token: Token,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum Token {
    Open,
    Close,
    And,
    Or,
    /// `NOT`, or a `-` before what it negates.
    Not(&'static str),
    /// A field's name and operator: `pod:`, `latency_ms>=`.
    Field(FieldName, Comparison),
    /// An operator before a value inside a field's group: `status:(>=500 OR 404)`.
    Compare(Comparison),
    Value(Value),
}

/// A field as it was written.
#[derive(Clone, Debug)]
pub(crate) struct FieldName {
    pub(crate) text: String,
    /// A name in quotes is always an attribute's.
    pub(crate) is_quoted: bool,
    pub(crate) span: Span,
}

/// What follows a field's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    /// `:`
    Match,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

/// A word, a quoted text or a range.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Word(Word),
    Range(RangeValue),
}

/// A word or a quoted text.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// The characters, without quotes, escapes and the `*` at the end.
    pub(crate) text: String,
    pub(crate) is_quoted: bool,
    /// A `*` follows at once.
    pub(crate) is_prefix: bool,
    /// Something in it that is not supported. Kept until it is known whether the word stands where it could have been.
    pub(crate) refused: Option<(Problem, Span)>,
}

/// `[1 TO 5]`, `{1 TO 5}`, mixed.
#[derive(Clone, Debug)]
pub(crate) struct RangeValue {
    pub(crate) lower: Edge,
    pub(crate) upper: Edge,
}

/// One end of a range.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    /// `None` for `*`.
    pub(crate) text: Option<String>,
    pub(crate) is_included: bool,
    pub(crate) span: Span,
}
