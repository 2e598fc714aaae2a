//! Between the wire's messages and the domain's types.

use crate::query::{FoundRow, Ranks};
use siltstone_core::pattern::{Piece, pieces};
use siltstone_core::{Entry, EntryVector, Severity, Value};
use siltstone_proto::v1;
use siltstone_segment::PatternCount;

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
        vectors: entry.vectors.into_iter().map(|vector| EntryVector { field: vector.field, values: vector.values }).collect(),
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

/// Of vectors the fields alone, unless the numbers are asked for.
pub(super) fn wire_row(found: FoundRow, with_vectors: bool) -> v1::Row {
    let FoundRow { address, entry, flags, score, ranks, distance } = found;
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
        ranks: ranks.map(wire_ranks),
        distance,
        vectors: entry.vectors.into_iter().map(|vector| wire_vector(vector, with_vectors)).collect(),
    }
}

fn wire_vector(vector: EntryVector, with_numbers: bool) -> v1::Vector {
    v1::Vector { field: vector.field, values: if with_numbers { vector.values } else { Vec::new() } }
}

fn wire_ranks(ranks: Ranks) -> v1::Ranks {
    v1::Ranks {
        pattern: ranks.pattern.to_string(),
        pattern_count: ranks.pattern_count,
        similarity: ranks.similarity.map(f64::from),
        words: f64::from(ranks.words),
    }
}

/// A pattern of an answer of `total` rows.
pub(super) fn wire_pattern(pattern: &PatternCount, similarity: Option<f32>, total: u64, example: Option<v1::Row>) -> v1::Pattern {
    v1::Pattern {
        id: pattern.hash.to_string(),
        text: pattern_text(&pattern.bytes),
        count: pattern.count,
        share: if total == 0 { 0.0 } else { pattern.count as f64 / total as f64 },
        first_seen_ns: pattern.first_ns,
        last_seen_ns: pattern.last_ns,
        example,
        similarity: similarity.map(f64::from),
    }
}

/// A pattern as people read it: `<*>` for each variable.
fn pattern_text(pattern: &[u8]) -> String {
    let mut text = Vec::with_capacity(pattern.len() + 16);
    for piece in pieces(pattern) {
        match piece {
            Piece::Slot => text.extend_from_slice(b"<*>"),
            Piece::Literal(literal) => text.extend_from_slice(literal),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}
