//! `siltstone import`: batches from sources, sent with keys, so that a repeated or broken-off import adds nothing twice (AK-2).

mod args;
mod progress;
mod send;

pub(crate) use args::ImportArgs;
pub(crate) use progress::Progress;
pub(crate) use send::{Sent, send_source};

use crate::args::ServerArgs;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{Screen, counted, grouped};
use serde_json::json;
use siltstone_core::Clock;
use siltstone_import::{ImportSource, Input, SourceId, Summary};
use siltstone_proto::v1::{CountRequest, QuerySpec};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};
use tonic::Code;

/// How long an import waits for a server, at the start or in between, before it gives up.
pub(crate) const SERVER_PATIENCE: Duration = Duration::from_secs(60);

/// Refused lines of a file that are shown; all are counted.
const SAMPLES_SHOWN: usize = 5;

/// What came of all sources.
#[derive(Default)]
pub(crate) struct Outcome {
    pub sent: Sent,
    pub read: Vec<(String, Summary)>,
}

pub(crate) async fn import(args: &ImportArgs, clock: &dyn Clock, screen: &mut Screen) -> Result<(), Failure> {
    let started = Instant::now();
    let options = args.options()?;
    let client = connect_patiently(&args.server).await?;
    let mut outcome = Outcome::default();
    for file in &args.files {
        let input = input_of(file, args, clock)?;
        let name = input.name();
        let mut progress = Progress::new(&name);
        let options = options.clone();
        let opening = tokio::task::spawn_blocking(move || {
            let opened = ImportSource::open(input, &options, &mut |hashed| progress.hashed(&hashed));
            (opened, progress)
        });
        let (opened, progress) = opening.await.map_err(|error| Failure::failed(format!("read {name}: {error}")))?;
        let source = opened.map_err(|error| Failure::failed(error.to_string()))?;
        let (sent, summary) = send_source(&client, source, args.in_flight as usize, progress).await?;
        outcome.sent.add(sent);
        outcome.read.push((name, summary));
    }
    wait_until_visible(&client, &outcome.sent).await?;
    report(args, screen, &outcome, started.elapsed())?;
    let refused = outcome.refused();
    if args.strict && refused > 0 {
        return Err(Failure::failed(format!("--strict: {} refused", counted(refused, "entry was", "entries were"))));
    }
    Ok(())
}

fn input_of(file: &Path, args: &ImportArgs, clock: &dyn Clock) -> Result<Input, Failure> {
    if file != Path::new("-") {
        return Ok(Input::File(file.to_owned()));
    }
    if args.files.len() > 1 && args.source_id.is_some() && args.files.iter().filter(|file| *file == Path::new("-")).count() > 1 {
        return Err(Failure::usage("read standard input: it can be named once"));
    }
    let id = match &args.source_id {
        Some(name) => SourceId::Given(name.clone()),
        None => SourceId::Run(format!("{:x}-{:x}", clock.now_ns(), std::process::id())),
    };
    Ok(Input::Stdin { id })
}

/// Tries to connect until a server is there, for a while.
pub(crate) async fn connect_patiently(args: &ServerArgs) -> Result<Client, Failure> {
    let started = Instant::now();
    let mut told = false;
    loop {
        match Client::connect(args).await {
            Err(failure) if failure.exit_code == 1 && started.elapsed() < SERVER_PATIENCE => {
                if !told {
                    eprintln!("waiting for a server at {} (for {} s at most)", args.server, SERVER_PATIENCE.as_secs());
                    told = true;
                }
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            outcome => return outcome,
        }
    }
}

/// The last check: a query that covers the newest commit sees what was imported.
async fn wait_until_visible(client: &Client, sent: &Sent) -> Result<(), Failure> {
    let (Some(token), false) = (&sent.token, sent.namespaces.is_empty()) else {
        return Ok(());
    };
    let spec = QuerySpec { namespaces: sent.namespaces.iter().cloned().collect(), min_commit: token.clone(), ..QuerySpec::default() };
    match client.search().count(CountRequest { spec: Some(spec) }).await {
        // Who may write need not be allowed to read: the acknowledgement then has to do.
        Err(status) if status.code() == Code::PermissionDenied => Ok(()),
        Err(status) => Err(Failure::failed(format!("check that the import is visible: {}", Failure::from_status(&status).message))),
        Ok(_) => Ok(()),
    }
}

impl Outcome {
    fn refused(&self) -> u64 {
        self.sent.refused_by_server() + self.read.iter().map(|(_, summary)| summary.refused.total()).sum::<u64>()
    }

    fn reasons(&self) -> BTreeMap<String, u64> {
        let mut reasons: BTreeMap<String, u64> = self.sent.refused.iter().map(|(reason, (count, _))| (reason.clone(), *count)).collect();
        for (_, summary) in &self.read {
            for (reason, count) in summary.refused.counts() {
                *reasons.entry(reason.as_str().to_owned()).or_default() += count;
            }
        }
        reasons
    }
}

fn report(args: &ImportArgs, screen: &mut Screen, outcome: &Outcome, elapsed: Duration) -> Result<(), Failure> {
    let (sent, reasons) = (&outcome.sent, outcome.reasons());
    let body_bytes: u64 = outcome.read.iter().map(|(_, summary)| summary.body_bytes).sum();
    if args.json {
        return screen.json(&json!({
            "accepted": sent.accepted, "duplicates": sent.duplicates, "refused": outcome.refused(), "refused_by_reason": reasons,
            "body_bytes": body_bytes, "elapsed_s": elapsed.as_secs_f64(), "commit_token": sent.token,
            "namespaces": sent.namespaces.iter().collect::<BTreeSet<_>>(),
        }));
    }
    let seconds = elapsed.as_secs_f64().max(1e-9);
    screen.line(&format!(
        "imported {} ({:.1} MB of bodies) in {seconds:.1} s: {}/s, {:.1} MB/s",
        counted(sent.accepted, "entry", "entries"),
        body_bytes as f64 / 1e6,
        grouped((sent.accepted as f64 / seconds) as u64),
        body_bytes as f64 / 1e6 / seconds,
    ))?;
    if sent.duplicates > 0 {
        screen
            .line(&format!("{} there before, from an earlier import of the same content", counted(sent.duplicates, "entry was", "entries were")))?;
    }
    for (name, summary) in &outcome.read {
        if summary.timestamps_missing + summary.timestamps_unreadable > 0 {
            screen.line(&format!(
                "{name}: {} no timestamp that could be read: the time of arrival stands in for it",
                counted(summary.timestamps_missing + summary.timestamps_unreadable, "entry had", "entries had")
            ))?;
        }
    }
    if outcome.refused() > 0 {
        screen.line(&format!("refused {}:", counted(outcome.refused(), "entry", "entries")))?;
        for (reason, count) in &reasons {
            screen.line(&format!("  {:>12}  {reason}", grouped(*count)))?;
        }
        for (name, summary) in &outcome.read {
            for sample in summary.refused.samples().iter().take(SAMPLES_SHOWN) {
                let detail = if sample.detail.is_empty() { String::new() } else { format!(" ({})", sample.detail) };
                screen.line(&format!("  {name}: line {}, byte {}: {}{detail}", sample.line, sample.offset, sample.reason.as_str()))?;
            }
        }
        for (_, example) in sent.refused.values() {
            screen.line(&format!("  {example}"))?;
        }
    }
    if let Some(token) = &sent.token {
        screen.line(&format!("commit token {token}  (give it to a query as --min-commit)"))?;
    }
    Ok(())
}
