//! From the tree to an expression: words go through the analyzer, fields and values get their types.

use super::ast::{Ast, Clause};
use super::error::{Problem, Span, Unsupported};
use super::token::{Comparison, Edge, FieldName, RangeValue, Value, Word};
use super::{Hint, ParseOptions, hints, near, time_range};
use crate::expr::{Expr, Field, Literal, Number, Predicate, Text};
use crate::reserved::Reserved;
use siltstone_core::pattern::PatternHash;
use siltstone_core::{Severity, analyze};
use std::cmp::Ordering;
use std::ops::Bound;

type Failure = (Problem, Span);

/// The meaning of a tree: what it lets through, what it is to be like, and what is worth a remark.
pub(super) fn lower(tree: Ast, options: &ParseOptions) -> Result<(Expr, Option<String>, Vec<Hint>), Failure> {
    let (rest, near) = near::take(tree)?;
    let mut lowerer = Lowerer { options, hints: Vec::new() };
    let expr = rest.map_or(Ok(Expr::All), |rest| lowerer.expr(rest))?;
    Ok((expr, near, lowerer.hints))
}

struct Lowerer<'a> {
    options: &'a ParseOptions,
    hints: Vec<Hint>,
}

impl Lowerer<'_> {
    fn expr(&mut self, tree: Ast) -> Result<Expr, Failure> {
        Ok(match tree {
            Ast::And(parts) => Expr::And(self.exprs(parts)?),
            Ast::Or(parts) => Expr::Or(self.exprs(parts)?),
            Ast::Not(part) => Expr::Not(Box::new(self.expr(*part)?)),
            Ast::Clause(clause) => self.clause(&clause)?,
        })
    }

    fn exprs(&mut self, parts: Vec<Ast>) -> Result<Vec<Expr>, Failure> {
        parts.into_iter().map(|part| self.expr(part)).collect()
    }

    fn clause(&mut self, clause: &Clause) -> Result<Expr, Failure> {
        if let Value::Word(Word { refused: Some(refused), .. }) = &clause.value {
            return Err(refused.clone());
        }
        let Some(name) = clause.field.as_deref() else {
            return self.text(clause, false);
        };
        let reserved = if name.is_quoted { None } else { Reserved::from_name(&name.text) };
        match reserved {
            Some(Reserved::Body) => self.text(clause, true),
            Some(Reserved::Near) => Err((Problem::NearInside { place: "OR, NOT or a group" }, Span { start: name.span.start, end: clause.span.end })),
            Some(Reserved::Pattern) => pattern(clause),
            Some(Reserved::Deployment) => tag(clause, name).map(|predicate| Expr::Field(Field::Deployment, predicate)),
            Some(Reserved::Pod) => tag(clause, name).map(|predicate| Expr::Field(Field::Pod, predicate)),
            Some(Reserved::Container) => tag(clause, name).map(|predicate| Expr::Field(Field::Container, predicate)),
            Some(Reserved::Namespace) => tag(clause, name).map(Expr::Namespace),
            Some(Reserved::Severity) => severity(clause),
            Some(Reserved::Timestamp) => time_range::time(clause, self.options.now_ns),
            None => {
                hints::of_attribute(name, &mut self.hints);
                let predicate = attribute(clause)?;
                hints::of_predicate(name, &predicate, clause.span, &mut self.hints);
                Ok(Expr::Field(Field::Attribute(name.text.clone()), predicate))
            }
        }
    }

    /// Words of the body.
    fn text(&mut self, clause: &Clause, is_named: bool) -> Result<Expr, Failure> {
        let word = match &clause.value {
            Value::Word(word) if clause.comparison == Comparison::Match => word,
            _ => return Err((Problem::RangeOverText { field: "body".to_owned() }, clause.span)),
        };
        if word.text.is_empty() && word.is_prefix && !word.is_quoted {
            return Ok(Expr::All);
        }
        if !is_named {
            hints::of_word(word, clause.span, &mut self.hints);
        }
        let mut tokens = tokens_of(&word.text);
        if !word.is_prefix {
            let first = tokens.pop().ok_or((Problem::NoToken { is_quoted: word.is_quoted }, clause.span))?;
            return Ok(Expr::Text(if tokens.is_empty() {
                Text::Term(first)
            } else {
                tokens.push(first);
                Text::Phrase(tokens)
            }));
        }
        if !word.text.ends_with(char::is_alphanumeric) {
            return Err((Problem::PrefixOfNothing { word: word.text.clone() }, clause.span));
        }
        match tokens.pop() {
            Some(only) if tokens.is_empty() => Ok(Expr::Text(Text::Prefix(only))),
            Some(_) if word.is_quoted => Err((Problem::Unsupported(Unsupported::PhrasePrefix), clause.span)),
            last => {
                tokens.extend(last);
                Err((Problem::PrefixOfPhrase { count: tokens.len(), parts: tokens }, clause.span))
            }
        }
    }
}

fn pattern(clause: &Clause) -> Result<Expr, Failure> {
    let word = match &clause.value {
        Value::Word(word) if clause.comparison == Comparison::Match => word_text(word),
        _ => return Err((Problem::RangeOverText { field: "pattern".to_owned() }, clause.span)),
    };
    let is_whole = word.len() == 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    match u128::from_str_radix(&word, 16) {
        Ok(hash) if is_whole => Ok(Expr::Patterns([PatternHash(hash)].into())),
        _ => Err((Problem::NotAPattern { word }, clause.span)),
    }
}

