//! The shared vectors of real lines as vectors of entries: recall with the planner's choice and with the graph forced, at filters of 50, 10, 1 and
//! 0.1 % by namespace, team, deployment and time, and the same answers when they arrive in a hundred imports.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::Value;
use siltstone_proto::v1::search_client::SearchClient;
use siltstone_proto::v1::{ExplainRequest, QuerySpec, SearchWay};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Instant;
use support::vectors::{nearest, number_of, settle, spec, write_import};
use support::{Server, shared_data};
use tonic::transport::Channel;

const DIMENSION: usize = 384;
const K: usize = 10;
/// Of so many queries one is asked by a scan.
const EXACT_STEP: usize = 10;
/// The parts of all rows that filters leave, and namespaces have.
const PARTS: [(&str, f64); 4] = [("half", 0.5), ("tenth", 0.1), ("hundredth", 0.01), ("thousandth", 0.001)];
/// A hit is a row whose cosine is that of the k-th true one, but for this.
const TIE: f32 = 1e-6;

/// Rows of 16-bit floats, whose header is skipped.
fn halves(path: &Path) -> Vec<Vec<f32>> {
    let bytes = std::fs::read(path).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[start..]
        .chunks_exact(2 * DIMENSION)
        .map(|row| row.chunks_exact(2).map(|number| half(u16::from_le_bytes([number[0], number[1]]))).collect())
        .collect()
}

fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(bits >> 15) << 31, u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    let magnitude = if exponent == 0 { (fraction as f32 * 2_f32.powi(-24)).to_bits() } else { (exponent + 112) << 23 | fraction << 13 };
    f32::from_bits(sign | magnitude)
}

fn cosines(query: &[f32], vectors: &[Vec<f32>]) -> Vec<f32> {
    let dot = |left: &[f32], right: &[f32]| {
        let mut sums = [0_f64; 8];
        for (left, right) in left.chunks(8).zip(right.chunks(8)) {
            sums.iter_mut().zip(left.iter().zip(right)).for_each(|(sum, (left, right))| *sum += f64::from(*left) * f64::from(*right));
        }
        sums.iter().sum::<f64>()
    };
    let length = dot(query, query).sqrt();
    vectors.iter().map(|vector| (dot(query, vector) / (length * dot(vector, vector).sqrt())) as f32).collect()
}

struct Corpus {
    lines: Vec<Value>,
    vectors: Vec<Vec<f32>>,
    queries: Vec<Vec<f32>>,
    /// By query: the cosine of each row.
    cosines: Vec<Vec<f32>>,
}

impl Corpus {
    fn read() -> Self {
        let folder = shared_data();
        let file = std::fs::File::open(folder.join("vectors_entries.jsonl.gz")).unwrap();
        let lines =
            BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        let (vectors, queries) = (halves(&folder.join("vectors.npy")), halves(&folder.join("queries.npy")));
        let cosines = queries.iter().map(|query| cosines(query, &vectors)).collect();
        Self { lines, vectors, queries, cosines }
    }

    /// Imports rows, in their order; what was the namespace is the team, and the number of a row an attribute.
    fn import(&self, server: &Server, folder: &Path, rows: std::ops::Range<usize>, namespace_of: &dyn Fn(usize) -> &'static str) {
        let mut text = String::new();
        for row in rows.clone() {
            let mut line = self.lines[row].clone();
            line["team"] = line["namespace"].take();
            line["namespace"] = namespace_of(row).into();
            line["row"] = row.into();
            writeln!(text, "{line}").unwrap();
        }
        let mut args = write_import(folder, &text, &self.vectors[rows].iter().map(Vec::as_slice).collect::<Vec<_>>());
        args.extend(["--in-flight".to_owned(), "1".to_owned()]);
        server.ok(&args.iter().map(String::as_str).collect::<Vec<_>>());
    }

