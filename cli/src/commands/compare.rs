//! model compare: the same queries by two models.

use crate::args::{ModelCompareArgs, Output};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{Screen, counted, printable};
use serde::Deserialize;
use serde_json::json;
use siltstone_proto::v1::{QuerySpec, SearchRequest};
use std::collections::{BTreeMap, BTreeSet};

/// Columns of a query in the table.
const QUERY_WIDTH: usize = 48;

/// A query, and how good patterns are for it: 2 is what was asked, 1 is related, 0 is neither.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Judged {
    query: String,
    #[serde(default)]
    judged: BTreeMap<String, u32>,
}

/// How two answers to one query compare.
struct Compared {
    query: String,
    /// The share of patterns that both have.
    overlap: f64,
    /// nDCG of each answer, where the query is judged.
    quality: Option<[f64; 2]>,
}

pub(super) async fn compare(args: &ModelCompareArgs, screen: &mut Screen) -> Result<(), Failure> {
    let path = args.queries.display();
    let text = std::fs::read_to_string(&args.queries).map_err(|error| Failure::failed(format!("read the queries in {path}: {error}")))?;
    let queries = parse(&text).map_err(|(line, error)| Failure::usage(format!("read the queries in {path}, line {line}: {error}")))?;
    if queries.is_empty() {
        return Err(Failure::usage(format!("read the queries in {path}: there is none; write one a line")));
    }
    let client = Client::connect(&args.server).await?;
    let mut compared = Vec::with_capacity(queries.len());
    for query in queries {
        let mut answers: [Vec<String>; 2] = Default::default();
        for (answer, model) in answers.iter_mut().zip(&args.ids) {
            *answer = patterns_of(&client, args, &query.query, model).await?;
        }
        let is_judged = query.judged.values().any(|grade| *grade > 0);
        let quality = is_judged.then(|| answers.each_ref().map(|answer| ndcg(answer, &query.judged, args.limit as usize)));
        compared.push(Compared { overlap: overlap(&answers), quality, query: query.query });
    }
    print(args, &compared, screen)
}

/// The patterns of an answer by one model, best first.
async fn patterns_of(client: &Client, args: &ModelCompareArgs, query: &str, model: &str) -> Result<Vec<String>, Failure> {
    // A plain line is a description; what names near: itself is a query.
    let query = if query.contains("near:") { query.to_owned() } else { super::near_of(query) };
    let spec = QuerySpec { namespaces: args.namespace.clone(), query, model: model.to_owned(), wait_vectors: true, ..QuerySpec::default() };
    let request = SearchRequest { spec: Some(spec), limit: args.limit, collapse_patterns: true, ..SearchRequest::default() };
    let rows = client.search().search(request).await?.into_inner().rows;
    Ok(rows.into_iter().filter_map(|row| row.ranks).map(|ranks| ranks.pattern).collect())
}

fn overlap(answers: &[Vec<String>; 2]) -> f64 {
    let [left, right] = answers.each_ref().map(|answer| answer.iter().collect::<BTreeSet<_>>());
    let most = left.len().max(right.len());
    if most == 0 { 1.0 } else { left.intersection(&right).count() as f64 / most as f64 }
}

fn parse(text: &str) -> Result<Vec<Judged>, (usize, String)> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| match line.trim_start().starts_with('{') {
            true => serde_json::from_str(line).map_err(|error| (number, error.to_string())),
            false => Ok(Judged { query: line.trim().to_owned(), judged: BTreeMap::new() }),
        })
        .collect()
}

