//! What the tests of whole segments share: rows in memory as chunks, a fetcher of them, the real logs.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

pub(crate) mod generate;
pub(crate) mod referee;

use bytes::Bytes;
use flate2::read::GzDecoder;
use siltstone_core::{ChunkId, EntryFlags, NamespaceId, Severity};
use siltstone_format::{EntryRef, Rows, RowsBuilder};
use siltstone_query::{Expr, Text};
use siltstone_segment::{ChunkFetcher, ChunkRows, FetchError, ScanSlice, ScanSource, SegmentBuilder, SegmentReader, SegmentSource};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) const NAMESPACE: NamespaceId = NamespaceId(7);

/// Chunks in memory.
#[derive(Clone, Default)]
pub(crate) struct Memory {
    pub chunks: BTreeMap<ChunkId, ChunkRows>,
}

impl ChunkFetcher for Memory {
    fn timestamps(&self, chunk: ChunkId) -> Result<Arc<[i64]>, FetchError> {
        Ok(self.rows(chunk)?.rows.timestamps_ns.as_slice().into())
    }

    fn rows(&self, chunk: ChunkId) -> Result<ChunkRows, FetchError> {
        // A damaged segment may name a chunk that is not there.
        let missing = || FetchError { kind: siltstone_core::ErrorKind::NotFound, source: "there is no such chunk".into() };
        self.chunks.get(&chunk).cloned().ok_or_else(missing)
    }
}

impl Memory {
    /// Adds a chunk; without `offsets` its rows lie at `0..`.
    pub(crate) fn add(&mut self, chunk: u64, rows: Rows, offsets: Option<Vec<u16>>) {
        let offsets = offsets.unwrap_or_else(|| (0..rows.len() as u16).collect());
        self.chunks.insert(ChunkId(chunk), ChunkRows { rows: Arc::new(rows), offsets: offsets.into() });
    }

    /// The segment of the chunks that `keep` takes.
    pub(crate) fn build<F>(&self, keep: F) -> Bytes
    where
        F: Fn(ChunkId) -> bool,
    {
        let mut builder = SegmentBuilder::new(NAMESPACE);
        for (id, chunk) in self.chunks.iter().filter(|(id, _)| keep(**id)) {
            builder.add(*id, &chunk.rows, &chunk.offsets).expect("a sound chunk");
        }
        Bytes::from(builder.finish().expect("a segment of a few chunks"))
    }

    pub(crate) fn reader(&self, segment: Bytes) -> SegmentReader {
        SegmentReader::open(segment).expect("our own bytes")
    }

    pub(crate) fn source(&self, segment: Bytes) -> SegmentSource {
        SegmentSource::new(Arc::new(SegmentReader::open(segment).expect("our own bytes")), Arc::new(self.clone()))
    }

    /// The same rows as live slices: a slice a run of offsets.
    pub(crate) fn scan(&self) -> ScanSource {
        let mut slices = Vec::new();
        for (id, chunk) in &self.chunks {
            let is_dense = chunk.offsets.last().is_some_and(|last| usize::from(*last) + 1 == chunk.offsets.len());
            assert!(is_dense, "live slices have no burned offsets in these tests");
            slices.push(ScanSlice { chunk: *id, first_offset: 0, rows: Arc::clone(&chunk.rows) });
        }
        ScanSource::new(NAMESPACE, slices)
    }
}

pub(crate) fn shared_data(name: &str) -> PathBuf {
    let shared = std::env::var_os("SILTSTONE_SHARED").map_or_else(|| PathBuf::from("../../../shared"), PathBuf::from);
    let path = shared.join("data").join(name);
    assert!(path.exists(), "{} is missing: set SILTSTONE_SHARED to the folder of the shared test material", path.display());
    path
}

/// The real logs as chunks of one namespace, numbered from `first_chunk`: row `r` of the file is at `r % 2048` of chunk `first_chunk + r / 2048`.
pub(crate) fn real_logs(first_chunk: u64) -> Memory {
    let lines = BufReader::new(GzDecoder::new(File::open(shared_data("logs.jsonl.gz")).unwrap()));
    let mut memory = Memory::default();
    let mut builder = RowsBuilder::new(NAMESPACE);
    let mut chunk = first_chunk;
    for (number, line) in lines.lines().enumerate() {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let text = |name: &str| line[name].as_str().unwrap_or_default();
        let time_ms = line["timestamp_ms"].as_i64().unwrap_or(1_700_000_000_000 + number as i64);
        builder
            .push(&EntryRef {
                body: text("body").as_bytes(),
                timestamp_ns: time_ms * 1_000_000,
                severity: Severity::from_name(text("severity")),
                flags: EntryFlags::default(),
                deployment: text("deployment"),
                pod: text("pod"),
                container: text("container"),
                attributes: &[],
                vectors: &[],
            })
            .unwrap();
        if builder.len() == 2048 {
            memory.add(chunk, builder.finish(), None);
            chunk += 1;
        }
    }
    if !builder.is_empty() {
        memory.add(chunk, builder.finish(), None);
    }
    memory
}

/// The text queries, with their kinds and truths.
pub(crate) fn text_queries() -> Vec<serde_json::Value> {
    let lines = BufReader::new(File::open(shared_data("text_queries.jsonl")).unwrap());
    lines.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

/// The expression of a text query.
pub(crate) fn expr_of(query: &serde_json::Value) -> Expr {
    let terms: Vec<String> = query["terms"].as_array().unwrap().iter().map(|term| term.as_str().unwrap().to_owned()).collect();
    let term = |term: &String| Expr::Text(Text::Term(term.clone()));
    match query["kind"].as_str().unwrap() {
        "term" => term(&terms[0]),
        "and" => Expr::And(terms.iter().map(term).collect()),
        "or" => Expr::Or(terms.iter().map(term).collect()),
        "andnot" => Expr::And(std::iter::once(term(&terms[0])).chain(terms[1..].iter().map(|word| Expr::Not(Box::new(term(word))))).collect()),
        "phrase" => Expr::Text(Text::Phrase(terms)),
        other => panic!("a kind of query that is not known: {other}"),
    }
}
