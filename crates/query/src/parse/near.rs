//! `near:` out of a query: it ranks and lets everything through, so it stands beside the rest, wherever in the text.

use super::ast::{Ast, Clause};
use super::error::{Problem, Span};
use super::token::{Comparison, Value};
use crate::reserved::Reserved;

type Failure = (Problem, Span);

/// The tree without `near:`, `None` where that is all of it, and what it asks for. A `near:` further inside stays, and is refused later.
pub(super) fn take(tree: Ast) -> Result<(Option<Ast>, Option<String>), Failure> {
    match tree {
        Ast::Clause(clause) if is_near(&clause) => Ok((None, Some(text_of(&clause)?))),
        Ast::And(parts) => {
            let (mut rest, mut near) = (Vec::with_capacity(parts.len()), None);
            for part in parts {
                match part {
                    Ast::Clause(clause) if is_near(&clause) => {
                        if near.is_some() {
                            return Err((Problem::NearTwice, clause.span));
                        }
                        near = Some(text_of(&clause)?);
                    }
                    part => rest.push(part),
                }
            }
            let rest = match rest.len() {
                0 => None,
                1 => rest.pop(),
                _ => Some(Ast::And(rest)),
            };
            Ok((rest, near))
        }
        other => Ok((Some(other), None)),
    }
}

fn is_near(clause: &Clause) -> bool {
    clause.field.as_deref().is_some_and(|name| !name.is_quoted && Reserved::from_name(&name.text) == Some(Reserved::Near))
}

fn text_of(clause: &Clause) -> Result<String, Failure> {
    let Value::Word(word) = &clause.value else {
        return Err((Problem::RangeOverText { field: "near".to_owned() }, clause.span));
    };
    if let Some(refused) = &word.refused {
        return Err(refused.clone());
    }
    match clause.comparison {
        Comparison::Match if word.text.chars().any(char::is_alphanumeric) => Ok(word.text.clone()),
        Comparison::Match => Err((Problem::NearNothing, clause.span)),
        _ => Err((Problem::RangeOverText { field: "near".to_owned() }, clause.span)),
    }
}
