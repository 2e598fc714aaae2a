//! What a person and a program do with a server in one sitting: every command, OTLP over gRPC, health, reflection, tail, restart.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value as Any};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use serde_json::Value;
use siltstone_proto::v1::{QuerySpec, TailRequest};
use std::time::Duration;
use support::{Server, cli_with, count, spec};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::{ServerReflectionRequest, server_reflection_request::MessageRequest, server_reflection_response::MessageResponse};

const LINES: &str = r#"{"timestamp_ms": 1700000000000, "severity": "INFO", "namespace": "shop", "deployment": "checkout", "pod": "checkout-1", "container": "app", "body": "order 17 placed in 31 ms", "latency_ms": 31}
{"timestamp_ms": 1700000060000, "severity": "INFO", "namespace": "shop", "deployment": "checkout", "pod": "checkout-2", "container": "app", "body": "order 18 placed in 1200 ms", "latency_ms": 1200}
{"timestamp_ms": 1700003600000, "severity": "ERROR", "namespace": "shop", "deployment": "cart", "pod": "cart-1", "container": "app", "body": "connection refused by 10.0.0.7:5432, retry 1", "retry": true}
{"timestamp_ms": 1700003601000, "severity": "WARN", "namespace": "bank", "deployment": "ledger", "pod": "ledger-1", "container": "app", "body": "connection timed out after 30 s"}
"#;

