//! Ingest beside tantivy, in one run on the same entries: MB of bodies a second until all is sealed, merged and durable, and bytes stored.
//!
//! `cargo run --release -p siltstone-bench --bin ingest [-- --threads N --repeat N]`
//!
//! Both sides start from parsed entries in memory, keep the body, index the same fields (body with positions, namespace, deployment, pod, container,
//! severity, timestamp) and end when nothing is left to do: tantivy has committed and its merges have ended; Siltstone has acknowledged every entry,
//! sealed every chunk, merged what its policy merges, and synced it all.

use siltstone_bench::{Line, real_lines};
use siltstone_core::{CallerScope, Entry, NamespaceSet, Principal, Severity, SystemClock};
use siltstone_dev::{DevConfig, DevNode, DevParts};
use siltstone_disk::RealDisk;
use siltstone_indexer::ingest::RequestKey;
use siltstone_metadata_client::MetadataClientExt;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tantivy::schema::{FAST, INDEXED, STORED, STRING, Schema, TEXT};
use tantivy::{Index, TantivyDocument};

/// Entries of one client request, as `siltstone import` sends them.
const REQUEST_ENTRIES: usize = 2_000;

/// Requests on their way at once, as `siltstone import --in-flight 48` has them.
const REQUESTS_AT_ONCE: usize = 48;

/// What tantivy's writer may hold in memory, all threads together.
const TANTIVY_HEAP_BYTES: usize = 512 << 20;

struct Measured {
    seconds: f64,
    /// When the last entry was acknowledged; what follows is sealing and merging.
    acknowledged_s: f64,
    stored_bytes: u64,
}

fn main() -> anyhow::Result<()> {
    let mut threads = std::thread::available_parallelism()?.get();
    let mut repeat = 3;
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| anyhow::anyhow!("{flag} needs a number"))?.parse()?;
        match flag.as_str() {
            "--threads" => threads = value,
            "--repeat" => repeat = value,
            other => anyhow::bail!("unknown flag {other}; there are --threads N and --repeat N"),
        }
    }
    let lines = real_lines()?;
    let body_bytes: usize = lines.iter().map(|line| line.body.len()).sum();
    let mb = body_bytes as f64 / 1e6;
    println!("{} real lines, {mb:.1} MB of bodies, {threads} threads, best of {repeat}", lines.len());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..repeat {
        theirs.push(with_tantivy(&lines, threads)?);
        ours.push(with_siltstone(&lines, threads)?);
        println!(
            "round {round}: tantivy {:.1} MB/s, siltstone {:.1} MB/s ({:.2} s, acknowledged after {:.2} s)",
            mb / theirs[round].seconds,
            mb / ours[round].seconds,
            ours[round].seconds,
            ours[round].acknowledged_s
        );
    }
    let best = |rounds: &[Measured]| rounds.iter().map(|round| round.seconds).fold(f64::INFINITY, f64::min);
    let (ours_s, theirs_s) = (best(&ours), best(&theirs));
    let share = |rounds: &[Measured]| rounds[0].stored_bytes as f64 / body_bytes as f64 * 100.0;
    println!("                 MB/s    stored bytes   of body");
    println!("tantivy     {:>9.1} {:>15} {:>8.1}%", mb / theirs_s, theirs[0].stored_bytes, share(&theirs));
    println!("siltstone   {:>9.1} {:>15} {:>8.1}%", mb / ours_s, ours[0].stored_bytes, share(&ours));
    println!("ratio       {:>9.2}x", theirs_s / ours_s);
    Ok(())
}

