//! The scope of a gRPC call, from its metadata.

use super::auth::{Authenticator, Credentials, NARROW_HEADER};
use siltstone_core::CallerScope;
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};

/// The scope of whoever made a call.
///
/// # Errors
/// `Unauthenticated` with what to do.
#[allow(clippy::result_large_err, reason = "tonic's services return statuses by value")]
pub(super) fn scope_of<T>(authenticator: &dyn Authenticator, request: &Request<T>) -> Result<CallerScope, Status> {
    let metadata = request.metadata();
    let credentials = Credentials { bearer: bearer(metadata), narrow: text(metadata, NARROW_HEADER) };
    authenticator.authenticate(&credentials).map_err(|error| Status::unauthenticated(error.to_string()))
}

fn bearer(metadata: &MetadataMap) -> Option<String> {
    bearer_of(&text(metadata, "authorization")?)
}

/// The token of an `authorization` header's value.
pub(super) fn bearer_of(value: &str) -> Option<String> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

fn text(metadata: &MetadataMap, name: &str) -> Option<String> {
    Some(metadata.get(name)?.to_str().ok()?.to_owned())
}
