//! Generated rows and expressions, from few words so that they meet.

use super::{Memory, NAMESPACE};
use proptest::prelude::*;
use siltstone_core::pattern::{PatternHash, Split, split};
use siltstone_core::{ChunkId, EntryFlags, Severity, Value, analyze};
use siltstone_format::{EntryRef, Rows, RowsBuilder};
use siltstone_query::{Expr, Field, Literal, Number, Predicate, Text, TimeRange};
use siltstone_segment::{Position, ScanSlice, ScanSource};
use std::ops::Bound;
use std::sync::Arc;

/// A row before it is one.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub body: Vec<u8>,
    pub timestamp_ns: i64,
    pub severity: u8,
    pub tags: [&'static str; 3],
    pub attributes: Vec<(String, Value)>,
}

/// A chunk: rows and their offsets.
#[derive(Clone, Debug)]
pub(crate) struct ChunkOfEntries {
    pub id: u64,
    pub rows: Vec<(u16, Row)>,
}

/// What one test asks.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub chunks: Vec<ChunkOfEntries>,
    pub expr: Expr,
    pub limit: usize,
    pub before: Option<Position>,
    pub start_ns: i64,
    pub step_ns: u64,
}

fn rows_of<'a>(entries: impl Iterator<Item = &'a Row>) -> Rows {
    let mut builder = RowsBuilder::new(NAMESPACE);
    for row in entries {
        builder
            .push(&EntryRef {
                body: &row.body,
                timestamp_ns: row.timestamp_ns,
                severity: Severity::from_number(row.severity),
                flags: EntryFlags::default(),
                deployment: row.tags[0],
                pod: row.tags[1],
                container: row.tags[2],
                attributes: &row.attributes,
                vectors: &[],
            })
            .unwrap();
    }
    builder.finish()
}

impl ChunkOfEntries {
    /// Whether a variable has not exactly one token.
    pub(crate) fn has_irregular_rows(&self) -> bool {
        let rows = rows_of(self.rows.iter().map(|(_, row)| row));
        (0..rows.len()).any(|row| {
            rows.variables(row).any(|variable| {
                let mut count = 0;
                analyze::tokens(variable, &mut String::new(), |_, _| count += 1);
                count != 1
            })
        })
    }
}

impl Case {
    pub(crate) fn memory(&self) -> Memory {
        let mut memory = Memory::default();
        for chunk in &self.chunks {
            let offsets = chunk.rows.iter().map(|(offset, _)| *offset).collect();
            memory.add(chunk.id, rows_of(chunk.rows.iter().map(|(_, row)| row)), Some(offsets));
        }
        memory
    }

    /// Live slices: runs of offsets, cut once more in the middle.
    pub(crate) fn scan<F>(&self, keep: F) -> ScanSource
    where
        F: Fn(usize) -> bool,
    {
        let mut slices = Vec::new();
        for (_, chunk) in self.chunks.iter().enumerate().filter(|(index, _)| keep(*index)) {
            for run in chunk.rows.chunk_by(|left, right| left.0 + 1 == right.0) {
                for part in run.chunks(run.len().div_ceil(2)) {
                    let rows = Arc::new(rows_of(part.iter().map(|(_, row)| row)));
                    slices.push(ScanSlice { chunk: ChunkId(chunk.id), first_offset: part[0].0, rows });
                }
            }
        }
        ScanSource::new(NAMESPACE, slices)
    }
}

const WORDS: [&str; 26] = [
    "error",
    "Failed",
    "retry",
    "to",
    "connect",
    "x9",
    "7",
    "42",
    "0042",
    "10",
    "7ms",
    "é1",
    "—5",
    "abc—7",
    "5—",
    "日本3",
    "日本",
    "ß",
    "İ2",
    "٣",
    "\u{11}",
    "\u{10}",
    "retry2retry",
    "E",
    "é—1",
    "errors",
];
const SEPARATORS: [&str; 7] = [" ", "=", ": ", "/", "-", "", " — "];
const TAGS: [&str; 5] = ["", "a", "ab", "b", "B"];
const SECOND: i64 = 1_000_000_000;

