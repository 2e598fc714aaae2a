//! Text search beside tantivy, on the real logs, one thread: COUNT and the best ten per kind of query, the time to build, the bytes of the index.
//!
//! Both engines index the bodies alone, with positions and frequencies, in one segment, in memory. A figure is the mean over a kind's queries of
//! the best of several runs, in microseconds; both must count the same, or the run fails. Run with `--release`; `SILTSTONE_SHARED` names the
//! folder of the test material.

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use flate2::read::GzDecoder;
use siltstone_core::{ChunkId, EntryFlags, NamespaceId, Severity, analyze};
use siltstone_format::{EntryRef, RowsBuilder};
use siltstone_query::{Expr, Text};
use siltstone_segment::{ChunkFetcher, ChunkRows, FetchError, ScoringTerms, SegmentBuilder, SegmentReader, SegmentSource, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, Occur, PhraseQuery, Query, RegexQuery, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{LowerCaser, SimpleTokenizer, TextAnalyzer};
use tantivy::{Index, IndexWriter, Searcher, TantivyDocument, Term};

/// Runs of each query, of which the best counts.
const ROUNDS: usize = 9;
const LIMIT: usize = 10;
/// Prefixes are cut from the term queries: so many of them, so long.
const PREFIXES: usize = 60;
const PREFIX_CHARS: usize = 3;

struct Line {
    body: Vec<u8>,
    timestamp_ns: i64,
}

struct Asked {
    kind: String,
    expr: Expr,
    terms: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    let shared = std::env::var_os("SILTSTONE_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from).join("data");
    let lines = read_lines(&shared.join("logs.jsonl.gz"))?;
    let queries = read_queries(&shared.join("text_queries.jsonl"))?;
    let body_bytes: usize = lines.iter().map(|line| line.body.len()).sum();
    let megabytes = body_bytes as f64 / 1e6;
    println!("{} lines, {megabytes:.1} MB of bodies", lines.len());

    let chunks = chunks_of(&lines)?;
    let started = Instant::now();
    let mut builder = SegmentBuilder::new(NamespaceId(1));
    for (id, chunk) in &chunks {
        builder.add(*id, &chunk.rows, &chunk.offsets)?;
    }
    let segment = Bytes::from(builder.finish()?);
    let built = started.elapsed();
    println!("siltstone  {:>9} bytes, built at {:>6.1} MB/s", segment.len(), megabytes / built.as_secs_f64());
    let reader = Arc::new(SegmentReader::open(segment)?);
    for (name, bytes) in reader.block_bytes() {
        println!("           {bytes:>9} {name}");
    }
    let times = chunks.iter().map(|(id, chunk)| (*id, Arc::from(chunk.rows.timestamps_ns.as_slice()))).collect();
    let source = SegmentSource::new(Arc::clone(&reader), Arc::new(Memory { chunks, times }));

    let started = Instant::now();
    let peer = Peer::build(&lines)?;
    println!("tantivy    {:>9} bytes, built at {:>6.1} MB/s", peer.bytes()?, megabytes / started.elapsed().as_secs_f64());

    let mut by_kind: BTreeMap<&str, [Duration; 5]> = BTreeMap::new();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for asked in &queries {
        let peer_query = peer.query(asked)?;
        let count = source.count(&asked.expr)?;
        let peer_count = peer.searcher.search(&peer_query, &Count)? as u64;
        ensure!(count == peer_count, "{}: {count} rows, and {peer_count} of the peer", asked.expr);
        let terms = ScoringTerms::of(&asked.expr);
        let figures = by_kind.entry(&asked.kind).or_default();
        *counts.entry(&asked.kind).or_default() += 1;
        figures[0] += best_of(|| Ok(source.count(&asked.expr)?))?;
        figures[1] += best_of(|| Ok(peer.searcher.search(&peer_query, &Count)?))?;
        figures[2] += best_of(|| {
            let statistics = source.statistics(&terms)?;
            Ok(source.top_k(&asked.expr, &terms, &statistics, LIMIT)?)
        })?;
        figures[3] += best_of(|| Ok(peer.searcher.search(&peer_query, &TopDocs::with_limit(LIMIT).order_by_score())?))?;
        figures[4] += best_of(|| Ok(source.newest(&asked.expr, LIMIT, None)?))?;
    }
    println!(
        "{:8} {:>4} | {:>9} {:>9} {:>7} | {:>9} {:>9} {:>7} | newest",
        "kind", "n", "count µs", "tantivy", "ratio", "top µs", "tantivy", "ratio"
    );
    for (kind, figures) in by_kind {
        let number = counts[kind];
        let [count, peer_count, top, peer_top, newest] = figures.map(|sum| sum.as_secs_f64() * 1e6 / f64::from(number));
        println!(
            "{kind:8} {number:>4} | {count:>9.2} {peer_count:>9.2} {:>6.1}x | {top:>9.2} {peer_top:>9.2} {:>6.1}x | {newest:.2}",
            peer_count / count,
            peer_top / top
        );
    }
    println!("memory after all queries: {} bytes", reader.memory_bytes());
    Ok(())
}

/// The shortest of several runs.
fn best_of<T, F>(mut run: F) -> anyhow::Result<Duration>
where
    F: FnMut() -> anyhow::Result<T>,
{
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        std::hint::black_box(run()?);
        best = best.min(started.elapsed());
    }
    Ok(best)
}

fn read_lines(path: &std::path::Path) -> anyhow::Result<Vec<Line>> {
    let file = File::open(path).with_context(|| format!("open {}", path.display()))?;
    let mut lines = Vec::new();
    for (number, line) in BufReader::new(GzDecoder::new(file)).lines().enumerate() {
        let line: serde_json::Value = serde_json::from_str(&line?)?;
        let time_ms = line["timestamp_ms"].as_i64().unwrap_or(1_700_000_000_000 + number as i64);
        lines.push(Line { body: line["body"].as_str().unwrap_or_default().into(), timestamp_ns: time_ms * 1_000_000 });
    }
    Ok(lines)
}

fn read_queries(path: &std::path::Path) -> anyhow::Result<Vec<Asked>> {
    let mut queries = Vec::new();
    let mut prefixes = BTreeSet::new();
    for line in BufReader::new(File::open(path).with_context(|| format!("open {}", path.display()))?).lines() {
        let line: serde_json::Value = serde_json::from_str(&line?)?;
        let kind = line["kind"].as_str().context("a kind")?;
        let terms: Vec<String> = line["terms"].as_array().context("terms")?.iter().filter_map(|term| Some(term.as_str()?.to_owned())).collect();
        let term = |term: &String| Expr::Text(Text::Term(term.clone()));
        let (name, expr) = match kind {
            "term" => (kind.to_owned(), term(&terms[0])),
            "and" => (format!("and{}", terms.len()), Expr::And(terms.iter().map(term).collect())),
            "or" => (format!("or{}", terms.len()), Expr::Or(terms.iter().map(term).collect())),
            "andnot" => {
                let excluded = terms[1..].iter().map(|word| Expr::Not(Box::new(term(word))));
                (kind.to_owned(), Expr::And(std::iter::once(term(&terms[0])).chain(excluded).collect()))
            }
            "phrase" => (format!("phrase{}", terms.len()), Expr::Text(Text::Phrase(terms.clone()))),
            other => bail!("a kind of query that is not known: {other}"),
        };
        if kind == "term" && terms[0].chars().count() > PREFIX_CHARS {
            prefixes.insert(terms[0].chars().take(PREFIX_CHARS).collect::<String>());
        }
        queries.push(Asked { kind: name, expr, terms });
    }
    let step = (prefixes.len() / PREFIXES).max(1);
    for prefix in prefixes.into_iter().step_by(step).take(PREFIXES) {
        queries.push(Asked { kind: "prefix".to_owned(), expr: Expr::Text(Text::Prefix(prefix.clone())), terms: vec![prefix] });
    }
    Ok(queries)
}

fn chunks_of(lines: &[Line]) -> anyhow::Result<BTreeMap<ChunkId, ChunkRows>> {
    let mut chunks = BTreeMap::new();
    let mut builder = RowsBuilder::new(NamespaceId(1));
    for (number, of_chunk) in (1..).zip(lines.chunks(siltstone_core::CHUNK_ROWS_MAX)) {
        for line in of_chunk {
            builder.push(&EntryRef {
                body: &line.body,
                timestamp_ns: line.timestamp_ns,
                severity: Severity::UNSPECIFIED,
                flags: EntryFlags::default(),
                deployment: "",
                pod: "",
                container: "",
                attributes: &[],
                vectors: &[],
            })?;
        }
        let offsets = (0..of_chunk.len() as u16).collect();
        chunks.insert(ChunkId(number), ChunkRows { rows: Arc::new(builder.finish()), offsets });
    }
    Ok(chunks)
}

/// Columns in memory, as a cache of packs would have them.
struct Memory {
    chunks: BTreeMap<ChunkId, ChunkRows>,
    times: BTreeMap<ChunkId, Arc<[i64]>>,
}

impl ChunkFetcher for Memory {
    fn timestamps(&self, chunk: ChunkId) -> Result<Arc<[i64]>, FetchError> {
        Ok(Arc::clone(&self.times[&chunk]))
    }

    fn rows(&self, chunk: ChunkId) -> Result<ChunkRows, FetchError> {
        Ok(self.chunks[&chunk].clone())
    }
}

/// The same bodies in tantivy.
struct Peer {
    index: Index,
    searcher: Searcher,
    body: Field,
}

impl Peer {
    fn build(lines: &[Line]) -> anyhow::Result<Self> {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default().set_tokenizer("log").set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let body = schema.add_text_field("body", TextOptions::default().set_indexing_options(indexing));
        let index = Index::create_in_ram(schema.build());
        index.tokenizers().register("log", TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser).build());
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 1 << 30)?;
        for line in lines {
            let mut document = TantivyDocument::default();
            document.add_text(body, str::from_utf8(&line.body)?);
            writer.add_document(document)?;
        }
        writer.commit()?;
        let segments = index.searchable_segment_ids()?;
        if segments.len() > 1 {
            writer.merge(&segments).wait()?;
        }
        writer.wait_merging_threads()?;
        let searcher = index.reader()?.searcher();
        Ok(Self { index, searcher, body })
    }

    /// The bytes of its one segment.
    fn bytes(&self) -> anyhow::Result<u64> {
        let usage = self.searcher.space_usage()?;
        ensure!(self.index.searchable_segment_ids()?.len() == 1, "the peer has one segment");
        Ok(usage.total().get_bytes())
    }

    fn query(&self, asked: &Asked) -> anyhow::Result<Box<dyn Query>> {
        let term = |term: &String| Term::from_field_text(self.body, term);
        let term_query = |word: &String| -> Box<dyn Query> { Box::new(TermQuery::new(term(word), IndexRecordOption::WithFreqs)) };
        let with = |occur: Occur| asked.terms.iter().map(|word| (occur, term_query(word))).collect::<Vec<_>>();
        Ok(match &asked.expr {
            Expr::Text(Text::Term(word)) => term_query(word),
            Expr::Text(Text::Phrase(words)) => Box::new(PhraseQuery::new(words.iter().map(term).collect())),
            Expr::Text(Text::Prefix(prefix)) => Box::new(RegexQuery::from_pattern(&format!("{prefix}.*"), self.body)?),
            Expr::Or(_) => Box::new(BooleanQuery::new(with(Occur::Should))),
            Expr::And(_) if asked.kind == "andnot" => {
                let mut clauses = with(Occur::MustNot);
                clauses[0].0 = Occur::Must;
                Box::new(BooleanQuery::new(clauses))
            }
            Expr::And(_) => Box::new(BooleanQuery::new(with(Occur::Must))),
            other => bail!("a query that the peer does not have: {other}"),
        })
    }
}

/// The analyzers agree on the text that both index, as equal counts show; this keeps the version in sight.
const _: () = assert!(analyze::ANALYZER_VERSION == 1, "compare the analyzers again");
