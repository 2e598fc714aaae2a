//! Calls that the leader alone takes, and what their failures mean.

use crate::lag::Wanted;
use crate::members::{Lane, Members};
use crate::reason::reason_of;
use siltstone_core::{CommitIndex, CommitToken, Epoch, Incarnation};
use siltstone_format::command::{CommandBody, Reply};
use siltstone_metadata_client::{ClientError, Renewal};
use siltstone_proto::metadata::v1 as pb;
use siltstone_proto::metadata::v1::group_client::GroupClient;
use siltstone_proto::metadata::{LEADER_TRAILER, OUTCOME_REFUSED, OUTCOME_TRAILER};
use std::collections::VecDeque;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tonic::transport::Channel;
use tonic::{Code, Status};

/// The longest pause between two rounds: a leader that was just elected is not kept waiting.
const ROUND_PAUSE_MAX: Duration = Duration::from_millis(200);

/// What a failed call means.
enum Failure {
    /// The member took nothing in.
    Refused { reason: String, leader: Option<String> },
    /// The command may be applied, now or later.
    Unknown { reason: String },
}

/// What a call does, and so whether another member may be asked after one whose answer was lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// It changes nothing, or nothing more when it is repeated.
    Read,
    Change,
}

impl Failure {
    fn reason(self) -> String {
        match self {
            Self::Refused { reason, .. } | Self::Unknown { reason } => reason,
        }
    }
}

/// Calls to the leader. Clones share what is known of it.
#[derive(Clone)]
pub(crate) struct Calls {
    members: Arc<Members>,
    wanted: Wanted,
}

impl Calls {
    pub(crate) const fn new(members: Arc<Members>, wanted: Wanted) -> Self {
        Self { members, wanted }
    }

    pub(crate) async fn propose(&self, body: &CommandBody) -> Result<(CommitToken, Reply), ClientError> {
        let unknown = |reason: String| ClientError::UnknownOutcome { reason };
        let name = body.name();
        let command: bytes::Bytes = body.encode().map_err(|error| ClientError::Unavailable { reason: error.to_string() })?.into();
        let answer = self.at_leader(Effect::Change, |mut client| {
            let request = pb::ProposeRequest { command: command.clone() };
            async move { client.propose(request).await }
        });
        let answer = match answer.await {
            Ok(answer) => answer,
            Err(Failure::Refused { reason, .. }) => return Err(ClientError::Unavailable { reason }),
            Err(Failure::Unknown { reason }) => return Err(unknown(format!("{name}: {reason}"))),
        };
        let token = answer.token.ok_or_else(|| unknown(format!("{name}: the answer names no position")))?;
        let reply = Reply::decode(&answer.reply).map_err(|error| unknown(format!("{name}: {error}")))?;
        self.wanted.raise(CommitIndex(token.index));
        Ok((CommitToken { incarnation: Incarnation(token.incarnation), index: CommitIndex(token.index) }, reply))
    }

    pub(crate) async fn read_index(&self) -> Result<CommitIndex, ClientError> {
        let answer = self.at_leader(Effect::Read, |mut client| async move { client.read_index(pb::ReadIndexRequest {}).await }).await;
        let index = CommitIndex(answer.map_err(|failure| ClientError::Unavailable { reason: failure.reason() })?.index);
        self.wanted.raise(index);
        Ok(index)
    }

    /// Repeated, a renewal does what it did before: another member may be asked.
    pub(crate) async fn renew(&self, epochs: &[Epoch]) -> Result<Renewal, ClientError> {
        let request = pb::RenewLeasesRequest { epochs: epochs.iter().map(|epoch| epoch.0).collect() };
        let answer = self.at_leader(Effect::Read, |mut client| {
            let request = request.clone();
            async move { client.renew_leases(request).await }
        });
        let pb::RenewLeasesResponse { over, lease_ms } = answer.await.map_err(|failure| ClientError::Unavailable { reason: failure.reason() })?;
        Ok(Renewal { over: over.into_iter().map(Epoch).collect(), lease: Duration::from_millis(lease_ms) })
    }

    /// Asks members until one takes the call, or one may have taken in a change: then nobody else is asked.
    async fn at_leader<C, F, T>(&self, effect: Effect, call: C) -> Result<T, Failure>
    where
        C: Fn(GroupClient<Channel>) -> F,
        F: Future<Output = Result<tonic::Response<T>, Status>>,
    {
        let config = self.members.config();
        let deadline = Instant::now() + Duration::from_millis(config.leader_ms_max);
        let mut failures = 0;
        loop {
            let mut waiting: VecDeque<String> = self.members.order(Lane::Calls).into();
            let mut tried: Vec<(String, String)> = Vec::new();
            while let Some(address) = waiting.pop_front() {
                if tried.iter().any(|(known, _)| *known == address) {
                    continue;
                }
                let failure = match self.members.client(&address, Lane::Calls) {
                    // A leader's address that is none: it was never sent.
                    Err(error) => Failure::Refused { reason: error.to_string(), leader: None },
                    Ok(client) => match timeout(config.call_timeout(), call(client)).await {
                        Ok(Ok(answer)) => {
                            self.members.note_leader(&address);
                            return Ok(answer.into_inner());
                        }
                        Ok(Err(status)) => failure(&status),
                        Err(_) => Failure::Unknown { reason: format!("no answer within {} ms", config.call_ms_max) },
                    },
                };
                self.members.note_no_leader(&address);
                let reason = match failure {
                    Failure::Refused { reason, leader } => {
                        if let Some(leader) = leader {
                            self.members.note_leader(&leader);
                            waiting.push_front(leader);
                        }
                        reason
                    }
                    Failure::Unknown { reason } if effect == Effect::Read => reason,
                    Failure::Unknown { reason } => return Err(Failure::Unknown { reason: format!("{address}: {reason}") }),
                };
                tried.push((address, reason));
            }
            if Instant::now() >= deadline {
                let reasons: Vec<String> = tried.into_iter().map(|(address, reason)| format!("{address}: {reason}")).collect();
                return Err(Failure::Refused { reason: reasons.join("; "), leader: None });
            }
            sleep(self.members.backoff(failures).min(ROUND_PAUSE_MAX)).await;
            failures += 1;
        }
    }
}

/// Only what certainly changed nothing is a refusal: a call that was never sent, since no connection came about, or one that a member itself refused.
/// A status that our own side made while a call was under way says nothing about the call's fate.
fn failure(status: &Status) -> Failure {
    let reason = reason_of(status);
    if is_unsent(status) {
        return Failure::Refused { reason, leader: None };
    }
    let is_members_word = status.source().is_none();
    let leader = status.metadata().get(LEADER_TRAILER).and_then(|address| address.to_str().ok()).map(str::to_owned);
    let is_refusal = status.metadata().get(OUTCOME_TRAILER).is_some_and(|outcome| outcome == OUTCOME_REFUSED);
    match status.code() {
        Code::Unavailable if is_refusal => Failure::Refused { reason, leader },
        // An older program that can't read the command, or one that does not have the service.
        Code::InvalidArgument | Code::Unimplemented if is_members_word => Failure::Refused { reason, leader },
        code => Failure::Unknown { reason: format!("{code:?}: {reason}") },
    }
}

fn is_unsent(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.is::<tonic::ConnectError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
#[path = "calls_test.rs"]
mod tests;
