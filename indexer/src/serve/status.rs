//! From our errors to gRPC statuses: a code that clients and proxies act on, and a message that says what to do.

use crate::repeats::Repeats;
use siltstone_core::ErrorKind;
use std::fmt::Display;
use tonic::{Code, Status};

/// The gRPC code of a kind of error.
pub(super) const fn code_of(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::InvalidInput => Code::InvalidArgument,
        ErrorKind::PermissionDenied => Code::PermissionDenied,
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::Conflict => Code::Aborted,
        // Both tell a client to slow down; only Exhausted needs a human. Throttling is ResourceExhausted, which OTLP clients retry with a delay.
        ErrorKind::Throttled => Code::ResourceExhausted,
        // Not ResourceExhausted: a full disk is not throttling, and must not look like it.
        ErrorKind::Exhausted => Code::FailedPrecondition,
        ErrorKind::Unavailable | ErrorKind::Fenced => Code::Unavailable,
        ErrorKind::Unknown => Code::Unavailable,
        ErrorKind::Corrupt => Code::DataLoss,
        ErrorKind::Unsupported => Code::Unimplemented,
        ErrorKind::Internal => Code::Internal,
    }
}

/// A status of an error and its kind.
pub(super) fn status_of(kind: ErrorKind, error: &dyn Display) -> Status {
    static FAILED: Repeats = Repeats::new();
    let mut message = error.to_string();
    if kind == ErrorKind::Corrupt {
        message.push_str("; what is stored there is damaged: restore that object from a backup of the object store");
    }
    if matches!(kind, ErrorKind::Corrupt | ErrorKind::Internal | ErrorKind::Exhausted)
        && let Some(times) = FAILED.worth_a_line(&message)
    {
        tracing::error!(kind = kind.as_str(), error = message, times, "a call failed");
    }
    Status::new(code_of(kind), message)
}
