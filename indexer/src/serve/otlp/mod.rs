//! OTLP logs in, over gRPC and over HTTP (protobuf and JSON, gzip). Delivery is at least once: OTLP has no key.
//!
//! Source: OpenTelemetry protocol specification 1.x, "OTLP/gRPC", "OTLP/HTTP", "Partial Success" and "Failures".

mod grpc;
mod http;
mod json;
mod map;

pub(super) use grpc::OtlpService;
pub(super) use http::{HttpState, routes};
pub use map::OtlpMapping;

use crate::ingest::Refusal;
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsPartialSuccess, ExportLogsServiceResponse};
use std::collections::BTreeMap;

/// Reasons that a partial success tells, with an example each; the number of rejected records is always exact.
const REASONS_MAX: usize = 5;

/// OTLP's answer: success, or how many records were rejected and why.
fn response_of(refusals: &[Refusal]) -> ExportLogsServiceResponse {
    if refusals.is_empty() {
        return ExportLogsServiceResponse::default();
    }
    let mut reasons: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for refusal in refusals {
        reasons.entry(refusal.reason.code()).or_insert_with(|| (0, refusal.reason.to_string())).0 += 1;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let told: Vec<_> = reasons.iter().take(REASONS_MAX).map(|(code, (count, example))| format!("{count} x {code}: {example}")).collect();
    ExportLogsServiceResponse {
        partial_success: Some(ExportLogsPartialSuccess {
            rejected_log_records: i64::try_from(refusals.len()).unwrap_or(i64::MAX),
            error_message: told.join("; "),
        }),
    }
}
