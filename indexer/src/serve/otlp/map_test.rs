use super::*;
use opentelemetry_proto::tonic::common::v1::{ArrayValue, InstrumentationScope, KeyValueList};
use opentelemetry_proto::tonic::logs::v1::ScopeLogs;
use opentelemetry_proto::tonic::resource::v1::Resource;

fn text(text: &str) -> AnyValue {
    AnyValue { value: Some(Any::StringValue(text.to_owned())) }
}

fn pair(key: &str, value: AnyValue) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(value), ..KeyValue::default() }
}

fn request(attributes: Vec<KeyValue>, records: Vec<LogRecord>) -> Vec<ResourceLogs> {
    let scope = InstrumentationScope { name: "checkout".to_owned(), ..InstrumentationScope::default() };
    vec![ResourceLogs {
        resource: Some(Resource { attributes, ..Resource::default() }),
        scope_logs: vec![ScopeLogs { scope: Some(scope), log_records: records, ..ScopeLogs::default() }],
        ..ResourceLogs::default()
    }]
}

fn one(attributes: Vec<KeyValue>, record: LogRecord, mapping: OtlpMapping) -> Result<Arrival, Reason> {
    arrivals(request(attributes, vec![record]), mapping).next().expect("one record")
}

#[test]
fn kubernetes_resources_become_tags() {
    let attributes = vec![
        pair("service.name", text("checkout-svc")),
        pair("k8s.replicaset.name", text("checkout-5d9c")),
        pair("k8s.deployment.name", text("checkout")),
        pair("k8s.namespace.name", text("shop")),
        pair("k8s.pod.name", text("checkout-5d9c-x2x")),
        pair("k8s.container.name", text("server")),
        pair("k8s.cluster.name", text("eu-1")),
        pair("host.name", text("node-7")),
    ];
    let entry = one(attributes.clone(), LogRecord::default(), OtlpMapping::default()).expect("an entry").entry;
    assert_eq!((entry.namespace.as_str(), entry.deployment.as_str()), ("shop", "checkout"));
    assert_eq!((entry.pod.as_str(), entry.container.as_str()), ("checkout-5d9c-x2x", "server"));
    assert!(entry.attributes.contains(&("host.name".to_owned(), Value::Str("node-7".to_owned()))));
    assert!(entry.attributes.contains(&("otel.scope.name".to_owned(), Value::Str("checkout".to_owned()))));
    let qualified = one(attributes, LogRecord::default(), OtlpMapping { qualify_with_cluster: true }).expect("an entry").entry;
    assert_eq!(qualified.namespace, "eu-1/shop");
}

#[test]
fn a_namespace_is_never_guessed() {
    let entry =
        one(vec![pair("service.name", text("shop"))], LogRecord::default(), OtlpMapping { qualify_with_cluster: true }).expect("an entry").entry;
    assert_eq!((entry.namespace.as_str(), entry.deployment.as_str()), ("", "shop"));
}

