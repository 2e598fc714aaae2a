//! Reads the errors of S3: by status and code, never by the text of a message.

use crate::error::{Fault, Operation};
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use siltstone_core::with_causes;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Where a bucket lies, for messages.
pub(super) struct Place {
    pub(super) endpoint: String,
    pub(super) bucket: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bucket {}", self.endpoint, self.bucket)
    }
}

/// What an answer of S3 means, whatever was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    NotFound,
    NoBucket,
    Taken,
    RangeNotSatisfiable,
    AccessDenied,
    ClockSkewed,
    WrongRegion,
    Throttled,
    Full,
    Unavailable,
    NotImplemented,
    Other,
}

impl Answer {
    fn of(status: u16, code: &str) -> Self {
        match (status, code) {
            (_, "NoSuchBucket") => Self::NoBucket,
            (_, "SlowDown" | "Throttling" | "ThrottlingException" | "RequestLimitExceeded" | "TooManyRequests" | "ServiceUnavailable") => {
                Self::Throttled
            }
            (_, "RequestTimeTooSkewed") => Self::ClockSkewed,
            (_, "AuthorizationHeaderMalformed" | "PermanentRedirect" | "IllegalLocationConstraintException") | (301 | 307, _) => Self::WrongRegion,
            (_, "QuotaExceeded" | "InsufficientStorage" | "XMinioStorageFull" | "XMinioAdminBucketQuotaExceeded") | (507, _) => Self::Full,
            (_, "RequestTimeout") | (408, _) => Self::Unavailable,
            (404, _) => Self::NotFound,
            (412, _) => Self::Taken,
            (416, _) => Self::RangeNotSatisfiable,
            (401 | 403, _) => Self::AccessDenied,
            (429 | 503, _) => Self::Throttled,
            (501, _) => Self::NotImplemented,
            // Two conditional writes met: the caller tries again and then loses or wins.
            (409, "ConditionalRequestConflict" | "OperationAborted") => Self::Unavailable,
            (500..=599, _) => Self::Unavailable,
            _ => Self::Other,
        }
    }
}

/// What the answer in an error means; `Other` where there is none.
pub(super) fn answer<E>(error: &SdkError<E>) -> Answer
where
    E: ProvideErrorMetadata,
{
    match error.raw_response() {
        Some(response) => Answer::of(response.status().as_u16(), error.code().unwrap_or_default()),
        None => Answer::Other,
    }
}

/// Reads an error of the client.
pub(super) fn fault<E>(operation: Operation, error: &SdkError<E>, place: &Place, after: Duration) -> Fault
where
    E: ProvideErrorMetadata + Error + 'static,
{
    match error {
        SdkError::TimeoutError(_) => Fault::Timeout { place: place.to_string(), after },
        SdkError::DispatchFailure(failure) if !failure.is_user() => Fault::Unreachable { place: place.to_string(), detail: with_causes(error) },
        SdkError::DispatchFailure(_) | SdkError::ConstructionFailure(_) => Fault::Invalid { detail: with_causes(error) },
        _ => match error.raw_response() {
            Some(response) => answered(operation, answer(error), said(error, response), response, place),
            None => Fault::Other { detail: with_causes(error) },
        },
    }
}

fn answered(operation: Operation, answer: Answer, detail: String, response: &HttpResponse, place: &Place) -> Fault {
    match answer {
        Answer::NotFound => Fault::NotFound,
        Answer::Taken if operation == Operation::PutIfAbsent => Fault::AlreadyExists,
        Answer::AccessDenied => Fault::AccessDenied {
            place: place.to_string(),
            detail,
            check: "the access key, the secret key, and that their owner may list, read, write and delete in the bucket",
        },
        Answer::ClockSkewed => Fault::AccessDenied { place: place.to_string(), detail, check: "that this machine's clock is right" },
        Answer::NoBucket => Fault::Invalid { detail: format!("there is no bucket {} at {}", place.bucket, place.endpoint) },
        Answer::WrongRegion => Fault::Invalid { detail: format!("bucket {} lies in another region ({detail}); name its region", place.bucket) },
        Answer::Throttled => Fault::Throttled { detail, retry_after: retry_after(response) },
        Answer::Full => Fault::Full { place: place.to_string(), detail },
        Answer::Unavailable => Fault::Unavailable { detail },
        Answer::NotImplemented => Fault::Other { detail: format!("{} does not support this: {detail}", place.endpoint) },
        Answer::Taken | Answer::RangeNotSatisfiable | Answer::Other => Fault::Other { detail },
    }
}

/// What the server said: status, code and message.
fn said<E>(error: &SdkError<E>, response: &HttpResponse) -> String
where
    E: ProvideErrorMetadata,
{
    let parts = [Some(format!("status {}", response.status().as_u16())), error.code().map(str::to_owned), error.message().map(str::to_owned)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The seconds of a `Retry-After`; its other form, a date, is not used by S3.
fn retry_after(response: &HttpResponse) -> Option<Duration> {
    response.headers().get("retry-after").and_then(|text| text.trim().parse().ok()).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_by_status_and_code() {
        let cases = [
            (404, "NoSuchKey", Answer::NotFound),
            (404, "", Answer::NotFound),
            (404, "NoSuchBucket", Answer::NoBucket),
            (412, "PreconditionFailed", Answer::Taken),
            (416, "InvalidRange", Answer::RangeNotSatisfiable),
            (403, "AccessDenied", Answer::AccessDenied),
            (403, "SignatureDoesNotMatch", Answer::AccessDenied),
            (403, "", Answer::AccessDenied),
            (403, "RequestTimeTooSkewed", Answer::ClockSkewed),
            (400, "AuthorizationHeaderMalformed", Answer::WrongRegion),
            (301, "PermanentRedirect", Answer::WrongRegion),
            (503, "SlowDown", Answer::Throttled),
            (429, "", Answer::Throttled),
            (507, "", Answer::Full),
            (409, "ConditionalRequestConflict", Answer::Unavailable),
            (500, "InternalError", Answer::Unavailable),
            (400, "RequestTimeout", Answer::Unavailable),
            (501, "NotImplemented", Answer::NotImplemented),
            (400, "InvalidArgument", Answer::Other),
        ];
        for (status, code, expected) in cases {
            assert_eq!(Answer::of(status, code), expected, "{status} {code}");
        }
    }
}
