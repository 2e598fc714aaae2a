//! Renews the leases of all epochs that a process holds.
//!
//! What is deliberately not here: what a holder does when its epoch is over (it registers anew, when it has work to do), and whose lease has run out
//! (the group's leader knows).

use crate::lease::{LEASE, RENEWALS_A_LEASE};
use crate::{MetadataClient, Renewal};
use parking_lot::Mutex;
use siltstone_core::Epoch;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// How long nothing is renewed at first, and how soon it is tried again after a failure: until the group has said how long its lease is, it may be
/// shorter than usual, and a try that got no answer has taken a third of one.
const SOON: Duration = Duration::from_millis(250);

type Held = Mutex<BTreeMap<Epoch, Arc<AtomicBool>>>;

/// Renews the leases of all epochs that are held, a third of a lease apart. Ends when it is dropped; held epochs run out then.
pub struct EpochKeeper {
    held: Arc<Held>,
    task: JoinHandle<()>,
}

/// An epoch whose lease is renewed until this is dropped.
#[derive(Debug)]
pub struct HeldEpoch {
    epoch: Epoch,
    is_over: Arc<AtomicBool>,
    held: Weak<Held>,
}

impl EpochKeeper {
    /// Begins to renew. Must run within a tokio runtime.
    #[must_use]
    pub fn start(metadata: Arc<dyn MetadataClient>) -> Self {
        let held = Arc::new(Held::default());
        let task = tokio::spawn(renew_all(metadata, held.clone()));
        Self { held, task }
    }

    /// Holds an epoch that was just registered.
    #[must_use]
    pub fn hold(&self, epoch: Epoch) -> HeldEpoch {
        let is_over = Arc::new(AtomicBool::new(false));
        self.held.lock().insert(epoch, is_over.clone());
        HeldEpoch { epoch, is_over, held: Arc::downgrade(&self.held) }
    }
}

impl Drop for EpochKeeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HeldEpoch {
    /// The epoch.
    #[must_use]
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Whether the group said that it is over. It may be over without that: the group's word on a command is what counts (EP-1).
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

impl Drop for HeldEpoch {
    fn drop(&mut self) {
        if let Some(held) = self.held.upgrade() {
            held.lock().remove(&self.epoch);
        }
    }
}

async fn renew_all(metadata: Arc<dyn MetadataClient>, held: Arc<Held>) {
    let (mut third, mut next) = (LEASE / RENEWALS_A_LEASE, SOON);
    loop {
        sleep(next).await;
        let epochs: Vec<Epoch> = held.lock().iter().filter(|(_, is_over)| !is_over.load(Ordering::Acquire)).map(|(epoch, _)| *epoch).collect();
        if epochs.is_empty() {
            continue;
        }
        let renewed = timeout(third, metadata.renew(&epochs)).await;
        next = SOON.min(third);
        match renewed {
            Ok(Ok(Renewal { over, lease })) => {
                third = (lease / RENEWALS_A_LEASE).max(Duration::from_millis(1));
                next = third;
                let held = held.lock();
                over.iter().filter_map(|epoch| held.get(epoch)).for_each(|is_over| is_over.store(true, Ordering::Release));
                if !over.is_empty() {
                    tracing::warn!(?over, "epochs of this process are over: their holders register anew");
                }
            }
            Ok(Err(error)) if error.is_final() => return,
            Ok(Err(error)) => tracing::warn!(%error, "renew the leases of epochs"),
            Err(_) => tracing::warn!(waited_ms = third.as_millis(), "renew the leases of epochs: no answer"),
        }
    }
}

#[cfg(test)]
#[path = "keeper_test.rs"]
mod tests;
