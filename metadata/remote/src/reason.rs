//! What a failed call is told as.

use std::error::Error;
use tonic::Status;

/// How members begin what they refuse with, and so do we.
const PREFIX: &str = "reach the metadata group: ";

/// What lies at the bottom of a status: what the system said where a connection failed, else the member's words.
pub(crate) fn reason_of(status: &Status) -> String {
    let mut cause: Option<&(dyn Error + 'static)> = status.source();
    let mut innermost = None;
    while let Some(error) = cause {
        innermost = Some(error.to_string());
        cause = error.source();
    }
    match innermost {
        Some(innermost) if !status.message().contains(&innermost) => format!("{}: {innermost}", status.message()),
        _ => status.message().strip_prefix(PREFIX).unwrap_or(status.message()).to_owned(),
    }
}
