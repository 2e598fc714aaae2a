//! OTLP over HTTP: `POST /v1/logs`, protobuf or JSON, perhaps gzip. Answers come in the encoding of the request; failures are a `google.rpc.Status`.

use super::json;
use super::map::{OtlpMapping, arrivals};
use super::response_of;
use crate::ingest::Ingest;
use crate::serve::auth::{Authenticator, Credentials, NARROW_HEADER};
use crate::serve::caller::bearer_of;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use prost::Message;
use siltstone_core::ErrorKind;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a request, before and after it is unpacked.
const REQUEST_BYTES_MAX: usize = 64 << 20;

/// A body that has not come by then is given up.
const BODY_WAIT: Duration = Duration::from_secs(60);

/// Seconds after which a client that must wait should try again.
const RETRY_AFTER_S: &str = "1";

/// What the routes need.
#[derive(Clone)]
pub(in crate::serve) struct HttpState {
    pub(in crate::serve) ingest: Ingest,
    pub(in crate::serve) authenticator: Arc<dyn Authenticator>,
    pub(in crate::serve) mapping: OtlpMapping,
}

/// The routes that take logs, and what probes ask.
pub(in crate::serve) fn routes(state: HttpState) -> Router {
    Router::new().route("/v1/logs", post(export)).route("/ready", get(ready)).layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX)).with_state(state)
}

/// Whether this node takes entries now.
async fn ready(State(state): State<HttpState>) -> Response {
    match state.ingest.trouble() {
        None => "ready\n".into_response(),
        Some(trouble) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {}\n", trouble.cause)).into_response(),
    }
}

/// `google.rpc.Status`, of which OTLP uses two fields. Source: googleapis `google/rpc/status.proto`.
#[derive(Clone, PartialEq, prost::Message, serde::Serialize)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Encoding {
    Protobuf,
    Json,
}

struct Failure {
    status: StatusCode,
    code: tonic::Code,
    message: String,
}

async fn export(State(state): State<HttpState>, request: Request) -> Response {
    let encoding = match encoding_of(request.headers()) {
        Ok(encoding) => encoding,
        Err(failure) => return failure.response(Encoding::Json),
    };
    match take(&state, encoding, request).await {
        Ok(response) => response,
        Err(failure) => failure.response(encoding),
    }
}

async fn take(state: &HttpState, encoding: Encoding, request: Request) -> Result<Response, Failure> {
    let headers = request.headers().clone();
    let credentials =
        Credentials { bearer: text(&headers, "authorization").and_then(bearer_of), narrow: text(&headers, NARROW_HEADER).map(str::to_owned) };
    let scope = state.authenticator.authenticate(&credentials).map_err(|error| Failure {
        status: StatusCode::UNAUTHORIZED,
        code: tonic::Code::Unauthenticated,
        message: error.to_string(),
    })?;
    let body = unpacked(&headers, read(request).await?)?;
    let request = decoded(encoding, &body)?;
    let arrivals = arrivals(request.resource_logs, state.mapping);
    let receipt = state.ingest.write(&scope, None, arrivals).await.map_err(|error| Failure::of_kind(error.kind(), error.to_string()))?;
    let answer = response_of(&receipt.refusals);
    Ok(match encoding {
        Encoding::Protobuf => (StatusCode::OK, [(header::CONTENT_TYPE, "application/x-protobuf")], answer.encode_to_vec()).into_response(),
        Encoding::Json => axum::Json(answer).into_response(),
    })
}

/// The whole body, from whoever was allowed to send one.
async fn read(request: Request) -> Result<Bytes, Failure> {
    match tokio::time::timeout(BODY_WAIT, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(rejection)) => Err(Failure { status: rejection.status(), code: tonic::Code::InvalidArgument, message: rejection.body_text() }),
        Err(_) => Err(Failure {
            status: StatusCode::REQUEST_TIMEOUT,
            code: tonic::Code::DeadlineExceeded,
            message: format!("read the body: it has not come within {} s; send smaller requests", BODY_WAIT.as_secs()),
        }),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn encoding_of(headers: &HeaderMap) -> Result<Encoding, Failure> {
    let content_type = text(headers, header::CONTENT_TYPE.as_str()).unwrap_or_default();
    match content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "application/x-protobuf" => Ok(Encoding::Protobuf),
        "application/json" => Ok(Encoding::Json),
        _ => Err(Failure {
            status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
            code: tonic::Code::InvalidArgument,
            message: format!("read content-type {content_type:?}: send application/x-protobuf or application/json"),
        }),
    }
}

fn unpacked(headers: &HeaderMap, body: Bytes) -> Result<Bytes, Failure> {
    match text(headers, header::CONTENT_ENCODING.as_str()).unwrap_or("identity").to_ascii_lowercase().as_str() {
        "identity" | "" => Ok(body),
        "gzip" => {
            let mut bytes = Vec::new();
            // One byte past the limit tells a body that is too large from one that just fits.
            let mut reader = flate2::read::MultiGzDecoder::new(body.as_ref()).take(REQUEST_BYTES_MAX as u64 + 1);
            reader.read_to_end(&mut bytes).map_err(|error| Failure::bad_request(format!("unpack the gzip body: {error}")))?;
            if bytes.len() > REQUEST_BYTES_MAX {
                return Err(Failure {
                    status: StatusCode::PAYLOAD_TOO_LARGE,
                    code: tonic::Code::InvalidArgument,
                    message: format!("unpack the gzip body: it has more than {REQUEST_BYTES_MAX} bytes; send smaller requests"),
                });
            }
            Ok(bytes.into())
        }
        other => Err(Failure {
            status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
            code: tonic::Code::InvalidArgument,
            message: format!("read content-encoding {other:?}: send gzip, or none"),
        }),
    }
}

fn decoded(encoding: Encoding, body: &[u8]) -> Result<ExportLogsServiceRequest, Failure> {
    match encoding {
        Encoding::Protobuf => ExportLogsServiceRequest::decode(body)
            .map_err(|error| Failure::bad_request(format!("decode ExportLogsServiceRequest from protobuf: {error}"))),
        Encoding::Json => json::request_of(body).map_err(|error| Failure::bad_request(format!("decode ExportLogsServiceRequest from JSON: {error}"))),
    }
}

impl Failure {
    fn bad_request(message: String) -> Self {
        Self { status: StatusCode::BAD_REQUEST, code: tonic::Code::InvalidArgument, message }
    }

    /// OTLP clients retry 429, 502, 503 and 504, and no other.
    fn of_kind(kind: ErrorKind, message: String) -> Self {
        let status = match kind {
            ErrorKind::InvalidInput => StatusCode::BAD_REQUEST,
            ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
            ErrorKind::Throttled => StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::Exhausted => StatusCode::INSUFFICIENT_STORAGE,
            ErrorKind::Unavailable | ErrorKind::Unknown | ErrorKind::Fenced => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { status, code: crate::serve::status::code_of(kind), message }
    }

    fn response(self, encoding: Encoding) -> Response {
        let status = RpcStatus { code: self.code as i32, message: self.message };
        let mut response = match encoding {
            Encoding::Protobuf => (self.status, [(header::CONTENT_TYPE, "application/x-protobuf")], status.encode_to_vec()).into_response(),
            Encoding::Json => (self.status, axum::Json(status)).into_response(),
        };
        if matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static(RETRY_AFTER_S));
        }
        response
    }
}
