//! The query language: one string in, one expression out, with errors that point at the character.
//!
//! What is deliberately not here: any engine. How an expression is answered is the indexer's business.

pub mod expr;

pub use expr::{Expr, Field, Literal, Number, Predicate, Text, TimeRange};
