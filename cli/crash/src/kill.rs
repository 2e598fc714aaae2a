//! Server processes that are killed again and again, while clients write over gRPC and readers count.
//!
//! A killed process leaves what it wrote with the system; power is [`crate::power`]'s affair.

use crate::grpc::Grpc;
use crate::harness::{judged, runtime, wait_until_gone};
use crate::ledger::{Ledger, LedgerConfig};
use crate::look::Violation;
use crate::process::Process;
use crate::rng::Rng;
use crate::summary::{Failure, Summary};
use crate::target::{Figures, Target};
use crate::traffic::{SharedLedger, glance, look_at_all, write_all_unknown, write_some};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How much is done.
#[derive(Clone, Debug)]
pub struct KillConfig {
    /// The `siltstone` binary.
    pub binary: PathBuf,
    /// The seed of the first campaign; each later one has the next.
    pub seed: u64,
    /// Lives of processes in all.
    pub lives: u64,
    /// Lives on one directory.
    pub lives_per_campaign: u64,
    /// A process is killed so long after it was ready, at most.
    pub delay_ms_max: u64,
}

/// How a process ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Killed so long after it was started, ready or not.
    KillAtStart { micros: u64 },
    /// Killed so long after it was ready and looked at.
    Kill { micros: u64 },
    /// Asked to stop while clients write.
    Stop { micros: u64 },
}

/// Pauses between two glances of a reader.
const GLANCE_PAUSE: Duration = Duration::from_millis(15);

/// Runs campaigns until there were so many lives.
///
/// # Errors
/// The first failure.
pub fn run(config: &KillConfig) -> Result<Summary, Failure> {
    let broken = |error: std::io::Error| Failure {
        seed: config.seed,
        life: 0,
        ends: Vec::new(),
        violations: vec![Violation::new("AK-1", format!("make a directory: {error}"))],
    };
    let runtime = runtime(config.seed)?;
    let mut summary = Summary::default();
    let mut seed = config.seed;
    while summary.lives() < config.lives {
        let dir = tempfile::tempdir().map_err(broken)?;
        let lives = config.lives_per_campaign.min(config.lives - summary.lives());
        let campaign = Campaign {
            config,
            seed,
            rng: Rng::new(seed),
            dir: dir.path().to_owned(),
            ledger: Arc::new(Mutex::new(Ledger::new(seed, LedgerConfig::default()))),
            ends: Vec::new(),
        };
        runtime.block_on(campaign.run(lives, &mut summary))?;
        seed += 1;
        summary.tell(seed);
    }
    Ok(summary)
}

struct Campaign<'a> {
    config: &'a KillConfig,
    seed: u64,
    rng: Rng,
    dir: PathBuf,
    ledger: SharedLedger,
    /// How each life ended.
    ends: Vec<String>,
}

