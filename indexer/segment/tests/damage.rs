//! Damage of every kind: what was changed is detected, and what passes the checksums still never panics.

mod common;

use bytes::Bytes;
use common::generate::{Case, case};
use common::{Memory, NAMESPACE};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use siltstone_core::{ErrorKind, Severity};
use siltstone_query::{Expr, Field, Predicate, Text, TimeRange};
use siltstone_segment::{HistogramSpec, ScoringTerms, SegmentReader, Source, merge};
use std::ops::Bound;
use std::sync::Arc;

/// Bytes of the header, of a directory entry and of the trailer: `docs/formats/segment.md`.
const HEADER_BYTES: usize = 16;
const ENTRY_BYTES: usize = 16;
const TRAILER_BYTES: usize = 24;
const BLOCKS: usize = 11;

/// A case whose segment has some of everything.
fn sample() -> Case {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let has_all = |case: &Case| {
        case.chunks.len() > 1
            && case.chunks.iter().any(|chunk| chunk.has_irregular_rows())
            && case.chunks.iter().any(|chunk| chunk.rows.len() > 100)
            && case.chunks.iter().any(|chunk| chunk.rows.last().is_some_and(|(offset, _)| usize::from(*offset) >= chunk.rows.len()))
    };
    loop {
        let case = case().new_tree(&mut runner).expect("a case").current();
        if has_all(&case) {
            return case;
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

/// Computes all checksums again.
fn reseal(bytes: &mut [u8]) {
    let trailer = bytes.len() - TRAILER_BYTES;
    let directory = trailer - BLOCKS * ENTRY_BYTES;
    let mut start = HEADER_BYTES;
    for block in 0..BLOCKS {
        let at = directory + block * ENTRY_BYTES;
        let end = start + u32_at(bytes, at + 4);
        let checksum = crc32c::crc32c(&bytes[start..end]);
        bytes[at + 12..at + 16].copy_from_slice(&checksum.to_le_bytes());
        start = end;
    }
    assert_eq!(start, directory, "the blocks fill the segment");
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..HEADER_BYTES]), &bytes[directory..trailer + 12]);
    bytes[trailer + 12..trailer + 16].copy_from_slice(&checksum.to_le_bytes());
}

fn expressions() -> Vec<Expr> {
    let term = |term: &str| Expr::Text(Text::Term(term.to_owned()));
    let phrase = |words: &[&str]| Expr::Text(Text::Phrase(words.iter().map(|word| (*word).to_owned()).collect()));
    let code = |predicate| Expr::Field(Field::Attribute("code".to_owned()), predicate);
    vec![
        Expr::All,
        term("7"),
        term("retry"),
        phrase(&["7", "1"]),
        phrase(&["to", "connect", "10", "0"]),
        phrase(&["abc", "7"]),
        Expr::Text(Text::Prefix(String::from("1"))),
        Expr::Not(Box::new(term("error"))),
        Expr::And(vec![term("0"), Expr::Not(Box::new(term("failed")))]),
        Expr::Or(vec![term("42"), term("connect"), code(Predicate::Exists)]),
        code(Predicate::Range(Bound::Unbounded, Bound::Unbounded)),
        Expr::Field(Field::Pod, Predicate::Prefix(String::from("a"))),
        Expr::Severity(Severity::WARN, Severity::FATAL),
        Expr::And(vec![Expr::Time(TimeRange { start_ns: 1_000_000_000, end_ns: 6_000_000_000 }), term("retry")]),
    ]
}

/// Asks everything; errors are fine.
fn ask_all(memory: &Memory, reader: SegmentReader) {
    let other = memory.reader(memory.build(|_| true));
    let _ = merge(&[&reader]);
    let _ = merge(&[&reader, &other]);
    let source = siltstone_segment::SegmentSource::new(Arc::new(reader), Arc::new(memory.clone()));
    for expr in expressions() {
        let terms = ScoringTerms::of(&expr);
        let _ = source.rows(&expr);
        let _ = source.count(&expr);
        let _ = source.newest(&expr, 5, None);
        let _ = source.patterns(&expr);
        let _ = source.histogram(&expr, &HistogramSpec { start_ns: 0, step_ns: 3_000_000_000, buckets: 4 });
        let _ = source.explain(&expr);
        if let Ok(statistics) = source.statistics(&terms) {
            let _ = source.top_k(&expr, &terms, &statistics, 5);
        }
    }
}

#[test]
fn every_changed_byte_is_detected() {
    let memory = sample().memory();
    let segment = memory.build(|_| true);
    assert!(SegmentReader::open(segment.clone()).is_ok());
    for at in 0..segment.len() {
        for flip in [1_u8, 0x80, 0xff] {
            let mut damaged = segment.to_vec();
            damaged[at] ^= flip;
            let error = SegmentReader::open(damaged.into()).expect_err("damage is detected");
            assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "byte {at}: {error}");
        }
    }
}

#[test]
fn every_other_length_is_detected() {
    let segment = sample().memory().build(|_| true);
    for length in 0..segment.len() {
        assert!(SegmentReader::open(segment.slice(..length)).is_err(), "cut to {length} bytes");
    }
    let mut longer = segment.to_vec();
    longer.push(0);
    assert!(SegmentReader::open(longer.into()).is_err());
}

#[test]
fn a_block_that_is_damaged_is_named() {
    let segment = sample().memory().build(|_| true);
    let mut damaged = segment.to_vec();
    damaged[HEADER_BYTES] ^= 1;
    let error = SegmentReader::open(damaged.into()).expect_err("damage is detected");
    assert_eq!(error.to_string(), "read segment block \"meta\": its checksum differs");
}

#[test]
fn a_segment_of_no_chunks_answers() {
    let memory = Memory::default();
    let source = memory.source(memory.build(|_| true));
    assert_eq!(source.namespace(), NAMESPACE);
    assert_eq!(source.time_bounds_ns(), None);
    for expr in expressions() {
        assert_eq!(source.count(&expr).expect("a count"), 0);
        assert!(source.patterns(&expr).expect("patterns").is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(SegmentReader::open(Bytes::from(bytes)).is_err());
    }

    #[test]
    fn damage_under_sound_checksums_never_panics(case in case(), places in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4)) {
        let memory = case.memory();
        let mut damaged = memory.build(|_| true).to_vec();
        let blocks = HEADER_BYTES..damaged.len() - TRAILER_BYTES - BLOCKS * ENTRY_BYTES;
        for (place, byte) in places {
            damaged[blocks.start + place.index(blocks.len())] = byte;
        }
        reseal(&mut damaged);
        if let Ok(reader) = SegmentReader::open(damaged.into()) {
            ask_all(&memory, reader);
        }
    }
}
