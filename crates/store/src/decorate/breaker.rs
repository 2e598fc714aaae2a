//! Stops asking a store that denies access: a wrong credential must not become a stream of paid requests.
//!
//! Each operation has a breaker of its own, since a policy may allow reads and deny deletes.

use crate::error::{Fault, Operation};
use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// Denials in a row that open a breaker: one object may be denied for a reason of its own, as a key of its encryption.
const DENIALS_MAX: u32 = 3;

/// Breakers of all operations. Closed: requests go through. Open: they fail at once with what the store said last, but for one each pause,
/// which finds out whether somebody has mended it.
pub(super) struct Breaker {
    pause: Duration,
    states: Mutex<[State; Operation::ALL.len()]>,
}

#[derive(Default)]
struct State {
    /// Denials since the store last gave access.
    denials: u32,
    /// Set when there were enough of them.
    open: Option<Open>,
}

struct Open {
    denied: Fault,
    next_try: Instant,
}

impl Breaker {
    pub(super) fn new(pause: Duration) -> Self {
        Self { pause, states: Mutex::default() }
    }

    /// Whether a request may be sent.
    pub(super) fn check(&self, operation: Operation) -> Result<(), Fault> {
        let now = Instant::now();
        match &mut self.states.lock()[operation as usize].open {
            Some(open) if now < open.next_try => Err(open.denied.clone()),
            Some(open) => {
                open.next_try = now + self.pause;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Learns from the outcome of a request. Gives whether the breaker opened or closed by it.
    pub(super) fn learn(&self, operation: Operation, outcome: Result<(), &Fault>) -> Option<Change> {
        let state = &mut self.states.lock()[operation as usize];
        match outcome {
            Err(denied @ Fault::AccessDenied { .. }) => {
                state.denials = state.denials.saturating_add(1);
                if state.denials < DENIALS_MAX {
                    return None;
                }
                let opened = state.open.is_none().then_some(Change::Opened);
                state.open = Some(Open { denied: denied.clone(), next_try: Instant::now() + self.pause });
                opened
            }
            // The store looked at what was asked, so it let us in.
            Ok(()) | Err(Fault::NotFound | Fault::AlreadyExists | Fault::RangeBeyondEnd { .. }) => {
                state.denials = 0;
                state.open.take().map(|_| Change::Closed)
            }
            // These say nothing about access.
            Err(_) => None,
        }
    }
}

/// What an outcome did to a breaker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    Opened,
    Closed,
}
