use super::*;
use crate::limits::ENTRY_BYTES_MAX;
use crate::mapping::Mapping;
use crate::options::ImportOptions;
use proptest::prelude::*;
use siltstone_core::{Entry, Severity, Value};

fn read_with(line: &str, options: &ImportOptions) -> Outcome {
    entry_from_json(line.as_bytes(), &EntryMaker::new(options))
}

fn read(line: &str) -> Outcome {
    read_with(line, &ImportOptions { namespace: "fallback".to_owned(), ..ImportOptions::default() })
}

fn entry(line: &str) -> Entry {
    read(line).unwrap().entry
}

fn attributes(line: &str) -> Vec<(String, Value)> {
    entry(line).attributes
}

fn named(name: &str, value: impl Into<Option<Value>>) -> (String, Value) {
    (name.to_owned(), value.into().unwrap())
}

fn text(text: &str) -> Value {
    Value::Str(text.to_owned())
}

#[test]
fn every_default_field_finds_its_place() {
    let line = r#"{"timestamp":"2024-01-02T03:04:05Z","severity":"error","namespace":"shop","deployment":"cart","pod":"cart-1","container":"app","body":"a \"b\"\n\u00e9"}"#;
    let expected = Entry {
        vectors: Vec::new(),
        namespace: "shop".to_owned(),
        deployment: "cart".to_owned(),
        pod: "cart-1".to_owned(),
        container: "app".to_owned(),
        timestamp_ns: Some(1_704_164_645_000_000_000),
        severity: Severity::ERROR,
        body: "a \"b\"\né".as_bytes().to_vec(),
        attributes: Vec::new(),
    };
    assert_eq!(entry(line), expected);
}

