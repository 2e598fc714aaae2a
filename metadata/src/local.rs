//! The machine without Raft, in memory: for tests of whatever stands on a [`MetadataClient`]. Commands and replies can be lost or late.

use async_trait::async_trait;
use parking_lot::Mutex;
use siltstone_core::{Clock, CommitIndex, CommitToken, Incarnation};
use siltstone_format::{
    command::{Command, CommandBody, Reply},
    manifest::Manifest,
};
use siltstone_machine::Machine;
use siltstone_metadata_client::{ClientError, MetadataClient};
use std::sync::Arc;
use tokio::sync::watch;

/// What goes wrong with a proposal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// It is not taken in, and the proposer knows.
    Refused,
    /// It is lost; the proposer does not learn the outcome.
    RequestLost,
    /// It is applied; the proposer does not learn the outcome.
    ReplyLost,
    /// It is applied just before the next proposal (or at [`LocalMetadata::deliver_late`]); the proposer does not learn the outcome.
    Late,
}

/// A machine without Raft.
pub struct LocalMetadata {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    manifests: watch::Sender<Manifest>,
}

struct State {
    machine: Machine,
    late: Vec<Command>,
    faults: Box<dyn FnMut(&CommandBody) -> Fault + Send>,
}

impl LocalMetadata {
    /// A group that is founded as this incarnation (not 0).
    #[must_use]
    pub fn new(incarnation: Incarnation, clock: Arc<dyn Clock>) -> Self {
        let mut machine = Machine::new();
        let found = Command { proposed_at_ms: clock.now_ms(), body: CommandBody::FoundGroup { incarnation } };
        machine.apply(CommitIndex(1), &found);
        Self::with_machine(machine, clock)
    }

    /// A group that goes on from a machine, as after a restart.
    #[must_use]
    pub fn with_machine(machine: Machine, clock: Arc<dyn Clock>) -> Self {
        let manifests = watch::Sender::new(machine.manifest().clone());
        Self { clock, state: Mutex::new(State { machine, late: Vec::new(), faults: Box::new(|_| Fault::None) }), manifests }
    }

    /// Asks this function about each proposal from now on.
    pub fn set_faults(&self, faults: impl FnMut(&CommandBody) -> Fault + Send + 'static) {
        self.state.lock().faults = Box::new(faults);
    }

    /// Applies the late commands now.
    pub fn deliver_late(&self) {
        self.state.lock().deliver_late(&self.manifests);
    }

    /// The machine as it is: what a restarted group would read from its log.
    #[must_use]
    pub fn machine(&self) -> Machine {
        self.state.lock().machine.clone()
    }
}

impl State {
    fn deliver_late(&mut self, manifests: &watch::Sender<Manifest>) {
        for command in std::mem::take(&mut self.late) {
            self.apply(&command, manifests);
        }
    }

    fn apply(&mut self, command: &Command, manifests: &watch::Sender<Manifest>) -> (CommitToken, Reply) {
        let index = CommitIndex(self.machine.manifest().version.0 + 1);
        let reply = self.machine.apply(index, command);
        manifests.send_replace(self.machine.manifest().clone());
        (self.machine.manifest().token(), reply)
    }
}

#[async_trait]
impl MetadataClient for LocalMetadata {
    async fn propose(&self, body: CommandBody) -> Result<(CommitToken, Reply), ClientError> {
        let unknown = |reason: &str| ClientError::UnknownOutcome { reason: reason.to_owned() };
        // Through its stored form, as with a real log.
        let bytes = Command { proposed_at_ms: self.clock.now_ms(), body }.encode();
        let command = bytes.and_then(|bytes| Command::decode(&bytes)).map_err(|error| ClientError::Unavailable { reason: error.to_string() })?;
        let mut state = self.state.lock();
        state.deliver_late(&self.manifests);
        match (state.faults)(&command.body) {
            Fault::None => Ok(state.apply(&command, &self.manifests)),
            Fault::Refused => Err(ClientError::Unavailable { reason: "injected: the command is refused".to_owned() }),
            Fault::RequestLost => Err(unknown("injected: the command is lost")),
            Fault::ReplyLost => {
                state.apply(&command, &self.manifests);
                Err(unknown("injected: the reply is lost"))
            }
            Fault::Late => {
                state.late.push(command);
                Err(unknown("injected: the command is late"))
            }
        }
    }

    fn manifest(&self) -> Manifest {
        self.manifests.borrow().clone()
    }

    fn watch(&self) -> watch::Receiver<Manifest> {
        self.manifests.subscribe()
    }

    async fn read_index(&self) -> Result<CommitIndex, ClientError> {
        Ok(self.state.lock().machine.manifest().version)
    }
}
