//! Processes that are killed in the midst of building indexes over entries' vectors: while the graph grows, while the index is put on the store,
//! between that and its commit, and while entries arrive. Nothing is lost, every row is found all the time, and the index is completed in the end.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use siltstone_proto::v1::admin_client::AdminClient;
use siltstone_proto::v1::{CountRequest, SearchWay, StatusRequest};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::vectors::{distance, nearest, number_of, numbers, settle, spec, status_of, write_import};
use support::{Server, cli_with};
use tonic::Code;

const DIMENSION: usize = 12;
/// As many as make an index, and a graph in it.
const ROWS: usize = 10_000;
const K: usize = 10;
const QUERIES: u64 = 8;
/// A file of the store that is larger is an index: packs of so many rows are smaller.
const INDEX_BYTES_MIN: u64 = 900_000;
/// What has not happened by then does not happen.
const BOUND: Duration = Duration::from_secs(120);
/// Everything is sealed at once, and nothing is merged: what is put on the store while all is sealed is an index.
const TUNING: [&str; 8] = ["--flush-interval-ms", "5", "--chunk-age-ms-max", "50", "--seal-wait-ms-max", "5", "--merge-fan-in", "1000"];

/// When a life ends.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// After this part of the time that a build takes.
    Building(f64),
    /// Once the index's bytes are being written.
    Putting,
    /// Once the index lies on the store: its commit is on the way.
    Put,
    /// So many milliseconds after an import began.
    Importing(u64),
}

const MOMENTS: [Moment; 12] = [
    Moment::Put,
    Moment::Building(0.2),
    Moment::Putting,
    Moment::Importing(150),
    Moment::Put,
    Moment::Building(0.9),
    Moment::Building(0.5),
    Moment::Put,
    Moment::Putting,
    Moment::Importing(400),
    Moment::Building(0.7),
    Moment::Put,
];

/// What was imported, and the true answers.
struct Corpus {
    vectors: Vec<Vec<f32>>,
    queries: Vec<Vec<f32>>,
}

impl Corpus {
    fn new() -> Self {
        let queries = (0..QUERIES).map(|seed| numbers(1_000_000_007 + seed).take(DIMENSION).collect()).collect();
        Self { vectors: Vec::new(), queries }
    }

    fn grow(&mut self, folder: &Path) -> Vec<String> {
        let first = self.vectors.len();
        let mut lines = String::new();
        for row in first..first + ROWS {
            writeln!(
                lines,
                "{{\"timestamp_ms\":{},\"namespace\":\"shop\",\"row\":{row},\"shard_uri\":\"s3://logs/{row}\"}}",
                1_700_000_000_000 + row
            )
            .unwrap();
            self.vectors.push(numbers(row as u64 + 1).take(DIMENSION).collect());
        }
        write_import(folder, &lines, &self.vectors[first..].iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// Of each query the nearest distances, nearest first.
    fn truth(&self) -> Vec<Vec<f64>> {
        let of = |query: &Vec<f32>| {
            let mut distances: Vec<f64> = self.vectors.iter().map(|vector| distance("cosine", query, vector)).collect();
            distances.sort_unstable_by(f64::total_cmp);
            distances.truncate(K);
            distances
        };
        self.queries.iter().map(of).collect()
    }
}

/// Asks everything once. Hits among the nearest; an error of the server is given back.
async fn ask(server: SocketAddr, corpus: &Corpus, truth: &[Vec<f64>], way: SearchWay) -> Result<usize, tonic::Status> {
    let connect = siltstone_proto::v1::search_client::SearchClient::connect(format!("http://{server}")).await;
    let mut search = connect.map_err(|error| tonic::Status::unavailable(error.to_string()))?;
    let mut hits = 0;
    let request = CountRequest { spec: Some(spec(&["shop"], "*", &corpus.queries[0], way)) };
    let count = search.count(request).await?.into_inner().count;
    assert_eq!(count, corpus.vectors.len() as u64, "AK-1, AK-2: every row with its vector, once");
    for (query, truth) in corpus.queries.iter().zip(truth) {
        let answer = nearest(&mut search, spec(&["shop"], "*", query, way), K as u32).await?;
        assert_eq!(answer.info.unwrap().degraded, Vec::<String>::new(), "a kill damages nothing");
        let rows: BTreeSet<usize> = answer.rows.iter().map(number_of).collect();
        assert_eq!((answer.rows.len(), rows.len()), (K, K), "no row twice");
        for found in &answer.rows {
            let (shown, true_one) = (f64::from(found.distance.unwrap()), distance("cosine", query, &corpus.vectors[number_of(found)]));
            assert!((shown - true_one).abs() < 1e-5, "{shown} {true_one}");
            hits += usize::from(shown <= truth[K - 1] + 1e-6);
        }
    }
    Ok(hits)
}

/// Every answer is right, or as good as a graph's must be.
async fn check(server: &Server, corpus: &Corpus, when: &str) {
    let (truth, all) = (corpus.truth(), corpus.queries.len() * K);
    assert_eq!(ask(server.grpc, corpus, &truth, SearchWay::Exact).await.unwrap(), all, "{when}: brute force");
    let hits = ask(server.grpc, corpus, &truth, SearchWay::Unspecified).await.unwrap();
    assert!(hits as f64 >= 0.98 * all as f64, "{when}: {hits} of {all}");
}

/// Objects and temporary files of the store that are as large as an index.
fn large_files(data: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![data.join("objects")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            // What is renamed at this moment is seen the next time.
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                folders.push(entry.path());
            } else if about.len() >= INDEX_BYTES_MIN {
                found.insert(entry.path());
            }
        }
    }
    found
}

