//! An export request from JSON, in every form that proto3's JSON mapping allows.
//!
//! Numbers may be numbers or text, enums numbers or names, names camelCase or as in the `.proto`, and null stands for whatever is left out. Trace and
//! span ids are hexadecimal, as OTLP has it, other bytes base64. Fields that are not known are passed over.
//!
//! Sources: "ProtoJSON Format" of the protocol buffers documentation; OTLP specification, "JSON Protobuf Encoding".

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList, any_value::Value as Any};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber};
use opentelemetry_proto::tonic::resource::v1::Resource;
use serde_json::{Map, Value};

/// Why a request is not understood: which field, and what it should be.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum JsonError {
    #[error("{0}")]
    Syntax(String),
    #[error("{field} is {found}, it should be {expected}")]
    Shape { field: &'static str, expected: &'static str, found: String },
}

type Object = Map<String, Value>;

/// The request that a body holds.
///
/// # Errors
/// [`JsonError`]
pub(super) fn request_of(body: &[u8]) -> Result<ExportLogsServiceRequest, JsonError> {
    let value: Value = serde_json::from_slice(body).map_err(|error| JsonError::Syntax(error.to_string()))?;
    let Value::Object(mut request) = value else { return Err(shape("the request", "an object", &value)) };
    Ok(ExportLogsServiceRequest { resource_logs: list(&mut request, "resourceLogs", resource_logs)? })
}

fn resource_logs(mut object: Object) -> Result<ResourceLogs, JsonError> {
    let resource = message(&mut object, "resource", |mut object| {
        Ok(Resource { attributes: list(&mut object, "attributes", key_value)?, ..Resource::default() })
    })?;
    Ok(ResourceLogs { resource, scope_logs: list(&mut object, "scopeLogs", scope_logs)?, schema_url: text(&mut object, "schemaUrl")? })
}

fn scope_logs(mut object: Object) -> Result<ScopeLogs, JsonError> {
    let scope = message(&mut object, "scope", |mut object| {
        Ok(InstrumentationScope {
            name: text(&mut object, "name")?,
            version: text(&mut object, "version")?,
            attributes: list(&mut object, "attributes", key_value)?,
            ..InstrumentationScope::default()
        })
    })?;
    Ok(ScopeLogs { scope, log_records: list(&mut object, "logRecords", log_record)?, schema_url: text(&mut object, "schemaUrl")? })
}

fn log_record(mut object: Object) -> Result<LogRecord, JsonError> {
    Ok(LogRecord {
        time_unix_nano: number(&mut object, "timeUnixNano")?,
        observed_time_unix_nano: number(&mut object, "observedTimeUnixNano")?,
        severity_number: severity(&mut object)?,
        severity_text: text(&mut object, "severityText")?,
        body: message(&mut object, "body", any_value)?,
        attributes: list(&mut object, "attributes", key_value)?,
        dropped_attributes_count: number(&mut object, "droppedAttributesCount")?,
        flags: number(&mut object, "flags")?,
        trace_id: hex(&mut object, "traceId")?,
        span_id: hex(&mut object, "spanId")?,
        event_name: text(&mut object, "eventName")?,
    })
}

fn key_value(mut object: Object) -> Result<KeyValue, JsonError> {
    Ok(KeyValue { key: text(&mut object, "key")?, value: message(&mut object, "value", any_value)?, ..KeyValue::default() })
}

fn any_value(mut object: Object) -> Result<AnyValue, JsonError> {
    let value = if let Some(value) = take(&mut object, "stringValue") {
        Some(Any::StringValue(text_of("stringValue", value)?))
    } else if let Some(value) = take(&mut object, "boolValue") {
        match value {
            Value::Bool(truth) => Some(Any::BoolValue(truth)),
            value => return Err(shape("boolValue", "true or false", &value)),
        }
    } else if let Some(value) = take(&mut object, "intValue") {
        Some(Any::IntValue(number_of("intValue", &value)?))
    } else if let Some(value) = take(&mut object, "doubleValue") {
        Some(Any::DoubleValue(double_of(&value)?))
    } else if let Some(values) = message(&mut object, "arrayValue", |mut object| list(&mut object, "values", any_value))? {
        Some(Any::ArrayValue(ArrayValue { values }))
    } else if let Some(values) = message(&mut object, "kvlistValue", |mut object| list(&mut object, "values", key_value))? {
        Some(Any::KvlistValue(KeyValueList { values }))
    } else if let Some(value) = take(&mut object, "bytesValue") {
        let encoded = text_of("bytesValue", value)?;
        Some(Any::BytesValue(base64(&encoded).ok_or_else(|| shape("bytesValue", "base64", &encoded.into()))?))
    } else {
        None
    };
    Ok(AnyValue { value })
}

