//! Nodes on a simulated disk that lose their power, their disk's syncs or their room, again and again, while clients write and readers look.
//!
//! A campaign is one directory and its books: some lives, each ended by a fate of its own, and a last one in which everything is acknowledged,
//! sealed, merged and collected, and nothing may be left over. Threads run as they like: a seed repeats the script, not the timing.

use crate::fate::Fate;
use crate::harness::{judged, runtime, wait_until_gone, within};
use crate::ledger::{Ledger, LedgerConfig};
use crate::leftovers::files;
use crate::look::Violation;
use crate::lying::LyingDisk;
use crate::panics;
use crate::rng::Rng;
use crate::summary::{Failure, Summary};
use crate::traffic::{SharedLedger, write_some};
use crate::visitor::{GC_KEEP_MS, Visitor};
use parking_lot::Mutex;
use siltstone_core::ManualClock;
use siltstone_dev::{DevConfig, DevNode, DevParts};
use siltstone_disk::{Disk, LossyDisk};
use std::path::Path;
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
    /// Syncs of objects do nothing: then a run must fail.
    pub is_disk_lying: bool,
}

impl Default for PowerConfig {
    fn default() -> Self {
        Self { seed: 1, lives: 150, lives_per_campaign: 12, requests: 80, is_disk_lying: false }
    }
}

/// The node's directory on the simulated disk.
const DATA: &str = "/data";

/// The clock begins here.
const BEGIN_NS: i64 = 1_700_000_000_000_000_000;

/// Runs campaigns until there were so many lives.
///
/// # Errors
/// The first failure.
pub fn run(config: &PowerConfig) -> Result<Summary, Failure> {
    panics::watch();
    let runtime = runtime(config.seed)?;
    let mut summary = Summary::default();
    let mut seed = config.seed;
    while summary.lives() < config.lives {
        runtime.block_on(Campaign::new(seed, config).run(&mut summary))?;
        seed += 1;
        summary.tell(seed);
    }
    Ok(summary)
}

struct Campaign {
    seed: u64,
    rng: Rng,
    lives: u64,
    requests: u64,
    is_disk_lying: bool,
    disk: LossyDisk,
    clock: Arc<ManualClock>,
    ledger: SharedLedger,
    /// What became of each life.
    ends: Vec<String>,
}

/// A node that lives, and what says that it is dying.
struct Life {
    node: DevNode,
    visitor: Visitor,
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
            is_disk_lying: config.is_disk_lying,
            disk: LossyDisk::new(),
            clock: Arc::new(ManualClock::at_ns(BEGIN_NS)),
            ledger: Arc::new(Mutex::new(Ledger::new(seed, LedgerConfig::default()))),
            ends: Vec::new(),
        }
    }

    async fn run(mut self, summary: &mut Summary) -> Result<(), Failure> {
        for life in 0..self.lives {
            let fate = Fate::draw(&mut self.rng, self.requests);
            let outcome = within("a life", self.live(fate, summary)).await;
            self.judge(outcome, life)?;
            summary.ended(fate.name());
        }
        let outcome = within("the last life", self.live_to_the_end(summary)).await;
        self.judge(outcome, self.lives)?;
        summary.ended("to the end");
        summary.add(&self.ledger.lock().totals());
        Ok(())
    }

    fn judge(&self, outcome: Result<(), Violation>, life: u64) -> Result<(), Failure> {
        let violations = judged(&self.ledger, outcome);
        if violations.is_empty() { Ok(()) } else { Err(Failure { seed: self.seed, life, ends: self.ends.clone(), violations }) }
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
                failures.extend(life.visitor.look(summary).await.err());
                if let Fate::PowerLoss { after } = fate {
                    self.disk.arm_crash_after(after);
                }
                failures.extend(self.busy(&life, fate, summary).await);
                self.end(life).await?;
                failures
            }
            Err(failure) => vec![failure],
        };
        // Not before every client's task is gone with the node that it held.
        self.ledger.lock().server_gone();
        let is_disturbed = self.disk.is_powered_off() || fate.breaks_the_disk();
        if let Some(failure) = failures.first().filter(|_| !is_disturbed) {
            return Err(Violation::new("AK-1", format!("nothing was broken, but: {failure}")));
        }
        // A process that ends leaves what it wrote with the system, unless the power goes as well.
        let is_crash = self.disk.is_powered_off() || (fate.breaks_the_disk() && self.rng.once_in(2));
        let totals = self.ledger.lock().totals();
        self.ends.push(format!("{fate:?}, crash {is_crash}, {} of {} batches acknowledged, {failures:?}", totals.acknowledged, totals.batches));
        if is_crash {
            self.disk = self.disk.crash(self.rng.next());
        }
        // A fate that did not strike in this life must not strike in the next.
        self.disk.set_space_left(None);
        self.disk.fail_sync(u64::MAX);
        self.disk.arm_crash_after(u64::MAX);
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
        let visits = life.visitor.visit(rng, false, summary);
        tokio::select! {
            failures = write_some(&life.visitor.engine, &self.ledger, clients, self.requests) => failures,
            failure = visits => vec![failure],
            () = dead => Vec::new(),
            () = tokio::time::sleep(kill_after) => Vec::new(),
        }
    }

    /// The last life, undisturbed, and one more after it.
    async fn live_to_the_end(&mut self, summary: &mut Summary) -> Result<(), Violation> {
        let broken = |failure: String| Violation::new("AK-1", format!("start, though nothing is broken any more: {failure}"));
        let life = self.start().await.map_err(broken)?;
        life.visitor.settle_everything(summary).await?;
        self.end(life).await?;
        let life = self.start().await.map_err(broken)?;
        life.visitor.find_it_again(life.node.store().as_ref(), summary).await?;
        let left_over = files(&self.disk, Path::new(DATA).join("objects").as_path()).map_err(broken)?;
        if !left_over.is_empty() {
            return Err(Violation::new("MF-1", format!("files of no object are still there: {}", left_over.join(", "))));
        }
        self.end(life).await
    }

    async fn start(&mut self) -> Result<Life, String> {
        if self.rng.once_in(4) {
            // A machine's clock may be set back while a process is down.
            self.clock.advance_ns(-i64::try_from(self.rng.below(8_000_000_000)).expect("eight seconds"));
        }
        let disk: Arc<dyn Disk> = if self.is_disk_lying { Arc::new(LyingDisk(self.disk.clone())) } else { Arc::new(self.disk.clone()) };
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
        let visitor = Visitor::new(node.indexer(), &self.ledger, &self.clock);
        Ok(Life { node, visitor, handle, is_fatal })
    }

    /// Ends a node. Nothing of it may live on.
    async fn end(&self, life: Life) -> Result<(), Violation> {
        let Life { node, visitor, handle, .. } = life;
        drop(visitor);
        node.shutdown().await;
        wait_until_gone(|| handle.strong_count()).await
    }
}

/// Settings under which a few dozen batches see flushes, chunks that close by age, seals, merges, collections, snapshots and new log files;
/// sometimes with caches that are far too small, which is slow.
fn eager(has_small_caches: bool) -> DevConfig {
    let mut config = DevConfig::new(DATA.into());
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
