//! What people and Prometheus see of a group: status, metrics, health, the dump of a member's files.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::time::{Duration, Instant};
use support::Group;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn get(addr: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: {addr}\r\nconnection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// The value of a metric without labels.
fn metric(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
    let line = line.unwrap_or_else(|| panic!("no {name} in\n{text}"));
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_health_status_and_dump_tell_of_the_same_group() {
    let mut group = Group::start(&[1, 2, 3], &["--snapshot-entries", "30"]).await;
    for number in 0..60 {
        group.put_at_leader(&format!("k{number}"), b"v").await;
    }
    // A restart with a port for metrics; the others carry on.
    let follower = {
        let leader = group.leader(None).await;
        *group.members.keys().find(|id| **id != leader).unwrap()
    };
    group.kill(follower);
    // With an object store, so that it tells of publishing.
    let store = tempfile::tempdir().unwrap();
    let store_flag = store.path().to_str().unwrap().to_owned();
    group.flags.extend(["--listen-metrics".to_owned(), "127.0.0.1:0".to_owned(), "--store".to_owned(), store_flag]);
    let line = group.spawn(follower, &[]);
    let addr = line.trim().rsplit(' ').next().unwrap().to_owned();
    let index = group.put_at_leader("after", b"v").await;
    group.applied(follower, index).await;

    let begun = Instant::now();
    while !get(&addr, "/healthz").await.contains("200 OK") {
        assert!(begun.elapsed() < support::PATIENCE, "it is never ready");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let text = get(&addr, "/metrics").await;
    assert!(text.contains("application/openmetrics-text") && text.trim_end().ends_with("# EOF"), "{text}");
    assert_eq!((metric(&text, "siltstone_metadata_is_ready"), metric(&text, "siltstone_metadata_is_leader")), (1.0, 0.0));
    assert!(metric(&text, "siltstone_metadata_applied_index") >= index as f64);
    assert_eq!(metric(&text, "siltstone_metadata_voters"), 3.0);
    assert!(metric(&text, "siltstone_metadata_disk_stall_seconds") < 60.0);
    assert!(metric(&text, "siltstone_metadata_wal_sync_seconds_count") > 0.0, "it has synced what it was sent");
    // Without it `histogram_quantile` is not a number.
    let ends = |name: &str| text.lines().any(|line| line.starts_with(&format!("{name}_bucket{{")) && line.contains("le=\"+Inf\""));
    assert!(ends("siltstone_metadata_wal_sync_seconds") && ends("siltstone_metadata_proposal_seconds"), "{text}");
    assert!(get(&addr, "/elsewhere").await.contains("404 Not Found"));
    let page = include_str!("../../../docs/metadata-group.md");
    let named: Vec<&str> = page.split('`').filter(|word| word.starts_with("siltstone_metadata_")).collect();
    assert!(named.len() > 4, "{named:?}");
    named.iter().for_each(|name| assert!(text.contains(name), "the page names {name}, which is not served"));

    let (done, table) = group.cli(&["status"]);
    assert!(done, "{table}");
    let roles = |role: &str| table.lines().filter(|line| line.contains(role)).count();
    // The first line names the leader too.
    assert_eq!((roles("leader "), roles("follower"), roles("ready")), (2, 2, 3), "{table}");
    let (done, json) = group.cli(&["status", "--json"]);
    assert!(done && json.lines().filter(|line| line.contains("\"role\":\"follower\"")).count() == 2, "{json}");

    group.kill(follower);
    let data = group.data(follower);
    let (done, dump) = support::cli(&["dump", "--data"], &[data.to_str().unwrap()]);
    assert!(done && dump.contains("put_setting") && dump.contains("vote") && !dump.contains("BROKEN"), "{dump}");
    assert!(dump.lines().any(|line| line.contains(".snapshot") && line.contains("settings")), "{dump}");
    let (done, text) = support::cli(&["dump", "--data", "/nowhere"], &[]);
    assert!(!done && text.contains("--data names a member's directory"), "{text}");
}
