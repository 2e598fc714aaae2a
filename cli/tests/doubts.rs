//! What somebody who trusts nothing tries: connections without end, wrong addresses, other people's volume, inputs of which nothing can be taken.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::Value;
use siltstone_proto::v1::ingest_client::IngestClient;
use siltstone_proto::v1::{LogEntry, WriteRequest};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use support::{Server, cli_with, count, http, text};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

fn import(server: &Server, extra: &[&str], input: &[u8]) -> Output {
    let args: Vec<&str> = ["import", "-"].iter().chain(extra).copied().collect();
    cli_with(&args, Some(server.grpc), Some(input))
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", text(&output.stdout), text(&output.stderr)))
}

/// Connections that say nothing take no descriptor from the store: beyond a share of the limit they wait, and writing goes on when they leave.
#[test]
fn connections_without_end_stop_no_write_for_good() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_with_descriptors(data.path(), 64, 256);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.id())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap().split_whitespace().nth(3).unwrap().to_owned();
    assert_eq!(files, "256", "the soft limit is raised to the hard one");
    let crowd: Vec<_> = (0..400).map_while(|_| TcpStream::connect_timeout(&server.http, Duration::from_millis(500)).ok()).collect();
    assert!(crowd.len() > 64, "some wait in the system's queue");
    std::thread::sleep(Duration::from_millis(500));
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count();
    assert!(open < 200, "{open} descriptors are open, the limit is 256");
    drop(crowd);
    let imported = import(&server, &["--format", "text", "--namespace", "shop"], b"still here\n");
    assert!(imported.status.success(), "{}", text(&imported.stderr));
}

async fn health(server: &Server, service: &str) -> ServingStatus {
    let channel = tonic::transport::Endpoint::from_shared(format!("http://{}", server.grpc)).unwrap().connect().await.unwrap();
    HealthClient::new(channel).check(HealthCheckRequest { service: service.to_owned() }).await.unwrap().into_inner().status()
}

#[tokio::test(flavor = "multi_thread")]
async fn health_says_when_the_store_takes_no_writes_and_when_it_does_again() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut ingest = IngestClient::connect(format!("http://{}", server.grpc)).await.unwrap();
    let request = |body: &str| WriteRequest {
        entries: vec![LogEntry { namespace: "shop".into(), body: body.as_bytes().to_vec().into(), ..LogEntry::default() }],
        ..WriteRequest::default()
    };
    ingest.write(request("before")).await.unwrap();
    assert_eq!(health(&server, "siltstone.v1.Ingest").await, ServingStatus::Serving);
    let (objects, aside) = (data.path().join("objects"), data.path().join("aside"));
    std::fs::rename(&objects, &aside).unwrap();
    assert!(ingest.write(request("lost volume")).await.is_err());
    let mut told = false;
    for _ in 0..40 {
        told |= health(&server, "siltstone.v1.Ingest").await == ServingStatus::NotServing;
        tokio::time::sleep(Duration::from_millis(if told { 0 } else { 100 })).await;
    }
    assert!(told, "the store is gone");
    assert_eq!(health(&server, "siltstone.v1.Search").await, ServingStatus::Serving, "questions are answered from what is in memory");
    std::fs::rename(&aside, &objects).unwrap();
    ingest.write(request("volume again")).await.unwrap();
    let mut well = false;
    for _ in 0..40 {
        well |= health(&server, "siltstone.v1.Ingest").await == ServingStatus::Serving;
        tokio::time::sleep(Duration::from_millis(if well { 0 } else { 100 })).await;
    }
    assert!(well, "the store is back");
}

#[test]
fn a_server_address_that_is_none_says_what_it_is() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let ask = |address: &str| cli_with(&["count", "--namespace", "shop", "x", "--token", "secret-secret-secret", "--server", address], None, None);
    let tls = ask(&format!("https://{}", server.grpc));
    assert_eq!(tls.status.code(), Some(2));
    assert!(text(&tls.stderr).contains("TLS is not built in") && text(&tls.stderr).contains("proxy"), "{}", text(&tls.stderr));
    assert_eq!(ask("ftp://127.0.0.1:7").status.code(), Some(2));
    let http = ask(&server.http.to_string());
    assert_eq!(http.status.code(), Some(2), "{}", text(&http.stderr));
    assert!(text(&http.stderr).contains("HTTP address"), "{}", text(&http.stderr));
    assert!(ask(&format!("http://{}", server.grpc)).status.success());
}

