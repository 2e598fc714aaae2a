//! From our errors to gRPC statuses: a code that clients act on, and where the leader is.

use siltstone_core::ErrorKind;
use siltstone_metadata::MetadataNode;
use siltstone_metadata::raft::MembershipError;
use siltstone_metadata_client::ClientError;
use siltstone_proto::metadata::{LEADER_TRAILER, OUTCOME_REFUSED, OUTCOME_TRAILER};
use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

/// A status of a proposal. Only UNAVAILABLE means that the command changed nothing and never will.
pub(crate) fn of_client_error(node: &MetadataNode, error: &ClientError) -> Status {
    let code = match error {
        ClientError::Unavailable { .. } | ClientError::Ended { .. } | ClientError::Stopped { .. } => Code::Unavailable,
        ClientError::UnknownOutcome { .. } => Code::Aborted,
        ClientError::Rejected(_) => Code::FailedPrecondition,
        ClientError::OtherIncarnation { .. } => Code::NotFound,
        ClientError::UnexpectedReply { .. } => Code::Internal,
    };
    with_leader(node, Status::new(code, error.to_string()))
}

pub(crate) fn of_membership_error(node: &MetadataNode, error: &MembershipError) -> Status {
    let code = match error.kind() {
        ErrorKind::Unavailable => Code::Unavailable,
        ErrorKind::Conflict => Code::FailedPrecondition,
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::InvalidInput => Code::InvalidArgument,
        _ => Code::Aborted,
    };
    with_leader(node, Status::new(code, error.to_string()))
}

fn with_leader(node: &MetadataNode, mut status: Status) -> Status {
    if status.code() == Code::Unavailable {
        status.metadata_mut().insert(OUTCOME_TRAILER, MetadataValue::from_static(OUTCOME_REFUSED));
    }
    let leader = node.leader_address().filter(|_| !node.is_leader());
    if let Some(address) = leader.and_then(|address| address.parse().ok()) {
        status.metadata_mut().insert(LEADER_TRAILER, address);
    }
    status
}
