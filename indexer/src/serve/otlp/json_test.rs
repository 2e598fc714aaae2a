use super::*;

fn record(fields: &str) -> LogRecord {
    let body = format!(r#"{{"resourceLogs": [{{"scopeLogs": [{{"logRecords": [{{{fields}}}]}}]}}]}}"#);
    let mut request = request_of(body.as_bytes()).unwrap_or_else(|error| panic!("{fields}: {error}"));
    request.resource_logs.remove(0).scope_logs.remove(0).log_records.remove(0)
}

fn body(value: &str) -> Any {
    record(&format!(r#""body": {value}"#)).body.expect("a body").value.expect("a value")
}

#[test]
fn numbers_may_be_numbers_or_text() {
    for text in [r#""1700000000000000001""#, "1700000000000000001"] {
        assert_eq!(record(&format!(r#""timeUnixNano": {text}"#)).time_unix_nano, 1_700_000_000_000_000_001);
    }
    for (text, number) in [("-5", -5), (r#""-5""#, -5), ("5.0", 5), (r#""5e3""#, 5_000)] {
        assert_eq!(body(&format!(r#"{{"intValue": {text}}}"#)), Any::IntValue(number), "{text}");
    }
    for (text, number) in [("1.5", 1.5), (r#""1.5""#, 1.5), ("7", 7.0), (r#""-Infinity""#, f64::NEG_INFINITY)] {
        assert_eq!(body(&format!(r#"{{"doubleValue": {text}}}"#)), Any::DoubleValue(number), "{text}");
    }
    assert!(matches!(body(r#"{"doubleValue": "NaN"}"#), Any::DoubleValue(number) if number.is_nan()));
}

#[test]
fn a_severity_may_be_a_number_or_a_name() {
    for text in ["13", r#""13""#, r#""SEVERITY_NUMBER_WARN""#] {
        assert_eq!(record(&format!(r#""severityNumber": {text}"#)).severity_number, 13, "{text}");
    }
}

#[test]
fn null_is_what_is_left_out() {
    let empty = record(r#""timeUnixNano": null, "attributes": null, "body": null, "severityNumber": null, "traceId": null, "severityText": null"#);
    assert_eq!(empty, LogRecord::default());
    for text in [r#"{"resourceLogs": null}"#, "{}", r#"{"unknown": 7}"#] {
        assert_eq!(request_of(text.as_bytes()), Ok(ExportLogsServiceRequest::default()), "{text}");
    }
    assert_eq!(body(r#"{"arrayValue": {"values": null}}"#), Any::ArrayValue(ArrayValue::default()));
    assert_eq!(record(r#""body": {}"#).body, Some(AnyValue { value: None }));
}

#[test]
fn names_are_those_of_json_or_of_the_proto_file() {
    assert_eq!(record(r#""time_unix_nano": 5, "severity_text": "x""#), record(r#""timeUnixNano": "5", "severityText": "x""#));
}

#[test]
fn ids_are_hexadecimal_and_bytes_are_base64() {
    let ids = record(r#""traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "eee19b7ec3c1b174""#);
    assert_eq!((ids.trace_id[..2].to_vec(), ids.trace_id.len(), ids.span_id.len()), (vec![0x5b, 0x8e], 16, 8));
    for text in ["/+8A", "_-8A"] {
        assert_eq!(body(&format!(r#"{{"bytesValue": "{text}"}}"#)), Any::BytesValue(vec![0xff, 0xef, 0x00]), "{text}");
    }
    for (text, bytes) in [("QQ==", b"A".to_vec()), ("QUI", b"AB".to_vec()), ("", Vec::new())] {
        assert_eq!(base64(text), Some(bytes), "{text}");
    }
    assert_eq!((base64("Q"), base64("Q*==")), (None, None));
}

#[test]
fn what_is_wrong_is_named() {
    for (text, name) in [
        (r#"{"resourceLogs": 7}"#, "resourceLogs"),
        (r#"{"resourceLogs": [7]}"#, "resourceLogs"),
        ("[]", "the request"),
        (r#"{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "soon"}]}]}]}"#, "timeUnixNano"),
        (r#"{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": -1}]}]}]}"#, "timeUnixNano"),
        (r#"{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"severityNumber": "SEVERITY_NUMBER_LOUD"}]}]}]}"#, "severityNumber"),
        (r#"{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"traceId": "abc"}]}]}]}"#, "traceId"),
        (r#"{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"boolValue": 1}}]}]}]}"#, "boolValue"),
    ] {
        let error = request_of(text.as_bytes()).expect_err(text).to_string();
        assert!(error.starts_with(name), "{text}: {error}");
    }
}