#[test]
fn everything_else_becomes_typed_attributes() {
    let line = r#"{"body":"x","s":"t","i":-5,"f":1.5,"t":true,"n":null,"a":[1, {"b":null}],"o":{"p":{"q":1},"r":"s"},"":"empty","d.e":1}"#;
    let expected = [
        named("s", text("t")),
        named("i", Value::Int(-5)),
        named("f", Value::Float(1.5)),
        named("t", Value::Bool(true)),
        named("a", text(r#"[1, {"b":null}]"#)),
        named("o.p.q", Value::Int(1)),
        named("o.r", text("s")),
        named("", text("empty")),
        named("d.e", Value::Int(1)),
    ];
    assert_eq!(attributes(line), expected);
}

#[test]
fn no_digit_of_a_whole_number_is_lost() {
    let line = format!(r#"{{"body":"x","a":{},"b":{},"c":18446744073709551615,"d":123456789012345678901234567890,"e":1e400}}"#, i64::MAX, i64::MIN);
    let expected = [
        named("a", Value::Int(i64::MAX)),
        named("b", Value::Int(i64::MIN)),
        named("c", text("18446744073709551615")),
        named("d", text("123456789012345678901234567890")),
        named("e", text("1e400")),
    ];
    assert_eq!(attributes(&line), expected);
}

#[test]
fn the_last_of_a_repeated_name_wins() {
    assert_eq!(attributes(r#"{"a":1,"body":"x","b":2,"a":3}"#), [named("b", Value::Int(2)), named("a", Value::Int(3))]);
    assert_eq!(attributes(r#"{"body":"x","o":{"a":1},"o.a":2}"#), [named("o.a", Value::Int(2))]);
    assert_eq!(entry(r#"{"body":"x","body":"y"}"#).body, b"y");
    let many: String = (0..40).map(|n| format!(",\"k{}\":{n}", n % 20)).collect();
    let kept = attributes(&format!("{{\"body\":\"x\"{many}}}"));
    assert_eq!(kept, (20..40).map(|n| named(&format!("k{}", n - 20), Value::Int(n))).collect::<Vec<_>>());
}

#[test]
fn the_first_usable_key_wins_and_the_others_stay() {
    let made = read(r#"{"body":"x","timestamp":"2024-01-02T03:04:05Z","timestamp_ms":5}"#).unwrap();
    assert_eq!(made.entry.timestamp_ns, Some(5_000_000));
    assert_eq!(made.entry.attributes, [named("timestamp", text("2024-01-02T03:04:05Z"))]);
    let made = read(r#"{"body":"x","timestamp":"2024-01-02T03:04:05Z","timestamp_ms":"soon"}"#).unwrap();
    assert_eq!((made.entry.timestamp_ns, made.timestamp_unreadable), (Some(1_704_164_645_000_000_000), false));
    assert_eq!(made.entry.attributes, [named("timestamp_ms", text("soon"))]);
}

#[test]
fn what_cannot_be_read_as_time_or_severity_stays_as_it_came() {
    let made = read(r#"{"body":"x","timestamp":"soon","severity":"loud"}"#).unwrap();
    assert_eq!((made.entry.timestamp_ns, made.entry.severity), (None, Severity::UNSPECIFIED));
    assert!(made.timestamp_unreadable && made.severity_unreadable);
    assert_eq!(made.entry.attributes, [named("severity", text("loud")), named("timestamp", text("soon"))].into_iter().rev().collect::<Vec<_>>());
    let made = read(r#"{"body":"x","timestamp":null,"severity":17}"#).unwrap();
    assert_eq!((made.entry.timestamp_ns, made.entry.severity, made.timestamp_unreadable), (None, Severity::ERROR, false));
    for (given, severity) in
        [("\"Warning\"", Severity::WARN), ("\"9\"", Severity::INFO), ("25", Severity::UNSPECIFIED), ("true", Severity::UNSPECIFIED)]
    {
        assert_eq!(entry(&format!(r#"{{"body":"x","severity":{given}}}"#)).severity, severity, "{given}");
    }
}

#[test]
fn numeric_timestamps_are_read_by_unit_or_size() {
    for (given, ns) in [
        (r#""timestamp_ms":1674982122424"#, Some(1_674_982_122_424_000_000)),
        (r#""timestamp_ms":"1674982122424""#, Some(1_674_982_122_424_000_000)),
        (r#""timestamp_ms":-1"#, Some(-1_000_000)),
        (r#""timestamp":1674982122"#, Some(1_674_982_122_000_000_000)),
        (r#""timestamp":1674982122.123456789"#, Some(1_674_982_122_123_456_789)),
        (r#""timestamp":1674982122424123456"#, Some(1_674_982_122_424_123_456)),
        (r#""timestamp":{"a":1}"#, None),
        (r#""timestamp_ms":99999999999999999"#, None),
    ] {
        assert_eq!(entry(&format!(r#"{{"body":"x",{given}}}"#)).timestamp_ns, ns, "{given}");
    }
}

#[test]
fn a_body_may_be_anything_but_missing() {
    for (given, body) in [("\"\"", ""), ("5", "5"), ("1.50", "1.50"), ("true", "true"), ("{\"a\": [1]}", "{\"a\": [1]}"), ("[1, 2]", "[1, 2]")] {
        assert_eq!(entry(&format!(r#"{{"body":{given}}}"#)).body, body.as_bytes(), "{given}");
    }
    for line in ["{}", r#"{"body":null}"#, r#"{"message":"x"}"#] {
        assert_eq!(read(line).unwrap_err().reason, RefusalReason::BodyMissing, "{line}");
    }
}

#[test]
fn an_entry_without_a_namespace_is_refused_unless_one_is_given() {
    let without = ImportOptions::default();
    for line in [r#"{"body":"x"}"#, r#"{"body":"x","namespace":""}"#, r#"{"body":"x","namespace":null}"#, r#"{"body":"x","namespace":["a"]}"#] {
        assert_eq!(read_with(line, &without).unwrap_err().reason, RefusalReason::NamespaceMissing, "{line}");
        assert_eq!(entry(line).namespace, "fallback");
    }
    assert_eq!(entry(r#"{"body":"x","namespace":7}"#).namespace, "7");
}

#[test]
fn a_mapping_reaches_into_nested_objects_and_dotted_keys() {
    let text = "namespace = \"kubernetes.namespace\"\nbody = [\"log.message\", \"log\"]\ntimestamp = \"@timestamp\"\n";
    let options = ImportOptions { mapping: Mapping::from_text(text).unwrap(), ..ImportOptions::default() };
    let made = read_with(r#"{"@timestamp":"2024-01-02T03:04:05Z","kubernetes":{"namespace":"shop","node":"n1"},"log":"plain"}"#, &options).unwrap();
    assert_eq!((made.entry.namespace.as_str(), made.entry.body.as_slice()), ("shop", &b"plain"[..]));
    assert_eq!(made.entry.attributes, [named("kubernetes.node", Value::Str("n1".to_owned()))]);
    let made = read_with(r#"{"kubernetes.namespace":"shop","log":{"message":"m"}}"#, &options).unwrap();
    assert_eq!(made.entry.body, br#"{"message":"m"}"#);
}

#[test]
fn lines_that_are_no_objects_are_refused_with_the_column() {
    for (line, column) in [
        ("[1]", 1),
        ("5", 1),
        ("plain text", 1),
        (r#"{"body":"x""#, 11),
        (r#"{"body":"x"} {}"#, 14),
        (r#"{"body":"\ud800"}"#, 16),
        (r#"{"a":{"b":"\ud800"},"body":"x"}"#, 18),
        (r#"{"body":01}"#, 10),
    ] {
        let refused = read(line).unwrap_err();
        assert_eq!(refused.reason, RefusalReason::InvalidJson, "{line}");
        assert!(refused.detail.ends_with(&format!("at column {column}")), "{line}: {}", refused.detail);
    }
    let refused = entry_from_json(b"{\"body\":\"a\xff\"}", &EntryMaker::new(&ImportOptions::default())).unwrap_err();
    assert_eq!((refused.reason, refused.detail.as_str()), (RefusalReason::InvalidUtf8, "first bad byte at column 11"));
}

#[test]
fn deep_objects_are_kept_as_text_below_the_last_flattened_level() {
    let deep = format!("{{\"body\":\"x\",{}1{}", "\"a\":{".repeat(100).trim_end_matches('{'), "}".repeat(100));
    let kept = attributes(&deep);
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].0.matches('a').count(), FLATTENED_LEVELS_MAX + 1);
    assert!(matches!(&kept[0].1, Value::Str(text) if text.starts_with("{\"a\":{")));
}

#[test]
fn flattening_cannot_blow_up() {
    let leaves: String = (0..1_000).map(|n| format!(",\"k{n}\":1")).collect();
    let line = format!("{{\"body\":\"x\",\"{}\":{{\"k\":1{leaves}}}}}", "p".repeat(ENTRY_BYTES_MAX / 100));
    assert!(line.len() < 100_000);
    assert_eq!(read(&line).unwrap_err().reason, RefusalReason::EntryTooLarge);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(line in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = entry_from_json(&line, &EntryMaker::new(&ImportOptions::default()));
    }

    #[test]
    fn nothing_like_json_makes_it_panic(pieces in proptest::collection::vec("[{}\\[\\],:\"]|\"body\":|\"a\":|1|-|0\\.5|e9|null|true|\\\\u[0-9a-f]{4}|é", 0..40)) {
        let line = pieces.concat();
        let is_object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&line).is_ok();
        let refused = read(&line).map_err(|refused| refused.reason);
        prop_assert_eq!(is_object, refused.as_ref().err() != Some(&RefusalReason::InvalidJson), "{}: {:?}", line, refused);
    }

    #[test]
    fn any_string_comes_through(body in ".*", name in ".*", value in ".*") {
        let line = serde_json::json!({"body": body, "namespace": "n", "x": {&name: value}}).to_string();
        let entry = entry(&line);
        prop_assert_eq!(entry.body, body.as_bytes());
        prop_assert_eq!(entry.attributes, [(format!("x.{name}"), Value::Str(value))]);
    }
}
