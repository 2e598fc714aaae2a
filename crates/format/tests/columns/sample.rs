//! Entries that together use every layout of version 1. They never change: golden files hold them.

use siltstone_core::{EntryFlags, EntryVector, NamespaceId, Severity, Value};
use siltstone_format::{EntryRef, Rows, RowsBuilder};

pub(crate) const NAMESPACE: NamespaceId = NamespaceId(42);

/// Offsets of a chunk of `rows` rows: two gaps.
pub(crate) fn offsets(rows: usize) -> Vec<u16> {
    (0..rows as u16).map(|row| row + if row > 3 { 2 } else { 0 } + if row > 20 { 100 } else { 0 }).collect()
}

/// Two chunks that share some patterns.
pub(crate) fn chunks() -> [Rows; 2] {
    [chunk(0, 40, false), chunk(1, 25, false)]
}

/// Two chunks, of which one has vectors of two fields.
pub(crate) fn chunks_with_vectors() -> [Rows; 2] {
    [chunk(0, 8, true), chunk(1, 4, false)]
}

fn chunk(number: u64, rounds: u64, with_vectors: bool) -> Rows {
    let mut builder = RowsBuilder::new(NAMESPACE);
    for round in 0..rounds {
        for (kind, body) in bodies(number, round).into_iter().enumerate() {
            let time = 1_700_000_000_000_000_000 + (round * 250 + kind as u64) as i64 * 1_000_000;
            let attributes = attributes(round, kind as u64);
            let vectors = if with_vectors { vectors(round, kind as u64) } else { Vec::new() };
            let entry = EntryRef {
                body: &body,
                timestamp_ns: time,
                severity: Severity::from_number((round * 5 % 25) as u8),
                flags: EntryFlags(u8::from(round == 7)),
                deployment: ["checkout", "cart", ""][kind % 3],
                pod: &format!("{}-{}", ["checkout", "cart", ""][kind % 3], round % 4),
                container: "main",
                attributes: &attributes,
                vectors: &vectors,
            };
            builder.push(&entry).expect("a few hundred rows");
        }
    }
    builder.finish()
}

/// One line of each kind.
fn bodies(number: u64, round: u64) -> Vec<Vec<u8>> {
    let noise = (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut bodies = vec![
        // A constant, decimals above a base, the same again, rising decimals.
        format!("GET /v1/items/{} took {}ms, again {}; total 10{}", noise % 1000, noise % 97, noise % 1000, 1000 + round * 3).into_bytes(),
        // Digits of fixed width, at random and rising.
        format!("at {:02}:{:02}.{:06} day 0{}", noise % 24, noise % 60, round * 11, 10 + round).into_bytes(),
        // Hexadecimal in both cases, with a prefix.
        format!("trace {:07x}1 span 0x{:06x} block 1{:05X}F", noise % (1 << 28), noise % (1 << 24), noise % (1 << 20)).into_bytes(),
        // Texts of one length and of many, and few distinct ones.
        format!("user u{}z{} session {}x host node{}b", noise % 7, noise % 3, "q".repeat((noise % 5) as usize) + "9", noise % 3).into_bytes(),
        // A number beyond 19 digits, and no variable at all.
        format!("big {}00000000000000{}", noise, round).into_bytes(),
        b"nothing varies here".to_vec(),
    ];
    if round == 3 {
        bodies.push(Vec::new());
        bodies.push(b"raw \x10\x11 bytes \xff\xfe 7\x11 and \xc3\xa97".to_vec());
        bodies.push(format!("only chunk {} has this: chunk{}own", "abc".repeat(1 + number as usize), number).into_bytes());
    }
    bodies
}

/// A field that every row has, of numbers that fit 16 bits, and one that some have.
fn vectors(round: u64, kind: u64) -> Vec<EntryVector> {
    let half = |at: u64| (round * 3 + kind * 5 + at) as f32 / 32.0 - 1.0;
    let mut vectors = vec![EntryVector { field: "text".to_owned(), values: (0..6).map(half).collect() }];
    if (round + kind).is_multiple_of(3) {
        vectors.push(EntryVector { field: "image".to_owned(), values: vec![0.1 + round as f32, -1.0 / (1 + kind) as f32] });
    }
    vectors
}

fn attributes(round: u64, kind: u64) -> Vec<(String, Value)> {
    let mut attributes = Vec::new();
    if kind == 0 {
        attributes.push(("latency_ms".to_owned(), Value::Int(round as i64 * -7)));
        attributes.push(("ratio".to_owned(), Value::Float(if round == 2 { f64::NAN } else { round as f64 / 8.0 })));
    }
    if kind == 1 {
        attributes.push(("retried".to_owned(), Value::Bool(round.is_multiple_of(3))));
        attributes.push(("latency_ms".to_owned(), Value::Str(format!("{}ms", round % 4))));
    }
    attributes
}
