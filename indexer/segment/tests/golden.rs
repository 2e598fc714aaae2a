//! A segment of each version, kept: later programs read it and give the same answers.

mod common;

use common::Memory;
use common::generate::{Case, ChunkOfEntries, Row};
use siltstone_core::Value;
use siltstone_query::{Expr, Field, Number, Predicate, Text};
use siltstone_segment::Source;
use std::ops::Bound;
use std::path::PathBuf;

/// The rows that the golden segments were built from.
fn memory() -> Memory {
    let row = |number: i64, body: &str| Row {
        body: body.as_bytes().to_vec(),
        timestamp_ns: number * 1_000_000_000,
        severity: 9 + (number % 3) as u8 * 4,
        tags: ["checkout", "checkout-1", ""],
        attributes: vec![("latency_ms".to_owned(), Value::Int(number * 10)), ("region".to_owned(), Value::Str("eu".to_owned()))],
    };
    let rows = |first: i64| {
        let bodies = ["connection refused to 10.0.0.7:5432", "retry 3 of 5 after 250ms", "connection refused to 10.0.0.9:5432", "done — 5 rows"];
        bodies.into_iter().zip(first..).map(move |(body, number)| row(number, body))
    };
    let chunks = vec![
        ChunkOfEntries { id: 3, rows: (0..).zip(rows(1)).collect() },
        ChunkOfEntries { id: 9, rows: [0, 2, 3, 7].into_iter().zip(rows(11)).collect() },
    ];
    Case { chunks, expr: Expr::All, limit: 1, before: None, start_ns: 0, step_ns: 1 }.memory()
}

fn golden(version: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("segment-v{version}.bin"))
}

#[test]
fn a_segment_of_version_1_is_read() {
    let memory = memory();
    let path = golden(1);
    if std::env::var_os("SILTSTONE_BLESS").is_some() {
        std::fs::write(&path, memory.build(|_| true)).expect("write the golden file");
    }
    let source = memory.source(std::fs::read(&path).unwrap_or_else(|error| panic!("read {}: {error}", path.display())).into());
    let term = |term: &str| Expr::Text(Text::Term(term.to_owned()));
    let phrase = |words: [&str; 3]| Expr::Text(Text::Phrase(words.map(str::to_owned).to_vec()));
    let latency = |low| Expr::Field(Field::Attribute("latency_ms".to_owned()), Predicate::Range(Bound::Included(Number::Int(low)), Bound::Unbounded));
    for (expr, count) in [
        (Expr::All, 8),
        (term("refused"), 4),
        (term("5432"), 4),
        (term("9"), 2),
        (phrase(["retry", "3", "of"]), 2),
        (phrase(["done", "5", "rows"]), 2),
        (phrase(["0", "0", "7"]), 2),
        (latency(40), 5),
        (Expr::Not(Box::new(term("connection"))), 4),
    ] {
        assert_eq!(source.count(&expr).expect("a count"), count, "{expr}");
    }
    let addresses: Vec<u64> = source.rows(&term("retry")).expect("rows").iter().map(|row| row.as_u64()).collect();
    assert_eq!(addresses, [3 << 11 | 1, 9 << 11 | 2]);
}
