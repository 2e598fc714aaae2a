//! Nodes on a simulated disk that lose their power, their disk's syncs or their room, again and again, while clients write and readers look.
//!
//! A campaign is one directory and its books: some lives, each ended by a fate of its own, and a last one in which everything is acknowledged, sealed,
//! merged and collected, and nothing may be left over. Threads run as they like: a seed repeats the script, not the timing.

use crate::engine::Engine;
use crate::fate::Fate;
use crate::ledger::{Ledger, LedgerConfig};
use crate::look::Violation;
use crate::panics;
use crate::rng::Rng;
use crate::summary::{Failure, Summary};
use crate::target::{Figures, Target};
use crate::traffic::{SharedLedger, glance, look_at_all, write_all_unknown, write_some};
use parking_lot::Mutex;
use siltstone_core::ManualClock;
use siltstone_dev::{DevConfig, DevNode, DevParts};
use siltstone_disk::{Disk, LossyDisk};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub struct PowerConfig {
    /// The seed of the first campaign; each later one has the next.
    pub seed: u64,
    /// Lives in all.
    pub lives: u64,
    /// Lives of one campaign.
    pub lives_per_campaign: u64,
    /// Requests of one life at most.
    pub requests: u64,
}

impl Default for PowerConfig {
    fn default() -> Self {
        Self { seed: 1, lives: 150, lives_per_campaign: 12, requests: 40 }
    }
}

/// What was retired is kept for so long by the simulated clock; readers that are slower than this have no right to it.
const GC_KEEP_MS: i64 = 10_000;

/// The clock begins here.
const BEGIN_NS: i64 = 1_700_000_000_000_000_000;