    /// A namespace for each row: whole teams, so that the namespaces have these parts of all rows and the last the rest.
    fn namespaces(&self) -> Vec<&'static str> {
        let mut teams = BTreeMap::<&str, usize>::new();
        self.lines.iter().for_each(|line| *teams.entry(line["namespace"].as_str().unwrap()).or_default() += 1);
        let mut rooms = PARTS.map(|(name, part)| (name, (part * self.lines.len() as f64) as usize));
        let mut teams: Vec<(&str, usize)> = teams.into_iter().collect();
        teams.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut of_team = BTreeMap::new();
        for (name, room) in &mut rooms {
            for (team, count) in &teams {
                if count <= room && !of_team.contains_key(team) {
                    *room -= count;
                    of_team.insert(*team, *name);
                }
            }
        }
        self.lines.iter().map(|line| of_team.get(line["namespace"].as_str().unwrap()).copied().unwrap_or("rest")).collect()
    }

    /// The caller searches these namespaces and no other.
    fn by_namespace(&self, of_row: &[&'static str], names: &[&'static str]) -> Filter {
        let keeps = of_row.iter().map(|name| names.contains(name)).collect();
        Filter { name: format!("in {}", names.join("+")), namespaces: names.to_vec(), query: "*".into(), range: None, keeps }
    }

    /// A filter that leaves about this part of the rows, by the values of a key: the query, and which rows it leaves.
    fn by_values(&self, key: &str, field: &str, part: f64) -> Filter {
        let mut values = BTreeMap::<&str, usize>::new();
        self.lines.iter().for_each(|line| *values.entry(line[key].as_str().unwrap()).or_default() += 1);
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mut room = (part * self.lines.len() as f64) as usize;
        let mut chosen = Vec::new();
        for (value, count) in values {
            if count <= room {
                room -= count;
                chosen.push(value);
            }
        }
        let query = chosen.iter().map(|value| format!("{field}:\"{value}\"")).collect::<Vec<_>>().join(" OR ");
        let keeps = self.lines.iter().map(|line| chosen.contains(&line[key].as_str().unwrap())).collect();
        Filter { name: format!("{field} {} %", part * 100.0), namespaces: vec!["all"], query, range: None, keeps }
    }

    fn by_time(&self, part: f64) -> Filter {
        let mut times: Vec<i64> = self.lines.iter().map(|line| line["timestamp_ms"].as_i64().unwrap()).collect();
        times.sort_unstable();
        let start = times[times.len() / 3];
        let end = times[times.len() / 3 + (part * times.len() as f64) as usize];
        let keeps = self.lines.iter().map(|line| (start..end).contains(&line["timestamp_ms"].as_i64().unwrap())).collect();
        Filter {
            name: format!("time {} %", part * 100.0),
            namespaces: vec!["all"],
            query: "*".into(),
            range: Some((start * 1_000_000, end * 1_000_000)),
            keeps,
        }
    }

    fn filters(&self) -> Vec<Filter> {
        let all = Filter { name: "all".into(), namespaces: vec!["all"], query: "*".into(), range: None, keeps: vec![true; self.lines.len()] };
        let mut filters = vec![all];
        for (_, part) in PARTS {
            filters.extend([self.by_values("namespace", "team", part), self.by_values("deployment", "deployment", part), self.by_time(part)]);
        }
        filters
    }
}

struct Filter {
    name: String,
    namespaces: Vec<&'static str>,
    query: String,
    range: Option<(i64, i64)>,
    keeps: Vec<bool>,
}

impl Filter {
    fn spec(&self, query: &[f32], way: SearchWay) -> QuerySpec {
        let (start_ns, end_ns) = (self.range.map(|(start, _)| start), self.range.map(|(_, end)| end));
        QuerySpec { start_ns, end_ns, ..spec(&self.namespaces, &self.query, query, way) }
    }
}

/// The answers to all queries: rows and distances.
type Answers = Vec<Vec<(usize, f32)>>;

/// The answers and their recall, and searches a second, one after the other.
async fn ask(search: &mut SearchClient<Channel>, corpus: &Corpus, filter: &Filter, way: SearchWay) -> (Answers, f64, f64) {
    let (mut answers, mut hits, mut wanted, mut seconds) = (Vec::new(), 0, 0, 0.0);
    // A scan of all columns is exact or wrong, and slow: few queries tell which.
    let step = if way == SearchWay::Exact { EXACT_STEP } else { 1 };
    for (query, cosines) in corpus.queries.iter().zip(&corpus.cosines).step_by(step) {
        let mut truth: Vec<f32> = cosines.iter().zip(&filter.keeps).filter(|(_, keep)| **keep).map(|(cosine, _)| *cosine).collect();
        truth.sort_unstable_by(|left, right| right.total_cmp(left));
        let k = K.min(truth.len());
        let started = Instant::now();
        let rows = nearest(search, filter.spec(query, way), K as u32).await.unwrap().rows;
        seconds += started.elapsed().as_secs_f64();
        assert_eq!(rows.len(), k, "{}", filter.name);
        let answer: Vec<(usize, f32)> = rows.iter().map(|found| (number_of(found), found.distance.unwrap())).collect();
        for (row, distance) in &answer {
            assert!(filter.keeps[*row], "{}: row {row} is filtered out", filter.name);
            assert!((1.0 - cosines[*row] - distance).abs() < 1e-5, "the distance is that of the stored vector");
            hits += usize::from(cosines[*row] >= truth[k - 1] - TIE);
        }
        for found in &rows {
            assert!(filter.namespaces.contains(&found.namespace.as_str()), "NS-2: {}", found.namespace);
        }
        wanted += k;
        answers.push(answer);
    }
    let qps = answers.len() as f64 / seconds;
    (answers, hits as f64 / wanted as f64, qps)
}

