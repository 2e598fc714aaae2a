//! Indexers over a metadata group and an object store that fail, answer late or not at all, while clients write and readers look.
//!
//! What [`crate::power`] does to the medium, this does to the calls: commands of earlier lives arrive after their epoch was fenced (EP-1), puts that
//! were reported as failed have happened, outcomes stay unknown past all patience. Everything is in memory.

use crate::group::TroubledGroup;
use crate::harness::{judged, runtime, wait_until_gone, within};
use crate::ledger::{Ledger, LedgerConfig};
use crate::look::Violation;
use crate::panics;
use crate::rng::Rng;
use crate::summary::{Failure, Summary};
use crate::traffic::{SharedLedger, write_some};
use crate::visitor::{GC_KEEP_MS, Visitor};
use parking_lot::Mutex;
use siltstone_core::{Incarnation, ManualClock};
use siltstone_indexer::{Indexer, IndexerConfig, Patience};
use siltstone_metadata::LocalMetadata;
use siltstone_store::{Effect, Fault, FaultRule, FaultyStore, MemoryStore, ObjectStore, Operation};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub struct FaultsConfig {
    /// The seed of the first campaign; each later one has the next.
    pub seed: u64,
    /// Lives in all.
    pub lives: u64,
    /// Lives of one campaign.
    pub lives_per_campaign: u64,
    /// Requests of one life at most.
    pub requests: u64,
}

impl Default for FaultsConfig {
    fn default() -> Self {
        Self { seed: 1, lives: 60, lives_per_campaign: 6, requests: 60 }
    }
}

/// The clock begins here.
const BEGIN_NS: i64 = 1_700_000_000_000_000_000;

