//! Between the wire's messages and the domain's types.

use crate::query::FoundRow;
use siltstone_core::pattern::{Piece, pieces};
use siltstone_core::{Entry, Severity, Value};
use siltstone_proto::v1;

pub(super) fn entry_of(entry: v1::LogEntry) -> Entry {
    Entry {
        namespace: entry.namespace,
        deployment: entry.deployment,
        pod: entry.pod,
        container: entry.container,
        timestamp_ns: entry.timestamp_ns,
        severity: u8::try_from(entry.severity_number).map_or(Severity::UNSPECIFIED, Severity::from_number),
        body: entry.body.into(),
        attributes: entry.attributes.into_iter().filter_map(attribute_of).collect(),
    }
}

/// An attribute without a value is none.
fn attribute_of(attribute: v1::Attribute) -> Option<(String, Value)> {
    use v1::value::Kind;
    let value = match attribute.value?.kind? {
        Kind::StringValue(text) => Value::Str(text),
        Kind::IntValue(number) => Value::Int(number),
        Kind::DoubleValue(number) => Value::Float(number),
        Kind::BoolValue(truth) => Value::Bool(truth),
    };
    Some((attribute.name, value))
}

fn wire_value(value: Value) -> v1::Value {
    use v1::value::Kind;
    let kind = match value {
        Value::Str(text) => Kind::StringValue(text),
        Value::Int(number) => Kind::IntValue(number),
        Value::Float(number) => Kind::DoubleValue(number),
        Value::Bool(truth) => Kind::BoolValue(truth),
    };
    v1::Value { kind: Some(kind) }
}

pub(super) fn wire_row(found: FoundRow) -> v1::Row {
    let FoundRow { address, entry, flags, score } = found;
    v1::Row {
        address: address.as_u64(),
        namespace: entry.namespace,
        deployment: entry.deployment,
        pod: entry.pod,
        container: entry.container,
        timestamp_ns: entry.timestamp_ns.unwrap_or_default(),
        timestamp_observed: flags.is_timestamp_observed(),
        timestamp_future: flags.is_timestamp_future(),
        severity_number: u32::from(entry.severity.number()),
        body: entry.body,
        attributes: entry.attributes.into_iter().map(|(name, value)| v1::Attribute { name, value: Some(wire_value(value)) }).collect(),
        score: f64::from(score),
    }
}

/// A pattern as people read it: `<*>` for each variable.
pub(super) fn pattern_text(pattern: &[u8]) -> String {
    let mut text = Vec::with_capacity(pattern.len() + 16);
    for piece in pieces(pattern) {
        match piece {
            Piece::Slot => text.extend_from_slice(b"<*>"),
            Piece::Literal(literal) => text.extend_from_slice(literal),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}