#[test]
fn a_server_that_takes_connections_and_never_answers_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = silent.local_addr().unwrap().to_string();
    let output = cli_with(&["count", "--namespace", "shop", "x", "--server", &addr], None, None);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("has not answered within"), "{}", text(&output.stderr));
}

#[test]
fn a_last_port_needs_to_be_told_where_http_listens() {
    let data = tempfile::tempdir().unwrap();
    let output = cli_with(&["dev", "--data", data.path().to_str().unwrap(), "--listen", "127.0.0.1:65535"], None, None);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--listen-http") && !text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
}

#[test]
fn an_import_into_more_namespaces_than_a_query_may_name_succeeds() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let lines: String = (0..1_100).map(|number| format!("{{\"namespace\": \"team-{number}\", \"body\": \"hello\"}}\n")).collect();
    let output = import(&server, &["--format", "ndjson", "--json"], lines.as_bytes());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary = json(&output);
    assert_eq!((summary["accepted"].as_u64(), summary["namespaces"].as_array().map(Vec::len)), (Some(1_100), Some(1_100)));
}

#[test]
fn status_tells_nobody_how_much_others_have() {
    let data = tempfile::tempdir().unwrap();
    let tokens = data.path().join("tokens.json");
    let records = r#"[{"token": "writer-writer-writer", "principal": "agent", "read": ["*"], "write": ["*"], "administer": ["*"]},
        {"token": "reader-reader-reader", "principal": "alice", "read": ["shop"]}]"#;
    std::fs::write(&tokens, records).unwrap();
    let server = Server::start(&data.path().join("data"), &["--tokens", tokens.to_str().unwrap()]);
    let write = |namespace: &str, lines: usize| {
        let input: String = (0..lines).map(|number| format!("order {number} of {namespace} was paid\n")).collect();
        let output = import(&server, &["--format", "text", "--namespace", namespace, "--token", "writer-writer-writer"], input.as_bytes());
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    let status = |token: &str| json(&cli_with(&["status", "--output", "json", "--token", token], Some(server.grpc), None));
    let volume = |status: &Value| ["stored_bytes", "batches_live", "objects"].map(|field| status[field].as_u64().unwrap());
    write("shop", 100);
    // The shop's own pattern gets its vector in the background: only then does nothing change any more.
    let embedded = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        volume(&status("reader-reader-reader"))[2] == 1
    });
    assert!(embedded);
    let before = status("reader-reader-reader");
    assert!(volume(&before)[0] > 0 && volume(&before)[1] == 1, "{before}");
    write("bank", 5_000);
    let after = status("reader-reader-reader");
    assert_eq!(volume(&after), volume(&before), "NS-2: what the bank writes changes nothing here");
    let models = json(&cli_with(&["model", "list", "--output", "json", "--token", "reader-reader-reader"], Some(server.grpc), None));
    let of_models = ["vectors", "patterns_waiting"].map(|field| models[field].as_u64().unwrap());
    assert_eq!((of_models, models["is_complete"].as_bool()), ([1, 0], Some(true)), "NS-2: nor how far the bank's vectors are");
    let all = status("writer-writer-writer");
    assert!(volume(&all)[0] > volume(&after)[0] && volume(&all)[1] > 1, "{all}");
}

