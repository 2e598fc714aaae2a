//! How a command ends when it does not end well: what is printed, and the exit code.

use tonic::{Code, Status};

/// A failed command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What to print on standard error, after "error: ".
    pub message: String,
    /// 1 failed, 2 usage.
    pub exit_code: u8,
}

impl Failure {
    /// The command was right and the work failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { message: message.into(), exit_code: 1 }
    }

    /// The command line or the query was wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), exit_code: 2 }
    }

    /// What a server's status means to the person at the terminal.
    pub(crate) fn from_status(status: &Status) -> Self {
        let message = status.message().to_owned();
        match status.code() {
            Code::InvalidArgument => Self::usage(message),
            Code::Unauthenticated | Code::PermissionDenied => Self::failed(format!("not allowed: {message}")),
            Code::Unavailable => Self::failed(format!("the server is not available now: {message}")),
            code => Self::failed(if message.is_empty() { format!("the server answered {code}") } else { message }),
        }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::from_status(&status)
    }
}