/// A field that is there and not null, by its JSON name or its name in the `.proto`.
fn take(object: &mut Object, name: &str) -> Option<Value> {
    let original = || name.chars().flat_map(|letter| letter.is_ascii_uppercase().then_some('_').into_iter().chain([letter.to_ascii_lowercase()]));
    let value = object.remove(name).or_else(|| object.remove(&original().collect::<String>()))?;
    (!value.is_null()).then_some(value)
}

fn message<T>(object: &mut Object, name: &'static str, read: impl FnOnce(Object) -> Result<T, JsonError>) -> Result<Option<T>, JsonError> {
    match take(object, name) {
        None => Ok(None),
        Some(Value::Object(inner)) => read(inner).map(Some),
        Some(other) => Err(shape(name, "an object", &other)),
    }
}

fn list<T>(object: &mut Object, name: &'static str, read: impl Fn(Object) -> Result<T, JsonError>) -> Result<Vec<T>, JsonError> {
    match take(object, name) {
        None => Ok(Vec::new()),
        Some(Value::Array(values)) => values
            .into_iter()
            .map(|value| match value {
                Value::Object(inner) => read(inner),
                other => Err(shape(name, "a list of objects", &other)),
            })
            .collect(),
        Some(other) => Err(shape(name, "a list", &other)),
    }
}

fn text(object: &mut Object, name: &'static str) -> Result<String, JsonError> {
    take(object, name).map_or(Ok(String::new()), |value| text_of(name, value))
}

fn text_of(name: &'static str, value: Value) -> Result<String, JsonError> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(shape(name, "text", &other)),
    }
}

fn number<T>(object: &mut Object, name: &'static str) -> Result<T, JsonError>
where
    T: TryFrom<i128> + Default,
{
    take(object, name).map_or(Ok(T::default()), |value| number_of(name, &value))
}

/// A whole number: `5`, `"5"`, `5.0` or `"5e3"`.
fn number_of<T>(name: &'static str, value: &Value) -> Result<T, JsonError>
where
    T: TryFrom<i128>,
{
    let written = match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    };
    let exact = written.as_deref().and_then(|text| text.parse::<i128>().ok());
    // A float of up to 2^53 that has no fraction is exact.
    let whole = || written.as_deref().and_then(|text| text.parse::<f64>().ok()).filter(|number| number.fract() == 0.0 && number.abs() <= 9e15);
    let number = exact.or_else(|| whole().map(|number| number as i128));
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| shape(name, "a whole number within its range", value))
}

fn double_of(value: &Value) -> Result<f64, JsonError> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            text => text.parse().ok().filter(|number: &f64| number.is_finite()),
        },
        _ => None,
    };
    number.ok_or_else(|| shape("doubleValue", "a number, or a number as text", value))
}

fn severity(object: &mut Object) -> Result<i32, JsonError> {
    match take(object, "severityNumber") {
        None => Ok(0),
        Some(Value::String(name)) if name.starts_with("SEVERITY_NUMBER_") => match SeverityNumber::from_str_name(&name) {
            Some(severity) => Ok(severity as i32),
            None => Err(shape("severityNumber", "a number from 0 to 24 or its name, as SEVERITY_NUMBER_WARN", &name.into())),
        },
        Some(value) => number_of("severityNumber", &value),
    }
}

fn hex(object: &mut Object, name: &'static str) -> Result<Vec<u8>, JsonError> {
    let text = text(object, name)?;
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    bytes.collect::<Option<Vec<u8>>>().ok_or_else(|| shape(name, "hexadecimal digits, two a byte", &text.into()))
}

/// Base64 of either alphabet, with or without padding (RFC 4648, sections 4 and 5).
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    (count < 6).then_some(bytes)
}

fn shape(field: &'static str, expected: &'static str, found: &Value) -> JsonError {
    /// A value of any length must not fill the answer.
    const SHOWN: usize = 64;
    let mut found = found.to_string();
    if found.len() > SHOWN {
        found.truncate(found.floor_char_boundary(SHOWN));
        found.push('…');
    }
    JsonError::Shape { field, expected, found }
}

#[cfg(test)]
#[path = "json_test.rs"]
mod tests;
