//! The real logs through the whole product: imported by the CLI, then every query of the truth file by gRPC: COUNT and the set of matches equal what
//! brute force over the file finds, before and after everything is sealed and merged, and after a restart.
//!
//! The truth file's tokens are runs of ASCII letters and digits; the analyzer's are runs of any letters and digits. Brute force is done by both
//! rules:
//! the first must give the truth file's counts, the second the server's; where the two differ, it is for lines with letters beyond ASCII alone.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use flate2::read::GzDecoder;
use serde_json::Value;
use siltstone_proto::v1::admin_client::AdminClient;
use siltstone_proto::v1::{Order, SettleRequest};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use support::{Server, count, rows, shared_data};

struct Truth {
    namespaces: Vec<String>,
    /// By line: the tokens of its body as the truth file defines them, and what tells its row apart.
    lines: Vec<(Vec<String>, String)>,
    /// By token: the lines that have it. Saves looking at all lines for each case; what matches is decided line by line.
    lines_with: HashMap<String, BTreeSet<usize>>,
    /// The lines with letters or digits beyond ASCII, and their tokens as the analyzer has them.
    beyond_ascii: Vec<(usize, Vec<String>)>,
}

impl Truth {
    /// The lines that match by the truth file's rule, and by the analyzer's.
    fn matching(&self, case: &Case) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let none = BTreeSet::new();
        let with = |term: &String| self.lines_with.get(term).unwrap_or(&none);
        let candidates: BTreeSet<usize> = match case.kind.as_str() {
            "or" => case.terms.iter().flat_map(with).copied().collect(),
            "andnot" => with(&case.terms[0]).clone(),
            _ => case.terms.iter().map(with).min_by_key(|lines| lines.len()).unwrap().clone(),
        };
        let by_file: BTreeSet<usize> = candidates.into_iter().filter(|line| matches(case, &self.lines[*line].0)).collect();
        let mut by_analyzer = by_file.clone();
        for (line, tokens) in &self.beyond_ascii {
            if matches(case, tokens) {
                by_analyzer.insert(*line);
            } else {
                by_analyzer.remove(line);
            }
        }
        (by_file, by_analyzer)
    }
}

/// Maximal runs of such letters, lower-cased.
fn tokens(body: &str, is_part: fn(char) -> bool) -> Vec<String> {
    body.split(|letter: char| !is_part(letter)).filter(|token| !token.is_empty()).map(str::to_lowercase).collect()
}

/// The documented analyzer's letters.
fn is_any_alphanumeric(letter: char) -> bool {
    letter.is_alphanumeric()
}

/// The truth file's letters.
fn is_ascii_alphanumeric(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
}

fn truth() -> Truth {
    let file = File::open(shared_data().join("logs.jsonl.gz")).unwrap();
    let (mut namespaces, mut lines, mut beyond_ascii) = (BTreeSet::new(), Vec::new(), Vec::new());
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let entry: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        namespaces.insert(text("namespace"));
        if text("body").chars().any(|letter| !letter.is_ascii() && letter.is_alphanumeric()) {
            beyond_ascii.push((lines.len(), tokens(&text("body"), is_any_alphanumeric)));
        }
        lines.push((tokens(&text("body"), is_ascii_alphanumeric), format!("{}|{}|{}", text("namespace"), text("pod"), text("body"))));
    }
    let mut lines_with: HashMap<String, BTreeSet<usize>> = HashMap::new();
    for (line, (tokens, _)) in lines.iter().enumerate() {
        for token in tokens {
            match lines_with.get_mut(token) {
                Some(lines) => _ = lines.insert(line),
                None => _ = lines_with.insert(token.clone(), [line].into()),
            }
        }
    }
    Truth { namespaces: namespaces.into_iter().collect(), lines, lines_with, beyond_ascii }
}

struct Case {
    kind: String,
    query: String,
    count: u64,
    first_rows: Vec<usize>,
    terms: Vec<String>,
}

