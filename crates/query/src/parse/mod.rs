//! From a string to an expression.

mod ast;
mod error;
mod help;
mod hints;
mod lexer;
mod lower;
mod near;
mod parser;
mod render;
mod scan;
mod time_range;
mod token;

pub use error::{ParseError, Problem, Span};

use crate::expr::Expr;

/// The longest query, in bytes. Longer ones are made by programs, and a list that long belongs into several queries.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;

/// How deep parentheses and NOT may nest. What follows the parser (folding, evaluation, dropping) recurses as deep as the query, so this bounds the
/// stack of all of them; people nest three levels.
pub const DEPTH_MAX: usize = 128;

/// What a query's meaning depends on besides its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseOptions {
    /// Nanoseconds since the Unix epoch: what `now` and `15m ago` count from.
    pub now_ns: i64,
}

/// A parsed query.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// What it lets through, simplified.
    pub expr: Expr,
    /// What it is to be like: the order is by that. Nothing is let through or held back by it.
    pub near: Option<String>,
    /// As it was written.
    pub text: String,
    /// What is valid but perhaps not what was meant. For `explain`, and for answers that are empty.
    pub hints: Vec<Hint>,
}

/// A remark about a part of a valid query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    /// The part.
    pub span: Span,
    /// A sentence without a full stop.
    pub text: String,
}

/// Parses a query.
///
/// # Errors
/// [`ParseError`] with the place and what to do about it. Never panics, whatever the text.
pub fn parse(text: &str, options: &ParseOptions) -> Result<Query, ParseError> {
    let failed = |(problem, span): (Problem, Span)| ParseError::new(text, problem, span);
    if text.len() > TEXT_BYTES_MAX {
        return Err(failed((Problem::TooLong { bytes: text.len() }, Span { start: 0, end: 0 })));
    }
    let tokens = lexer::lex(text).map_err(failed)?;
    let tree = parser::parse_tokens(tokens, text.len()).map_err(failed)?;
    let (expr, near, hints) = lower::lower(tree, options).map_err(failed)?;
    Ok(Query { expr: expr.simplify(), near, text: text.to_owned(), hints })
}

#[cfg(test)]
#[path = "parse_test.rs"]
mod tests;
