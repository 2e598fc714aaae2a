//! Entries with vectors of their own, end to end: taken from NPY and over gRPC, kept exactly, searched by distance with every filter, live and
//! sealed, against brute force.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::Value;
use siltstone_proto::v1::ingest_client::IngestClient;
use siltstone_proto::v1::{LogEntry, Vector, WriteRequest};
use std::fmt::Write as _;
use std::path::Path;
use support::vectors::{self, distance, npy, numbers, settle};
use support::{Server, cli_with};

const DIMENSION: usize = 12;
const ROWS: usize = 5_000;

/// A row as it is imported.
struct Entry {
    deployment: &'static str,
    vector: Vec<f32>,
}

fn entries() -> Vec<Entry> {
    let deployment = |row: usize| ["web", "cart", "cart", "db"][row % 4];
    // Every hundredth is the one before it once more: ties.
    let vector = |row: usize| numbers(row as u64 + 1 - u64::from(row % 100 == 7)).take(DIMENSION).collect();
    (0..ROWS).map(|row| Entry { deployment: deployment(row), vector: vector(row) }).collect()
}

fn import(server: &Server, folder: &Path, entries: &[Entry], first_row: usize) {
    let mut lines = String::new();
    for (row, entry) in (first_row..).zip(entries) {
        let timestamp_ms = 1_700_000_000_000 + row as u64;
        let deployment = entry.deployment;
        // A reference to a shard of logs has no body.
        let rest = if row % 10 == 3 { format!("\"shard_uri\":\"s3://logs/{row}\"") } else { format!("\"body\":\"line {row}\"") };
        writeln!(lines, "{{\"timestamp_ms\":{timestamp_ms},\"namespace\":\"shop\",\"deployment\":\"{deployment}\",\"row\":{row},{rest}}}").unwrap();
    }
    vectors::import(server, folder, &lines, &entries.iter().map(|entry| entry.vector.as_slice()).collect::<Vec<_>>());
}