#[test]
fn times_severities_bodies_and_ids_are_taken_over() {
    let list = AnyValue { value: Some(Any::ArrayValue(ArrayValue { values: vec![text("a"), text("b")] })) };
    let map = Any::KvlistValue(KeyValueList { values: vec![pair("error", text("refused")), pair("parts", list)] });
    let record = LogRecord {
        observed_time_unix_nano: 77,
        severity_text: "Warning".to_owned(),
        body: Some(AnyValue { value: Some(map) }),
        trace_id: vec![0xab; 16],
        span_id: vec![0; 8],
        attributes: vec![pair("latency_ms", AnyValue { value: Some(Any::IntValue(250)) })],
        ..LogRecord::default()
    };
    let arrival = one(Vec::new(), record, OtlpMapping::default()).expect("an entry");
    assert_eq!((arrival.entry.timestamp_ns, arrival.observed_ns), (None, Some(77)));
    assert_eq!(arrival.entry.severity, Severity::WARN);
    assert_eq!(arrival.entry.body, br#"{"error":"refused","parts":["a","b"]}"#);
    assert!(arrival.entry.attributes.contains(&("latency_ms".to_owned(), Value::Int(250))));
    assert!(arrival.entry.attributes.contains(&("trace_id".to_owned(), Value::Str("ab".repeat(16)))));
    assert!(!arrival.entry.attributes.iter().any(|(name, _)| name == "span_id"), "all zeros means none");
}

#[test]
fn a_time_that_does_not_fit_refuses_its_record_alone() {
    let late = LogRecord { time_unix_nano: u64::MAX, ..LogRecord::default() };
    let fine = LogRecord { time_unix_nano: 5, ..LogRecord::default() };
    let all: Vec<_> = arrivals(request(Vec::new(), vec![late, fine]), OtlpMapping::default()).collect();
    assert_eq!(all[0], Err(Reason::TimestampOutOfRange(u64::MAX)));
    assert!(all[1].is_ok());
}

#[test]
fn a_severitys_own_word_is_kept_where_it_says_more_than_the_number() {
    let kept = |number: i32, text: &str| {
        let record = LogRecord { severity_number: number, severity_text: text.to_owned(), ..LogRecord::default() };
        let entry = one(Vec::new(), record, OtlpMapping::default()).expect("an entry").entry;
        entry.attributes.into_iter().find(|(name, _)| name == "severity_text").map(|(_, value)| value.to_string())
    };
    for (number, text) in [(9, "INFO"), (0, "warning"), (13, "Warning"), (10, "INFO2"), (9, "Information"), (17, "ERR"), (17, ""), (0, "UNSPECIFIED")]
    {
        assert_eq!(kept(number, text), None, "{number} {text}");
    }
    for (number, text) in [(10, "NOTICE"), (0, "loud"), (17, "WARN"), (21, "emergency"), (9, "INFO3"), (0, "Crit")] {
        assert_eq!(kept(number, text).as_deref(), Some(text), "{number} {text}");
    }
}

#[test]
fn scopes_and_flags_are_kept() {
    let mut request = request(Vec::new(), vec![LogRecord { flags: 1, ..LogRecord::default() }, LogRecord::default()]);
    request[0].scope_logs[0].scope = Some(InstrumentationScope {
        name: "lib".to_owned(),
        version: "1.2".to_owned(),
        attributes: vec![pair("team", text("pay"))],
        ..Default::default()
    });
    let all: Vec<_> = arrivals(request, OtlpMapping::default()).map(|arrival| arrival.expect("an entry").entry).collect();
    for (name, value) in [("otel.scope.name", "lib"), ("otel.scope.version", "1.2"), ("otel.scope.team", "pay")] {
        assert!(all.iter().all(|entry| entry.attributes.contains(&(name.to_owned(), Value::Str(value.to_owned())))), "{name}");
    }
    assert!(all[0].attributes.contains(&("otel.flags".to_owned(), Value::Int(1))));
    assert!(!all[1].attributes.iter().any(|(name, _)| name == "otel.flags"));
}

#[test]
fn a_deeply_nested_body_keeps_its_innermost_part() {
    let mut value = text("the cause");
    for _ in 0..60 {
        value = AnyValue { value: Some(Any::ArrayValue(ArrayValue { values: vec![value] })) };
    }
    let entry = one(Vec::new(), LogRecord { body: Some(value), ..LogRecord::default() }, OtlpMapping::default()).expect("an entry").entry;
    assert_eq!(entry.body, format!("{}\"the cause\"{}", "[".repeat(60), "]".repeat(60)).into_bytes());
}

#[test]
fn a_number_that_json_cannot_write_becomes_text() {
    let double = |number| AnyValue { value: Some(Any::DoubleValue(number)) };
    let list = AnyValue { value: Some(Any::ArrayValue(ArrayValue { values: vec![double(f64::NAN), double(1.5)] })) };
    let entry = one(Vec::new(), LogRecord { body: Some(list), ..LogRecord::default() }, OtlpMapping::default()).expect("an entry").entry;
    assert_eq!(entry.body, br#"["NaN",1.5]"#);
}
