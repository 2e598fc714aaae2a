//! The real logs: every query of the shared file gives its count and its rows, from one segment, from merged ones and by scan. The referee
//! reads every body token by token.

mod common;

use bytes::Bytes;
use common::{Memory, expr_of, real_logs, text_queries};
use siltstone_core::{RowAddress, analyze};
use siltstone_segment::{SegmentReader, Source, merge};
use std::collections::HashMap;

/// The tokens of every row, numbered.
struct Referee {
    addresses: Vec<RowAddress>,
    rows: Vec<Vec<u32>>,
    numbers: HashMap<String, u32>,
    /// Per token: the rows that have it.
    rows_of: Vec<Vec<u32>>,
}

impl Referee {
    fn new<F>(memory: &Memory, tokenize: F) -> Self
    where
        F: Fn(&[u8], &mut dyn FnMut(&str)),
    {
        let mut referee = Self { addresses: Vec::new(), rows: Vec::new(), numbers: HashMap::new(), rows_of: Vec::new() };
        let mut body = Vec::new();
        for (id, chunk) in &memory.chunks {
            for (row, offset) in chunk.offsets.iter().enumerate() {
                body.clear();
                chunk.rows.body(row, &mut body);
                let mut tokens = Vec::new();
                tokenize(&body, &mut |token| {
                    let next = referee.numbers.len() as u32;
                    tokens.push(*referee.numbers.entry(token.to_owned()).or_insert(next));
                });
                referee.addresses.push(RowAddress::new(*id, usize::from(*offset)));
                referee.rows.push(tokens);
            }
        }
        referee.rows_of = vec![Vec::new(); referee.numbers.len()];
        for (row, tokens) in (0_u32..).zip(&referee.rows) {
            for token in tokens {
                let rows = &mut referee.rows_of[*token as usize];
                if rows.last() != Some(&row) {
                    rows.push(row);
                }
            }
        }
        referee
    }

    fn answer(&self, query: &serde_json::Value) -> Vec<RowAddress> {
        let number = |term: &serde_json::Value| self.numbers.get(term.as_str().expect("text")).copied().unwrap_or(u32::MAX);
        let terms: Vec<u32> = query["terms"].as_array().expect("terms").iter().map(number).collect();
        let kind = query["kind"].as_str().expect("a kind");
        let rows_of = |term: &u32| self.rows_of.get(*term as usize).cloned().unwrap_or_default();
        let mut candidates = rows_of(&terms[0]);
        if kind == "or" {
            candidates.extend(terms[1..].iter().flat_map(rows_of));
            candidates.sort_unstable();
            candidates.dedup();
        }
        candidates.retain(|row| {
            let row = &self.rows[*row as usize];
            match kind {
                "and" | "term" => terms.iter().all(|term| row.contains(term)),
                "or" => true,
                "andnot" => !terms[1..].iter().any(|term| row.contains(term)),
                "phrase" => row.windows(terms.len()).any(|window| window == terms),
                other => panic!("a kind of query that is not known: {other}"),
            }
        });
        candidates.iter().map(|row| self.addresses[*row as usize]).collect()
    }
}

fn analyzed(body: &[u8], each: &mut dyn FnMut(&str)) {
    analyze::tokens(body, &mut String::new(), |token, _| each(token));
}

/// The tokens that the shared truth counts: ASCII letters and digits.
fn ascii_runs(body: &[u8], each: &mut dyn FnMut(&str)) {
    for run in body.split(|byte| !byte.is_ascii_alphanumeric()).filter(|run| !run.is_empty()) {
        each(&String::from_utf8_lossy(run).to_ascii_lowercase());
    }
}

fn check(source: &dyn Source, truth: &[(serde_json::Value, Vec<RowAddress>)]) {
    for (query, wanted) in truth {
        let expr = expr_of(query);
        assert_eq!(source.count(&expr).expect("a count"), wanted.len() as u64, "{expr}");
        assert!(source.rows(&expr).expect("rows").iter().eq(wanted.iter().copied()), "the rows of {expr} differ");
    }
}

#[test]
fn every_query_of_the_real_logs_has_its_rows() {
    let memory = real_logs(40);
    let shared = Referee::new(&memory, ascii_runs);
    for query in text_queries() {
        let answer = shared.answer(&query);
        assert_eq!(query["count"].as_u64(), Some(answer.len() as u64), "the referee agrees with the shared truth: {query}");
    }
    let referee = Referee::new(&memory, analyzed);
    let truth: Vec<_> = text_queries().into_iter().map(|query| (query.clone(), referee.answer(&query))).collect();
    let segment = memory.build(|_| true);
    println!("{} bytes: {:?}", segment.len(), memory.reader(segment.clone()).block_bytes());
    assert!(segment.len() <= 3_000_000, "the index of the real logs is {} bytes", segment.len());
    check(&memory.source(segment.clone()), &truth);
    // A scan looks at every row: an eighth of the queries is enough here, as generated rows compare scan and index too.
    check(&memory.scan(), &truth.iter().step_by(8).cloned().collect::<Vec<_>>());
    // Pieces as a writer would seal them, in two interleaved series, merged in two steps.
    let piece = |index: u64| memory.reader(memory.build(|chunk| chunk.0 % 9 == index));
    let pieces: Vec<SegmentReader> = (0..9).map(piece).collect();
    let halves = [&pieces[..4], &pieces[4..]].map(|half| memory.reader(merge(&half.iter().collect::<Vec<_>>()).expect("sound pieces").into()));
    let merged = Bytes::from(merge(&halves.iter().collect::<Vec<_>>()).expect("sound halves"));
    println!("merged {} bytes: {:?}", merged.len(), memory.reader(merged.clone()).block_bytes());
    assert!(merged.len() * 100 <= segment.len() * 103, "a merged segment of {} bytes is not as small as a built one", merged.len());
    check(&memory.source(merged), &truth);
}
