//! What can go wrong with the object store.
//!
//! Callers decide by [`StoreError::kind`] or by [`Fault`], never by text.

use siltstone_core::ErrorKind;
use siltstone_disk::is_out_of_descriptors;
use std::fmt;
use std::io;
use std::ops::Range;
use std::time::Duration;

/// What was asked of the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operation {
    /// Opening the store.
    Open,
    /// Writing an object.
    Put,
    /// Writing an object that must not exist.
    PutIfAbsent,
    /// Reading an object.
    Get,
    /// Reading a byte range of an object.
    GetRange,
    /// Asking for an object's size.
    Head,
    /// Listing keys.
    List,
    /// Deleting an object.
    Delete,
}

impl Operation {
    /// All operations, in the order of their discriminants.
    pub const ALL: [Self; 8] = [Self::Open, Self::Put, Self::PutIfAbsent, Self::Get, Self::GetRange, Self::Head, Self::List, Self::Delete];

    /// A short name for messages and metric labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Put => "put",
            Self::PutIfAbsent => "put_if_absent",
            Self::Get => "get",
            Self::GetRange => "get_range",
            Self::Head => "head",
            Self::List => "list",
            Self::Delete => "delete",
        }
    }

    /// Whether the operation changes the store: then the outcome of one that timed out is unknown.
    #[must_use]
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Put | Self::PutIfAbsent | Self::Delete)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An operation on the object store that failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{operation} {key}: {fault}")]
pub struct StoreError {
    /// What was asked.
    pub operation: Operation,
    /// The key, the prefix of a list, or the place of an open.
    pub key: String,
    /// Why it failed.
    pub fault: Fault,
}

/// Why an operation failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// No such object.
    #[error("there is no such object")]
    NotFound,
    /// A conditional put found the key taken.
    #[error("the object exists already")]
    AlreadyExists,
    /// The store does not let us in: a human must mend credentials or permissions.
    #[error("access denied by {place}: {detail}; check {check}")]
    AccessDenied {
        /// The endpoint and bucket, or the directory.
        place: String,
        /// What the store said.
        detail: String,
        /// What to check.
        check: &'static str,
    },
    /// The store does not answer.
    #[error("cannot reach {place}: {detail}")]
    Unreachable {
        /// The endpoint, or the directory.
        place: String,
        /// What was tried and failed.
        detail: String,
    },
    /// No space or quota left.
    #[error("no space left in {place}: {detail}; free space there or raise the quota")]
    Full {
        /// The directory, or the bucket.
        place: String,
        /// What the system said.
        detail: String,
    },
    /// Fewer bytes came than the store had promised.
    #[error("the object is damaged: {got} bytes came where {want} were promised")]
    ShortRead {
        /// Bytes promised.
        want: u64,
        /// Bytes that came.
        got: u64,
    },
    /// A range that ends beyond the object: the object was cut, or the caller's record of its size is wrong.
    #[error("bytes {}..{} lie beyond the object's end at {size}: the object was cut, or the record of its size is wrong", range.start, range.end)]
    RangeBeyondEnd {
        /// The range asked for, in bytes.
        range: Range<u64>,
        /// The object's size in bytes.
        size: u64,
    },
    /// A range that ends before it starts, or that memory cannot hold.
    #[error("bytes {}..{} are no range", range.start, range.end)]
    InvalidRange {
        /// The range asked for, in bytes.
        range: Range<u64>,
    },
    /// The operation did not end in time. Whether a write took effect is unknown.
    #[error("no answer from {place} within {} ms", after.as_millis())]
    Timeout {
        /// The endpoint, or the directory.
        place: String,
        /// The bound that passed.
        after: Duration,
    },
    /// The store asks for fewer requests.
    #[error("the store asks to slow down: {detail}")]
    Throttled {
        /// What the store said.
        detail: String,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The store answered that it has trouble of its own, which passes.
    #[error("the store has trouble: {detail}")]
    Unavailable {
        /// What the store said.
        detail: String,
    },
    /// An earlier failed sync left the state on the medium unknown: this store takes no more writes.
    #[error("writes are stopped since a sync of {place} failed ({detail}); check the disk, then start again")]
    Stopped {
        /// The directory.
        place: String,
        /// How the sync failed.
        detail: String,
    },
    /// The configuration, a key or a prefix is wrong.
    #[error("{detail}")]
    Invalid {
        /// What is wrong, and what would be right.
        detail: String,
    },
    /// Anything else.
    #[error("{detail}")]
    Other {
        /// What the system said.
        detail: String,
    },
}