fn bytes_under(dir: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { bytes_under(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

fn with_tantivy(lines: &[Line], threads: usize) -> anyhow::Result<Measured> {
    let mut schema = Schema::builder();
    let body = schema.add_text_field("body", TEXT | STORED);
    let namespace = schema.add_text_field("namespace", STRING | STORED);
    let deployment = schema.add_text_field("deployment", STRING | STORED);
    let pod = schema.add_text_field("pod", STRING | STORED);
    let container = schema.add_text_field("container", STRING | STORED);
    let severity = schema.add_u64_field("severity", INDEXED | STORED);
    let timestamp = schema.add_i64_field("timestamp_ns", FAST | INDEXED | STORED);
    let dir = tempfile::tempdir()?;
    let index = Index::create_in_dir(dir.path(), schema.build())?;
    let started = Instant::now();
    let mut writer = index.writer_with_num_threads::<TantivyDocument>(threads, TANTIVY_HEAP_BYTES)?;
    for line in lines {
        let mut document = TantivyDocument::new();
        document.add_text(body, &line.body);
        document.add_text(namespace, &line.namespace);
        document.add_text(deployment, &line.deployment);
        document.add_text(pod, &line.pod);
        document.add_text(container, &line.container);
        document.add_u64(severity, u64::from(Severity::from_name(&line.severity).number()));
        document.add_i64(timestamp, line.timestamp_ns.unwrap_or_default());
        writer.add_document(document)?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(Measured { seconds, acknowledged_s: seconds, stored_bytes: bytes_under(dir.path())? })
}

fn with_siltstone(lines: &[Line], threads: usize) -> anyhow::Result<Measured> {
    let requests: Vec<Vec<Entry>> = lines.chunks(REQUEST_ENTRIES).map(|lines| lines.iter().map(entry_of).collect()).collect();
    let dir = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).max_blocking_threads(threads + 2).enable_all().build()?;
    runtime.block_on(async {
        let parts = DevParts { disk: Arc::new(RealDisk), clock: Arc::new(SystemClock), random: 1, on_fatal: Arc::new(|cause| panic!("{cause}")) };
        let node = DevNode::start(DevConfig::new(dir.path().to_owned()), parts).await?;
        let all = || NamespaceSet::All;
        let scope = Arc::new(CallerScope::from_authenticator(Principal("bench".to_owned()), all(), all(), all()));
        // Namespaces are there, as tantivy's index and schema are: making one is a commit of its own, once in its life.
        let names: BTreeSet<&str> = lines.iter().map(|line| line.namespace.as_str()).collect();
        for name in names {
            node.indexer().views().metadata().create_namespace(name).await?;
        }
        let started = Instant::now();
        let mut writes = tokio::task::JoinSet::new();
        let last = requests.len() as u64;
        for (sequence, entries) in (1..).zip(requests) {
            if writes.len() >= REQUESTS_AT_ONCE {
                writes.join_next().await.transpose()?.transpose()?;
            }
            let (ingest, scope) = (node.indexer().ingest().clone(), scope.clone());
            let key = RequestKey { producer: "bench".to_owned(), sequence, is_in_order: true };
            writes.spawn(async move {
                let arrivals = entries.into_iter().map(|entry| Ok(entry.into()));
                if sequence == last {
                    ingest.write_and_flush(&scope, Some(key), arrivals).await
                } else {
                    ingest.write(&scope, Some(key), arrivals).await
                }
            });
        }
        while let Some(written) = writes.join_next().await {
            written??;
        }
        let acknowledged_s = started.elapsed().as_secs_f64();
        node.indexer().settle().await?;
        let seconds = started.elapsed().as_secs_f64();
        let totals = node.indexer().views().metadata().manifest().totals;
        anyhow::ensure!(totals.rows as usize == lines.len(), "{} rows exist, {} were written", totals.rows, lines.len());
        node.shutdown().await;
        Ok(Measured { seconds, acknowledged_s, stored_bytes: totals.pack_bytes + totals.segment_bytes + totals.slice_bytes })
    })
}

fn entry_of(line: &Line) -> Entry {
    Entry {
        namespace: line.namespace.clone(),
        deployment: line.deployment.clone(),
        pod: line.pod.clone(),
        container: line.container.clone(),
        timestamp_ns: line.timestamp_ns,
        severity: Severity::from_name(&line.severity),
        body: line.body.clone().into_bytes(),
        attributes: Vec::new(),
        vectors: Vec::new(),
    }
}
