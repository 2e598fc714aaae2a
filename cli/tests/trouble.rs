//! What can go wrong at the door and below it: each gets a clear error, or the treatment that the design gives it. Nothing is lost, nothing panics,
//! nothing is silently empty.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::Value;
use siltstone_core::{Clock, SystemClock};
use siltstone_proto::v1::ingest_client::IngestClient;
use siltstone_proto::v1::{LogEntry, WriteRequest};
use std::io::Write;
use std::net::TcpListener;
use std::process::Output;
use support::{Server, cli_with, count, http, text};

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Imports standard input into namespace `shop`; the summary.
fn import(server: &Server, extra: &[&str], input: &[u8]) -> Value {
    let args: Vec<&str> = ["import", "-", "--json"].iter().chain(extra).copied().collect();
    json(&cli_with(&args, Some(server.grpc), Some(input)))
}

fn one_count(server: &Server, query: &str) -> u64 {
    let output = server.cli(&["count", "--namespace", "shop", query, "--output", "json"]);
    json(&output)["count"].as_u64().unwrap()
}

#[test]
fn odd_lines_are_taken_or_refused_one_by_one() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let now_ms = SystemClock.now_ms();
    let mut input = format!(
        "{}\n{}\n{}\n{}\n{}\n{}\n",
        r#"{"timestamp_ms": 1700000000000, "namespace": "shop", "body": "plain one"}"#,
        r#"{"namespace": "shop", "body": "undated one"}"#,
        r#"{"timestamp_ms": -2000000000000, "namespace": "shop", "body": "ancient one"}"#,
        format_args!(r#"{{"timestamp_ms": {}, "namespace": "shop", "body": "tomorrow one"}}"#, now_ms + 86_400_000),
        r#"{"timestamp_ms": 1700000000000, "body": "homeless one"}"#,
        r#"{"timestamp_ms": 1700000000000, "namespace": "Not A Name!", "body": "misnamed one"}"#,
    )
    .into_bytes();
    input.extend_from_slice(b"{\"namespace\": \"shop\", \"body\": \"broken \xff\xfe one\"}\n{\"namespace\": \"shop\", \n");
    let summary = import(&server, &["--format", "ndjson"], &input);
    assert_eq!((summary["accepted"].as_u64(), summary["refused"].as_u64()), (Some(4), Some(4)), "{summary}");
    let reasons = summary["refused_by_reason"].as_object().unwrap();
    assert!(reasons.values().map(|count| count.as_u64().unwrap()).sum::<u64>() == 4 && reasons.len() >= 3, "{reasons:?}");
    assert_eq!(one_count(&server, "one"), 4);
    let row = |query: &str| -> Value { json(&server.cli(&["search", "--namespace", "shop", query, "--output", "json"])) };
    assert_eq!(row("undated")["timestamp_observed"], true, "a missing timestamp becomes the observed one, flagged");
    assert_eq!(row("tomorrow")["timestamp_future"], true, "more than an hour ahead is stored and flagged");
    assert!(row("ancient")["timestamp"].as_str().unwrap().starts_with("1906-"), "any age is taken");
    assert_eq!(row("plain").get("timestamp_observed"), None);
}

#[test]
fn invalid_utf_8_is_kept_byte_for_byte() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let line = b"caf\xe9 au lait \xf0\x28 404";
    let summary = import(&server, &["--format", "text", "--namespace", "shop"], &[line.as_slice(), b"\n"].concat());
    assert_eq!(summary["accepted"], 1);
    let output = server.cli(&["search", "--namespace", "shop", "lait AND 404", "--output", "raw"]);
    assert_eq!(output.stdout, [line.as_slice(), b"\n"].concat());
    let row = json(&server.cli(&["search", "--namespace", "shop", "lait", "--output", "json"]));
    assert_eq!(row["body_hex"].as_str().unwrap().len(), 2 * line.len());
}

#[test]
fn a_line_of_100_mb_is_refused_and_the_others_go_on() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut input = b"first line\n".to_vec();
    input.resize(input.len() + 100_000_000, b'x');
    input.extend_from_slice(b"\nlast line\n");
    let summary = import(&server, &["--format", "text", "--namespace", "shop"], &input);
    assert_eq!((summary["accepted"].as_u64(), summary["refused"].as_u64()), (Some(2), Some(1)), "{summary}");
    assert_eq!(one_count(&server, "line"), 2);
}