/// Anything that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs campaigns until there were so many lives.
///
/// # Errors
/// The first failure.
pub fn run(config: &PowerConfig) -> Result<Summary, Failure> {
    panics::watch();
    let failed = |error: std::io::Error| Failure {
        seed: config.seed,
        life: 0,
        end: "not begun".to_owned(),
        violations: vec![Violation::new("AK-1", format!("start a runtime: {error}"))],
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(failed)?;
    let mut summary = Summary::default();
    let mut seed = config.seed;
    let mut told = Duration::ZERO;
    while summary.lives() < config.lives {
        runtime.block_on(Campaign::new(seed, config).run(&mut summary))?;
        seed += 1;
        if summary.elapsed() > told + Duration::from_secs(10) {
            told = summary.elapsed();
            eprintln!("next seed {seed}: {summary}");
        }
    }
    Ok(summary)
}

struct Campaign {
    seed: u64,
    rng: Rng,
    lives: u64,
    requests: u64,
    disk: LossyDisk,
    clock: Arc<ManualClock>,
    ledger: SharedLedger,
}

/// A node that lives, and what says that it is dying.
struct Life {
    node: DevNode,
    engine: Arc<Engine>,
    /// The disk as the node has it: gone once every part of the node is.
    handle: Weak<dyn Disk>,
    is_fatal: Arc<AtomicBool>,
}

impl Campaign {
    fn new(seed: u64, config: &PowerConfig) -> Self {
        Self {
            seed,
            rng: Rng::new(seed),
            lives: config.lives_per_campaign,
            requests: config.requests,
            disk: LossyDisk::new(),
            clock: Arc::new(ManualClock::at_ns(BEGIN_NS)),
            ledger: Arc::new(Mutex::new(Ledger::new(seed, LedgerConfig::default()))),
        }
    }

    async fn run(mut self, summary: &mut Summary) -> Result<(), Failure> {
        for life in 0..self.lives {
            let fate = Fate::draw(&mut self.rng, self.requests);
            let outcome = within("a life", self.live(fate, summary)).await;
            self.judge(outcome, life, &fate)?;
            summary.ended(fate.name());
        }
        let outcome = within("the last life", self.live_to_the_end(summary)).await;
        self.judge(outcome, self.lives, &Fate::Stop)?;
        summary.ended("to the end");
        summary.add(&self.ledger.lock().totals());
        Ok(())
    }

    fn judge(&self, outcome: Result<(), Violation>, life: u64, fate: &Fate) -> Result<(), Failure> {
        let mut violations = self.ledger.lock().take_violations();
        violations.extend(outcome.err());
        violations.extend(panics::take().into_iter().map(|panic| Violation::new("AK-1", format!("a thread panicked: {panic}"))));
        if violations.is_empty() { Ok(()) } else { Err(Failure { seed: self.seed, life, end: format!("{fate:?}"), violations }) }
    }

    /// One life: start, look, write until fate strikes, end; what comes after finds whatever the disk kept.
    async fn live(&mut self, fate: Fate, summary: &mut Summary) -> Result<(), Violation> {
        match fate {
            Fate::PowerLossAtStart { after } => self.disk.arm_crash_after(after),
            Fate::SyncError { nth } => self.disk.fail_sync(nth),
            Fate::NoSpace { bytes } => self.disk.set_space_left(Some(bytes)),
            Fate::PowerLoss { .. } | Fate::Kill | Fate::Stop => {}
        }
        let failures = match self.start().await {
            Ok(life) => {
                let mut failures = Vec::new();
                failures.extend(look_at_all(life.engine.as_ref(), &self.ledger).await.err());
                summary.looks += 3;
                if let Fate::PowerLoss { after } = fate {
                    self.disk.arm_crash_after(after);
                }
                failures.extend(self.busy(&life, fate, summary).await);
                self.ledger.lock().server_gone();
                self.end(life).await?;
                failures
            }
            Err(failure) => vec![failure],
        };
        self.ledger.lock().server_gone();
        let is_disturbed = self.disk.is_powered_off() || fate.breaks_the_disk();
        if let Some(failure) = failures.first().filter(|_| !is_disturbed) {
            return Err(Violation::new("AK-1", format!("nothing was broken, but: {failure}")));
        }
        // A process that ends leaves what it wrote with the system, unless the power goes as well.
        if self.disk.is_powered_off() || (fate.breaks_the_disk() && self.rng.once_in(2)) {
            self.disk = self.disk.crash(self.rng.next());
        }
        self.disk.set_space_left(None);
        Ok(())
    }

    /// Clients write, a reader looks, the clock moves, until all is sent or the node dies. Gives what failed.
    async fn busy(&mut self, life: &Life, fate: Fate, summary: &mut Summary) -> Vec<String> {
        let clients = 1 + usize::try_from(self.rng.below(8)).expect("below 8");
        let (disk, is_fatal, rng) = (self.disk.clone(), life.is_fatal.clone(), Rng::new(self.rng.next()));
        let dead = async move {
            while !disk.is_powered_off() && !is_fatal.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // Whatever a dying node still says is said: it must be true as well.
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        // A killed process is in the middle of something.
        let kill_after = Duration::from_micros(if fate == Fate::Kill { self.rng.below(60_000) } else { u64::MAX / 2_000 });
        let visits = self.visit(life, rng, summary);
        tokio::select! {
            failures = write_some(&life.engine, &self.ledger, clients, self.requests) => failures,
            failure = visits => vec![failure],
            () = dead => Vec::new(),
            () = tokio::time::sleep(kill_after) => Vec::new(),
        }
    }

    /// Looks and moves the clock, one after the other: what a look has the right to read is never collected meanwhile. Ends with a failure only.
    async fn visit(&self, life: &Life, mut rng: Rng, summary: &mut Summary) -> String {
        let mut before = Figures::default();
        loop {
            tokio::time::sleep(Duration::from_millis(rng.below(8))).await;
            let outcome = match rng.below(12) {
                0 => life.node.indexer().settle().await.map(|_| ()).map_err(|error| error.to_string()),
                1 | 2 => life.node.indexer().ingest().close_all().await.map(|_| ()).map_err(|error| error.to_string()),
                3..=5 => {
                    self.clock.advance_ns((GC_KEEP_MS / 2 + 1_000) * 1_000_000);
                    Ok(())
                }
                _ => {
                    summary.looks += 1;
                    let namespace = *rng.choose(self.ledger.lock().namespaces());
                    glance(life.engine.as_ref(), &self.ledger, namespace).await
                }
            };
            if let Err(failure) = outcome {
                return failure;
            }
            if let Ok(after) = life.engine.figures().await {
                summary.moved(&before, &after);
                before = after;
            }
        }
    }

    /// The last life, undisturbed, and one more after it.
    async fn live_to_the_end(&mut self, summary: &mut Summary) -> Result<(), Violation> {
        let broken = |what: &str, failure: String| Violation::new("AK-1", format!("{what}: {failure}"));
        let life = self.start().await.map_err(|failure| broken("the last start", failure))?;
        if let Some(failure) = write_all_unknown(&life.engine, &self.ledger).await.into_iter().next() {
            return Err(broken("the last requests", failure));
        }
        for step in ["sent", "sealed and merged", "collected"] {
            look_at_all(life.engine.as_ref(), &self.ledger).await.map_err(|failure| broken(step, failure))?;
            summary.looks += 3;
            life.node.indexer().settle().await.map_err(|error| broken("settle", error.to_string()))?;
            if let Some(problem) = life.node.indexer().problems().latest().first() {
                return Err(broken("a problem in the background, though nothing was broken", problem.clone()));
            }
            self.clock.advance_ns(2 * GC_KEEP_MS * 1_000_000);
            for _ in 0..2 {
                life.node.indexer().collector().collect(true).await.map_err(|error| broken("collect", error.to_string()))?;
            }
        }
        self.end(life).await?;

        let life = self.start().await.map_err(|failure| broken("one more start", failure))?;
        // Now that every earlier epoch is fenced, whatever was not named is garbage.
        self.clock.advance_ns(2 * GC_KEEP_MS * 1_000_000);
        life.node.indexer().collector().collect(true).await.map_err(|error| broken("collect", error.to_string()))?;
        look_at_all(life.engine.as_ref(), &self.ledger).await.map_err(|failure| broken("one more look", failure))?;
        let left_over = crate::leftovers::find(&life.node, &self.disk).await.map_err(|failure| broken("list the store", failure))?;
        if !left_over.is_empty() {
            return Err(Violation::new("MF-1", format!("nothing names these, and they are still there: {}", left_over.join(", "))));
        }
        if !self.ledger.lock().is_settled() {
            return Err(broken("the last requests", "not all are acknowledged".to_owned()));
        }
        self.end(life).await
    }

    async fn start(&mut self) -> Result<Life, String> {
        let disk: Arc<dyn Disk> = Arc::new(self.disk.clone());
        let handle = Arc::downgrade(&disk);
        let is_fatal = Arc::new(AtomicBool::new(false));
        let on_fatal = is_fatal.clone();
        let parts = DevParts {
            disk,
            clock: self.clock.clone(),
            random: self.rng.next(),
            on_fatal: Arc::new(move |_| on_fatal.store(true, Ordering::SeqCst)),
        };
        let node = DevNode::start(eager(self.rng.once_in(8)), parts).await.map_err(|error| error.to_string())?;
        let engine = Arc::new(Engine::new(node.indexer().clone()));
        Ok(Life { node, engine, handle, is_fatal })
    }

    /// Ends a node. Nothing of it may live on: in a process that goes on, it would be a leak, and on a disk that goes on, a second writer.
    async fn end(&self, life: Life) -> Result<(), Violation> {
        let Life { node, engine, handle, .. } = life;
        drop(engine);
        node.shutdown().await;
        for _ in 0..10_000 {
            if handle.strong_count() == 0 {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Err(Violation::new("EP-1", format!("10 s after its end the node still has {} handles of its disk", handle.strong_count())))
    }
}

async fn within<F>(what: &str, work: F) -> Result<(), Violation>
where
    F: Future<Output = Result<(), Violation>>,
{
    let hangs = || Violation::new("AK-1", format!("{what} hangs: it takes longer than {} s", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| Err(hangs()))
}

/// Settings under which a few dozen batches see flushes, chunks that close by age, seals, merges, collections, snapshots and new log files; sometimes with
/// caches that are far too small, which is slow.
fn eager(has_small_caches: bool) -> DevConfig {
    let mut config = DevConfig::new("/data".into());
    let indexer = &mut config.indexer;
    indexer.ingest.writer.flush_interval_ms = 1;
    indexer.ingest.writer.flush_bytes = 4_000;
    indexer.ingest.writer.chunk_age_ms_max = 200;
    indexer.seal.body_bytes_min = 1_000;
    indexer.seal.wait_ms_max = 3;
    indexer.seal.body_bytes_max = 20_000;
    indexer.seal.unit_chunks_max = 3;
    indexer.merge.fan_in = 2;
    indexer.gc.keep_ms = GC_KEEP_MS;
    indexer.gc.round_ms = 4;
    indexer.gc.rounds_per_list = 2;
    let cache_bytes = if has_small_caches { 100_000 } else { 8 << 20 };
    indexer.view.segment_bytes_max = cache_bytes;
    indexer.view.chunk_bytes_max = cache_bytes;
    indexer.live.bytes_max = cache_bytes;
    config.metadata.snapshot_entries = 60;
    config.metadata.log_entries_kept = 10;
    config.metadata.wal.segment_bytes_max = 16_000;
    config
}
