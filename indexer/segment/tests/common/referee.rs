//! The referee: what an expression means, read off whole entries, one by one, without patterns, postings or chunks.

use super::generate::{Case, Row};
use siltstone_core::pattern::{PatternHash, Split, split};
use siltstone_core::{ChunkId, RowAddress, Value, analyze};
use siltstone_query::{Expr, Field, Number, Predicate, Text};
use siltstone_segment::{HistogramSpec, PatternCount, Position, ScoringTerms, TextStatistics};
use std::collections::BTreeMap;
use std::ops::Bound;

/// A matching row.
pub(crate) struct Match<'a> {
    pub position: Position,
    pub row: &'a Row,
}

pub(crate) fn all(case: &Case) -> Vec<Match<'_>> {
    let mut all = Vec::new();
    for chunk in &case.chunks {
        for (offset, row) in &chunk.rows {
            let address = RowAddress::new(ChunkId(chunk.id), usize::from(*offset));
            all.push(Match { position: Position { timestamp_ns: row.timestamp_ns, address }, row });
        }
    }
    all
}

/// The rows that match, by address.
pub(crate) fn matching(case: &Case) -> Vec<Match<'_>> {
    all(case).into_iter().filter(|found| is_match(&case.expr, found.row)).collect()
}

fn tokens(body: &[u8]) -> Vec<String> {
    let mut tokens = Vec::new();
    analyze::tokens(body, &mut String::new(), |token, _| tokens.push(token.to_owned()));
    tokens
}

fn pattern_of(body: &[u8]) -> PatternHash {
    let mut out = Split::default();
    split(body, &mut out);
    PatternHash::of(out.pattern())
}

fn is_match(expr: &Expr, row: &Row) -> bool {
    match expr {
        Expr::All => true,
        Expr::Nothing => false,
        Expr::And(parts) => parts.iter().all(|part| is_match(part, row)),
        Expr::Or(parts) => parts.iter().any(|part| is_match(part, row)),
        Expr::Not(part) => !is_match(part, row),
        Expr::Text(Text::Term(term)) => tokens(&row.body).contains(term),
        Expr::Text(Text::Prefix(prefix)) => tokens(&row.body).iter().any(|token| token.starts_with(prefix.as_str())),
        Expr::Text(Text::Phrase(words)) => tokens(&row.body).windows(words.len()).any(|window| window == words),
        Expr::Severity(first, last) => (first.number()..=last.number()).contains(&row.severity),
        Expr::Time(range) => range.contains(row.timestamp_ns),
        Expr::Field(field, predicate) => {
            let tag = |index: usize| Some(row.tags[index]).filter(|tag| !tag.is_empty()).map(|tag| Value::Str(tag.to_owned()));
            let value = match field {
                Field::Deployment => tag(0),
                Field::Pod => tag(1),
                Field::Container => tag(2),
                Field::Attribute(name) => row.attributes.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.clone()),
            };
            value.is_some_and(|value| is_value_match(&value, predicate))
        }
        Expr::Patterns(hashes) => hashes.contains(&pattern_of(&row.body)),
        Expr::Namespace(_) => unreachable!("folded away before"),
    }
}

fn is_value_match(value: &Value, predicate: &Predicate) -> bool {
    let number = match value {
        Value::Int(int) => Some(Number::Int(*int)),
        Value::Float(float) if !float.is_nan() => Some(Number::Float(*float)),
        _ => None,
    };
    match predicate {
        Predicate::Exists => true,
        Predicate::Prefix(prefix) => matches!(value, Value::Str(text) if text.starts_with(prefix.as_str())),
        Predicate::Equals(literal) => match value {
            Value::Str(text) => *text == literal.text,
            Value::Bool(truth) => literal.truth == Some(*truth),
            _ => number.zip(literal.number).is_some_and(|(value, wanted)| value.compare(wanted).is_eq()),
        },
        Predicate::Range(low, high) => number.is_some_and(|number| {
            (match low {
                Bound::Unbounded => true,
                Bound::Included(low) => number.compare(*low).is_ge(),
                Bound::Excluded(low) => number.compare(*low).is_gt(),
            }) && (match high {
                Bound::Unbounded => true,
                Bound::Included(high) => number.compare(*high).is_le(),
                Bound::Excluded(high) => number.compare(*high).is_lt(),
            })
        }),
    }
}

pub(crate) fn bucket(spec: &HistogramSpec, time_ns: i64) -> Option<usize> {
    let start = |bucket: usize| i128::from(spec.start_ns) + bucket as i128 * i128::from(spec.step_ns);
    (0..spec.buckets).find(|bucket| (start(*bucket)..start(*bucket + 1)).contains(&i128::from(time_ns)))
}

/// By hash.
pub(crate) fn patterns(rows: &[Match<'_>]) -> Vec<PatternCount> {
    let mut all: BTreeMap<PatternHash, PatternCount> = BTreeMap::new();
    let mut parts = Split::default();
    for Match { position, row } in rows {
        split(&row.body, &mut parts);
        let hash = PatternHash::of(parts.pattern());
        let one = PatternCount {
            hash,
            bytes: parts.pattern().into(),
            count: 1,
            first_ns: position.timestamp_ns,
            last_ns: position.timestamp_ns,
            example: position.address,
        };
        all.entry(hash).and_modify(|known| known.join(&one)).or_insert(one);
    }
    all.into_values().collect()
}

pub(crate) fn statistics(case: &Case, terms: &ScoringTerms) -> TextStatistics {
    let all: Vec<Vec<String>> = all(case).iter().map(|found| tokens(&found.row.body)).collect();
    TextStatistics {
        rows: all.len() as u64,
        tokens: all.iter().map(|tokens| tokens.len() as u64).sum(),
        row_frequencies: terms.terms().iter().map(|term| all.iter().filter(|tokens| tokens.contains(term)).count() as u64).collect(),
    }
}

pub(crate) fn score(case: &Case, position: Position, terms: &ScoringTerms, statistics: &TextStatistics) -> f64 {
    let all = all(case);
    let found = all.iter().find(|found| found.position == position).expect("a row that exists");
    let tokens = tokens(&found.row.body);
    let rows = statistics.rows as f64;
    let mean = (statistics.tokens as f64 / rows).max(f64::MIN_POSITIVE);
    let mut score = 0.0;
    for (term, frequency) in terms.terms().iter().zip(&statistics.row_frequencies) {
        let count = tokens.iter().filter(|token| *token == term).count() as f64;
        let inverse = (1.0 + (rows - *frequency as f64 + 0.5) / (*frequency as f64 + 0.5)).ln();
        let norm = 1.2 * (1.0 - 0.75 + 0.75 * tokens.len() as f64 / mean);
        score += inverse * 2.2 * count / (count + norm);
    }
    score
}
