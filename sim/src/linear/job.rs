//! A job of the group, as a sequential object: its name has a live epoch or none; to register ends the one before.

use super::Model;

/// What a client asks of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JobCall {
    /// Registers it: a new epoch.
    Register,
    /// Ends an epoch that this or another client was shown.
    Fence(u64),
    /// Asks for ids under such an epoch.
    Allocate(u64),
    /// Reads its live epoch.
    Read,
}

/// What it was told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JobReturn {
    /// Registered, as this epoch.
    Epoch(u64),
    /// The epoch is over now.
    Ended,
    /// Ids were given.
    Given,
    /// Ids were refused, because the epoch is over (EP-1).
    Refused,
    /// The live epoch.
    Live(Option<u64>),
}

/// The object.
#[derive(Clone, Copy, Debug)]
pub struct JobModel;

/// The live epoch, and the highest that the job was seen to have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct JobState {
    live: Live,
    seen_max: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Live {
    None,
    Epoch(u64),
    /// One that nobody was told yet, as the outcome of its registration is not known.
    Untold,
}

impl JobState {
    /// The job has an epoch of which the clients know now: they rise.
    const fn told(self, epoch: u64) -> Option<Self> {
        if epoch > self.seen_max { Some(Self { live: Live::Epoch(epoch), seen_max: epoch }) } else { None }
    }
}

impl Model for JobModel {
    type State = JobState;
    type Call = JobCall;
    type Return = JobReturn;

    fn initial(&self) -> JobState {
        JobState { live: Live::None, seen_max: 0 }
    }

    fn apply(&self, state: &JobState, call: &JobCall, answer: Option<&JobReturn>) -> Option<JobState> {
        let is_live = |epoch: u64| state.live == Live::Epoch(epoch);
        match (call, answer) {
            (JobCall::Register, Some(JobReturn::Epoch(epoch))) => state.told(*epoch),
            (JobCall::Register, None) => Some(JobState { live: Live::Untold, ..*state }),
            (JobCall::Fence(epoch), Some(JobReturn::Ended) | None) => {
                Some(if is_live(*epoch) { JobState { live: Live::None, ..*state } } else { *state })
            }
            (JobCall::Allocate(epoch), Some(JobReturn::Given)) => is_live(*epoch).then_some(*state),
            // An epoch that clients were shown is never one that nobody was told yet.
            (JobCall::Allocate(epoch), Some(JobReturn::Refused)) => (!is_live(*epoch)).then_some(*state),
            (JobCall::Allocate(_) | JobCall::Read, None) => Some(*state),
            (JobCall::Read, Some(JobReturn::Live(found))) => match (state.live, found) {
                (Live::Untold, Some(epoch)) => state.told(*epoch),
                (Live::Epoch(live), Some(epoch)) => (live == *epoch).then_some(*state),
                (Live::None, None) => Some(*state),
                _ => None,
            },
            _ => None,
        }
    }

    fn are_twins(&self, one: &JobCall, other: &JobCall) -> bool {
        one == other
    }
}
