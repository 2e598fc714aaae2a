//! From tokens to a tree: NOT binds tighter than AND, AND (written or not) tighter than OR.

use super::DEPTH_MAX;
use super::ast::{Ast, Clause};
use super::error::{Problem, Span};
use super::token::{Comparison, FieldName, Spanned, Token};
use std::iter::Peekable;
use std::rc::Rc;
use std::vec::IntoIter;

type Failure = (Problem, Span);

/// The tree of a whole query of `text_length` bytes.
pub(super) fn parse_tokens(tokens: Vec<Spanned>, text_length: usize) -> Result<Ast, Failure> {
    if tokens.is_empty() {
        return Err((Problem::Empty, Span { start: 0, end: text_length }));
    }
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), field: None, depth: 0 };
    let tree = parser.any()?;
    match parser.tokens.next() {
        None => Ok(tree),
        // `any` stops before nothing else.
        Some(Spanned { span, .. }) => Err((Problem::StrayClose, span)),
    }
}

struct Parser {
    tokens: Peekable<IntoIter<Spanned>>,
    /// The field whose group is being read.
    field: Option<Rc<FieldName>>,
    depth: usize,
}

impl Parser {
    /// Parts joined by OR.
    fn any(&mut self) -> Result<Ast, Failure> {
        let mut parts = vec![self.all(None)?];
        while let Some(Spanned { span, .. }) = self.tokens.next_if(|next| matches!(next.token, Token::Or)) {
            parts.push(self.all(Some(("OR", span)))?);
        }
        Ok(single_or(parts, Ast::Or))
    }

    /// Parts joined by AND or by nothing. `after` is the operator on the left.
    fn all(&mut self, after: Option<(&'static str, Span)>) -> Result<Ast, Failure> {
        let mut parts = vec![self.part(after)?];
        loop {
            match self.tokens.peek() {
                None | Some(Spanned { token: Token::Or | Token::Close, .. }) => return Ok(single_or(parts, Ast::And)),
                Some(Spanned { token: Token::And, span }) => {
                    let span = *span;
                    self.tokens.next();
                    parts.push(self.part(Some(("AND", span)))?);
                }
                Some(_) => parts.push(self.part(None)?),
            }
        }
    }

    fn part(&mut self, after: Option<(&'static str, Span)>) -> Result<Ast, Failure> {
        let nothing_right = |operator, span| Err((Problem::NothingRight { operator }, span));
        let Some(Spanned { token, span }) = self.tokens.next() else {
            return match after {
                Some((operator, span)) => nothing_right(operator, span),
                // A query that is not empty, and an open group, never get here without an operator.
                None => Err((Problem::Empty, Span { start: 0, end: 0 })),
            };
        };
        match token {
            Token::And => Err((Problem::NothingLeft { operator: "AND" }, span)),
            Token::Or => Err((Problem::NothingLeft { operator: "OR" }, span)),
            Token::Close => match after {
                Some((operator, span)) => nothing_right(operator, span),
                None => Err((Problem::StrayClose, span)),
            },
            Token::Not(operator) => {
                self.descend(span)?;
                let part = self.part(Some((operator, span)))?;
                self.depth -= 1;
                Ok(Ast::Not(Box::new(part)))
            }
            Token::Open => self.group(span),
            Token::Value(value) => Ok(Ast::Clause(Clause { field: self.field.clone(), comparison: Comparison::Match, value, span })),
            Token::Compare(comparison) => self.compared(self.field.clone(), comparison, span),
            Token::Field(name, comparison) => {
                let name = Rc::new(name);
                if let Some(Spanned { span, .. }) = self.tokens.next_if(|next| matches!(next.token, Token::Open)) {
                    let outer = self.field.replace(name);
                    let group = self.group(span)?;
                    self.field = outer;
                    return Ok(group);
                }
                self.compared(Some(name), comparison, span)
            }
        }
    }

    /// The value after an operator; the lexer has seen to it that there is one.
    fn compared(&mut self, field: Option<Rc<FieldName>>, comparison: Comparison, operator: Span) -> Result<Ast, Failure> {
        match self.tokens.next() {
            Some(Spanned { token: Token::Value(value), span }) => Ok(Ast::Clause(Clause { field, comparison, value, span })),
            _ => Err((Problem::MissingValue { field: field.map_or_else(String::new, |field| field.text.clone()) }, operator)),
        }
    }

    /// What stands between the parenthesis at `open` and its partner.
    fn group(&mut self, open: Span) -> Result<Ast, Failure> {
        self.descend(open)?;
        match self.tokens.peek() {
            None => return Err((Problem::OpenGroup, open)),
            Some(Spanned { token: Token::Close, span }) => return Err((Problem::EmptyGroup, Span { start: open.start, end: span.end })),
            Some(_) => {}
        }
        let inner = self.any()?;
        self.depth -= 1;
        // `any` stops at a closing parenthesis or at the end.
        self.tokens.next().map(|_| inner).ok_or((Problem::OpenGroup, open))
    }

    fn descend(&mut self, span: Span) -> Result<(), Failure> {
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err((Problem::TooDeep, span)) } else { Ok(()) }
    }
}

fn single_or(mut parts: Vec<Ast>, join: fn(Vec<Ast>) -> Ast) -> Ast {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            parts.extend(last);
            join(parts)
        }
    }
}
