//! Recall on real lines: with the graph forced and with the planner's choice, without a filter and under filters of a half, a tenth, a hundredth
//! and a thousandth of the rows, by namespace, deployment and time.

mod common;

use bytes::Bytes;
use common::{REAL_DIMENSION, ask, filter, real_entries, real_f16, real_f32, set};
use siltstone_vector::{BuildOptions, Metric, Request, Residence, Strategy, open_bytes, write_hnsw};

const LIMIT: usize = 10;
/// The bar.
const RECALL_MIN: f64 = 0.98;
/// What counts as equally near: sums of halves in f32 differ in the seventh digit.
const TOLERANCE: f32 = 1e-6;

/// What rounding of the vectors to halves changes in a cosine.
const ROUNDED: f32 = 1e-4;

/// Rows of groups of about `share` of all: whole groups while they fit, by falling size.
fn by_group<F>(entries: &[serde_json::Value], share: f64, group_of: F) -> Vec<u32>
where
    F: Fn(&serde_json::Value) -> String,
{
    let wanted = (entries.len() as f64 * share) as usize;
    let mut groups = std::collections::BTreeMap::<String, Vec<u32>>::new();
    for (row, entry) in (0..).zip(entries) {
        groups.entry(group_of(entry)).or_default().push(row);
    }
    let mut groups: Vec<Vec<u32>> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let mut rows = Vec::new();
    for group in groups {
        if rows.len() + group.len() <= wanted {
            rows.extend(group);
        }
    }
    rows.sort_unstable();
    rows
}

/// The rows of a time range that holds `share` of those with a time.
fn by_time(entries: &[serde_json::Value], share: f64) -> Vec<u32> {
    let mut times: Vec<(i64, u32)> = (0..).zip(entries).filter_map(|(row, entry)| Some((entry["timestamp_ms"].as_i64()?, row))).collect();
    times.sort_unstable();
    let start = times.len() / 3;
    let mut rows: Vec<u32> = times[start..].iter().take((entries.len() as f64 * share) as usize).map(|(_, row)| *row).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn real_lines_are_found_with_the_graph_forced_and_as_planned() {
    let vectors = real_f16("vectors.npy");
    let queries = real_f16("queries.npy");
    let similarities = real_f32("queries_similarities.npy");
    let entries = real_entries("vectors_entries.jsonl.gz");
    assert_eq!((vectors.len(), entries.len(), similarities.len()), (44_268, 44_268, queries.len() * 100));
    let set = set(REAL_DIMENSION, Metric::Cosine, &vectors);
    let bytes = Bytes::from(write_hnsw(&set, &BuildOptions { threads: 2, ..BuildOptions::default() }));
    let index = open_bytes(&bytes, Residence::ALL).expect("an index");
    println!("{} bytes a vector stored, {} in memory", bytes.len() / vectors.len(), index.memory_bytes() / vectors.len());

    let namespace = |entry: &serde_json::Value| entry["namespace"].to_string();
    let deployment = |entry: &serde_json::Value| format!("{} {}", entry["namespace"], entry["deployment"]);
    let filters = [
        ("all rows", None),
        ("namespaces, 50 %", Some(by_group(&entries, 0.5, namespace))),
        ("deployments, 10 %", Some(by_group(&entries, 0.1, deployment))),
        ("time, 10 %", Some(by_time(&entries, 0.1))),
        ("deployments, 1 %", Some(by_group(&entries, 0.01, deployment))),
        ("time, 1 %", Some(by_time(&entries, 0.01))),
        ("time, 0.1 %", Some(by_time(&entries, 0.001))),
    ];
    for (name, rows) in &filters {
        let filter = filter(rows.as_deref());
        let rows = rows.as_ref().map_or(vectors.len(), Vec::len);
        let mut hits = [0; 2];
        let mut plan = None;
        // Forced under a narrow filter a walk sees nearly every row: a part of the queries will do.
        let step = if rows < vectors.len() / 50 { 4 } else { 1 };
        let asked = queries.iter().enumerate().step_by(step);
        for (number, query) in asked.clone() {
            let request = Request { filter, ..Request::nearest(query, LIMIT) };
            let exact = set.search(&request).expect("an answer");
            let worst = exact.hits.last().expect("a hit").distance;
            if rows == vectors.len() {
                // The exact answer is that of the test material, which was computed before its vectors were rounded to halves.
                assert!((1.0 - worst - similarities[number * 100 + LIMIT - 1]).abs() <= ROUNDED, "query {number}: {worst}");
            }
            for (strategy, hits) in [Some(Strategy::GraphUnderBitmap), None].into_iter().zip(&mut hits) {
                let answer = ask(index.as_ref(), &bytes, &Request { strategy, ..request }).expect("an answer");
                assert_eq!(answer.hits.len(), exact.hits.len());
                *hits += answer.hits.iter().filter(|hit| hit.distance <= worst + TOLERANCE).count();
                plan = Some(answer.plan);
            }
        }
        let [forced, planned] = hits.map(|hits| hits as f64 / (asked.len() * LIMIT.min(rows)) as f64);
        println!("{name}: {rows} rows, recall@10 {forced:.4} with the graph forced, {planned:.4} as planned ({})", plan.expect("a plan").strategy);
        assert!(forced >= RECALL_MIN && planned >= RECALL_MIN, "{name}: {forced} and {planned}");
    }
}
