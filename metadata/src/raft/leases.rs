//! Whose lease runs out. Pure: moments come from outside, and what is to be done goes out.
//!
//! A lease is the leader's memory of when it last heard from an epoch's holder. It starts anew for everybody when this member begins to lead, and
//! when it was held up for a while: what it did not hear then says nothing. So nobody is fenced who renewed within a lease by the leader's clock.
//! What is deliberately not here: the log. What acts is a command in it ([`FenceEpoch`](siltstone_format::command::CommandBody::FenceEpoch)).

use siltstone_core::Epoch;
use std::collections::BTreeMap;
use std::time::Duration;

/// A look that comes later than this part of a lease after the one before means that this member was held up.
const HELD_UP_PART: u32 = 4;

/// The leases of all epochs that live. Moments are times since some beginning.
#[derive(Debug)]
pub(crate) struct Leases {
    lease: Duration,
    /// Since when this member could hear all holders, as the leader.
    hears_since: Option<Duration>,
    looked_at: Duration,
    /// When each holder was last heard; at first, when its epoch was first seen.
    heard: BTreeMap<Epoch, Duration>,
}

impl Leases {
    pub(crate) const fn new(lease: Duration) -> Self {
        Self { lease, hears_since: None, looked_at: Duration::ZERO, heard: BTreeMap::new() }
    }

    pub(crate) const fn lease(&self) -> Duration {
        self.lease
    }

    /// Leases that run. None where this member does not lead.
    pub(crate) fn len(&self) -> usize {
        self.heard.len()
    }

    /// A holder renews these.
    pub(crate) fn renew(&mut self, now: Duration, epochs: &[Epoch]) {
        for epoch in epochs {
            // Others are not known to live. One that lives, and is not seen yet, will be seen as new.
            if let Some(heard) = self.heard.get_mut(epoch) {
                *heard = now.max(*heard);
            }
        }
    }

    /// Looks at the epochs that live; returns those whose lease has run out. To be called many times a lease, whether this member leads or not.
    pub(crate) fn look<I>(&mut self, now: Duration, leads: bool, live: I) -> Vec<Epoch>
    where
        I: IntoIterator<Item = Epoch>,
    {
        let was_held_up = now.saturating_sub(self.looked_at) > self.lease / HELD_UP_PART;
        self.looked_at = now;
        if !leads {
            self.hears_since = None;
            self.heard.clear();
            return Vec::new();
        }
        if was_held_up || self.hears_since.is_none() {
            self.hears_since = Some(now);
        }
        let earlier = std::mem::take(&mut self.heard);
        self.heard = live.into_iter().map(|epoch| (epoch, earlier.get(&epoch).copied().unwrap_or(now))).collect();
        self.heard.keys().copied().filter(|epoch| self.has_run_out(now, *epoch)).collect()
    }

    /// Whether nothing was heard from this epoch's holder for a lease in which it could have been heard.
    pub(crate) fn has_run_out(&self, now: Duration, epoch: Epoch) -> bool {
        let (Some(heard), Some(since)) = (self.heard.get(&epoch), self.hears_since) else { return false };
        now.saturating_sub(since.max(*heard)) > self.lease
    }
}

#[cfg(test)]
#[path = "leases_test.rs"]
mod tests;
