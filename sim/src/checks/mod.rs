//! What must never happen, whatever breaks. Each check takes what was seen and remembers it; the first contradiction is the run's failure.
//!
//! | id | |
//! |---|---|
//! | LD-1 | a leader id (term and member) leads in one life of one member |
//! | CP-1 | what is committed at a position never changes: one entry, and one state after it, on all members and for ever |
//! | WA-1 | what was acknowledged is durable on a quorum, and in the log of every later leader |
//! | EP-1 | a fenced epoch changes nothing: judged by the history of the jobs |
//! | RA-1 | an id is given once |
//! | LN-1 | what clients are told is linearizable |
//! | LV-1 | when faults end, the group elects and commits within a bound; a member starts again from what a crash left, and ends only by a fault |

mod acknowledged;
mod log;

pub use acknowledged::Acknowledged;
pub use log::{LogCheck, LogId, SeenEntry};

/// The first thing that went wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{invariant}: {what}")]
pub struct Failure {
    /// The invariant's id.
    pub invariant: &'static str,
    /// What was seen.
    pub what: String,
}

impl Failure {
    /// A failure of an invariant.
    pub fn new(invariant: &'static str, what: impl Into<String>) -> Self {
        Self { invariant, what: what.into() }
    }
}
