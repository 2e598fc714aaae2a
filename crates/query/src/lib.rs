//! The query language: one string in, one expression out, with errors that point at the character.
//!
//! The way of a string: [`parse()`] cuts it into tokens (`parse/lexer.rs`), joins them to a tree (`parse/parser.rs`), gives words and values their
//! meaning (`parse/lower.rs`) and simplifies the result. `docs/query-language.md` describes the language by example; a test runs its examples.
//!
//! What is deliberately not here: any engine. How an expression is answered is the indexer's business.

mod display;
pub mod expr;
mod fingerprint;
mod number;
pub mod parse;
mod question;
mod reserved;
mod simplify;
pub mod time;

pub use expr::{Expr, Field, Literal, Number, Predicate, Text, TimeRange};
pub use parse::{Hint, ParseError, ParseOptions, Problem, Query, Span, parse};
pub use question::question_words;
pub use time::{TimeError, parse_time, parse_time_span};