fn is_temporary(path: &Path) -> bool {
    !path.file_name().unwrap().to_str().unwrap().bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Waits for the moment. Whether it came: it does not where the index was committed before.
fn wait_for(moment: Moment, data: &Path, before: &BTreeSet<PathBuf>, build: Duration, is_indexed: &AtomicBool) -> bool {
    let begun = Instant::now();
    loop {
        let has_come = match moment {
            Moment::Building(part) => begun.elapsed() >= build.mul_f64(part),
            Moment::Putting => large_files(data).iter().any(|path| !before.contains(path)),
            Moment::Put => large_files(data).iter().any(|path| !before.contains(path) && !is_temporary(path)),
            Moment::Importing(_) => unreachable!("handled before"),
        };
        if has_come || is_indexed.load(Ordering::SeqCst) {
            return has_come;
        }
        assert!(begun.elapsed() < BOUND, "{moment:?} does not come");
        if matches!(moment, Moment::Building(_)) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// What asks all the while, until the server is gone.
struct Asking {
    corpus: Corpus,
    rounds: usize,
    hits: usize,
}

/// By turns as the planner chooses and by brute force.
async fn ask_until_killed(addr: SocketAddr, corpus: Corpus, is_killed: Arc<AtomicBool>, is_indexed: Arc<AtomicBool>) -> Asking {
    let (truth, all) = (corpus.truth(), corpus.queries.len() * K);
    let mut admin = AdminClient::connect(format!("http://{addr}")).await.unwrap();
    let (mut rounds, mut hits) = (0, 0);
    loop {
        let status = status_of(&mut admin, "shop").await;
        is_indexed.store(status.is_ok_and(|status| status.vectors_indexed == status.rows), Ordering::SeqCst);
        let answers = match ask(addr, &corpus, &truth, SearchWay::Unspecified).await {
            Ok(found) => ask(addr, &corpus, &truth, SearchWay::Exact).await.map(|exact| (found, exact)),
            Err(error) => Err(error),
        };
        match answers {
            Ok((found, exact)) => {
                assert_eq!(exact, all, "brute force");
                (rounds, hits) = (rounds + 1, hits + found);
            }
            Err(error) => {
                assert!(is_killed.load(Ordering::SeqCst), "before the kill: {error}");
                assert!(matches!(error.code(), Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal), "{error}");
                return Asking { corpus, rounds, hits };
            }
        }
    }
}

fn run(server: &Server, args: &[String]) {
    server.ok(&args.iter().map(String::as_str).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_while_an_index_is_built_lose_nothing_and_it_is_completed_in_the_end() {
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut corpus = Corpus::new();
    let mut build = Duration::from_millis(1_000);
    let mut seen = BTreeSet::new();
    // An import that a kill cut off: it is done once more, and what came is not taken twice.
    let mut pending: Option<Vec<String>> = None;
    let (mut in_build, mut in_put, mut all_rounds) = (0, 0, 0);
    for (life, moment) in MOMENTS.into_iter().enumerate() {
        let before = large_files(data.path());
        let server = Server::start(data.path(), &TUNING);
        let begun = Instant::now();
        let mut admin = AdminClient::connect(format!("http://{}", server.grpc)).await.unwrap();
        if let Some(args) = pending.take() {
            run(&server, &args);
        }
        if let Moment::Importing(ms) = moment {
            let (addr, args) = (server.grpc, corpus.grow(folder.path()));
            pending = Some(args.clone());
            let importing = std::thread::spawn(move || cli_with(&args.iter().map(String::as_str).collect::<Vec<_>>(), Some(addr), None));
            tokio::time::sleep(Duration::from_millis(ms)).await;
            server.kill();
            importing.join().unwrap();
            continue;
        }
        // Where the last life's build was cut off, this one began another as it began; else there is something new to index.
        if corpus.vectors.len() as u64 - status_of(&mut admin, "shop").await.unwrap().vectors_indexed < ROWS as u64 {
            run(&server, &corpus.grow(folder.path()));
        }
        let (is_killed, is_indexed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let asking = tokio::spawn(ask_until_killed(server.grpc, corpus, is_killed.clone(), is_indexed.clone()));
        let (path, indexed, known) = (data.path().to_owned(), is_indexed.clone(), before.clone());
        let has_come = tokio::task::spawn_blocking(move || wait_for(moment, &path, &known, build, &indexed)).await.unwrap();
        is_killed.store(true, Ordering::SeqCst);
        server.kill();
        let lasted = begun.elapsed();
        let after = large_files(data.path());
        let new: Vec<&PathBuf> = after.difference(&before).collect();
        let asked = asking.await.unwrap();
        corpus = asked.corpus;
        assert!(asked.hits as f64 >= 0.98 * (asked.rounds * corpus.queries.len() * K) as f64, "{} hits in {} rounds", asked.hits, asked.rounds);
        if matches!(moment, Moment::Put) && has_come {
            build = lasted;
        }
        all_rounds += asked.rounds;
        in_build += usize::from(new.is_empty() && !is_indexed.load(Ordering::SeqCst));
        in_put += usize::from(new.iter().any(|path| is_temporary(path)));
        println!("life {life}: {moment:?}, came: {has_come}, {} rows, {} rounds, {} new, {lasted:?}", corpus.vectors.len(), asked.rounds, new.len());
        seen.extend(after.into_iter().filter(|path| !is_temporary(path)));
    }

    let server = Server::start(data.path(), &TUNING);
    if let Some(args) = pending {
        run(&server, &args);
    }
    check(&server, &corpus, "at last").await;
    let mut admin = AdminClient::connect(format!("http://{}", server.grpc)).await.unwrap();
    let begun = Instant::now();
    // Nobody asks for it: the job takes up by itself what was not done.
    while status_of(&mut admin, "shop").await.unwrap().vectors_indexed + ROWS as u64 <= corpus.vectors.len() as u64 {
        assert!(begun.elapsed() < BOUND, "the index is not completed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    check(&server, &corpus, "completed").await;
    settle(&server).await;
    let status = status_of(&mut admin, "shop").await.unwrap();
    assert_eq!((status.vector_indexes, status.vectors_indexed, status.rows), (1, corpus.vectors.len() as u64, corpus.vectors.len() as u64));
    check(&server, &corpus, "joined").await;
    // What was retired is kept for a day, so a file that is gone was put and never committed: the collector took it once its epoch was fenced.
    let between = seen.iter().filter(|path| !path.exists()).count();
    println!(
        "{} rows, {all_rounds} rounds; kills while the graph grew: {in_build}, in a put: {in_put}, between put and commit: {between}",
        corpus.vectors.len()
    );
    assert!(in_build >= 3 && in_put + between >= 1 && all_rounds > 0, "{in_build} {in_put} {between} {all_rounds}");
    let problems = admin.status(StatusRequest {}).await.unwrap().into_inner().problems;
    assert_eq!(problems, Vec::<String>::new());
}
