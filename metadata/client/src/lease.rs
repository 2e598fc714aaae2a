//! Leases of epochs, as those see them who hold epochs.

use siltstone_core::Epoch;
use siltstone_format::manifest::Manifest;
use std::time::Duration;

/// How long an epoch lives without a renewal, where nobody says otherwise.
pub const LEASE: Duration = Duration::from_secs(10);

/// Renewals that fit a lease: two may be refused, or one may get no answer.
pub(crate) const RENEWALS_A_LEASE: u32 = 3;

/// What became of a renewal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renewal {
    /// Those of the epochs that are over: whoever holds one registers anew. The others live for a lease from the renewal on, at least.
    pub over: Vec<Epoch>,
    /// How long a lease is.
    pub lease: Duration,
}

impl Renewal {
    /// What a manifest says of these epochs. One that it does not know yet is not over.
    #[must_use]
    pub fn of(manifest: &Manifest, epochs: &[Epoch], lease: Duration) -> Self {
        let is_over = |epoch: &&Epoch| epoch.0 < manifest.counters.epoch && !manifest.epochs.contains_key(epoch);
        Self { over: epochs.iter().filter(is_over).copied().collect(), lease }
    }
}