#[test]
fn otlp_over_http_takes_records_and_refuses_what_is_malformed() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let record = |body: &str| format!(r#"{{"timeUnixNano": "1700000000000000000", "severityText": "ERROR", "body": {{"stringValue": "{body}"}}}}"#);
    let resource = |attributes: &str, records: &str| {
        format!(r#"{{"resource": {{"attributes": [{attributes}]}}, "scopeLogs": [{{"logRecords": [{records}]}}]}}"#)
    };
    let namespace =
        r#"{"key": "k8s.namespace.name", "value": {"stringValue": "shop"}}, {"key": "k8s.deployment.name", "value": {"stringValue": "checkout"}}"#;
    let both = format!(r#"{{"resourceLogs": [{}, {}]}}"#, resource(namespace, &record("otlp hello")), resource("", &record("homeless")));
    let (status, body) = http(server.http, "content-type: application/json\r\n", both.as_bytes());
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["partialSuccess"]["rejectedLogRecords"]
            .as_str()
            .map(str::to_owned)
            .or(answer["partialSuccess"]["rejectedLogRecords"].as_i64().map(|n| n.to_string())),
        Some("1".to_owned()),
        "{answer}"
    );
    assert!(answer["partialSuccess"]["errorMessage"].as_str().unwrap().contains("missing_namespace"));
    assert_eq!(one_count(&server, "deployment:checkout severity>=error hello"), 1);

    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(format!(r#"{{"resourceLogs": [{}]}}"#, resource(namespace, &record("zipped hello"))).as_bytes()).unwrap();
    let (status, _) = http(server.http, "content-type: application/json\r\ncontent-encoding: gzip\r\n", &gzip.finish().unwrap());
    assert_eq!((status, one_count(&server, "zipped")), (200, 1));

    for (head, body, expected) in [
        ("content-type: application/json\r\n", b"{\"resourceLogs\": [".as_slice(), 400),
        ("content-type: application/json\r\n", b"{\"resourceLogs\": 7}", 400),
        ("content-type: application/x-protobuf\r\n", b"\xff\xff\xff\xff not protobuf", 400),
        ("content-type: application/json\r\ncontent-encoding: gzip\r\n", b"not gzip", 400),
        ("content-type: text/plain\r\n", b"hello", 415),
        ("content-type: application/json\r\ncontent-encoding: br\r\n", b"{}", 415),
    ] {
        let (status, answer) = http(server.http, head, body);
        assert_eq!(status, expected, "{head:?}: {}", text(&answer));
        assert!(!answer.is_empty(), "a failure says why");
    }
    assert_eq!(one_count(&server, "*"), 2, "nothing malformed came in");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_makes_a_repeated_request_harmless() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut ingest = IngestClient::connect(format!("http://{}", server.grpc)).await.unwrap();
    let entries: Vec<LogEntry> = (0..10)
        .map(|number| LogEntry { namespace: "shop".into(), body: format!("order {number}").into_bytes().into(), ..LogEntry::default() })
        .collect();
    let request = WriteRequest { producer: "till".into(), sequence: 1, entries, flush: false, in_order: false };
    // Two copies at once: one is on its way while the other arrives.
    let mut other = ingest.clone();
    let (one, two) = tokio::join!(ingest.write(request.clone()), other.write(request.clone()));
    let (one, two) = (one.unwrap().into_inner(), two.unwrap().into_inner());
    assert_eq!((one.accepted + two.accepted, one.duplicates + two.duplicates), (10, 10), "AK-2");
    let three = ingest.write(request).await.unwrap().into_inner();
    assert_eq!((three.accepted, three.duplicates), (0, 10));
    assert!(!three.commit_token.is_empty());
    assert_eq!(count(&mut server.search().await, &["shop".to_owned()], "order").await, 10);
}

#[test]
fn a_query_without_a_namespace_is_a_usage_error() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let output = server.cli(&["count", "error"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--namespace"), "{}", text(&output.stderr));
}

#[test]
fn a_wrong_query_is_a_usage_error_that_points_at_the_place() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    for query in ["severity>=loud", "\"open", "a OR near:\"database is down\"", "fo*o", "(a OR", "a AND"] {
        let output = server.cli(&["search", "--namespace", "shop", query]);
        assert_eq!(output.status.code(), Some(2), "{query}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains('^'), "RQ-1: {query}: {}", text(&output.stderr));
    }
    let unknown = server.cli(&["count", "--namespace", "nowhere", "error"]);
    assert!(unknown.status.success() && text(&unknown.stderr).contains("nowhere"), "an unknown namespace is empty, and said to be unknown");
}

#[test]
fn a_pure_negation_and_a_leading_minus_are_queries() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    import(&server, &["--format", "text", "--namespace", "shop"], b"retry one\nother two\nother three\n");
    assert_eq!(one_count(&server, "-retry"), 2);
    assert_eq!(one_count(&server, "NOT other"), 1);
    assert_eq!(one_count(&server, "*"), 3);
}

#[test]
fn one_namespace_never_sees_another() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    import(&server, &["--format", "text", "--namespace", "shop"], b"secret of the shop\n");
    import(&server, &["--format", "text", "--namespace", "bank"], b"secret of the bank\n");
    let rows = server.ok(&["search", "--namespace", "shop", "secret", "--output", "json"]);
    assert!(rows.contains("of the shop") && !rows.contains("bank"), "NS-2: {rows}");
    let narrowed = server.ok(&["count", "--namespace", "shop", "--namespace", "bank", "secret namespace:bank", "--output", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&narrowed).unwrap()["count"], 1, "namespace: only narrows");
    let outside = server.ok(&["count", "--namespace", "shop", "secret namespace:bank", "--output", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&outside).unwrap()["count"], 0, "NS-2: it never widens");
}

#[test]
fn tokens_decide_what_a_caller_sees() {
    let data = tempfile::tempdir().unwrap();
    let tokens = data.path().join("tokens.json");
    std::fs::write(
        &tokens,
        r#"[{"token": "writer-writer-writer", "principal": "agent", "read": ["*"], "write": ["*"]},
            {"token": "reader-reader-reader", "principal": "alice", "read": ["shop"]}]"#,
    )
    .unwrap();
    let server = Server::start(&data.path().join("data"), &["--tokens", tokens.to_str().unwrap()]);
    let run = |args: &[&str], input: &[u8]| cli_with(args, Some(server.grpc), Some(input));
    let imported = run(&["import", "-", "--format", "text", "--namespace", "shop", "--token", "writer-writer-writer"], b"hello\n");
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    assert!(run(&["count", "--namespace", "shop", "hello", "--token", "reader-reader-reader"], b"").status.success());
    for args in [
        ["count", "--namespace", "bank", "hello", "--token", "reader-reader-reader"],
        ["count", "--namespace", "shop", "hello", "--token", "nobody-nobody-nobody"],
    ] {
        let output = run(&args, b"");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(text(&output.stderr).contains("not allowed"), "{}", text(&output.stderr));
    }
    assert_eq!(run(&["count", "--namespace", "shop", "hello"], b"").status.code(), Some(1), "no token, no answer");
}

#[test]
fn an_open_address_without_tokens_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let output = cli_with(&["dev", "--data", data.path().to_str().unwrap(), "--listen", "0.0.0.0:0"], None, None);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--tokens"), "{}", text(&output.stderr));
}

