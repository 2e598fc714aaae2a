//! Every role but the metadata group in one process, and the group in three others: killed one by one, all at once, and never there.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use siltstone_proto::v1::ingest_client::IngestClient;
use siltstone_proto::v1::{CountRequest, LogEntry, QuerySpec, WriteRequest, WriteResponse};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::group::{Group, PATIENCE};
use support::{SILTSTONE, Server, count, text};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic::Status;

/// Flushes, chunks and seals within moments, so that seals and merges go through the group, too; and little patience with a group that is away.
const TUNING: [&str; 10] =
    ["--flush-interval-ms", "5", "--chunk-age-ms-max", "200", "--seal-wait-ms-max", "20", "--merge-fan-in", "3", "--group-patience-ms", "3000"];

fn server(data: &Path, group: &Group) -> Server {
    let addresses = group.addresses();
    Server::start(data, &[["--group", &addresses].as_slice(), &TUNING].concat())
}

/// Starts a process that is to fail, and returns what it says.
fn failing(data: &Path, more: &[&str]) -> String {
    let mut command = Command::new(SILTSTONE);
    command.args(["dev", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(more).args(TUNING);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    text(&output.stderr)
}

async fn write(server: &Server, sequence: u64) -> Result<WriteResponse, Status> {
    let mut ingest = IngestClient::connect(format!("http://{}", server.grpc)).await.map_err(|error| Status::unavailable(error.to_string()))?;
    let entry = LogEntry { namespace: "shop".into(), body: format!("order {sequence} placed").into_bytes().into(), ..LogEntry::default() };
    let request = WriteRequest { producer: "till".into(), sequence, entries: vec![entry], flush: true, in_order: true };
    ingest.write(request).await.map(tonic::Response::into_inner)
}

/// Writes one entry after the other, each until it is acknowledged; asks for each commit whether it is covered.
struct Till {
    acknowledged: watch::Receiver<u64>,
    stop: Arc<AtomicBool>,
    task: JoinHandle<String>,
}

impl Till {
    fn start(server: Arc<Server>, first: u64) -> Self {
        let (sender, acknowledged) = watch::channel(first - 1);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let mut search = server.search().await;
            let (mut sequence, mut token) = (first, String::new());
            while !stopped.load(Ordering::Relaxed) {
                match write(&server, sequence).await {
                    Ok(written) => {
                        assert_eq!(written.accepted + written.duplicates, 1);
                        token = written.commit_token;
                        let spec = QuerySpec { min_commit: token.clone(), ..support::spec(&["shop".to_owned()], "order") };
                        let found = search.count(CountRequest { spec: Some(spec) }).await.unwrap().into_inner().count;
                        assert_eq!(found, sequence, "what was acknowledged is there, once");
                        sender.send_replace(sequence);
                        sequence += 1;
                    }
                    Err(status) => {
                        assert_eq!(status.code(), tonic::Code::Unavailable, "{status}");
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                }
            }
            token
        });
        Self { acknowledged, stop, task }
    }

    /// Waits until so many more are acknowledged.
    async fn progress(&mut self, more: u64) {
        let wanted = *self.acknowledged.borrow() + more;
        tokio::time::timeout(PATIENCE, self.acknowledged.wait_for(|acknowledged| *acknowledged >= wanted)).await.expect("writes go on").unwrap();
    }

    /// The last that was acknowledged, and the token of its commit.
    async fn end(self) -> (u64, String) {
        self.stop.store(true, Ordering::Relaxed);
        let token = self.task.await.unwrap();
        (*self.acknowledged.borrow(), token)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_go_on_when_leaders_are_killed_and_whatever_was_acknowledged_is_counted_once() {
    let mut group = Group::start();
    let data = tempfile::tempdir().unwrap();
    let indexer = Arc::new(server(data.path(), &group));
    let mut till = Till::start(indexer.clone(), 1);
    till.progress(20).await;
    for _ in 0..2 {
        let leader = group.leader().await;
        group.kill(leader);
        till.progress(20).await;
        group.spawn(leader);
        till.progress(20).await;
    }
    let (acknowledged, token) = till.end().await;
    // The indexer is killed too. Its successor takes the state, and then what follows.
    Arc::into_inner(indexer).unwrap().kill();
    let indexer = Arc::new(server(data.path(), &group));
    let covered = indexer.ok(&["count", "order", "-n", "shop", "--min-commit", &token, "-o", "json"]);
    assert!(covered.contains(&format!("\"count\":{acknowledged}")), "{acknowledged}: {covered}");
    let mut till = Till::start(indexer.clone(), acknowledged + 1);
    till.progress(20).await;
    let (acknowledged, _) = till.end().await;
    assert_eq!(count(&mut indexer.search().await, &["shop".to_owned()], "order").await, acknowledged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_group_an_indexer_answers_questions_refuses_entries_and_says_why_until_the_group_is_back() {
    let mut group = Group::start();
    let data = tempfile::tempdir().unwrap();
    let indexer = server(data.path(), &group);
    for sequence in 1..=10 {
        write(&indexer, sequence).await.unwrap();
    }
    group.kill_all();
    let mut search = indexer.search().await;
    let shop = ["shop".to_owned()];
    for _ in 0..2 {
        let refused = tokio::time::timeout(PATIENCE, write(&indexer, 11)).await.expect("an answer").unwrap_err();
        assert_eq!(refused.code(), tonic::Code::Unavailable);
        assert!(refused.message().contains("metadata group") && refused.message().contains("refused"), "{refused}");
        assert_eq!(count(&mut search, &shop, "order").await, 10, "the view of before");
    }
    let begun = Instant::now();
    let status = loop {
        let status = indexer.ok(&["status", "-o", "json"]);
        if status.contains("the metadata group is not heard") {
            break status;
        }
        assert!(begun.elapsed() < PATIENCE, "{status}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    assert!(status.contains(&group.addresses()), "it says where to look: {status}");
    group.spawn_all();
    let begun = Instant::now();
    while let Err(status) = write(&indexer, 11).await {
        assert!(begun.elapsed() < PATIENCE, "{status}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(count(&mut search, &shop, "order").await, 11);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_without_a_group_to_follow_says_what_each_member_says_and_one_of_another_group_finds_the_store_taken() {
    let mut group = Group::new();
    let data = tempfile::tempdir().unwrap();
    let addresses = group.addresses();
    group.spawn(1);
    let not_founded = failing(data.path(), &["--group", &addresses]);
    assert!(not_founded.contains("refused") && not_founded.contains("member 1: ") && not_founded.contains("siltstone metadata"), "{not_founded}");
    group.spawn_all();
    let elsewhere = tempfile::tempdir().unwrap();
    drop(Server::start(elsewhere.path(), &[]));
    let objects = elsewhere.path().join("objects");
    let taken = failing(data.path(), &["--group", &addresses, "--store", objects.to_str().unwrap()]);
    assert!(taken.contains("belongs to another group") && taken.contains("--group") && taken.contains(&addresses), "{taken}");
}
