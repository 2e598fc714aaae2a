//! Times and ranges of times in a query.
//!
//! A time is as long as it is written: a date is a day, `12:30` a minute. `<=2026-01-02` therefore includes the second of January, and `>2026-01-02`
//! begins with the third.

use super::ast::Clause;
use super::error::{Problem, Span, Unsupported};
use super::token::{Comparison, Edge, Value, Word};
use crate::expr::{Expr, TimeRange};
use crate::time::parse_time_span;

type Failure = (Problem, Span);

pub(super) fn time(clause: &Clause, now_ns: i64) -> Result<Expr, Failure> {
    let range = match (&clause.value, clause.comparison) {
        (Value::Word(Word { is_prefix: true, text, is_quoted: false, .. }), Comparison::Match) if text.is_empty() => TimeRange::ALL,
        (Value::Word(Word { is_prefix: true, .. }), _) => return Err((Problem::Unsupported(Unsupported::TypedPrefix), clause.span)),
        (Value::Word(word), comparison) => {
            let span = span_of(&word.text, now_ns, clause.span)?;
            match comparison {
                Comparison::Match => span,
                Comparison::AtLeast => TimeRange { start_ns: span.start_ns, ..TimeRange::ALL },
                Comparison::Above => TimeRange { start_ns: span.end_ns, ..TimeRange::ALL },
                Comparison::AtMost => TimeRange { end_ns: span.end_ns, ..TimeRange::ALL },
                Comparison::Below => TimeRange { end_ns: span.start_ns, ..TimeRange::ALL },
            }
        }
        (Value::Range(range), _) => {
            let (lower, upper) = (edge(&range.lower, now_ns)?, edge(&range.upper, now_ns)?);
            if let (Some(lower), Some(upper)) = (&lower, &upper)
                && lower.start_ns > upper.start_ns
            {
                return Err((Problem::SwappedRange, clause.span));
            }
            let lower = lower.map_or(i64::MIN, |span| if range.lower.is_included { span.start_ns } else { span.end_ns });
            let upper = upper.map_or(i64::MAX, |span| if range.upper.is_included { span.end_ns } else { span.start_ns });
            TimeRange { start_ns: lower, end_ns: upper }
        }
    };
    if range.start_ns >= range.end_ns { Err((Problem::EmptyRange, clause.span)) } else { Ok(Expr::Time(range)) }
}

fn edge(edge: &Edge, now_ns: i64) -> Result<Option<TimeRange>, Failure> {
    edge.text.as_deref().map(|text| span_of(text, now_ns, edge.span)).transpose()
}

fn span_of(text: &str, now_ns: i64, span: Span) -> Result<TimeRange, Failure> {
    parse_time_span(text, now_ns).map_err(|error| (Problem::BadTime(error), span))
}
