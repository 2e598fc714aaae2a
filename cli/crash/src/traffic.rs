//! Clients that write side by side, and readers that look meanwhile.

use crate::ledger::Ledger;
use crate::look::{LookRequest, Violation};
use crate::target::Target;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;

/// The books, shared by clients and readers.
pub(crate) type SharedLedger = Arc<Mutex<Ledger>>;

/// The pause of a client whose request failed.
const RETRY_PAUSE: Duration = Duration::from_millis(3);

/// Sends requests from some clients at once, until so many were sent or nothing may be sent. Gives what failed, in words.
pub(crate) async fn write_some<T>(target: &Arc<T>, ledger: &SharedLedger, clients: usize, requests: u64) -> Vec<String>
where
    T: Target,
{
    let left = Arc::new(AtomicU64::new(requests));
    let mut running = JoinSet::new();
    for _ in 0..clients {
        let (target, ledger, left) = (target.clone(), ledger.clone(), left.clone());
        running.spawn(async move {
            let mut failures = Vec::new();
            while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
                let request = ledger.lock().next_request();
                let Some(request) = request else { break };
                failures.extend(send(target.as_ref(), &ledger, &request).await);
            }
            failures
        });
    }
    running.join_all().await.into_iter().flatten().collect()
}

/// Sends again what is not acknowledged, until all is. Gives what failed on the way, in words.
pub(crate) async fn write_all_unknown<T>(target: &Arc<T>, ledger: &SharedLedger) -> Vec<String>
where
    T: Target,
{
    let mut failures = Vec::new();
    loop {
        let mut running = JoinSet::new();
        while running.len() < 16 {
            let Some(request) = ledger.lock().next_retry() else { break };
            let (target, ledger) = (target.clone(), ledger.clone());
            running.spawn(async move { send(target.as_ref(), &ledger, &request).await });
        }
        if running.is_empty() {
            return failures;
        }
        failures.extend(running.join_all().await.into_iter().flatten());
    }
}

async fn send<T>(target: &T, ledger: &SharedLedger, request: &crate::ledger::Request) -> Option<String>
where
    T: Target,
{
    let outcome = match request.patience {
        None => target.write(request).await,
        Some(patience) => match tokio::time::timeout(patience, target.write(request)).await {
            Ok(outcome) => outcome,
            Err(_) => {
                ledger.lock().unanswered(request.batch);
                return None;
            }
        },
    };
    match outcome {
        Ok(answer) => {
            ledger.lock().acknowledged(request.batch, &answer);
            None
        }
        Err(failure) => {
            ledger.lock().unanswered(request.batch);
            tokio::time::sleep(RETRY_PAUSE).await;
            Some(failure)
        }
    }
}

/// Looks once at a namespace, while others may write.
///
/// # Errors
/// What the database said instead of an answer.
pub(crate) async fn glance<T>(target: &T, ledger: &SharedLedger, namespace: &str) -> Result<(), String>
where
    T: Target,
{
    if target.is_one_view() {
        return look(target, ledger, namespace).await;
    }
    let (begin, acknowledged) = {
        let ledger = ledger.lock();
        (ledger.begin_look(), ledger.bounds(namespace).0 as u64)
    };
    let count = target.count(namespace, begin.min_commit).await?;
    let sent = ledger.lock().bounds(namespace).1 as u64;
    if count < acknowledged || count > sent {
        let what = format!("namespace {namespace}: COUNT says {count}, {acknowledged} entries were acknowledged and {sent} sent");
        ledger.lock().report(Violation::new("CT-1", what));
    }
    Ok(())
}

/// Looks once at a namespace, with questions of all kinds.
///
/// # Errors
/// What the database said instead of an answer.
pub(crate) async fn look<T>(target: &T, ledger: &SharedLedger, namespace: &str) -> Result<(), String>
where
    T: Target,
{
    let (begin, questions) = {
        let mut ledger = ledger.lock();
        (ledger.begin_look(), ledger.questions())
    };
    let look = target.look(LookRequest { namespace: namespace.to_owned(), questions, min_commit: begin.min_commit }).await?;
    ledger.lock().check(begin, &look);
    Ok(())
}

/// Looks at every namespace.
///
/// # Errors
/// What the database said instead of an answer.
pub(crate) async fn look_at_all<T>(target: &T, ledger: &SharedLedger) -> Result<(), String>
where
    T: Target,
{
    let namespaces = ledger.lock().namespaces();
    for namespace in namespaces {
        look(target, ledger, namespace).await?;
    }
    Ok(())
}