/// Asks with the planner's choice and with the graph forced, and prints a line for each.
async fn measure(search: &mut SearchClient<Channel>, corpus: &Corpus, filter: &Filter) {
    let left = filter.keeps.iter().filter(|keep| **keep).count();
    let request = ExplainRequest { spec: Some(filter.spec(&corpus.queries[0], SearchWay::Unspecified)) };
    let plan = search.explain(request).await.unwrap().into_inner().plan;
    let chosen: Vec<&str> = plan.lines().filter(|line| line.contains("µs)")).map(str::trim).collect();
    for (name, way) in [("planned", SearchWay::Unspecified), ("graph", SearchWay::Graph), ("exact", SearchWay::Exact)] {
        // The scan of columns is measured once: it does not depend on the filter's kind.
        if way == SearchWay::Exact && filter.name != "all" {
            continue;
        }
        let (_, recall, qps) = ask(search, corpus, filter, way).await;
        println!("{:<24} {left:>6} rows  {name:<8} recall@{K} {recall:.4}  {qps:>7.0} QPS   {}", filter.name, chosen.join("; "));
        assert!(recall >= 0.98, "{} {name}: {recall}", filter.name);
        assert!(way != SearchWay::Exact || recall == 1.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recall_holds_with_filters_and_when_the_data_comes_in_small_parts() {
    let corpus = Corpus::read();
    assert_eq!((corpus.lines.len(), corpus.vectors.len(), corpus.queries.len()), (44_268, 44_268, 471));
    let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(data.path(), &[]);
    let started = Instant::now();
    corpus.import(&server, folder.path(), 0..corpus.lines.len(), &|_| "all");
    println!("imported in {:.1} s", started.elapsed().as_secs_f64());
    let started = Instant::now();
    settle(&server).await;
    println!("sealed and indexed in {:.1} s", started.elapsed().as_secs_f64());
    let mut search = server.search().await;
    for filter in corpus.filters() {
        measure(&mut search, &corpus, &filter).await;
    }
    let (whole, recall, _) = ask(&mut search, &corpus, &corpus.filters()[0], SearchWay::Graph).await;

    // The same rows in namespaces of 50, 10, 1 and 0.1 % and one of the rest: the caller searches one or several.
    let of_row = corpus.namespaces();
    corpus.import(&server, folder.path(), 0..corpus.lines.len(), &|row| of_row[row]);
    settle(&server).await;
    let names = PARTS.map(|(name, _)| name);
    for name in names {
        measure(&mut search, &corpus, &corpus.by_namespace(&of_row, &[name])).await;
    }
    for several in [&names[1..], &[names[0], "rest"], &[names[0], names[1], names[2], names[3], "rest"]] {
        measure(&mut search, &corpus, &corpus.by_namespace(&of_row, several)).await;
    }
    drop((search, server));

    let parts = tempfile::tempdir().unwrap();
    let server = Server::start(parts.path(), &["--chunk-age-ms-max", "200", "--seal-wait-ms-max", "200", "--seal-body-bytes-min", "1"]);
    for part in 0..100 {
        let at = |part: usize| part * corpus.lines.len() / 100;
        corpus.import(&server, folder.path(), at(part)..at(part + 1), &|_| "all");
    }
    settle(&server).await;
    let mut search = server.search().await;
    let (merged, merged_recall, qps) = ask(&mut search, &corpus, &corpus.filters()[0], SearchWay::Graph).await;
    println!("in 100 imports, merged: recall@{K} {merged_recall:.4}, {qps:.0} QPS; in one: {recall:.4}");
    // An index is built from the stored vectors in the order of arrival, whatever parts they came in and whatever was indexed on the way.
    assert_eq!((merged_recall, merged), (recall, whole), "the same rows, in the same order, to the last digit");
}
