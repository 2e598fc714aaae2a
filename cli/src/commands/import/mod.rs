//! `siltstone import`: batches from sources, sent with keys, so that a repeated or broken-off import adds nothing twice (AK-2).

mod args;
mod progress;
mod report;
mod send;

pub(crate) use args::ImportArgs;
pub(crate) use progress::Progress;
pub(crate) use send::{Sent, send_source};

use crate::args::ServerArgs;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{Screen, counted};
use siltstone_core::Clock;
use siltstone_import::{ImportOptions, ImportSource, Input, SourceId, Summary};
use siltstone_proto::v1::{CountRequest, QuerySpec};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use tonic::Code;

/// How long an import waits for a server, at the start or in between, before it gives up.
pub(crate) const SERVER_PATIENCE: Duration = Duration::from_secs(60);

/// Namespaces that one query looks into; a query may name 1,000.
const NAMESPACES_ASKED: usize = 500;

/// What came of all sources.
#[derive(Default)]
pub(crate) struct Outcome {
    pub sent: Sent,
    pub read: Vec<(String, Summary)>,
}

pub(crate) async fn import(args: &ImportArgs, clock: &dyn Clock, screen: &mut Screen) -> Result<(), Failure> {
    let started = Instant::now();
    let options = args.options()?;
    let mut outcome = Outcome::default();
    let work = async {
        let client = connect_patiently(&args.server).await?;
        for file in &args.files {
            import_one(&client, file, args, &options, clock, &mut outcome).await?;
        }
        wait_until_visible(&client, &outcome.sent).await
    };
    let ended = tokio::select! {
        ended = work => ended,
        _ = tokio::signal::ctrl_c() => Err(interrupted(args)),
    };
    let refused = outcome.refused();
    let is_in_vain = refused > 0 && outcome.sent.accepted + outcome.sent.duplicates == 0;
    report::report(args, screen, &outcome, ended.as_ref().err(), started.elapsed())?;
    ended?;
    if is_in_vain {
        let what = counted(refused, "entry was refused", "entries were refused");
        return Err(Failure::failed(format!("nothing was imported: {what}\n  help: {}", report::advice(&outcome))));
    }
    if args.strict && refused > 0 {
        return Err(Failure::failed(format!("--strict: {} refused", counted(refused, "entry was", "entries were"))));
    }
    Ok(())
}

async fn import_one(
    client: &Client,
    file: &Path,
    args: &ImportArgs,
    options: &ImportOptions,
    clock: &dyn Clock,
    outcome: &mut Outcome,
) -> Result<(), Failure> {
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
    let (read, failure) = send_source(client, source, args.in_flight as usize, progress, &mut outcome.sent).await;
    outcome.read.push((name, read));
    failure.map_or(Ok(()), Err)
}

fn interrupted(args: &ImportArgs) -> Failure {
    let is_nameless_stream = args.source_id.is_none() && args.files.iter().any(|file| file == Path::new("-"));
    let help = if is_nameless_stream {
        "what was acknowledged is there; standard input has no identity without --source-id, so repeating the import adds it again"
    } else {
        "what was acknowledged is there; repeat the same import to go on: nothing is added twice"
    };
    Failure::failed(format!("the import was interrupted\n  help: {help}"))
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
    let namespaces: Vec<_> = sent.namespaces.iter().cloned().collect();
    for group in namespaces.chunks(NAMESPACES_ASKED) {
        let spec = QuerySpec { namespaces: group.to_vec(), min_commit: token.clone(), ..QuerySpec::default() };
        match client.search().count(CountRequest { spec: Some(spec) }).await {
            // Who may write need not be allowed to read: the acknowledgement then has to do.
            Err(status) if status.code() == Code::PermissionDenied => {}
            Err(status) => return Err(Failure::failed(format!("check that the import is visible: {}", Failure::from_status(&status).message))),
            Ok(_) => {}
        }
    }
    Ok(())
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