/// Normalised discounted cumulative gain, with gain 2^grade − 1; what is not judged counts as 0 (Järvelin and Kekäläinen, 2002).
fn ndcg(answer: &[String], judged: &BTreeMap<String, u32>, limit: usize) -> f64 {
    let gain = |grade: u32| f64::from(grade.min(30)).exp2() - 1.0;
    let discounted =
        |grades: &mut dyn Iterator<Item = u32>| -> f64 { (2_u32..).zip(grades).map(|(place, grade)| gain(grade) / f64::from(place).log2()).sum() };
    let mut best: Vec<u32> = judged.values().copied().collect();
    best.sort_unstable_by(|left, right| right.cmp(left));
    let ideal = discounted(&mut best.into_iter().take(limit));
    let found = discounted(&mut answer.iter().take(limit).map(|pattern| judged.get(pattern).copied().unwrap_or(0)));
    if ideal == 0.0 { 0.0 } else { found / ideal }
}

fn print(args: &ModelCompareArgs, compared: &[Compared], screen: &mut Screen) -> Result<(), Failure> {
    let overlap = compared.iter().map(|query| query.overlap).sum::<f64>() / compared.len() as f64;
    let judged: Vec<[f64; 2]> = compared.iter().filter_map(|query| query.quality).collect();
    let mean = |at: usize| judged.iter().map(|quality| quality[at]).sum::<f64>() / judged.len().max(1) as f64;
    let means = (!judged.is_empty()).then(|| [mean(0), mean(1)]);
    if args.output == Output::Json {
        for query in compared {
            screen.json(&json!({"query": query.query, "overlap": query.overlap, "ndcg": query.quality}))?;
        }
        return screen.json(&json!({"models": args.ids, "queries": compared.len(), "judged": judged.len(), "overlap": overlap, "ndcg": means}));
    }
    screen.line(&format!("{:<QUERY_WIDTH$} {:>8} {:>7} {:>7}", "QUERY", "OVERLAP", "NDCG 1", "NDCG 2"))?;
    for query in compared {
        screen.line(&row(&query.query, query.overlap, query.quality))?;
    }
    screen.line(&row("mean", overlap, means))?;
    screen.flush()?;
    let queries = counted(compared.len() as u64, "query", "queries");
    screen.note(&format!("{queries}, {} judged; 1 is {}, 2 is {}", judged.len(), args.ids[0], args.ids[1]));
    Ok(())
}

fn row(query: &str, overlap: f64, quality: Option<[f64; 2]>) -> String {
    let [left, right] = quality.map_or(["-".to_owned(), "-".to_owned()], |both| both.map(|quality| format!("{quality:.3}")));
    let text: String = printable(query.as_bytes()).chars().take(QUERY_WIDTH).collect();
    format!("{text:<QUERY_WIDTH$} {:>7.0}% {left:>7} {right:>7}", overlap * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_is_1_for_the_best_order_and_falls_with_each_place() {
        let judged: BTreeMap<String, u32> = [("a".to_owned(), 2), ("b".to_owned(), 1), ("c".to_owned(), 0)].into();
        let answer = |patterns: &[&str]| patterns.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>();
        assert!((ndcg(&answer(&["a", "b", "c"]), &judged, 10) - 1.0).abs() < 1e-12);
        let orders = [&["a", "c", "b"][..], &["b", "a"], &["c", "x", "a"], &["x", "y"]].map(|order| ndcg(&answer(order), &judged, 10));
        assert!(orders.windows(2).all(|pair| pair[0] > pair[1]) && orders[3] == 0.0, "{orders:?}");
        assert_eq!(ndcg(&answer(&["a"]), &BTreeMap::new(), 10), 0.0);
        // By hand: gains 1 and 3 in the order found, 3 and 1 in the best.
        let by_hand = (1.0 + 3.0 / 3_f64.log2()) / (3.0 + 1.0 / 3_f64.log2());
        assert!((orders[1] - by_hand).abs() < 1e-12);
    }

    #[test]
    fn queries_are_plain_lines_or_objects() {
        let queries = parse("database is down\n\n{\"query\": \"disk full\", \"judged\": {\"ab\": 2}}\n").unwrap();
        assert_eq!((queries.len(), queries[0].query.as_str(), queries[1].judged["ab"]), (2, "database is down", 2));
        assert_eq!(parse("a\n{\"querry\": 1}").unwrap_err().0, 2);
    }
}
