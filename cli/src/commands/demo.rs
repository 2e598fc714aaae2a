//! `siltstone demo`: sample logs, an import with progress, example queries of each kind, and a server to try more on.

use super::dev::{self, Running};
use super::import::{Progress, Sent, connect_patiently, send_source};
use super::query;
use crate::args::{
    CollapseArg, CountArgs, DemoArgs, DevArgs, HistogramArgs, OrderArg, Output, PatternsArgs, QueryArgs, SearchArgs, ServerArgs, StatusArgs,
    TuningArgs, VectorArgs,
};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{Screen, counted};
use siltstone_core::Clock;
use siltstone_import::{ImportOptions, ImportSource, Input};
use siltstone_loggen::{Config, Generator, Incident, LogEntry};
use siltstone_metadata_cli::TlsArgs;
use siltstone_proto::v1::{CountRequest, QuerySpec, SettleRequest};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The cluster and the day that the demo shows.
const SEED: u64 = 20;

/// The sample file is written in pieces of about this many bytes.
const WRITE_BYTES: usize = 1 << 20;

/// What the demo asks by meaning.
const MEANT: &str = "near:\"the database refuses connections\"";

/// The sample logs end at this time, so that the same demo gives the same answers on every machine: 2026-06-01T00:00:00Z.
const END_MS: i64 = 1_780_272_000_000;

pub(crate) async fn demo(args: &DemoArgs, clock: &dyn Clock, screen: &mut Screen) -> Result<(), Failure> {
    let config = Config::day(SEED, args.lines, END_MS);
    let (data, listen) = (args.data.clone(), args.listen);
    let (group, tls, tuning) = (Vec::new(), TlsArgs::default(), TuningArgs::default());
    let running = dev::start(&DevArgs { data, group, tls, listen, listen_http: None, store: None, tokens: None, tuning }).await?;
    let outcome = show(args, &config, &running, clock, screen).await;
    if outcome.is_err() || args.once {
        running.shutdown().await;
        return outcome;
    }
    screen.flush()?;
    running.until_stopped().await
}

async fn show(args: &DemoArgs, config: &Config, running: &Running, clock: &dyn Clock, screen: &mut Screen) -> Result<(), Failure> {
    let server = ServerArgs { server: running.grpc.to_string(), token: None };
    let client = connect_patiently(&server).await?;
    let incidents = Generator::new(config).incidents();
    screen.line(&format!("data     {}   (delete it to begin anew)", args.data.display()))?;
    screen.line(&format!("server   gRPC {}, OTLP over HTTP {}", running.grpc, running.http))?;
    fill(args, config, &client, screen).await?;
    screen.line("")?;
    examples(&server, &incidents, clock, screen).await?;
    screen.line("")?;
    screen.line(&screen.paint("1", "Go on"))?;
    if args.once {
        screen.line(&format!("  siltstone dev --data {}      serves this data again", args.data.display()))?;
    } else {
        screen.line("  This server runs until Ctrl-C. In another terminal:")?;
    }
    let at = if running.grpc.port() == 7070 { String::new() } else { format!(" --server {}", running.grpc) };
    for command in [
        "count -n shop 'severity>=error'",
        "search -n shop -n payments 'timeout -retry' --limit 5",
        "patterns -n platform 'severity>=warn'",
        "tail -n shop '*'",
    ] {
        screen.line(&format!("  siltstone {}{at}", command))?;
    }
    screen.line("  The query language: docs/query-language.md.  Your own logs: siltstone import FILE --namespace NAME")?;
    screen.flush()
}

/// Imports the sample logs, unless they are there: the keys of an import make a repeat harmless, the count makes it quick.
async fn fill(args: &DemoArgs, config: &Config, client: &Client, screen: &mut Screen) -> Result<(), Failure> {
    let found = rows_there(client).await?;
    if found >= args.lines {
        return screen.line(&format!("found    {} from an earlier run", counted(found, "entry", "entries")));
    }
    let path = args.data.join(format!("sample-{}.ndjson", args.lines));
    let generator_config = *config;
    let file = path.clone();
    screen.line(&format!("sample   {} of a Kubernetes cluster's day, written to {}", counted(args.lines, "line", "lines"), path.display()))?;
    screen.flush()?;
    let written = tokio::task::spawn_blocking(move || write_sample(&generator_config, &file)).await;
    written.map_err(|error| Failure::failed(format!("write the sample: {error}")))??;
    let name = path.display().to_string();
    let source = tokio::task::spawn_blocking(move || {
        let mut progress = Progress::new(&name);
        let opened = ImportSource::open(Input::File(path), &ImportOptions::default(), &mut |hashed| progress.hashed(&hashed));
        opened.map(|source| (source, progress))
    });
    let opened = source.await.map_err(|error| Failure::failed(format!("read the sample: {error}")))?;
    let (source, progress) = opened.map_err(|error| Failure::failed(error.to_string()))?;
    let started = std::time::Instant::now();
    let mut sent = Sent::default();
    let (summary, failure) = send_source(client, source, 32, progress, &mut sent).await;
    if let Some(failure) = failure {
        return Err(failure);
    }
    client.admin().settle(SettleRequest {}).await?;
    let seconds = started.elapsed().as_secs_f64();
    screen.line(&format!(
        "import   {} ({:.1} MB of bodies) in {seconds:.1} s, sealed and indexed: {:.0} entries/s, {:.1} MB/s",
        counted(sent.accepted + sent.duplicates, "entry", "entries"),
        summary.body_bytes as f64 / 1e6,
        summary.entries as f64 / seconds,
        summary.body_bytes as f64 / 1e6 / seconds,
    ))
}