impl Campaign<'_> {
    async fn run(mut self, lives: u64, summary: &mut Summary) -> Result<(), Failure> {
        for life in 0..lives {
            let end = self.draw();
            let outcome = self.live(end, summary).await;
            self.ends.push(format!("{end:?}"));
            self.judge(outcome, life)?;
            summary.ended(match end {
                End::KillAtStart { .. } => "kills at the start",
                End::Kill { .. } => "kills",
                End::Stop { .. } => "stops",
            });
        }
        let outcome = self.live_to_the_end(summary).await;
        self.judge(outcome, lives)?;
        summary.add(&self.ledger.lock().totals());
        Ok(())
    }

    fn draw(&mut self) -> End {
        let delay_micros = 1_000 * self.config.delay_ms_max;
        // Short lives are the likelier ones: seals and merges follow writes within milliseconds.
        let micros = self.rng.below(self.rng.clone().below(delay_micros) + 1);
        match self.rng.below(10) {
            0 | 1 => End::KillAtStart { micros: self.rng.below(250_000) },
            2 => End::Stop { micros },
            _ => End::Kill { micros },
        }
    }

    fn judge(&self, outcome: Result<(), String>, life: u64) -> Result<(), Failure> {
        let violations = judged(&self.ledger, outcome.map_err(|failure| Violation::new("AK-1", failure)));
        if violations.is_empty() { Ok(()) } else { Err(Failure { seed: self.seed, life, ends: self.ends.clone(), violations }) }
    }

    async fn live(&mut self, end: End, summary: &mut Summary) -> Result<(), String> {
        let mut process = Process::start(&self.config.binary, &self.dir)?;
        if let End::KillAtStart { micros } = end {
            tokio::time::sleep(Duration::from_micros(micros)).await;
            return finish(process, true);
        }
        let (back, addr) = ready(process).await?;
        process = back;
        let server = Arc::new(connect(&process, &addr).await?);
        let looked = look_at_all(server.as_ref(), &self.ledger).await;
        looked.map_err(|failure| format!("{failure}\n{}", process.complaints()))?;
        summary.looks += 3;
        let (End::Kill { micros } | End::Stop { micros } | End::KillAtStart { micros }) = end;
        let outcome = self.busy(&server, Duration::from_micros(micros), summary).await;
        if let Err(failure) = outcome {
            return Err(format!("nothing was broken, but: {failure}\n{}", process.complaints()));
        }
        if matches!(end, End::Stop { .. }) {
            // Clients still write: their connections end while the server does.
            let clients = 1 + self.rng.below(4);
            let (server, ledger) = (server.clone(), self.ledger.clone());
            let writing = tokio::spawn(async move { write_some(&server, &ledger, usize::try_from(clients).unwrap_or(1), 50).await });
            process = blocking(move || process.stop().map(|()| process)).await??;
            writing.abort();
            let _ = writing.await;
        }
        finish(process, false)?;
        // Not before every client's task is gone with the connection that it held.
        let handle = Arc::downgrade(&server);
        drop(server);
        let gone = wait_until_gone(|| handle.strong_count()).await;
        self.ledger.lock().server_gone();
        gone.map_err(|violation| violation.to_string())
    }

    /// Clients write and readers count, until the time is over. Nothing may fail before.
    async fn busy(&mut self, server: &Arc<Grpc>, time: Duration, summary: &mut Summary) -> Result<(), String> {
        let clients = 1 + usize::try_from(self.rng.below(12)).expect("below 12");
        let mut rng = Rng::new(self.rng.next());
        let ledger = self.ledger.clone();
        let reads = async {
            let mut before = Figures::default();
            loop {
                tokio::time::sleep(GLANCE_PAUSE).await;
                let namespace = *rng.choose(ledger.lock().namespaces());
                if let Err(failure) = glance(server.as_ref(), &ledger, namespace).await {
                    return failure;
                }
                summary.looks += 1;
                match server.figures().await {
                    Ok(after) => {
                        summary.moved(&before, &after);
                        before = after;
                    }
                    Err(failure) => return failure,
                }
            }
        };
        tokio::select! {
            failures = write_some(server, &self.ledger, clients, u64::MAX) => failures.into_iter().next().map_or(Ok(()), Err),
            failure = reads => Err(failure),
            () = tokio::time::sleep(time) => Ok(()),
        }
    }

    /// The last process: everything is acknowledged, sealed and merged, and another one finds the same.
    async fn live_to_the_end(&self, summary: &mut Summary) -> Result<(), String> {
        for life in 0..2 {
            let (mut process, addr) = ready(Process::start(&self.config.binary, &self.dir)?).await?;
            let server = Arc::new(connect(&process, &addr).await?);
            if let Some(failure) = write_all_unknown(&server, &self.ledger).await.into_iter().next() {
                return Err(format!("the last requests: {failure}\n{}", process.complaints()));
            }
            look_at_all(server.as_ref(), &self.ledger).await?;
            server.settle().await?;
            look_at_all(server.as_ref(), &self.ledger).await?;
            summary.looks += 6;
            let problems = server.figures().await?.problems;
            if !problems.is_empty() {
                return Err(format!("problems in the background, though nothing was broken: {problems:?}"));
            }
            if life == 0 {
                finish(process, false)?;
            } else {
                process = blocking(move || process.stop().map(|()| process)).await??;
                finish(process, false)?;
            }
        }
        if self.ledger.lock().is_settled() { Ok(()) } else { Err("not all requests are acknowledged".to_owned()) }
    }
}

/// Kills what still runs. A process that ended by itself before, or panicked, is a failure.
fn finish(mut process: Process, may_have_ended: bool) -> Result<(), String> {
    let ended = process.ended().filter(|status| !status.success());
    process.kill();
    let complaints = process.complaints();
    match ended {
        Some(status) => Err(format!("the server ended by itself with {status}{}:\n{complaints}", if may_have_ended { " at its start" } else { "" })),
        None if complaints.contains("panicked") => Err(format!("the server panicked:\n{complaints}")),
        None => Ok(()),
    }
}

async fn ready(mut process: Process) -> Result<(Process, String), String> {
    let (process, addr) = blocking(move || {
        let addr = process.ready();
        (process, addr)
    })
    .await?;
    match addr {
        Some(addr) => Ok((process, addr)),
        None => Err(format!("the server did not become ready:\n{}", process.complaints())),
    }
}

async fn connect(process: &Process, addr: &str) -> Result<Grpc, String> {
    Grpc::connect(addr).await.map_err(|failure| format!("{failure}\n{}", process.complaints()))
}

async fn blocking<T, F>(work: F) -> Result<T, String>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())
}