#[test]
fn an_import_of_which_nothing_was_taken_fails_and_says_what_to_do() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    for (extra, input, help) in [
        (["--format", "text"].as_slice(), "no namespace\n", "--namespace NAME"),
        (&["--format", "ndjson", "--namespace", "shop"], "[{\"body\": \"x\"}]\n", "jq -c '.[]'"),
        (&["--format", "ndjson", "--namespace", "shop"], "{\"message\": \"x\"}\n", "--map body=KEY"),
        (&["--format", "ndjson"], "{\"body\": \"x\", \"namespace\": \"Not A Name\"}\n", "--map namespace=KEY"),
    ] {
        let output = import(&server, extra, input.as_bytes());
        assert_eq!(output.status.code(), Some(1), "{input}: {}", text(&output.stdout));
        assert!(text(&output.stderr).contains("nothing was imported") && text(&output.stderr).contains(help), "{input}: {}", text(&output.stderr));
    }
    for extra in [["--namespace", "Not A Name"], ["--map", "body="], ["--map", "body=a,,b"]] {
        let output = import(&server, &extra, b"x\n");
        assert_eq!(output.status.code(), Some(2), "{extra:?}: {}", text(&output.stderr));
    }
    let mapping = data.path().join("empty.toml");
    std::fs::write(&mapping, "").unwrap();
    assert_eq!(import(&server, &["--mapping", mapping.to_str().unwrap()], b"x\n").status.code(), Some(2));
    let directory = cli_with(&["import", data.path().to_str().unwrap(), "--namespace", "shop"], Some(server.grpc), None);
    assert_eq!(directory.status.code(), Some(1));
    assert!(text(&directory.stderr).contains("it is a directory"), "{}", text(&directory.stderr));
}

#[test]
fn a_failed_import_still_prints_its_object_and_every_number_counts_accepted_entries() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let file = data.path().join("good.ndjson");
    let lines = "{\"namespace\": \"shop\", \"body\": \"12345\", \"timestamp\": \"soon\"}\n{\"namespace\": \"Bad Name\", \"body\": \"a much longer body\"}\n\
                 {\"namespace\": \"shop\", \"body\": \"123\", \"timestamp\": 1700000000}\n";
    std::fs::write(&file, lines).unwrap();
    let args = ["import", file.to_str().unwrap(), "/nowhere/at/all", "--json"];
    let output = cli_with(&args, Some(server.grpc), None);
    assert_eq!(output.status.code(), Some(1));
    let summary = json(&output);
    assert!(summary["error"].as_str().unwrap().contains("/nowhere/at/all"), "{summary}");
    assert_eq!((summary["accepted"].as_u64(), summary["body_bytes"].as_u64(), summary["refused"].as_u64()), (Some(2), Some(8), Some(1)), "{summary}");
    assert_eq!(summary["namespaces"], serde_json::json!(["shop"]), "a namespace that took nothing is not listed");
    assert_eq!((summary["timestamps_observed"].as_u64(), summary["timestamps_unreadable"].as_u64()), (Some(1), Some(1)), "{summary}");
    let again = json(&cli_with(&["import", file.to_str().unwrap(), "--json"], Some(server.grpc), None));
    assert_eq!(
        (again["duplicates"].as_u64(), again["body_bytes"].as_u64(), again["timestamps_observed"].as_u64()),
        (Some(2), Some(0), Some(0)),
        "{again}"
    );
    assert_eq!(again.get("error"), None);
    for _ in 0..2 {
        assert!(import(&server, &["--format", "text", "--namespace", "shop", "--source-id", "pipe"], b"piped\n").status.success());
    }
    let piped = import(&server, &["--format", "text", "--namespace", "shop", "--source-id", "pipe"], b"piped\n");
    assert!(text(&piped.stdout).contains("an earlier import under this source id"), "{}", text(&piped.stdout));
}