async fn rows_there(client: &Client) -> Result<u64, Failure> {
    let status = client.admin().status(siltstone_proto::v1::StatusRequest {}).await?.into_inner();
    let namespaces: Vec<String> = status.namespaces.into_iter().map(|namespace| namespace.name).collect();
    if namespaces.is_empty() {
        return Ok(0);
    }
    let spec = QuerySpec { namespaces, ..QuerySpec::default() };
    Ok(client.search().count(CountRequest { spec: Some(spec) }).await?.into_inner().count)
}

fn write_sample(config: &Config, path: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::failed(format!("write the sample to {}: {error}", path.display()));
    let partial = PathBuf::from(format!("{}.partial", path.display()));
    let mut file = std::fs::File::create(&partial).map_err(failed)?;
    let (mut generator, mut entry, mut bytes) = (Generator::new(config), LogEntry::default(), Vec::with_capacity(WRITE_BYTES * 2));
    while generator.next_into(&mut entry) {
        entry.write_ndjson(&mut bytes);
        if bytes.len() >= WRITE_BYTES {
            file.write_all(&bytes).map_err(failed)?;
            bytes.clear();
        }
    }
    file.write_all(&bytes).map_err(failed)?;
    std::fs::rename(&partial, path).map_err(failed)
}

/// A handful of queries of each kind, around an incident that the sample logs have.
async fn examples(server: &ServerArgs, incidents: &[Incident], clock: &dyn Clock, screen: &mut Screen) -> Result<(), Failure> {
    let Some(incident) = incidents.iter().find(|incident| incident.name.contains("postgres")).or(incidents.first()) else {
        return Err(Failure::failed("show examples: the sample logs have no incident"));
    };
    let mut namespaces: Vec<String> = incident.evidence.iter().map(|evidence| evidence.namespace.to_owned()).collect();
    namespaces.push(incident.root_cause.0.to_owned());
    namespaces.sort();
    namespaces.dedup();
    screen.line(&format!("{} {}", screen.paint("1", "An incident in these logs:"), incident.title))?;
    let ask = |query: &str, names: &[String]| QueryArgs {
        query: query.to_owned(),
        namespace: names.to_vec(),
        since: None,
        until: None,
        min_commit: String::new(),
        wait_vectors: true,
        model: String::new(),
        output: Output::Table,
        server: server.clone(),
    };
    let phrase = incident.evidence.first().map_or("error", |evidence| evidence.phrase);
    let root = vec![incident.root_cause.0.to_owned()];

    heading(screen, "How many?", "count", "severity>=error", &namespaces)?;
    query::count(&CountArgs { query: ask("severity>=error", &namespaces), vectors: VectorArgs::default() }, clock, screen).await?;
    heading(screen, "What kinds of trouble?", "patterns --limit 8", "severity>=error", &namespaces)?;
    query::patterns(&PatternsArgs { query: ask("severity>=error", &namespaces), near: None, limit: 8 }, clock, screen).await?;
    heading(screen, "When?", "histogram --step 1h", "severity>=error", &namespaces)?;
    query::histogram(&HistogramArgs { query: ask("severity>=error", &namespaces), step: Some("1h".to_owned()) }, clock, screen).await?;
    let quoted = format!("\"{phrase}\"");
    heading(screen, "Where exactly? A phrase, newest first", "search --limit 5 --order newest", &quoted, &namespaces)?;
    let search = |query: &str, names: &[String], order, limit| SearchArgs {
        query: ask(query, names),
        limit,
        order,
        collapse: None,
        with_vectors: false,
        vectors: VectorArgs::default(),
    };
    query::search(&search(&quoted, &namespaces, Some(OrderArg::Newest), 5), clock, screen).await?;
    heading(screen, "What is it like? By meaning, one entry a pattern", "search --limit 5 --collapse pattern", MEANT, &namespaces)?;
    let meant = SearchArgs { collapse: Some(CollapseArg::Pattern), ..search(MEANT, &namespaces, None, 5) };
    query::search(&meant, clock, screen).await?;
    heading(screen, "Words, best matches first", "search --limit 5", "connection AND (timeout OR refused) -debug", &namespaces)?;
    query::search(&search("connection AND (timeout OR refused) -debug", &namespaces, None, 5), clock, screen).await?;
    let slow = "latency_ms:>1000";
    heading(screen, "Any attribute", "search --limit 3", slow, &namespaces)?;
    query::search(&search(slow, &namespaces, None, 3), clock, screen).await?;
    heading(screen, "How is that answered?", "explain", &quoted, &root)?;
    query::explain(&CountArgs { query: ask(&quoted, &root), vectors: VectorArgs::default() }, clock, screen).await?;
    screen.line("")?;
    screen.line(&screen.paint("1", "What the server holds   $ siltstone status"))?;
    super::status::status(&StatusArgs { output: Output::Table, server: server.clone() }, screen).await
}

fn heading(screen: &mut Screen, title: &str, command: &str, query: &str, namespaces: &[String]) -> Result<(), Failure> {
    screen.flush()?;
    screen.line("")?;
    let (verb, options) = command.split_once(' ').map_or((command, String::new()), |(verb, options)| (verb, format!(" {options}")));
    let names: String = namespaces.iter().map(|name| format!(" -n {name}")).collect();
    screen.line(&format!("{}   $ siltstone {verb}{names} '{query}'{options}", screen.paint("1", title)))
}
