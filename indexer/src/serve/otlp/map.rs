//! From OTLP's log records to arrivals.
//!
//! Source: OpenTelemetry protocol 1.x (`opentelemetry/proto/logs/v1/logs.proto`), its log data model, and its semantic conventions for
//! Kubernetes resources (`k8s.*`). What is deliberately not here: transport, admission, and a bound on nesting: the decoders have one (100 messages
//! in protobuf, 128 levels in JSON) and refuse the request that passes it, so that nothing is cut.

use crate::ingest::{Arrival, Reason};
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value::Value as Any};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs};
use siltstone_core::{Entry, Severity, Value};

/// How resources become tags.
#[derive(Clone, Copy, Debug, Default)]
pub struct OtlpMapping {
    /// Whether `k8s.cluster.name`, where it is given, stands before the namespace's name with a '/' between.
    pub qualify_with_cluster: bool,
}

const NAMESPACE: &str = "k8s.namespace.name";
const CLUSTER: &str = "k8s.cluster.name";
const POD: &str = "k8s.pod.name";
const CONTAINER: &str = "k8s.container.name";

/// Names of a workload, the most telling first: what owns the ReplicaSet or Job comes before it, `service.name` is for what runs outside Kubernetes.
const WORKLOADS: [&str; 7] =
    ["k8s.deployment.name", "k8s.statefulset.name", "k8s.daemonset.name", "k8s.cronjob.name", "k8s.job.name", "k8s.replicaset.name", "service.name"];

/// Every record of a request, in order.
pub(crate) fn arrivals(resources: Vec<ResourceLogs>, mapping: OtlpMapping) -> impl Iterator<Item = Result<Arrival, Reason>> {
    resources.into_iter().flat_map(move |resource| {
        let tags = ResourceTags::of(resource.resource.map(|resource| resource.attributes).unwrap_or_default(), mapping);
        resource.scope_logs.into_iter().flat_map(move |scope| {
            let mut tags = tags.clone();
            tags.attributes.extend(scope.scope.map(scope_attributes).unwrap_or_default());
            scope.log_records.into_iter().map(move |record| arrival(record, &tags)).collect::<Vec<_>>()
        })
    })
}

/// What emitted the records: the names that OpenTelemetry gives to a scope's parts where there is no place for scopes, and its own attributes below
/// the same prefix. Source: OpenTelemetry specification, "Mapping to non-OTLP formats", "InstrumentationScope".
fn scope_attributes(scope: InstrumentationScope) -> Vec<(String, Value)> {
    let named = [("otel.scope.name", scope.name), ("otel.scope.version", scope.version)];
    let mut attributes: Vec<_> =
        named.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name.to_owned(), Value::Str(text))).collect();
    attributes.extend(scope.attributes.into_iter().filter_map(|attribute| Some((format!("otel.scope.{}", attribute.key), typed(attribute.value?)?))));
    attributes
}

/// What all records of a resource have in common.
#[derive(Clone, Debug, Default)]
struct ResourceTags {
    namespace: String,
    deployment: String,
    pod: String,
    container: String,
    attributes: Vec<(String, Value)>,
}

impl ResourceTags {
    fn of(attributes: Vec<KeyValue>, mapping: OtlpMapping) -> Self {
        let mut tags = Self::default();
        let mut workload: Option<(usize, String)> = None;
        let mut cluster = None;
        for attribute in attributes {
            let Some(value) = attribute.value.and_then(typed) else { continue };
            let key = attribute.key;
            if let Some(rank) = WORKLOADS.iter().position(|name| *name == key) {
                if workload.as_ref().is_none_or(|(known, _)| rank < *known) {
                    workload = Some((rank, value.to_string()));
                }
                if key != "service.name" {
                    continue;
                }
            }
            match key.as_str() {
                NAMESPACE => tags.namespace = value.to_string(),
                POD => tags.pod = value.to_string(),
                CONTAINER => tags.container = value.to_string(),
                CLUSTER => {
                    cluster = Some(value.to_string());
                    tags.attributes.push((key, value));
                }
                _ => tags.attributes.push((key, value)),
            }
        }
        tags.deployment = workload.map(|(_, name)| name).unwrap_or_default();
        if let (true, Some(cluster), false) = (mapping.qualify_with_cluster, cluster, tags.namespace.is_empty()) {
            tags.namespace = format!("{cluster}/{}", tags.namespace);
        }
        tags
    }
}

