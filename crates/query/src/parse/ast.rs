//! The tree between the parser and the meaning: grouping is decided, words and values are as written.

use super::error::Span;
use super::token::{Comparison, FieldName, Value};
use std::rc::Rc;

#[derive(Clone, Debug)]
pub(crate) enum Ast {
    And(Vec<Ast>),
    Or(Vec<Ast>),
    Not(Box<Ast>),
    Clause(Clause),
}

/// One value, and the field it is compared with; without a field it is looked for in the body.
#[derive(Clone, Debug)]
pub(crate) struct Clause {
    /// Shared by the clauses of one group.
    pub(crate) field: Option<Rc<FieldName>>,
    pub(crate) comparison: Comparison,
    pub(crate) value: Value,
    /// The value.
    pub(crate) span: Span,
}