/// The tokens of a text.
fn tokens_of(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    analyze::tokens(text.as_bytes(), &mut String::new(), |token, _| tokens.push(token.to_owned()));
    tokens
}

fn equality(word: &Word) -> Predicate {
    match (word.is_prefix, word.is_quoted) {
        (true, false) if word.text.is_empty() => Predicate::Exists,
        (true, _) => Predicate::Prefix(word.text.clone()),
        (false, true) => Predicate::Equals(Literal::quoted(&word.text)),
        (false, false) => Predicate::Equals(Literal::bare(&word.text)),
    }
}

fn tag(clause: &Clause, name: &FieldName) -> Result<Predicate, Failure> {
    match &clause.value {
        Value::Word(word) if clause.comparison == Comparison::Match => {
            if word.text.is_empty() && word.is_quoted {
                return Err((Problem::EmptyTag { field: name.text.clone() }, clause.span));
            }
            Ok(equality(word))
        }
        _ => Err((Problem::RangeOverText { field: name.text.clone() }, clause.span)),
    }
}

fn attribute(clause: &Clause) -> Result<Predicate, Failure> {
    let (lower, upper) = match (&clause.value, clause.comparison) {
        (Value::Word(word), Comparison::Match) => return Ok(equality(word)),
        (Value::Word(word), comparison) => {
            let number = number(&word_text(word), clause.span)?;
            match comparison {
                Comparison::Above => (Bound::Excluded(number), Bound::Unbounded),
                Comparison::Below => (Bound::Unbounded, Bound::Excluded(number)),
                Comparison::AtMost => (Bound::Unbounded, Bound::Included(number)),
                Comparison::AtLeast | Comparison::Match => (Bound::Included(number), Bound::Unbounded),
            }
        }
        (Value::Range(range), _) => (number_edge(&range.lower)?, number_edge(&range.upper)?),
    };
    let order = match (&lower, &upper) {
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => lower.compare(*upper),
        _ => Ordering::Less,
    };
    match (order, &lower, &upper) {
        (Ordering::Greater, ..) => Err((Problem::SwappedRange, clause.span)),
        (Ordering::Equal, Bound::Excluded(_), _) | (Ordering::Equal, _, Bound::Excluded(_)) => Err((Problem::EmptyRange, clause.span)),
        _ => Ok(Predicate::Range(lower, upper)),
    }
}

/// The word as it was written, for values that are no prefixes.
fn word_text(word: &Word) -> String {
    if word.is_prefix { format!("{}*", word.text) } else { word.text.clone() }
}

fn number(text: &str, span: Span) -> Result<Number, Failure> {
    Number::from_text(text).ok_or_else(|| (Problem::NotANumber { word: text.to_owned() }, span))
}

fn number_edge(edge: &Edge) -> Result<Bound<Number>, Failure> {
    match &edge.text {
        None => Ok(Bound::Unbounded),
        Some(text) => number(text, edge.span).map(if edge.is_included { Bound::Included } else { Bound::Excluded }),
    }
}

/// Entries without a severity match no comparison and no range, only `severity:unspecified` and `severity:0`.
fn severity(clause: &Clause) -> Result<Expr, Failure> {
    let least = Severity::TRACE.number();
    let (first, last) = match (&clause.value, clause.comparison) {
        (Value::Word(word), Comparison::Match) if word.is_prefix && word.text.is_empty() => (least, Severity::MAX),
        (Value::Word(word), Comparison::Match) if word.is_prefix => return Err((Problem::Unsupported(Unsupported::TypedPrefix), clause.span)),
        (Value::Word(word), comparison) => {
            let (first, last) = severity_range(&word_text(word), clause.span)?;
            match comparison {
                Comparison::Match => (first, last),
                Comparison::AtLeast => (first, Severity::MAX),
                Comparison::Above => (last + 1, Severity::MAX),
                Comparison::AtMost => (least, last),
                // Below 0 and below 1 there is nothing.
                Comparison::Below => (least, first.saturating_sub(1)),
            }
        }
        (Value::Range(RangeValue { lower, upper }), _) => {
            let first = match &lower.text {
                None => least,
                Some(text) => {
                    let (first, last) = severity_range(text, lower.span)?;
                    if lower.is_included { first } else { last + 1 }
                }
            };
            let last = match &upper.text {
                None => Severity::MAX,
                Some(text) => {
                    let (first, last) = severity_range(text, upper.span)?;
                    if upper.is_included { last } else { first.checked_sub(1).ok_or((Problem::NoSeverity, clause.span))? }
                }
            };
            (first, last)
        }
    };
    let is_exact = matches!((&clause.value, clause.comparison), (Value::Word(_), Comparison::Match));
    let first = if is_exact { first } else { first.max(least) };
    if first > last {
        return Err((Problem::NoSeverity, clause.span));
    }
    Ok(Expr::Severity(Severity::from_number(first), Severity::from_number(last)))
}

/// The first and last number that a name or a number stands for.
fn severity_range(word: &str, span: Span) -> Result<(u8, u8), Failure> {
    if let Some((first, last)) = Severity::range_of_name(word) {
        return Ok((first.number(), last.number()));
    }
    match word.parse() {
        Ok(number) if number <= Severity::MAX => Ok((number, number)),
        _ => Err((Problem::UnknownSeverity { word: word.to_owned(), suggestion: hints::similar_severity(word) }, span)),
    }
}
