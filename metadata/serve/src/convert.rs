//! Between messages and plain values. A message that lacks what it must have is refused.

use bytes::Bytes;
use siltstone_metadata::raft::{Hello, Phase, WireLogId, WireRequest, WireResponse, WireVote};
use siltstone_proto::metadata::v1 as pb;
use siltstone_proto::metadata::v1::append_response::Outcome;

/// A message lacks a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("read a message of another member: it has no {0}")]
pub(crate) struct Missing(pub(crate) &'static str);

pub(crate) fn log_id(wire: WireLogId) -> pb::LogId {
    pb::LogId { term: wire.term, leader: wire.leader, index: wire.index }
}

pub(crate) fn vote(wire: WireVote) -> pb::LeaderVote {
    pb::LeaderVote { term: wire.term, node: wire.node, committed: wire.committed }
}

pub(crate) const fn wire_log_id(message: pb::LogId) -> WireLogId {
    WireLogId { term: message.term, leader: message.leader, index: message.index }
}

pub(crate) fn wire_vote(message: Option<pb::LeaderVote>) -> Result<WireVote, Missing> {
    let message = message.ok_or(Missing("vote"))?;
    Ok(WireVote { term: message.term, node: message.node, committed: message.committed })
}

pub(crate) fn append(request: pb::AppendRequest) -> Result<WireRequest, Missing> {
    Ok(WireRequest::Append {
        vote: wire_vote(request.vote)?,
        previous: request.previous.map(wire_log_id),
        committed: request.committed.map(wire_log_id),
        entries: request.entries,
    })
}

pub(crate) fn append_response(wire: WireResponse) -> Option<pb::AppendResponse> {
    let outcome = match wire {
        WireResponse::Appended => Outcome::Success(pb::Nothing {}),
        WireResponse::AppendedPartly(matching) => Outcome::Partial(pb::Matching { log_id: matching.map(log_id) }),
        WireResponse::AppendHigherVote(higher) => Outcome::HigherVote(vote(higher)),
        WireResponse::AppendConflict => Outcome::Conflict(pb::Nothing {}),
        _ => return None,
    };
    Some(pb::AppendResponse { outcome: Some(outcome) })
}

pub(crate) fn wire_append_response(response: pb::AppendResponse) -> Result<WireResponse, Missing> {
    Ok(match response.outcome.ok_or(Missing("outcome"))? {
        Outcome::Success(pb::Nothing {}) => WireResponse::Appended,
        Outcome::Partial(matching) => WireResponse::AppendedPartly(matching.log_id.map(wire_log_id)),
        Outcome::HigherVote(higher) => WireResponse::AppendHigherVote(wire_vote(Some(higher))?),
        Outcome::Conflict(pb::Nothing {}) => WireResponse::AppendConflict,
    })
}

pub(crate) fn hello_response(hello: Hello) -> pb::HelloResponse {
    let phase = match hello.phase {
        Phase::Fresh => pb::Phase::Fresh,
        Phase::Ready => pb::Phase::Ready,
        Phase::Lives => pb::Phase::Lives,
    };
    let (command_version, session) = (u32::from(hello.command_version), hello.session);
    pb::HelloResponse { node_id: hello.node_id, directory: hello.directory, phase: phase as i32, command_version, session }
}

pub(crate) fn wire_hello(response: &pb::HelloResponse) -> Result<Hello, Missing> {
    let phase = match response.phase() {
        pb::Phase::Unspecified => return Err(Missing("phase")),
        pb::Phase::Fresh => Phase::Fresh,
        pb::Phase::Ready => Phase::Ready,
        pb::Phase::Lives => Phase::Lives,
    };
    let command_version = u16::try_from(response.command_version).unwrap_or(u16::MAX).max(1);
    Ok(Hello { node_id: response.node_id, directory: response.directory, phase, command_version, session: response.session })
}

/// A snapshot's parts: the first carries all but the machine, which is cut into pieces.
pub(crate) fn snapshot_parts(
    header: pb::Header,
    wire_vote: WireVote,
    meta: Bytes,
    mut machine: Bytes,
    piece_bytes_max: usize,
) -> Vec<pb::SnapshotPart> {
    let machine_len = machine.len() as u64;
    let mut parts =
        vec![pb::SnapshotPart { header: Some(header), vote: Some(vote(wire_vote)), meta: meta.to_vec(), machine: Bytes::new(), machine_len }];
    while !machine.is_empty() {
        let piece = machine.split_to(piece_bytes_max.min(machine.len()));
        parts.push(pb::SnapshotPart { machine: piece, ..pb::SnapshotPart::default() });
    }
    parts
}
