//! A line that is to be written.

use crate::catalog::ServiceId;
use std::cmp::Ordering;

/// What is decided about a line before its text is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) time_us: i64,
    /// Breaks ties: the order of making.
    pub(crate) order: u64,
    pub(crate) service: ServiceId,
    /// Which of the workload's messages.
    pub(crate) message: usize,
    /// Which pod writes it, and which one it is about.
    pub(crate) pod: usize,
    pub(crate) subject: usize,
    pub(crate) seed: u64,
    pub(crate) request: Option<RequestEvent>,
}

/// The request that a line belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestEvent {
    pub(crate) kind: usize,
    pub(crate) route: usize,
    pub(crate) status: u16,
    pub(crate) latency_ms: u64,
}

impl Event {
    fn key(&self) -> (i64, u64) {
        (self.time_us, self.order)
    }
}

// The earliest event is the greatest: `BinaryHeap` gives the greatest first.
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Event {}