/// Runs campaigns until there were so many lives.
///
/// # Errors
/// The first failure.
pub fn run(config: &FaultsConfig) -> Result<Summary, Failure> {
    panics::watch();
    let runtime = runtime(config.seed)?;
    let mut summary = Summary::default();
    let mut seed = config.seed;
    while summary.lives() < config.lives {
        runtime.block_on(Campaign::new(seed, config, runtime.handle().clone()).run(&mut summary))?;
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
    group: Arc<TroubledGroup>,
    objects: Arc<dyn ObjectStore>,
    clock: Arc<ManualClock>,
    ledger: SharedLedger,
}

struct Life {
    visitor: Visitor,
    store: Arc<FaultyStore>,
    /// Gone once every part of the indexer is.
    handle: Weak<FaultyStore>,
}

impl Campaign {
    fn new(seed: u64, config: &FaultsConfig, runtime: Handle) -> Self {
        let clock = Arc::new(ManualClock::at_ns(BEGIN_NS));
        let group = LocalMetadata::new(Incarnation(seed.max(1)), clock.clone());
        Self {
            seed,
            rng: Rng::new(seed),
            lives: config.lives_per_campaign,
            requests: config.requests,
            group: Arc::new(TroubledGroup::new(group, seed, runtime)),
            objects: Arc::new(MemoryStore::new()),
            clock,
            ledger: Arc::new(Mutex::new(Ledger::new(seed, LedgerConfig::default()))),
        }
    }

    async fn run(mut self, summary: &mut Summary) -> Result<(), Failure> {
        for life in 0..self.lives {
            let outcome = within("a life", self.live(summary)).await;
            self.judge(outcome, life)?;
            summary.ended("ends in trouble");
        }
        let outcome = within("the last life", self.live_to_the_end(summary)).await;
        self.judge(outcome, self.lives)?;
        summary.ended("to the end");
        summary.add(&self.ledger.lock().totals());
        Ok(())
    }

    fn judge(&self, outcome: Result<(), Violation>, life: u64) -> Result<(), Failure> {
        let violations = judged(&self.ledger, outcome);
        if violations.is_empty() { Ok(()) } else { Err(Failure { seed: self.seed, life, ends: Vec::new(), violations }) }
    }

    async fn live(&mut self, summary: &mut Summary) -> Result<(), Violation> {
        self.group.set_troubles(self.rng.below(200));
        let Ok(life) = self.start().await else { return Ok(()) };
        self.inject(&life.store);
        let clients = 1 + usize::try_from(self.rng.below(8)).expect("below 8");
        let (rng, time) = (Rng::new(self.rng.next()), Duration::from_millis(20 + self.rng.below(400)));
        tokio::select! {
            _ = write_some(&life.visitor.engine, &self.ledger, clients, self.requests) => {}
            _ = life.visitor.visit(rng, true, summary) => {}
            () = tokio::time::sleep(time) => {}
        }
        let ended = end(life).await;
        // Not before every client's task is gone with the indexer that it held.
        self.ledger.lock().server_gone();
        ended
    }

    /// Faults of the store, each at some operation of its kind.
    fn inject(&mut self, store: &FaultyStore) {
        for _ in 0..self.rng.below(6) {
            let fault = Fault::Other { detail: "injected".to_owned() };
            let operation = *self.rng.choose(&[Operation::Put, Operation::Put, Operation::GetRange, Operation::List, Operation::Delete]);
            let effect = match self.rng.below(4) {
                0 => Effect::Fail(fault),
                1 | 2 => Effect::FailAfter(fault),
                _ => Effect::Delay(Duration::from_millis(self.rng.below(40))),
            };
            store.inject(FaultRule::new(effect).on(operation).nth(1 + self.rng.below(30)));
        }
    }

    async fn live_to_the_end(&mut self, summary: &mut Summary) -> Result<(), Violation> {
        self.group.set_troubles(0);
        self.group.wait_for_late().await;
        let broken = |failure: String| Violation::new("AK-1", format!("start, though nothing is broken any more: {failure}"));
        let life = self.start().await.map_err(broken)?;
        life.visitor.settle_everything(summary).await?;
        end(life).await?;
        let life = self.start().await.map_err(broken)?;
        life.visitor.find_it_again(self.objects.as_ref(), summary).await?;
        end(life).await
    }

    async fn start(&mut self) -> Result<Life, String> {
        if self.rng.once_in(4) {
            // A machine's clock may be set back while a process is down.
            self.clock.advance_ns(-i64::try_from(self.rng.below(8_000_000_000)).expect("eight seconds"));
        }
        let store = Arc::new(FaultyStore::new(self.objects.clone()));
        let handle = Arc::downgrade(&store);
        let patience_ms = *self.rng.choose(&[0, 30, 200]);
        let config = eager(Patience { unknown_outcome_ms_max: patience_ms, retry_ms: 2, failure_ms: 5 });
        let indexer = Indexer::start(config, store.clone(), self.group.clone(), self.clock.clone()).await.map_err(|error| error.to_string())?;
        Ok(Life { visitor: Visitor::new(&indexer, &self.ledger, &self.clock), store, handle })
    }
}

/// Ends an indexer. Nothing of it may live on.
async fn end(life: Life) -> Result<(), Violation> {
    let Life { visitor, store, handle } = life;
    drop((visitor, store));
    wait_until_gone(|| handle.strong_count()).await
}

fn eager(patience: Patience) -> IndexerConfig {
    let mut config = IndexerConfig::default();
    config.ingest.auto_create_namespaces = true;
    config.ingest.writer.flush_interval_ms = 1;
    config.ingest.writer.flush_bytes = 4_000;
    config.ingest.writer.chunk_age_ms_max = 200;
    config.ingest.writer.patience = patience;
    config.seal.body_bytes_min = 1_000;
    config.seal.wait_ms_max = 3;
    config.seal.body_bytes_max = 20_000;
    config.seal.unit_chunks_max = 3;
    config.merge.fan_in = 2;
    config.gc.keep_ms = GC_KEEP_MS;
    config.gc.round_ms = 4;
    config.gc.rounds_per_list = 2;
    config.patience = patience;
    config
}
