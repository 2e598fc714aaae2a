//! From a member's messages to a manifest: the follower's own machine. Pure: no network, no time.

use crate::error::FollowError;
use bytes::BytesMut;
use siltstone_core::{CommitIndex, CommitToken, Incarnation};
use siltstone_format::{command::Command, envelope::EnvelopeError, manifest::Manifest, snapshot::SnapshotError};
use siltstone_machine::Machine;
use siltstone_proto::metadata::v1 as pb;

#[derive(Default)]
pub(crate) struct Applier {
    machine: Machine,
    /// A state on its way.
    incoming: Option<(CommitToken, BytesMut)>,
}

impl Applier {
    pub(crate) const fn manifest(&self) -> &Manifest {
        self.machine.manifest()
    }

    /// A connection was lost, and with it the rest of a state that was on its way.
    pub(crate) fn reconnect(&mut self) {
        self.incoming = None;
    }

    /// Whether a state is on its way.
    pub(crate) const fn is_receiving(&self) -> bool {
        self.incoming.is_some()
    }

    /// Takes a piece of a state in. With the last one, the state's place and its bytes.
    pub(crate) fn piece(&mut self, piece: &pb::SnapshotPiece) -> Result<Option<(CommitToken, BytesMut)>, FollowError> {
        let token = piece.token.unwrap_or_default();
        let token = CommitToken { incarnation: Incarnation(token.incarnation), index: CommitIndex(token.index) };
        let (of, mut bytes) = self.incoming.take().unwrap_or_else(|| (token, BytesMut::new()));
        if of != token {
            return Err(self.broken(format!("the pieces of a state are of {of} and of {token}")));
        }
        bytes.extend_from_slice(&piece.bytes);
        if piece.is_last {
            return Ok(Some((token, bytes)));
        }
        self.incoming = Some((token, bytes));
        Ok(None)
    }

    /// Takes a whole state over. An older one is passed over.
    pub(crate) fn install(&mut self, token: CommitToken, machine: Result<Machine, SnapshotError>) -> Result<(), FollowError> {
        let machine = machine.map_err(|source| match &source {
            SnapshotError::Envelope(error) if is_unknown(error) => FollowError::UnknownState { source },
            _ => self.broken(source.to_string()),
        })?;
        if machine.manifest().token() != token {
            return Err(self.broken(format!("the state of {token} is of {}", machine.manifest().token())));
        }
        let before = self.manifest().incarnation;
        if before != Incarnation(0) && before != token.incarnation {
            return Err(FollowError::OtherIncarnation { before, now: token.incarnation });
        }
        if token.index > self.manifest().version {
            self.machine = machine;
        }
        Ok(())
    }

    /// Applies what followed. Places that were applied before are passed over, a gap or an unknown command is an error, and
    /// the places before it stay applied.
    pub(crate) fn deltas(&mut self, deltas: &[pb::Delta]) -> Result<(), FollowError> {
        for delta in deltas {
            let (index, version) = (CommitIndex(delta.index), self.manifest().version);
            if index <= version {
                continue;
            }
            if index.0 != version.0 + 1 {
                return Err(self.broken(format!("place {index} came next")));
            }
            if delta.command.is_empty() {
                self.machine.skip(index);
                continue;
            }
            let command = Command::decode(&delta.command).map_err(|source| match is_unknown(&source) {
                true => FollowError::UnknownCommand { index, source },
                false => self.broken(source.to_string()),
            })?;
            self.machine.apply(index, &command);
        }
        Ok(())
    }

    fn broken(&self, detail: String) -> FollowError {
        FollowError::Broken { position: self.manifest().version, detail }
    }
}

/// The bytes are whole, and not what this program knows.
const fn is_unknown(error: &EnvelopeError) -> bool {
    matches!(error, EnvelopeError::Version { .. } | EnvelopeError::Payload { .. })
}

#[cfg(test)]
#[path = "applier_test.rs"]
mod tests;
