//! Clients: each asks one thing at a time, of the member that it takes for the leader, and notes what it asked and was told.

mod settings;

use crate::checks::Failure;
use crate::event;
use crate::linear::{JobCall, JobReturn};
use crate::rng::{Rng, Stream};
use crate::sabotage::Sabotage;
use crate::world::World;
use settings::SettingSeen;
use siltstone_core::{CommitIndex, CommitToken, Epoch};
use siltstone_format::command::{Command, CommandBody, Rejection, Reply};
use siltstone_format::envelope::HEADER_LEN;
use siltstone_format::manifest::Manifest;
use siltstone_metadata_client::{ClientError, MetadataClient};
use std::sync::Arc;
use std::time::Duration;

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(4);

/// Ids that a client asks for at once.
const IDS: u32 = 3;

/// One client.
pub struct Client {
    world: Arc<World>,
    number: u64,
    rng: Rng,
    /// The member that it asks.
    target: u64,
    /// Makes its values differ.
    counter: u64,
    /// Epochs of each job that it was shown, the newest last.
    epochs: Vec<Vec<u64>>,
    /// Each setting as it saw it last.
    settings: Vec<SettingSeen>,
}

/// What came of a call.
enum Outcome<T> {
    Answered(T),
    /// It changed nothing and never will.
    Refused,
    Unknown,
}

impl Client {
    /// A client of a run.
    #[must_use]
    pub fn new(world: &Arc<World>, number: u64) -> Self {
        let objects = usize::try_from(world.plan.objects).expect("a few");
        let mut rng = Rng::new(world.seed, Stream::Client, number);
        let target = 1 + rng.below(world.plan.members);
        Self {
            world: world.clone(),
            number,
            rng,
            target,
            counter: 0,
            epochs: vec![Vec::new(); objects],
            settings: vec![SettingSeen::default(); objects],
        }
    }

    /// Asks, until the run ends.
    pub async fn run(mut self) {
        loop {
            let think_ms = self.rng.within(&self.world.plan.think_ms);
            tokio::time::sleep(Duration::from_millis(think_ms)).await;
            self.ask().await;
        }
    }

    async fn ask(&mut self) {
        let object = usize::try_from(self.rng.below(self.world.plan.objects)).expect("a few");
        match self.rng.below(20) {
            0..=2 => self.ask_job(object, JobCall::Register).await,
            3..=4 => self.ask_job(object, JobCall::Read).await,
            kind @ 5..=8 => match self.epoch(object) {
                Some(epoch) => self.ask_job(object, if kind == 5 { JobCall::Fence(epoch) } else { JobCall::Allocate(epoch) }).await,
                None => self.ask_job(object, JobCall::Register).await,
            },
            9..=12 => self.put_setting(object).await,
            13..=15 => self.swap_setting(object).await,
            16..=18 => self.read_setting(object).await,
            _ => self.create_namespace().await,
        }
    }

    /// An epoch that it was shown: mostly the newest.
    fn epoch(&mut self, object: usize) -> Option<u64> {
        let known = &self.epochs[object];
        if known.is_empty() {
            return None;
        }
        Some(if self.rng.chance(700) { known[known.len() - 1] } else { *self.rng.pick(known) })
    }

    /// Reads all objects once more.
    pub async fn read_all(&mut self) {
        for object in 0..self.epochs.len() {
            self.ask_job(object, JobCall::Read).await;
            self.read_setting(object).await;
        }
    }

    /// Proposes something, wherever it can; whether it was acknowledged.
    pub async fn probe(&mut self) -> bool {
        self.counter += 1;
        let body = CommandBody::CreateNamespace { name: format!("probe-{}-{}", self.number, self.counter) };
        matches!(self.propose(body).await, Outcome::Answered(_))
    }

    async fn ask_job(&mut self, object: usize, call: JobCall) {
        let name = format!("job-{object}");
        let body = match call {
            JobCall::Register => CommandBody::RegisterJob { name: name.clone() },
            JobCall::Fence(epoch) => CommandBody::FenceEpoch { epoch: Epoch(epoch) },
            JobCall::Allocate(epoch) => CommandBody::AllocateIds { epoch: Epoch(epoch), count: IDS },
            JobCall::Read => return self.read_job(object, &name).await,
        };
        let id = self.world.history.lock().jobs.begin(self.number, &name, call.clone(), self.world.moment());
        let answer = match self.propose(body).await {
            Outcome::Answered(reply) => self.job_answer(&call, &reply),
            Outcome::Refused => None,
            Outcome::Unknown => return,
        };
        let mut history = self.world.history.lock();
        match answer {
            Some(answer) => {
                if let JobReturn::Epoch(epoch) = answer {
                    self.epochs[object].push(epoch);
                }
                history.jobs.end(&id, answer, self.world.moment());
            }
            None => history.jobs.forget(&id),
        }
    }

