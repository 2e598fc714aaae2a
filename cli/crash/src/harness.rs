//! What all runs share: a runtime, bounds on time, and what is left of a node that was ended.

use crate::look::Violation;
use crate::panics;
use crate::summary::Failure;
use crate::traffic::SharedLedger;
use std::time::{Duration, Instant};

/// Anything that takes longer than this hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A runtime with few threads, as on a small machine.
pub(crate) fn runtime(seed: u64) -> Result<tokio::runtime::Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    built.map_err(|error| Failure { seed, life: 0, ends: Vec::new(), violations: vec![Violation::new("AK-1", format!("start a runtime: {error}"))] })
}

/// Does work that must end.
pub(crate) async fn within<F>(what: &str, work: F) -> Result<(), Violation>
where
    F: Future<Output = Result<(), Violation>>,
{
    let hangs = || Violation::new("AK-1", format!("{what} hangs: it takes longer than {} s", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| Err(hangs()))
}

/// Waits until nothing of an ended node lives: in a process that goes on, it would be a leak, and on a disk that goes on, a second writer.
pub(crate) async fn wait_until_gone<F>(handles: F) -> Result<(), Violation>
where
    F: Fn() -> usize,
{
    const BOUND: Duration = Duration::from_secs(15);
    let begun = Instant::now();
    while handles() != 0 {
        if begun.elapsed() > BOUND {
            return Err(Violation::new("EP-1", format!("{} s after its end something of the node lives on: {} handles", BOUND.as_secs(), handles())));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// All that is wrong: in the books, in the outcome of a life, in any thread.
pub(crate) fn judged(ledger: &SharedLedger, outcome: Result<(), Violation>) -> Vec<Violation> {
    let mut violations = ledger.lock().take_violations();
    violations.extend(outcome.err());
    violations.extend(panics::take().into_iter().map(|panic| Violation::new("AK-1", format!("a thread panicked: {panic}"))));
    violations
}