impl Fault {
    /// Makes an error of this fault.
    #[must_use]
    pub fn at(self, operation: Operation, key: &dyn fmt::Display) -> StoreError {
        StoreError { operation, key: key.to_string(), fault: self }
    }

    /// Reads an error of the file system. `place` is the directory that the store lies in.
    pub(crate) fn from_io(error: &io::Error, place: &str) -> Self {
        let (place, detail) = (place.to_owned(), error.to_string());
        if is_out_of_descriptors(error) {
            let advice = "close connections, or raise the limit of open files (ulimit -n, LimitNOFILE)";
            return Self::Unavailable { detail: format!("no file of {place} can be opened now ({detail}); {advice}") };
        }
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            io::ErrorKind::AlreadyExists => Self::AlreadyExists,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::AccessDenied { place, detail, check: "that this user may read and write the directory and that it is not mounted read-only" }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { place, detail },
            io::ErrorKind::NotADirectory => Self::Invalid { detail: format!("{place} is no directory, or a file stands where it needs one") },
            io::ErrorKind::TimedOut => Self::Unavailable { detail },
            _ => Self::Other { detail },
        }
    }
}

impl StoreError {
    /// What the caller should do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match &self.fault {
            Fault::NotFound => ErrorKind::NotFound,
            Fault::AlreadyExists => ErrorKind::Conflict,
            Fault::AccessDenied { .. } => ErrorKind::PermissionDenied,
            Fault::Unreachable { .. } | Fault::Unavailable { .. } => ErrorKind::Unavailable,
            Fault::Full { .. } | Fault::Stopped { .. } => ErrorKind::Exhausted,
            Fault::ShortRead { .. } | Fault::RangeBeyondEnd { .. } => ErrorKind::Corrupt,
            Fault::Timeout { .. } if self.operation.is_write() => ErrorKind::Unknown,
            Fault::Timeout { .. } => ErrorKind::Unavailable,
            Fault::Throttled { .. } => ErrorKind::Throttled,
            Fault::InvalidRange { .. } | Fault::Invalid { .. } => ErrorKind::InvalidInput,
            Fault::Other { .. } => ErrorKind::Internal,
        }
    }

    /// How long the store asked to wait, if it did.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self.fault {
            Fault::Throttled { retry_after, .. } => retry_after,
            _ => None,
        }
    }

    /// Whether the object is not there.
    #[must_use]
    pub const fn is_not_found(&self) -> bool {
        matches!(self.fault, Fault::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_operation_key_and_what_to_do() {
        let full = Fault::from_io(&io::ErrorKind::StorageFull.into(), "/data/objects").at(Operation::Put, &"v1/x");
        assert_eq!(full.kind(), ErrorKind::Exhausted);
        let text = full.to_string();
        assert!(text.starts_with("put v1/x: no space left in /data/objects"), "{text}");
        assert!(text.contains("free space"), "{text}");
        let denied = Fault::from_io(&io::ErrorKind::PermissionDenied.into(), "/data/objects").at(Operation::Get, &"v1/x");
        assert_eq!(denied.kind(), ErrorKind::PermissionDenied);
        assert!(denied.to_string().contains("/data/objects"));
    }

    #[test]
    fn the_outcome_of_a_write_that_timed_out_is_unknown() {
        let fault = Fault::Timeout { place: "http://s3".to_owned(), after: Duration::from_secs(1) };
        assert_eq!(fault.clone().at(Operation::Put, &"k").kind(), ErrorKind::Unknown);
        assert_eq!(fault.at(Operation::Get, &"k").kind(), ErrorKind::Unavailable);
    }
}