fn search(server: &Server, args: &[&str]) -> Vec<Value> {
    let args: Vec<&str> = ["search", "-n", "shop", "-o", "json"].iter().chain(args).copied().collect();
    server.ok(&args).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn count(server: &Server, args: &[&str]) -> u64 {
    let args: Vec<&str> = ["count", "-n", "shop", "-o", "raw"].iter().chain(args).copied().collect();
    server.ok(&args).trim().parse().unwrap()
}

fn error(server: &Server, args: &[&str]) -> String {
    let output = server.cli(args);
    assert!(!output.status.success(), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn row_of(found: &Value) -> usize {
    usize::try_from(found["attributes"]["row"].as_u64().unwrap()).unwrap()
}

/// Compares answers with those of brute force: the same distances, and rows that have them.
fn check(server: &Server, entries: &[Entry], vector: &Path, query: &[f32]) {
    let vector = vector.to_str().unwrap();
    for metric in ["cosine", "l2", "dot"] {
        for (filter, keep) in [
            ("*", (|_, _| true) as fn(usize, &Entry) -> bool),
            ("deployment:cart", |_, entry| entry.deployment == "cart"),
            ("deployment:db row<1000", |row, entry| entry.deployment == "db" && row < 1_000),
            ("row:4321", |row, _| row == 4_321),
            ("deployment:none", |_, _| false),
        ] {
            let rows = entries.iter().enumerate().filter(|(row, entry)| keep(*row, entry));
            let mut expected: Vec<f64> = rows.map(|(_, entry)| distance(metric, query, &entry.vector)).collect();
            expected.sort_by(f64::total_cmp);
            let found = search(server, &[filter, "--vector", vector, "--metric", metric, "--limit", "50"]);
            assert_eq!(found.len(), expected.len().min(50), "{metric} {filter}");
            for (found, expected) in found.iter().zip(&expected) {
                let (row, shown) = (row_of(found), found["distance"].as_f64().unwrap());
                assert!(keep(row, &entries[row]), "{metric} {filter}: {found}");
                assert!((shown - expected).abs() < 1e-5 && (distance(metric, query, &entries[row].vector) - shown).abs() < 1e-5, "{metric} {filter}");
            }
            // Between two distances, so that rounding decides nothing.
            let Some(within) = expected.windows(2).find(|pair| pair[1] - pair[0] > 1e-4).map(|pair| f64::midpoint(pair[0], pair[1])) else {
                continue;
            };
            let below = expected.iter().filter(|distance| **distance < within).count();
            let within = format!("--within={within}");
            assert_eq!(count(server, &[filter, "--vector", vector, "--metric", metric, &within]), below as u64, "CT-1: {metric} {filter}");
            assert_eq!(search(server, &[filter, "--vector", vector, "--metric", metric, &within, "--limit", "3"]).len(), below.min(3));
            assert_eq!(count(server, &[filter, "--vector", vector, "--metric", metric]), expected.len() as u64, "those that have a vector");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nearest_entries_are_found_live_and_sealed_with_every_filter() {
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(data.path(), &[]);
    let entries = entries();
    let query: Vec<f32> = numbers(77).take(DIMENSION).collect();
    let vector = folder.path().join("query.npy");
    std::fs::write(&vector, npy(&[&query])).unwrap();
    import(&server, folder.path(), &entries[..3_000], 0);
    settle(&server).await;
    // Some rows are sealed, some are live.
    import(&server, folder.path(), &entries[3_000..], 3_000);
    check(&server, &entries, &vector, &query);
    let before = search(&server, &["--vector", vector.to_str().unwrap(), "--limit", "200", "--with-vectors"]);
    settle(&server).await;
    check(&server, &entries, &vector, &query);
    let after = search(&server, &["--vector", vector.to_str().unwrap(), "--limit", "200", "--with-vectors"]);
    let plan = server.ok(&["explain", "-n", "shop", "deployment:db", "--vector", vector.to_str().unwrap()]);
    assert!(plan.contains("5000 vectors, no graph") && plan.contains("exact on the filtered rows: there is no graph: 1250 of 5000 rows"), "{plan}");
    let exact = ["--vector", vector.to_str().unwrap(), "--limit", "200", "--with-vectors", "--vector-search", "exact"];
    assert_eq!(search(&server, &exact), after, "by the index or by a scan of the columns");
    assert_eq!(before, after, "RK-1: the same rows in the same order, to the last digit");
    for found in &after {
        let shown: Vec<f32> = found["vectors"]["text"].as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect();
        assert_eq!(shown, entries[row_of(found)].vector, "vectors are kept exactly");
        assert_eq!(found["body"] == "", found["attributes"]["shard_uri"].is_string());
    }
    let plain = search(&server, &["row:4321"]);
    assert_eq!(plain[0]["vectors"], serde_json::json!({"text": true}), "the numbers are not shown unasked");

    // By the address of an entry: itself first, and its twin.
    let address = after.iter().find(|found| row_of(found) % 100 == 7).map_or_else(|| search(&server, &["row:107"])[0].clone(), Clone::clone);
    let like = search(&server, &["--like", address["address"].as_str().unwrap(), "--limit", "3"]);
    assert_eq!((like[0]["distance"].as_f64(), like[1]["distance"].as_f64()), (Some(0.0), Some(0.0)));
    assert!(like[..2].iter().any(|found| found["address"] == address["address"]));
    let restarted = {
        drop(server);
        Server::start(data.path(), &[])
    };
    assert_eq!(search(&restarted, &["--vector", vector.to_str().unwrap(), "--limit", "200", "--with-vectors"]), after);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_is_said_and_fields_stand_beside_each_other() {
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(data.path(), &[]);
    let list = folder.path().join("query.json");
    std::fs::write(&list, "[1, 0, 0]").unwrap();
    let list = list.to_str().unwrap();
    let line = cli_with(&["import", "-", "--format", "text", "-n", "shop"], Some(server.grpc), Some(b"no vector here\n"));
    assert!(line.status.success());
    assert!(error(&server, &["search", "-n", "shop", "--vector", list]).contains("no entry of these namespaces has a vector"));

    let mut ingest = IngestClient::connect(format!("http://{}", server.grpc)).await.unwrap();
    let vector = |field: &str, values: &[f32]| Vector { field: field.into(), values: values.to_vec() };
    let entry = |vectors: Vec<Vector>| LogEntry { namespace: "shop".into(), body: b"x".to_vec().into(), vectors, ..LogEntry::default() };
    let entries = vec![
        entry(vec![vector("text", &[1.0, 0.0, 0.0]), vector("image", &[0.5, 0.5])]),
        entry(vec![vector("text", &[1.0, 0.0])]),
        entry(vec![vector("text", &[0.0, 0.0, 0.0])]),
        entry(vec![vector("text", &[f32::NAN, 0.0, 0.0])]),
        entry(vec![vector("text", &[])]),
        entry(vec![vector("image", &[0.1, 0.9])]),
    ];
    let answer = ingest.write(WriteRequest { entries, flush: true, ..WriteRequest::default() }).await.unwrap().into_inner();
    let reasons: Vec<_> = answer.refusals.iter().map(|refusal| (refusal.index, refusal.reason.as_str())).collect();
    assert_eq!(reasons, [(1, "vector_dimension"), (2, "vector_zero"), (3, "vector_not_finite"), (4, "vector_length")]);
    assert!(answer.refusals[0].message.contains("has 2 numbers, those of this namespace have 3"), "{}", answer.refusals[0].message);

    for (args, part) in [
        (&["--vector", list][..], "several vector fields, choose one: image, text"),
        (&["--vector", list, "--vector-field", "image"], "has 3 numbers, those of the field \"image\" in \"shop\" have 2"),
        (&["--vector", list, "--vector-field", "sound"], "has a vector field \"sound\"; there are image, text"),
        (&["--like", "00000000000007ff"], "no entry of these namespaces has the address 00000000000007ff"),
        (&["--like", "xyz"], "16 hexadecimal digits"),
        (&["--within", "0.5"], "goes with --vector FILE or --like ADDRESS"),
        (&["--vector", list, "--vector-field", "text", "--order", "newest"], "leave out --order"),
        (&["near:\"x\"", "--vector", list, "--vector-field", "text"], "near: is an order of its own"),
    ] {
        let args: Vec<&str> = ["search", "-n", "shop"].iter().chain(args).copied().collect();
        let message = error(&server, &args);
        assert!(message.contains(part), "{args:?}: {message}");
    }
    let found = search(&server, &["--vector", list, "--vector-field", "text"]);
    assert_eq!((found.len(), found[0]["distance"].as_f64()), (1, Some(0.0)));
    let image = search(&server, &["--like", found[0]["address"].as_str().unwrap(), "--vector-field", "image", "--with-vectors"]);
    assert_eq!(image.len(), 2);
    assert_eq!(image[0]["vectors"]["image"], serde_json::json!([0.5, 0.5]));

    // A wrong number of rows is an error, and so is what is no array.
    let (lines, vectors) = (folder.path().join("lines.txt"), folder.path().join("vectors.npy"));
    std::fs::write(&lines, "a\nb\n").unwrap();
    std::fs::write(&vectors, npy(&[&[1.0, 0.0, 0.0]])).unwrap();
    let args = ["import", lines.to_str().unwrap(), "-n", "shop", "--vectors", vectors.to_str().unwrap(), "--vector-field", "text"];
    assert!(error(&server, &args).contains("has 1 rows, but the source has 2 records"));
}

#[test]
fn vectors_that_cannot_be_are_refused_at_import_with_what_is_wrong() {
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(data.path(), &[]);
    let bad: [&[f32]; 5] = [&[1.0, 0.0, 0.5], &[0.5, f32::NAN, 0.5], &[0.0, 0.0, 0.0], &[f32::INFINITY, 1.0, 1.0], &[1e30, 1.0, 1.0]];
    let lines: String = (0..bad.len()).map(|row| format!("{{\"namespace\":\"shop\",\"body\":\"line\",\"row\":{row}}}\n")).collect();
    let args = vectors::write_import(folder.path(), &lines, &bad);
    let args: Vec<&str> = args.iter().map(String::as_str).filter(|arg| *arg != "--strict").collect();
    let said = server.ok(&args);
    assert!(said.contains("imported 1 entry") && said.contains("refused 4 entries") && said.contains("invalid_vector"), "{said}");
    for (line, reason) in [(2, "position 1 is NaN or infinite"), (3, "no direction"), (4, "position 0 is NaN or infinite"), (5, "its length")] {
        let of_line = said.lines().find(|text| text.contains(&format!("line {line}, "))).unwrap_or_else(|| panic!("{line}: {said}"));
        assert!(of_line.contains("invalid_vector") && of_line.contains(reason), "{of_line}");
    }
    // The field has three numbers now.
    let args = vectors::write_import(folder.path(), "{\"namespace\":\"shop\",\"body\":\"flat\"}\n", &[&[1.0, 0.0]]);
    let output = server.cli(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(
        !output.status.success() && said.contains("vector_dimension") && said.contains("has 2 numbers, those of this namespace have 3"),
        "{said}"
    );
    assert_eq!(count(&server, &["*"]), 1);
}

/// Every object of a data folder.
fn objects(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { objects(&path, found) } else { found.push(path) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_index_costs_no_answer_and_whoever_asks_is_told() {
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(data.path(), &[]);
    import(&server, folder.path(), &entries()[..500], 0);
    settle(&server).await;
    let vector = folder.path().join("query.npy");
    std::fs::write(&vector, npy(&[&numbers(77).take(DIMENSION).collect::<Vec<_>>()])).unwrap();
    let args = ["search", "-n", "shop", "-o", "json", "--vector", vector.to_str().unwrap(), "--limit", "50"];
    let sound = server.ok(&args);
    let status: Value = serde_json::from_str(&server.ok(&["status", "-o", "json"])).unwrap();
    let of_shop = &status["namespaces"][0];
    assert_eq!((of_shop["vector_indexes"].as_u64(), of_shop["vectors_indexed"].as_u64()), (Some(1), Some(500)), "{status}");
    assert!(of_shop["vector_index_bytes"].as_u64().unwrap() > 500 * (64 + 12 + 4 * DIMENSION as u64), "codes and full vectors: {status}");
    server.kill();

    let mut found = Vec::new();
    objects(&data.path().join("objects"), &mut found);
    let magic = b"SLTVECTR";
    let mut damaged = 0;
    for path in found {
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(magic.len()).position(|window| window == magic) {
            bytes[at + 1_000] ^= 0x10;
            std::fs::write(&path, bytes).unwrap();
            damaged += 1;
        }
    }
    assert_eq!(damaged, 1, "the index lies in an object of its own");
    let server = Server::start(data.path(), &[]);
    let output = server.cli(&args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.success(), String::from_utf8(output.stdout).unwrap()), (true, sound.clone()), "{said}");
    assert!(said.starts_with("degraded: read vector index ") && said.contains("compared one by one, until it is built anew"), "{said}");
    // It is built anew by itself.
    settle(&server).await;
    let output = server.cli(&args);
    assert_eq!((String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap()), (sound, String::new()));
    let status = server.cli(&["status"]);
    assert!(String::from_utf8_lossy(&status.stderr).contains("problem: read vector index "), "{}", String::from_utf8_lossy(&status.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_objects_are_an_error_and_never_an_answer() {
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(data.path(), &[]);
    import(&server, folder.path(), &entries()[..500], 0);
    settle(&server).await;
    drop(server);
    let vector = folder.path().join("query.npy");
    std::fs::write(&vector, npy(&[&numbers(77).take(DIMENSION).collect::<Vec<_>>()])).unwrap();
    let mut found = Vec::new();
    objects(&data.path().join("objects"), &mut found);
    for path in found {
        let mut bytes = std::fs::read(&path).unwrap();
        if bytes.starts_with(b"SiltObjt") {
            let (start, end) = (16, bytes.len() - 200);
            bytes[start..end].iter_mut().for_each(|byte| *byte ^= 0x55);
            std::fs::write(&path, bytes).unwrap();
        }
    }
    let server = Server::start(data.path(), &[]);
    for way in [&["--vector-search", "exact"][..], &[]] {
        let args: Vec<&str> = ["search", "-n", "shop", "--vector", vector.to_str().unwrap()].iter().chain(way).copied().collect();
        let message = error(&server, &args);
        assert!(message.contains("read ") || message.contains("open "), "{message}");
    }
}
