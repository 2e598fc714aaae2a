//! Who looks at a node in this process, moves its clock and closes its chunks, while others write and at the end.

use crate::engine::Engine;
use crate::leftovers;
use crate::look::Violation;
use crate::rng::Rng;
use crate::summary::Summary;
use crate::target::{Figures, Target};
use crate::traffic::{SharedLedger, glance, look_at_all, write_all_unknown};
use siltstone_core::ManualClock;
use siltstone_indexer::Indexer;
use siltstone_store::ObjectStore;
use std::sync::Arc;
use std::time::Duration;

/// What was retired is kept for so long by the simulated clock; readers that are slower than this have no right to it.
pub(crate) const GC_KEEP_MS: i64 = 10_000;

/// A node under test.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) indexer: Indexer,
    pub(crate) engine: Arc<Engine>,
    pub(crate) ledger: SharedLedger,
    pub(crate) clock: Arc<ManualClock>,
}

impl Visitor {
    pub(crate) fn new(indexer: &Indexer, ledger: &SharedLedger, clock: &Arc<ManualClock>) -> Self {
        let engine = Arc::new(Engine::new(indexer.clone()));
        Self { indexer: indexer.clone(), engine, ledger: ledger.clone(), clock: clock.clone() }
    }

    /// Looks and moves the clock, one after the other: what a look has the right to read is never collected meanwhile. Ends with the first failure,
    /// never where failures are tolerated.
    pub(crate) async fn visit(&self, mut rng: Rng, tolerates_failures: bool, summary: &mut Summary) -> String {
        let mut before = Figures::default();
        loop {
            tokio::time::sleep(Duration::from_millis(rng.below(8))).await;
            if let Err(failure) = self.act(&mut rng, summary).await
                && !tolerates_failures
            {
                return failure;
            }
            if let Ok(after) = self.engine.figures().await {
                summary.moved(&before, &after);
                before = after;
            }
        }
    }

    async fn act(&self, rng: &mut Rng, summary: &mut Summary) -> Result<(), String> {
        match rng.below(12) {
            0 => self.indexer.settle().await.map(|_| ()).map_err(|error| error.to_string()),
            1 | 2 => self.indexer.ingest().close_all().await.map(|_| ()).map_err(|error| error.to_string()),
            3..=5 => {
                self.move_clock(GC_KEEP_MS / 2 + 1_000);
                Ok(())
            }
            _ => {
                summary.looks += 1;
                let namespace = *rng.choose(self.ledger.lock().namespaces());
                glance(self.engine.as_ref(), &self.ledger, namespace).await
            }
        }
    }

    fn move_clock(&self, by_ms: i64) {
        self.clock.advance_ns(by_ms * 1_000_000);
    }

    /// Looks at every namespace.
    pub(crate) async fn look(&self, summary: &mut Summary) -> Result<(), String> {
        summary.looks += self.ledger.lock().namespaces().len() as u64;
        look_at_all(self.engine.as_ref(), &self.ledger).await
    }

    /// Nothing is broken any more: all is acknowledged, sealed, merged and collected, and each time all of it is found.
    pub(crate) async fn settle_everything(&self, summary: &mut Summary) -> Result<(), Violation> {
        let broken = |what: &str, failure: String| Violation::new("AK-1", format!("{what}: {failure}"));
        if let Some(failure) = write_all_unknown(&self.engine, &self.ledger).await.into_iter().next() {
            return Err(broken("the last requests", failure));
        }
        for step in ["all is sent", "all is sealed and merged", "all is collected"] {
            self.look(summary).await.map_err(|failure| broken(step, failure))?;
            self.indexer.settle().await.map_err(|error| broken("settle", error.to_string()))?;
            if let Some(problem) = self.indexer.problems().latest().first() {
                return Err(broken("a problem in the background, though nothing was broken", problem.clone()));
            }
            self.move_clock(2 * GC_KEEP_MS);
            for _ in 0..2 {
                self.indexer.collector().collect(true).await.map_err(|error| broken("collect", error.to_string()))?;
            }
        }
        Ok(())
    }

    /// A new life after [`Visitor::settle_everything`] finds the same, and nothing else: every earlier epoch is fenced, so what nothing names is
    /// garbage.
    pub(crate) async fn find_it_again(&self, store: &dyn ObjectStore, summary: &mut Summary) -> Result<(), Violation> {
        let broken = |what: &str, failure: String| Violation::new("AK-1", format!("{what}: {failure}"));
        self.move_clock(2 * GC_KEEP_MS);
        self.indexer.collector().collect(true).await.map_err(|error| broken("collect", error.to_string()))?;
        self.look(summary).await.map_err(|failure| broken("look once more", failure))?;
        let manifest = self.indexer.views().metadata().manifest();
        summary.epochs += manifest.counters.epoch;
        let left_over = leftovers::objects(store, &manifest).await.map_err(|failure| broken("list the store", failure))?;
        if !left_over.is_empty() {
            return Err(Violation::new("MF-1", format!("nothing names these, and they are still there: {}", left_over.join(", "))));
        }
        if !self.ledger.lock().is_settled() {
            return Err(broken("the last requests", "not all are acknowledged".to_owned()));
        }
        Ok(())
    }
}
