//! The real logs: every query of the shared file gives its count and its rows, from one segment, from merged ones and by scan.

mod common;

use common::{Memory, real_logs, text_queries};
use siltstone_query::{Expr, Text};
use siltstone_segment::Source;

fn expr_of(query: &serde_json::Value) -> Expr {
    let terms: Vec<String> = query["terms"].as_array().expect("terms").iter().map(|term| term.as_str().expect("text").to_owned()).collect();
    let term = |term: &String| Expr::Text(Text::Term(term.clone()));
    match query["kind"].as_str().expect("a kind") {
        "term" => term(&terms[0]),
        "and" => Expr::And(terms.iter().map(term).collect()),
        "or" => Expr::Or(terms.iter().map(term).collect()),
        "andnot" => Expr::And(std::iter::once(term(&terms[0])).chain(terms[1..].iter().map(|word| Expr::Not(Box::new(term(word))))).collect()),
        "phrase" => Expr::Text(Text::Phrase(terms)),
        other => panic!("a kind of query that is not known: {other}"),
    }
}

fn check(source: &dyn Source, first_chunk: u64) -> Result<(), String> {
    let mut wrong = Vec::new();
    for query in text_queries() {
        let expr = expr_of(&query);
        let count = source.count(&expr).expect("a count");
        let rows = source.rows(&expr).expect("rows");
        assert_eq!(count, rows.len(), "CT-1: {expr}");
        let first: Vec<u64> = rows.iter().take(50).map(|row| row.as_u64() - (first_chunk << 11)).collect();
        let wanted: Vec<u64> = query["first_rows"].as_array().expect("rows").iter().map(|row| row.as_u64().expect("a row")).collect();
        if Some(count) != query["count"].as_u64() || first != wanted {
            wrong.push(format!("{expr}: {count} rows, not {}", query["count"]));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

#[test]
fn one_segment_answers_every_query_of_the_real_logs() {
    let memory: Memory = real_logs(40);
    let started = std::time::Instant::now();
    let segment = memory.build(|_| true);
    println!("{} bytes in {:?}", segment.len(), started.elapsed());
    assert!(segment.len() <= 2_500_000, "the text index of the real logs is {} bytes", segment.len());
    check(&memory.source(segment), 40).unwrap();
}