fn body() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        20 => (prop::sample::select(&WORDS[..]), prop::sample::select(&SEPARATORS[..])).prop_map(|(word, separator)| format!("{word}{separator}").into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    // A few shapes again and again, so that patterns repeat.
    prop_oneof![
        3 => prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat()),
        2 => (0_u32..12, 0_u32..4).prop_map(|(number, other)| format!("retry {number} to connect 10.0.{other}.{number} failed").into_bytes()),
        1 => (0_u32..3).prop_map(|number| format!("{number} {number} 7 {number} error").into_bytes()),
        1 => (0_u32..3).prop_map(|number| format!("7 {number} 7 ").repeat(40).into_bytes()),
    ]
}

fn time() -> impl Strategy<Value = i64> {
    prop_oneof![8 => (0_i64..12).prop_map(|second| second * SECOND), 2 => 0_i64..12 * SECOND, 1 => prop::sample::select(vec![i64::MIN, i64::MAX, -1, 0])]
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        (-3_i64..12).prop_map(Number::Int),
        (-3_i64..3).prop_map(|step| Number::Int((1 << 53) + step)),
        prop::sample::select(vec![i64::MIN, i64::MAX]).prop_map(Number::Int),
        (-6_i32..24).prop_map(|half| Number::Float(f64::from(half) / 2.0)),
        prop::sample::select(vec![-0.0, 9_007_199_254_740_992.0, 9_223_372_036_854_775_808.0, -1e300]).prop_map(Number::Float),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(vec!["", "7", "true", "a", "ab", "0.5"]).prop_map(|text| Value::Str(text.to_owned())),
        number().prop_map(|number| match number {
            Number::Int(int) => Value::Int(int),
            Number::Float(float) => Value::Float(float),
        }),
        Just(Value::Float(f64::NAN)),
        any::<bool>().prop_map(Value::Bool),
    ]
}

fn row() -> impl Strategy<Value = Row> {
    let tag = || prop::sample::select(&TAGS[..]);
    let attributes = prop::collection::vec((prop::sample::select(vec!["code", "co", "ok\0"]), value()), 0..3);
    (body(), time(), 0_u8..=24, tag(), tag(), tag(), attributes).prop_map(|(body, timestamp_ns, severity, deployment, pod, container, attributes)| {
        let attributes = attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Row { body, timestamp_ns, severity, tags: [deployment, pod, container], attributes }
    })
}

fn chunks() -> impl Strategy<Value = Vec<ChunkOfEntries>> {
    // Now and then one row many times, so that postings are long.
    let rows = prop_oneof![
        6 => prop::collection::vec((prop_oneof![5 => Just(0_u16), 1 => 1_u16..5], row()), 1..20),
        1 => (row(), row(), 100_usize..400).prop_map(|(one, other, count)| {
            (0..count).map(|index| (0, if index % 7 == 3 { other.clone() } else { one.clone() })).collect()
        }),
    ];
    prop::collection::vec((0_u64..3, rows), 1..6).prop_map(|chunks| {
        let mut next_id = 5;
        let mut out = Vec::new();
        for (distance, rows) in chunks {
            let id = next_id + distance;
            next_id = id + 1;
            let mut next_offset = 0;
            let mut placed = Vec::new();
            for (gap, row) in rows {
                placed.push((next_offset + gap, row));
                next_offset += gap + 1;
            }
            out.push(ChunkOfEntries { id, rows: placed });
        }
        out
    })
}

/// The tokens of a text.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    analyze::tokens(text.as_bytes(), &mut String::new(), |token, _| tokens.push(token.to_owned()));
    tokens
}

