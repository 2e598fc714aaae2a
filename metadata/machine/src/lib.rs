//! The state machine of the metadata group: command + state → state + reply, and nothing else. No clock, no I/O, no randomness.
//!
//! A command is applied to a draft, which is a clone of the manifest (a dozen reference counts); a refusal throws the draft away. So a refused
//! command changes nothing (EP-1) whatever it had done to the draft before. What is deliberately not here: leases (the leader's memory), Raft, and
//! when to seal, merge or collect.

mod batch;
mod draft;
mod epochs;
mod indexes;
mod life;
mod merge;
mod models;
mod namespaces;
mod parts;
mod retire;
mod seal;
mod settings;
mod vectors;

pub use life::LifeError;

use siltstone_core::{CommitIndex, Incarnation};
use siltstone_format::{
    command::{Command, CommandBody, Rejection, Reply},
    manifest::Manifest,
    snapshot::{self, SnapshotError},
};

/// How far one command moves state time at most: an hour. A proposer whose clock runs wild thus cannot age everything at once (retired objects are
/// deleted after 24 h of state time, so two dozen commands of a wrong clock would be needed), and a group that was down for days catches up within
/// as many commands as it was hours away.
pub const STATE_TIME_JUMP_MS_MAX: i64 = 3_600_000;

/// The machine: the manifest at a position of the log.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    manifest: Manifest,
}

impl Machine {
    /// The machine before the first command.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The state. Cloning it is cheap, and the clone keeps its version.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Applies the command at a position of the log.
    ///
    /// # Panics
    /// When positions do not rise, which is a bug of the log: replicas would diverge. Never for the command's content.
    pub fn apply(&mut self, index: CommitIndex, command: &Command) -> Reply {
        self.skip(index);
        let mut draft = self.manifest.clone();
        draft.state_time_ms = state_time_ms(&self.manifest, command.proposed_at_ms);
        match apply(&mut draft, &command.body) {
            Ok(reply) => {
                self.manifest = draft;
                reply
            }
            Err(rejection) => Reply::Rejected(rejection),
        }
    }

    /// Passes over a position of the log that holds no command (a membership change, a new leader's blank entry).
    ///
    /// # Panics
    /// As [`Machine::apply`].
    pub fn skip(&mut self, index: CommitIndex) {
        assert!(index > self.manifest.version, "log position {index} was applied before: the machine is at {}", self.manifest.version);
        self.manifest.version = index;
    }

    /// The state in one piece, for another replica.
    ///
    /// # Errors
    /// [`SnapshotError`] where a part is past 4 GiB.
    pub fn snapshot(&self) -> Result<Vec<u8>, SnapshotError> {
        snapshot::encode_blob(&self.manifest)
    }

    /// The machine of a snapshot in one piece.
    ///
    /// # Errors
    /// [`SnapshotError`] for any bytes that are not one whole snapshot.
    pub fn restore(bytes: &[u8]) -> Result<Self, SnapshotError> {
        Ok(Self { manifest: snapshot::decode_blob(bytes)? })
    }
}

fn state_time_ms(manifest: &Manifest, proposed_at_ms: i64) -> i64 {
    let now = manifest.state_time_ms;
    // The founder's clock is the first that there is: nothing is known to bound it by.
    let latest = if manifest.incarnation == Incarnation(0) { i64::MAX } else { now.saturating_add(STATE_TIME_JUMP_MS_MAX) };
    proposed_at_ms.clamp(now, latest)
}

fn apply(draft: &mut Manifest, body: &CommandBody) -> Result<Reply, Rejection> {
    if draft.incarnation == Incarnation(0) && !matches!(body, CommandBody::FoundGroup { .. }) {
        return Err(Rejection::NotFounded);
    }
    if let Some(epoch) = body.epoch() {
        draft::check_live(draft, epoch)?;
    }
    match body {
        CommandBody::FoundGroup { incarnation } => found(draft, *incarnation),
        CommandBody::RegisterWriter { writer } => epochs::register_writer(draft, *writer),
        CommandBody::RegisterJob { name } => epochs::register_job(draft, name),
        CommandBody::FenceEpoch { epoch } => epochs::fence(draft, *epoch),
        CommandBody::AllocateChunkIds { epoch, count } => epochs::allocate_chunk_ids(draft, *epoch, *count),
        CommandBody::AllocateIds { epoch, count } => epochs::allocate_ids(draft, *epoch, *count),
        CommandBody::CreateNamespace { name } => namespaces::create(draft, name),
        CommandBody::DropNamespace { name } => namespaces::drop(draft, name),
        CommandBody::CommitBatch(commit) => batch::commit(draft, commit),
        CommandBody::CloseChunks { epoch, chunks } => batch::close(draft, *epoch, chunks),
        CommandBody::CommitSeal(commit) => seal::commit(draft, commit),
        CommandBody::CommitMerge(commit) => merge::commit(draft, commit),
        CommandBody::CommitVectors(commit) => vectors::commit(draft, commit),
        CommandBody::AddModel { model, dimension, source } => models::add(draft, model, *dimension, source),
        CommandBody::UseModel { model } => models::serve(draft, model),
        CommandBody::RemoveModel { model } => models::remove(draft, model),
        CommandBody::DeclareVectorField { namespace, field, dimension } => indexes::declare(draft, *namespace, field, *dimension),
        CommandBody::CommitIndexes(commit) => indexes::commit(draft, commit),
        CommandBody::PutSetting { key, value, expected } => settings::put(draft, key, value.as_deref(), *expected),
        // What the log may hold is Raft's affair.
        CommandBody::RaiseVersion { .. } => Ok(Reply::Done),
        CommandBody::ForgetRetired { batches, objects, .. } => retire::forget(draft, batches, objects),
    }
}

fn found(draft: &mut Manifest, incarnation: Incarnation) -> Result<Reply, Rejection> {
    if incarnation == Incarnation(0) {
        return Err(draft::invalid("incarnation 0 stands for a group that is not founded"));
    }
    if draft.incarnation == Incarnation(0) {
        draft.incarnation = incarnation;
    }
    Ok(Reply::Founded { incarnation: draft.incarnation })
}

#[cfg(test)]
mod tests;