#[test]
fn an_interrupted_import_says_how_to_go_on() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut command = Command::new(support::SILTSTONE);
    command.args(["import", "-", "--format", "text", "--namespace", "shop", "--source-id", "s", "--json"]);
    command.env("SILTSTONE_SERVER", server.grpc.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The pipe stays open, so the import waits for more until it is interrupted.
    let _stdin = child.stdin.take().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("repeat the same import"), "{}", text(&output.stderr));
    assert!(json(&output)["error"].as_str().unwrap().contains("interrupted"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sequence_of_which_nothing_is_known_is_an_error_and_no_duplicate() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut ingest = IngestClient::connect(format!("http://{}", server.grpc)).await.unwrap();
    let request = |sequence: u64, in_order: bool| WriteRequest {
        producer: "till".into(),
        sequence,
        entries: vec![LogEntry { namespace: "shop".into(), body: format!("order {sequence}").into_bytes().into(), ..LogEntry::default() }],
        flush: true,
        in_order,
    };
    assert_eq!(ingest.write(request(100, false)).await.unwrap().into_inner().accepted, 1);
    let lost = ingest.write(request(36, false)).await.unwrap_err();
    assert_eq!(lost.code(), tonic::Code::FailedPrecondition, "{lost}");
    assert!(lost.message().contains("36") && lost.message().contains("100"), "{lost}");
    assert_eq!(ingest.write(request(37, false)).await.unwrap().into_inner().accepted, 1, "what the window shows to be new is taken");
    assert_eq!(ingest.write(request(37, false)).await.unwrap().into_inner().duplicates, 1, "AK-2");
    assert_eq!(ingest.write(request(1, true)).await.unwrap().into_inner().duplicates, 1, "a sender that keeps the rule had it acknowledged once");
    assert_eq!(count(&mut server.search().await, &["shop".to_owned()], "order").await, 2);
}

#[test]
fn no_comparison_finds_entries_without_a_severity() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let input = b"{\"namespace\": \"shop\", \"body\": \"none\"}\n{\"namespace\": \"shop\", \"body\": \"one\", \"severity\": \"info\"}\n";
    assert!(import(&server, &["--format", "ndjson"], input).status.success());
    let counted = |query: &str| server.ok(&["count", "--namespace", "shop", query, "--output", "raw"]).trim().to_owned();
    for query in ["severity>=0", "severity:[0 TO 24]", "severity:*"] {
        assert_eq!(counted(query), "1", "{query}");
    }
    assert_eq!((counted("severity:unspecified"), counted("*")), ("1".to_owned(), "2".to_owned()));
}

#[test]
fn every_legal_form_of_otlp_json_is_taken_and_nothing_of_it_is_lost() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let record = r#"{"time_unix_nano": 1700000000000000000, "severityNumber": "SEVERITY_NUMBER_INFO2", "severityText": "NOTICE", "flags": 1,
        "body": {"stringValue": "hello"}, "attributes": [{"key": "ratio", "value": {"doubleValue": "1.5"}}, {"key": "none", "value": null}]}"#;
    let request = format!(
        r#"{{"resourceLogs": [{{"resource": {{"attributes": [{{"key": "k8s.namespace.name", "value": {{"stringValue": "shop"}}}}]}}, "scopeLogs":
        [{{"scope": {{"name": "lib", "version": "1.2", "attributes": null}}, "logRecords": [{record}]}}, {{"logRecords": null}}]}}]}}"#
    );
    let (status, answer) = http(server.http, "content-type: application/json\r\n", request.as_bytes());
    assert_eq!(status, 200, "{}", text(&answer));
    let row: Value = serde_json::from_str(&server.ok(&["search", "--namespace", "shop", "hello", "--output", "json"])).unwrap();
    let expected =
        serde_json::json!({"ratio": 1.5, "severity_text": "NOTICE", "otel.flags": 1, "otel.scope.name": "lib", "otel.scope.version": "1.2"});
    assert_eq!((&row["attributes"], &row["severity"]), (&expected, &Value::from("info")), "{row}");
}

#[test]
fn answers_for_people_say_their_units_and_hide_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let input = "{\"namespace\": \"shop\", \"timestamp\": 1700000000, \"body\": \"pay \u{202e}5 now\"}\n";
    assert!(import(&server, &["--format", "ndjson"], input.as_bytes()).status.success());
    assert!(server.ok(&["search", "--namespace", "shop", "pay"]).contains("pay \\u{202e}5 now"));
    let histogram = server.cli(&["histogram", "--namespace", "shop", "*", "--step", "5m"]);
    assert!(text(&histogram.stderr).contains("1 bucket of 5m"), "{}", text(&histogram.stderr));
    let explained = server.ok(&["explain", "--namespace", "shop", "user:\"a\u{1b}[2Jb\""]);
    assert!(!explained.contains('\u{1b}') && explained.contains("\\u{1b}"), "{explained}");
    let long = server.cli(&["count", "--namespace", "shop", "*", "--since", "400000d"]);
    assert!(long.status.code() == Some(2) && text(&long.stderr).contains("too long a duration"), "{}", text(&long.stderr));
}