fn text() -> impl Strategy<Value = Text> {
    let words = prop::collection::vec(prop::sample::select(&WORDS[..]), 1..4).prop_map(|words| tokens(&words.join(" ")));
    let shaped = prop::sample::select(vec!["retry 3 to", "to connect 10 0", "0 1", "7 1 7", "1 7 7", "7 7", "10 0", "failed"]).prop_map(tokens);
    (prop_oneof![words, shaped], 0_u8..3, 1_usize..4).prop_map(|(words, kind, length)| match (kind, words.as_slice()) {
        (_, []) => Text::Term("absent".to_owned()),
        (0, [first, ..]) => Text::Prefix(first.chars().take(length).collect()),
        (1, [_, _, ..]) => Text::Phrase(words),
        (_, [first, ..]) => Text::Term(first.clone()),
    })
}

fn bound() -> impl Strategy<Value = Bound<Number>> {
    prop_oneof![Just(Bound::Unbounded), number().prop_map(Bound::Included), number().prop_map(Bound::Excluded)]
}

fn field() -> impl Strategy<Value = Expr> {
    let field = prop_oneof![
        prop::sample::select(vec![Field::Deployment, Field::Pod, Field::Container]),
        prop::sample::select(vec!["code", "co", "ok\0", "none"]).prop_map(|name| Field::Attribute(name.to_owned())),
    ];
    let literal = prop::sample::select(vec!["", "7", "7.0", "true", "a", "ab", "B", "0.5", "9007199254740993", "9007199254740992", "-0"]);
    let predicate = prop_oneof![
        (literal.clone(), any::<bool>()).prop_map(|(text, is_bare)| {
            let quoted = Literal { text: text.to_owned(), number: None, truth: None };
            Predicate::Equals(if is_bare { Literal::bare(text) } else { quoted })
        }),
        prop::sample::select(vec!["", "a", "7", "t"]).prop_map(|text| Predicate::Prefix(text.to_owned())),
        Just(Predicate::Exists),
        (bound(), bound()).prop_map(|(low, high)| Predicate::Range(low, high)),
    ];
    (field, predicate).prop_map(|(field, predicate)| Expr::Field(field, predicate))
}

/// The patterns of some bodies.
fn patterns_of(bodies: &[Vec<u8>]) -> Expr {
    let mut hashes: Vec<PatternHash> = bodies
        .iter()
        .map(|body| {
            let mut out = Split::default();
            split(body, &mut out);
            PatternHash::of(out.pattern())
        })
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    Expr::Patterns(hashes.into())
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        8 => text().prop_map(Expr::Text),
        3 => field(),
        1 => Just(Expr::All),
        1 => Just(Expr::Nothing),
        1 => (0_u8..=24, 0_u8..=24).prop_map(|(first, last)| Expr::Severity(Severity::from_number(first), Severity::from_number(last))),
        2 => (time(), time()).prop_map(|(start_ns, end_ns)| Expr::Time(TimeRange { start_ns, end_ns })),
        2 => prop::collection::vec(body(), 1..4).prop_map(|bodies| patterns_of(&bodies)),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(Expr::And),
            2 => prop::collection::vec(inner.clone(), 1..4).prop_map(Expr::Or),
            1 => inner.prop_map(|part| Expr::Not(Box::new(part))),
        ]
    })
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let before = prop::option::of(
        (time(), 5_u64..12, 0_usize..30)
            .prop_map(|(timestamp_ns, chunk, offset)| Position { timestamp_ns, address: siltstone_core::RowAddress::new(ChunkId(chunk), offset) }),
    );
    let step = prop::sample::select(vec![1, SECOND as u64, 3 * SECOND as u64, u64::MAX]);
    (chunks(), expr(), 1_usize..12, before, time(), step).prop_map(|(chunks, expr, limit, before, start_ns, step_ns)| Case {
        chunks,
        expr,
        limit,
        before,
        start_ns,
        step_ns,
    })
}