    /// What a reply means for a job; `None` when nothing happened.
    fn job_answer(&self, call: &JobCall, reply: &Reply) -> Option<JobReturn> {
        let world = &self.world;
        match (call, reply) {
            (JobCall::Register, Reply::Registered { epoch }) => {
                world.require(world.acknowledged.lock().given("epoch", epoch.0, 1));
                Some(JobReturn::Epoch(epoch.0))
            }
            (JobCall::Fence(_), Reply::Done) => Some(JobReturn::Ended),
            (JobCall::Allocate(_), Reply::Ids { first, count }) => {
                world.require(world.acknowledged.lock().given("id", *first, u64::from(*count)));
                Some(JobReturn::Given)
            }
            (JobCall::Allocate(_), Reply::Rejected(Rejection::FencedEpoch { .. })) => Some(JobReturn::Refused),
            (_, Reply::Rejected(Rejection::NotFounded)) => None,
            _ => {
                world.fail(Failure::new("EP-1", format!("{call:?} was answered {reply:?}")));
                None
            }
        }
    }

    async fn read_job(&mut self, object: usize, name: &str) {
        let id = self.world.history.lock().jobs.begin(self.number, name, JobCall::Read, self.world.moment());
        let live = self.read(|manifest| manifest.jobs.get(name).map(|epoch| epoch.0)).await;
        let mut history = self.world.history.lock();
        let Outcome::Answered(live) = live else { return history.jobs.forget(&id) };
        if let Some(epoch) = live
            && self.epochs[object].last() != Some(&epoch)
        {
            self.epochs[object].push(epoch);
        }
        history.jobs.end(&id, JobReturn::Live(live), self.world.moment());
    }

    async fn create_namespace(&mut self) {
        self.counter += 1;
        let name = format!("space-{}-{}", self.number, self.counter);
        let outcome = self.propose(CommandBody::CreateNamespace { name: name.clone() }).await;
        if let Outcome::Answered(Reply::Namespace { id, created }) = outcome {
            let world = &self.world;
            if !created {
                world.fail(Failure::new("RA-1", format!("namespace {name} was there before it was created")));
            }
            world.require(world.acknowledged.lock().given("namespace", u64::from(id.0), 1));
        }
    }

    /// Proposes a command to the member that it takes for the leader.
    async fn propose(&mut self, body: CommandBody) -> Outcome<Reply> {
        let Some((life, node)) = self.world.running(self.target) else {
            self.look_elsewhere();
            return Outcome::Refused;
        };
        let (text, mark) = (format!("{body:?}"), mark(&body));
        event!(self.world.trace, "client {} asks {} {text}", self.number, self.target);
        let outcome = tokio::select! {
            biased;
            _ = life.over() => Err(ClientError::UnknownOutcome { reason: "the member crashed".to_owned() }),
            outcome = tokio::time::timeout(PATIENCE, node.propose(body)) => {
                outcome.unwrap_or_else(|_| Err(ClientError::UnknownOutcome { reason: "no answer in time".to_owned() }))
            }
        };
        event!(self.world.trace, "client {} hears {}", self.number, Heard(&outcome));
        match outcome {
            Ok((CommitToken { index, .. }, reply)) => {
                self.world.require(self.world.acknowledged.lock().add(index.0, &text, &mark));
                Outcome::Answered(reply)
            }
            Err(ClientError::Unavailable { .. } | ClientError::Ended { .. }) => {
                self.look_elsewhere();
                Outcome::Refused
            }
            Err(_) => {
                self.look_elsewhere();
                Outcome::Unknown
            }
        }
    }

    /// Reads from the manifest, at least at the position that covers all that was answered before.
    async fn read<T>(&mut self, look: impl FnOnce(&Manifest) -> T) -> Outcome<T> {
        let Some((life, node)) = self.world.running(self.target) else {
            self.look_elsewhere();
            return Outcome::Refused;
        };
        let is_stale = self.world.sabotage == Sabotage::StaleReads;
        let newest = async {
            let index = if is_stale { CommitIndex(0) } else { node.read_index().await? };
            node.wait_for(index).await
        };
        let outcome = tokio::select! {
            biased;
            _ = life.over() => None,
            outcome = tokio::time::timeout(PATIENCE, newest) => outcome.ok(),
        };
        if let Some(Ok(manifest)) = outcome {
            event!(self.world.trace, "client {} reads position {} of {}", self.number, manifest.version, self.target);
            if is_stale {
                self.look_elsewhere();
            }
            return Outcome::Answered(look(&manifest));
        }
        self.look_elsewhere();
        Outcome::Refused
    }

    fn look_elsewhere(&mut self) {
        let leader = self.world.leader().filter(|_| self.rng.chance(700));
        self.target = leader.unwrap_or_else(|| 1 + self.rng.below(self.world.plan.members));
    }
}

/// The bytes that a command's body has at the end of its stored form, which begins with the proposer's time.
fn mark(body: &CommandBody) -> Vec<u8> {
    let command = Command { proposed_at_ms: 0, body: body.clone() };
    // A time of 0 takes one byte.
    command.encode().map(|bytes| bytes[HEADER_LEN + 1..].to_vec()).unwrap_or_default()
}

struct Heard<'o>(&'o Result<(CommitToken, Reply), ClientError>);

impl std::fmt::Display for Heard<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Ok((token, reply)) => write!(f, "{reply:?} at {}", token.index),
            Err(error) => write!(f, "{error}"),
        }
    }
}