fn filled() -> (tempfile::TempDir, Server) {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let output = cli_with(&["import", "-", "--format", "ndjson"], Some(server.grpc), Some(LINES.as_bytes()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (data, server)
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_command_answers_people_and_scripts() {
    let (_data, server) = filled();
    let counted: Value = serde_json::from_str(&server.ok(&["count", "-n", "shop", "-n", "bank", "connection", "-o", "json"])).unwrap();
    assert_eq!((counted["count"].as_u64(), counted["by_namespace"]["bank"].as_u64()), (Some(2), Some(1)));
    assert!(server.ok(&["count", "-n", "shop", "-n", "bank", "connection"]).contains("total"));

    let rows = json_lines(&server.ok(&["search", "-n", "shop", "deployment:checkout severity:info latency_ms:>250", "--output", "json"]));
    assert_eq!((rows.len(), rows[0]["body"].as_str()), (1, Some("order 18 placed in 1200 ms")));
    assert_eq!((rows[0]["attributes"]["latency_ms"].as_i64(), rows[0]["timestamp"].as_str()), (Some(1200), Some("2023-11-14T22:14:20.000000000Z")));
    for field in ["address", "namespace", "score"] {
        assert!(rows[0].get(field).is_some(), "{field}: {}", rows[0]);
    }
    let ranked = json_lines(&server.ok(&["search", "-n", "shop", "-n", "bank", "connection OR refused", "-o", "json"]));
    assert!(ranked[0]["body"].as_str().unwrap().contains("refused"), "both words rank before one: {ranked:?}");
    assert!(ranked[0]["score"].as_f64().unwrap() > ranked[1]["score"].as_f64().unwrap());
    let newest = json_lines(&server.ok(&["search", "-n", "shop", "*", "-o", "json", "--limit", "2"]));
    assert_eq!(newest.iter().map(|row| row["deployment"].as_str().unwrap()).collect::<Vec<_>>(), ["cart", "checkout"]);
    assert_eq!(
        server.ok(&["search", "-n", "shop", "\"connection refused\" retry:true", "-o", "raw"]),
        "connection refused by 10.0.0.7:5432, retry 1\n"
    );

    let patterns = json_lines(&server.ok(&["patterns", "-n", "shop", "*", "-o", "json"]));
    let placed = patterns.iter().find(|pattern| pattern["pattern"] == "order <*> placed in <*> ms").unwrap();
    assert_eq!((placed["count"].as_u64(), placed["first_seen"].as_str()), (Some(2), Some("2023-11-14T22:13:20.000000000Z")));
    assert!((placed["share"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-9 && placed["example"]["namespace"] == "shop");

    let buckets = json_lines(&server.ok(&["histogram", "-n", "shop", "*", "--step", "1h", "-o", "json"]));
    assert_eq!(buckets.iter().map(|bucket| bucket["count"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 1]);
    assert!(server.ok(&["histogram", "-n", "shop", "*", "--step", "1h"]).contains('█'));

    let explained = server.ok(&["explain", "-n", "shop", "connection AND refused"]);
    assert!(explained.contains("namespace shop: 3 rows") && explained.contains("connection"), "{explained}");
    assert!(server.ok(&["status"]).contains("shop"));

    let ranged = |since: &str, until: &str| -> u64 {
        let text = server.ok(&["count", "-n", "shop", "*", "--since", since, "--until", until, "-o", "json"]);
        serde_json::from_str::<Value>(&text).unwrap()["count"].as_u64().unwrap()
    };
    assert_eq!((ranged("2023-11-14T22:14:00Z", "2023-11-14T22:15:00Z"), ranged("2023-11-14", "2023-11-15"), ranged("1h", "now")), (1, 3, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn otlp_over_grpc_with_partial_success() {
    let (_data, server) = filled();
    let text = |text: &str| Some(AnyValue { value: Some(Any::StringValue(text.to_owned())) });
    let resource = |namespace: Option<&str>| {
        let attributes = namespace.map(|name| KeyValue { key: "k8s.namespace.name".to_owned(), value: text(name), ..KeyValue::default() });
        let record = LogRecord { time_unix_nano: 1_700_000_000_000_000_000, body: text("hello from a collector"), ..LogRecord::default() };
        ResourceLogs {
            resource: Some(Resource { attributes: attributes.into_iter().collect(), ..Resource::default() }),
            scope_logs: vec![ScopeLogs { log_records: vec![record], ..ScopeLogs::default() }],
            ..ResourceLogs::default()
        }
    };
    let mut otlp = LogsServiceClient::connect(format!("http://{}", server.grpc)).await.unwrap();
    let request = ExportLogsServiceRequest { resource_logs: vec![resource(Some("shop")), resource(None)] };
    let partial = otlp.export(request).await.unwrap().into_inner().partial_success.unwrap();
    assert_eq!(partial.rejected_log_records, 1);
    assert!(partial.error_message.contains("missing_namespace"), "{}", partial.error_message);
    assert_eq!(count(&mut server.search().await, &["shop".to_owned()], "collector").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_reflection_say_what_is_served() {
    let (_data, server) = filled();
    let channel = tonic::transport::Endpoint::from_shared(format!("http://{}", server.grpc)).unwrap().connect().await.unwrap();
    let mut health = HealthClient::new(channel.clone());
    let request = HealthCheckRequest { service: "siltstone.v1.Search".to_owned() };
    assert_eq!(health.check(request).await.unwrap().into_inner().status(), ServingStatus::Serving);
    let mut reflection = ServerReflectionClient::new(channel);
    let request = ServerReflectionRequest { host: String::new(), message_request: Some(MessageRequest::ListServices(String::new())) };
    let mut answers = reflection.server_reflection_info(tokio_stream::iter([request])).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else { panic!("{answer:?}") };
    let names: Vec<_> = list.service.into_iter().map(|service| service.name).collect();
    for name in ["siltstone.v1.Search", "siltstone.v1.Ingest", "grpc.health.v1.Health"] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
}

/// Rows that arrive are shown once, whether they are found in batches or, sealed between two looks, in packs.
#[tokio::test(flavor = "multi_thread")]
async fn a_tail_shows_each_row_once_while_chunks_are_sealed() {
    let data = tempfile::tempdir().unwrap();
    let tuning = ["--chunk-age-ms-max", "60", "--seal-wait-ms-max", "10", "--seal-body-bytes-min", "1", "--flush-interval-ms", "10"];
    let server = Server::start(data.path(), &tuning);
    let import = |line: &str| {
        let output = cli_with(&["import", "-", "--format", "text", "--namespace", "shop"], Some(server.grpc), Some(line.as_bytes()));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    import("event 0 before\n");
    let request = TailRequest { spec: Some(QuerySpec { query: "event".to_owned(), ..spec(&["shop".to_owned()], "event") }), backlog: 5 };
    let mut tail = server.search().await.tail(request).await.unwrap().into_inner();
    let mut shown = Vec::new();
    for number in 1..=8 {
        import(&format!("event {number} now\nnoise {number}\n"));
    }
    while shown.len() < 9 {
        let frame = tokio::time::timeout(Duration::from_secs(30), tail.message()).await.expect("rows arrive").unwrap().unwrap();
        assert_eq!(frame.dropped, 0);
        shown.extend(frame.rows.into_iter().map(|row| String::from_utf8(row.body).unwrap()));
    }
    let mut expected = vec!["event 0 before".to_owned()];
    expected.extend((1..=8).map(|number| format!("event {number} now")));
    assert_eq!(shown, expected);
}

#[test]
fn a_restart_finds_the_data_again_and_an_old_token_still_covers_it() {
    let (data, server) = filled();
    let again = cli_with(&["import", "-", "--format", "ndjson", "--json"], Some(server.grpc), Some(LINES.as_bytes()));
    let token = serde_json::from_slice::<Value>(&again.stdout).unwrap()["commit_token"].as_str().unwrap().to_owned();
    server.kill();
    let server = Server::start(data.path(), &[]);
    let text = server.ok(&["count", "-n", "shop", "*", "--min-commit", &token, "-o", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["count"], 6, "two imports without a source id are two sources");
    let foreign = server.cli(&["count", "-n", "shop", "*", "--min-commit", "1-1"]);
    assert_eq!(foreign.status.code(), Some(1), "a token of another incarnation is an error, not an answer");
}