fn arrival(record: LogRecord, tags: &ResourceTags) -> Result<Arrival, Reason> {
    let mut attributes = tags.attributes.clone();
    attributes.extend(record.attributes.into_iter().filter_map(|attribute| Some((attribute.key, typed(attribute.value?)?))));
    for (name, id) in [("trace_id", &record.trace_id), ("span_id", &record.span_id)] {
        // All zeros means "none", as W3C trace context has it.
        if id.iter().any(|byte| *byte != 0) {
            attributes.push((name.to_owned(), Value::Str(hex(id))));
        }
    }
    if !record.event_name.is_empty() {
        attributes.push(("event_name".to_owned(), Value::Str(record.event_name)));
    }
    let severity = match u8::try_from(record.severity_number) {
        Ok(number) if number != 0 => Severity::from_number(number),
        _ => Severity::from_name(&record.severity_text),
    };
    if says_more(&record.severity_text, severity) {
        attributes.push(("severity_text".to_owned(), Value::Str(record.severity_text)));
    }
    if record.flags != 0 {
        attributes.push(("otel.flags".to_owned(), Value::Int(i64::from(record.flags))));
    }
    let entry = Entry {
        namespace: tags.namespace.clone(),
        deployment: tags.deployment.clone(),
        pod: tags.pod.clone(),
        container: tags.container.clone(),
        timestamp_ns: time(record.time_unix_nano)?,
        severity,
        body: record.body.and_then(|body| body.value).map(body_bytes).unwrap_or_default(),
        attributes,
        vectors: Vec::new(),
    };
    Ok(Arrival { entry, observed_ns: time(record.observed_time_unix_nano)? })
}

/// Whether the source's own word for a severity tells more than the number: `NOTICE` does, `Warning` for a warning does not, nor does `INFO2` for 10.
fn says_more(text: &str, severity: Severity) -> bool {
    let word = text.trim().to_ascii_lowercase();
    let name = severity.name();
    let is_usual = match word.as_str() {
        "" => true,
        "warning" => name == "warn",
        "err" => name == "error",
        "information" | "informational" => name == "info",
        word => match word.strip_prefix(name) {
            Some("") => true,
            Some(digit) => digit.parse::<u8>().is_ok_and(|digit| digit == (severity.number().wrapping_sub(1)) % 4 + 1),
            None => false,
        },
    };
    !is_usual
}

/// OTLP says 0 for "unknown".
fn time(unix_nano: u64) -> Result<Option<i64>, Reason> {
    match i64::try_from(unix_nano) {
        Ok(0) => Ok(None),
        Ok(ns) => Ok(Some(ns)),
        Err(_) => Err(Reason::TimestampOutOfRange(unix_nano)),
    }
}

fn body_bytes(body: Any) -> Vec<u8> {
    match body {
        Any::StringValue(text) => text.into_bytes(),
        Any::BytesValue(bytes) => bytes,
        other => json_text(&other).into_bytes(),
    }
}

/// Scalars keep their type; bytes become hexadecimal, lists and maps JSON.
fn typed(value: AnyValue) -> Option<Value> {
    Some(match value.value? {
        Any::StringValue(text) => Value::Str(text),
        Any::BoolValue(truth) => Value::Bool(truth),
        Any::IntValue(number) => Value::Int(number),
        Any::DoubleValue(number) => Value::Float(number),
        Any::BytesValue(bytes) => Value::Str(hex(&bytes)),
        other => Value::Str(json_text(&other)),
    })
}

fn json_text(value: &Any) -> String {
    json(value).to_string()
}

fn json(value: &Any) -> serde_json::Value {
    let inner = |value: Option<&AnyValue>| value.and_then(|value| value.value.as_ref()).map_or(serde_json::Value::Null, json);
    match value {
        Any::StringValue(text) => text.as_str().into(),
        Any::BoolValue(truth) => (*truth).into(),
        Any::IntValue(number) => (*number).into(),
        // JSON has no NaN and no infinities: they become text rather than null.
        Any::DoubleValue(number) if !number.is_finite() => number.to_string().into(),
        Any::DoubleValue(number) => (*number).into(),
        Any::BytesValue(bytes) => hex(bytes).into(),
        Any::ArrayValue(list) => list.values.iter().map(|value| inner(Some(value))).collect(),
        Any::KvlistValue(list) => serde_json::Value::Object(list.values.iter().map(|pair| (pair.key.clone(), inner(pair.value.as_ref()))).collect()),
        // A reference into a string table that only profiles have.
        Any::StringValueStrindex(_) => serde_json::Value::Null,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "map_test.rs"]
mod tests;