#[test]
fn a_data_directory_has_one_process_and_its_trouble_has_a_name() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let second = cli_with(&["dev", "--data", data.path().to_str().unwrap(), "--listen", "127.0.0.1:0"], None, None);
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains("in use"), "{}", text(&second.stderr));
    drop(server);

    let file = data.path().join("not-a-directory");
    std::fs::write(&file, b"x").unwrap();
    let output = cli_with(&["dev", "--data", file.join("data").to_str().unwrap(), "--listen", "127.0.0.1:0"], None, None);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("not-a-directory"), "{}", text(&output.stderr));

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let output = cli_with(&["dev", "--data", data.path().join("new").to_str().unwrap(), "--listen", &addr], None, None);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains(&addr) && text(&output.stderr).contains("--listen"), "{}", text(&output.stderr));
}

/// Every byte of a sealed object that is flipped is noticed when it is read, and the message names the object.
#[test]
fn a_corrupt_object_is_an_error_that_names_it() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--chunk-age-ms-max", "100", "--seal-wait-ms-max", "50", "--seal-body-bytes-min", "1"]);
    let lines: String = (0..500).map(|number| format!("request {number} took {} ms\n", number * 7)).collect();
    import(&server, &["--format", "text", "--namespace", "shop"], lines.as_bytes());
    let sealed = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let status: Value = serde_json::from_str(&server.ok(&["status", "--output", "json"])).unwrap();
        status["namespaces"][0]["chunks_live"] == 0
    });
    assert!(sealed, "chunks are sealed by age");
    server.kill();
    let mut damaged = 0;
    for path in files_under(&data.path().join("objects"))
        .into_iter()
        .filter(|path| path.to_str().unwrap().contains("/objects/v1/") && path.to_str().unwrap().matches("/objects/").count() > 1)
    {
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x40;
        // The last part of an object is its footer; the middle of pack or segment is what a query reads.
        for at in (16..bytes.len() - 64).step_by(97) {
            bytes[at] ^= 0x20;
        }
        std::fs::write(&path, bytes).unwrap();
        damaged += 1;
    }
    assert!(damaged > 0, "there is a sealed object to damage");
    let server = Server::start(data.path(), &[]);
    let output = server.cli(&["count", "--namespace", "shop", "request"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("objects/"), "the message names the object: {}", text(&output.stderr));
}

fn files_under(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_under(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn s3_that_cannot_be_reached_is_named() {
    let data = tempfile::tempdir().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let store = format!("s3://logs/test?endpoint=http://{closed}&region=x");
    let output = std::process::Command::new(support::SILTSTONE)
        .args(["dev", "--listen", "127.0.0.1:0", "--data"])
        .arg(data.path())
        .args(["--store", &store])
        .env("AWS_ACCESS_KEY_ID", "key")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains(&closed.to_string()), "{}", text(&output.stderr));
}

#[test]
fn an_import_without_a_server_is_told_so() {
    let output = cli_with(&["count", "--namespace", "shop", "x", "--server", "127.0.0.1:9"], None, None);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("siltstone dev"), "{}", text(&output.stderr));
}