fn cases() -> Vec<Case> {
    let file = File::open(shared_data().join("text_queries.jsonl")).unwrap();
    let case = |line: String| {
        let case: Value = serde_json::from_str(&line).unwrap();
        let terms: Vec<String> = case["terms"].as_array().unwrap().iter().map(|term| term.as_str().unwrap().to_owned()).collect();
        let kind = case["kind"].as_str().unwrap().to_owned();
        let query = match kind.as_str() {
            "term" => terms[0].clone(),
            "and" => terms.join(" AND "),
            "or" => terms.join(" OR "),
            "andnot" => format!("{} -{}", terms[0], terms[1]),
            "phrase" => format!("\"{}\"", terms.join(" ")),
            kind => panic!("the truth file has a new kind of query, {kind}"),
        };
        let first_rows = case["first_rows"].as_array().unwrap().iter().map(|row| row.as_u64().unwrap() as usize).collect();
        Case { kind, query, count: case["count"].as_u64().unwrap(), first_rows, terms }
    };
    BufReader::new(file).lines().map(|line| case(line.unwrap())).collect()
}

fn matches(case: &Case, tokens: &[String]) -> bool {
    let has = |term: &String| tokens.contains(term);
    match case.kind.as_str() {
        "term" | "and" => case.terms.iter().all(has),
        "or" => case.terms.iter().any(has),
        "andnot" => has(&case.terms[0]) && !has(&case.terms[1]),
        _ => tokens.windows(case.terms.len()).any(|window| window == case.terms),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_query_of_the_truth_file_equals_brute_force() {
    let (truth, cases) = (truth(), cases());
    assert!(truth.lines.len() == 237_764 && cases.len() > 700, "the shared data is whole");
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let path = shared_data().join("logs.jsonl.gz");
    let imported: Value = serde_json::from_str(&server.ok(&["import", "--json", path.to_str().unwrap()])).unwrap();
    assert_eq!((imported["accepted"].as_u64(), imported["refused"].as_u64()), (Some(237_764), Some(0)));
    let again: Value = serde_json::from_str(&server.ok(&["import", "--json", path.to_str().unwrap()])).unwrap();
    assert_eq!((again["accepted"].as_u64(), again["duplicates"].as_u64()), (Some(0), Some(237_764)), "AK-2: a repeated import adds nothing");

    // Sets are compared on a part of the cases while rows are live and sealed side by side, on all of them at the end.
    check(&server, &truth, cases.iter().step_by(9)).await;
    AdminClient::connect(format!("http://{}", server.grpc)).await.unwrap().settle(SettleRequest {}).await.unwrap();
    server.kill();
    let server = Server::start(data.path(), &[]);
    check(&server, &truth, cases.iter()).await;
}

async fn check(server: &Server, truth: &Truth, cases: impl Iterator<Item = &Case>) {
    let mut search = server.search().await;
    let mut by_row: HashMap<&str, usize> = HashMap::new();
    for (line, (_, row)) in truth.lines.iter().enumerate() {
        assert!(by_row.insert(row, line).is_none(), "the real lines are distinct");
    }
    assert_eq!(count(&mut search, &truth.namespaces, "*").await, truth.lines.len() as u64);
    for case in cases {
        let (by_file, expected) = truth.matching(case);
        assert_eq!(by_file.len() as u64, case.count, "brute force here and the truth file agree on {}", case.query);
        assert!(by_file.iter().take(case.first_rows.len()).eq(&case.first_rows));
        assert_eq!(count(&mut search, &truth.namespaces, &case.query).await, expected.len() as u64, "COUNT of {}", case.query);
        if expected.len() > 2_000 {
            continue;
        }
        let found = rows(&mut search, &truth.namespaces, &case.query, Order::Newest).await;
        let lines: BTreeSet<usize> =
            found.iter().map(|row| by_row[format!("{}|{}|{}", row.namespace, row.pod, String::from_utf8_lossy(&row.body)).as_str()]).collect();
        assert_eq!((found.len(), lines), (expected.len(), expected), "the set of matches of {} (CT-1)", case.query);
    }
}
