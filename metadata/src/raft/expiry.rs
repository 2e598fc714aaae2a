//! The leader's leases at work: renewals come in, commands that fence epochs go out.
//!
//! What is deliberately not here: whose lease has run out (`leases`), and renewing (`siltstone_metadata_client::EpochKeeper`).

use crate::raft::leases::Leases;
use crate::raft::node::Inner;
use parking_lot::Mutex;
use siltstone_core::Epoch;
use siltstone_format::command::CommandBody;
use siltstone_metadata_client::{ClientError, Renewal};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

/// Looks that fit a lease.
const LOOKS_A_LEASE: u32 = 20;

/// The leases at a member, and the clock that they go by.
pub(crate) struct Expiry {
    leases: Mutex<Leases>,
    begun: Instant,
    expired: AtomicU64,
    /// Commands that fence epochs are on their way.
    is_fencing: AtomicBool,
}

impl Expiry {
    pub(crate) fn new(lease: Duration) -> Self {
        let (leases, begun) = (Mutex::new(Leases::new(lease)), Instant::now());
        Self { leases, begun, expired: AtomicU64::new(0), is_fencing: AtomicBool::new(false) }
    }

    /// Leases that run at this member, and how many it has seen run out.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.leases.lock().len() as u64, self.expired.load(Ordering::Relaxed))
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Looks until the member is gone or the task is aborted.
    pub(crate) fn spawn(inner: &Arc<Inner>) -> JoinHandle<()> {
        let every = (inner.expiry.leases.lock().lease() / LOOKS_A_LEASE).max(Duration::from_millis(1));
        let inner: Weak<Inner> = Arc::downgrade(inner);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(inner) = inner.upgrade() else { return };
                inner.look_at_leases();
            }
        })
    }
}

impl Inner {
    /// A holder of epochs lives. What this member, as the leader, knows of them.
    pub(crate) fn renew(&self, epochs: &[Epoch]) -> Result<Renewal, ClientError> {
        self.check_takes_in()?;
        let mut leases = self.expiry.leases.lock();
        leases.renew(self.expiry.now(), epochs);
        Ok(Renewal::of(&self.manifests.borrow(), epochs, leases.lease()))
    }

    fn look_at_leases(self: &Arc<Self>) {
        // A leader that takes nothing in hears no renewals.
        let leads = self.check_takes_in().is_ok();
        let live: Vec<Epoch> = if leads { self.manifests.borrow().epochs.keys().copied().collect() } else { Vec::new() };
        let run_out = self.expiry.leases.lock().look(self.expiry.now(), leads, live);
        if run_out.is_empty() || self.expiry.is_fencing.swap(true, Ordering::AcqRel) {
            return;
        }
        let inner = self.clone();
        tokio::spawn(async move {
            for epoch in run_out {
                inner.fence(epoch).await;
            }
            inner.expiry.is_fencing.store(false, Ordering::Release);
        });
    }

    async fn fence(&self, epoch: Epoch) {
        // The commands before this one took their time.
        if !self.expiry.leases.lock().has_run_out(self.expiry.now(), epoch) {
            return;
        }
        let owner = self.manifests.borrow().epochs.get(&epoch).map(|record| format!("{:?}", record.owner));
        match self.propose(CommandBody::FenceEpoch { epoch }).await {
            Ok(_) => {
                self.expiry.expired.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(%epoch, owner, "a lease has run out: the epoch is fenced");
            }
            // It is looked at again soon.
            Err(error) => tracing::warn!(%epoch, %error, "fence an epoch whose lease has run out"),
        }
    }
}
