//! How good search by meaning is on judged questions, asked of a running server: what the bench of the ranking's parts promises holds for the whole.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use flate2::read::GzDecoder;
use serde_json::Value;
use siltstone_core::pattern::{PatternHash, Split, split};
use siltstone_proto::v1::SearchRequest;
use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use support::{Server, cli_with, shared_data, spec};

/// nDCG@10 that hybrid ranking has at least with the built-in model.
const BAR: f64 = 0.48;
const LIMIT: usize = 10;

fn hash_of(body: &str) -> PatternHash {
    let mut parts = Split::default();
    split(body.as_bytes(), &mut parts);
    PatternHash::of(parts.pattern())
}

/// Questions with the grades of patterns; those that have no pattern above 0 are left out, as the data's page says.
fn questions(bodies: &[String]) -> BTreeMap<String, BTreeMap<PatternHash, u32>> {
    let text = std::fs::read_to_string(shared_data().join("relevance.tsv")).unwrap();
    let mut questions: BTreeMap<String, BTreeMap<PatternHash, u32>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let [question, row, grade] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let known = questions.entry(question.to_owned()).or_default().entry(hash_of(&bodies[row.parse::<usize>().unwrap()])).or_default();
        *known = grade.parse::<u32>().unwrap().max(*known);
    }
    questions.retain(|_, grades| grades.values().any(|grade| *grade > 0));
    questions
}

fn ndcg(found: &[PatternHash], grades: &BTreeMap<PatternHash, u32>) -> f64 {
    let discounted = |grades: &mut dyn Iterator<Item = u32>| -> f64 {
        (2_u32..).zip(grades).take(LIMIT).map(|(place, grade)| (f64::from(grade).exp2() - 1.0) / f64::from(place).log2()).sum()
    };
    let mut best: Vec<u32> = grades.values().copied().collect();
    best.sort_unstable_by(|left, right| right.cmp(left));
    let ideal = discounted(&mut best.into_iter());
    discounted(&mut found.iter().map(|pattern| grades.get(pattern).copied().unwrap_or(0))) / ideal
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_find_what_was_judged_right() {
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(shared_data().join("vectors_entries.jsonl.gz")).unwrap()).read_to_string(&mut text).unwrap();
    // One namespace holds all: the judgements know none.
    let (mut lines, mut bodies) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        entry["namespace"] = "judged".into();
        bodies.push(entry["body"].as_str().unwrap().to_owned());
        lines.extend_from_slice(entry.to_string().as_bytes());
        lines.push(b'\n');
    }
    let questions = questions(&bodies);
    assert_eq!(questions.len(), 41);
    let distinct: HashSet<PatternHash> = bodies.iter().map(|body| hash_of(body)).collect();

    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let output = cli_with(&["import", "-", "--format", "ndjson"], Some(server.grpc), Some(&lines));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut search = server.search().await;
    let mut values = Vec::new();
    for (question, grades) in &questions {
        // As a question, so that words rank beside vectors; two words alone are none.
        let asked = format!("{question}?");
        let query = if siltstone_query::question_words(&asked).is_some() { asked } else { format!("near:\"{question}\"") };
        let spec = siltstone_proto::v1::QuerySpec { wait_vectors: true, ..spec(&["judged".to_owned()], &query) };
        let request = SearchRequest { spec: Some(spec), limit: LIMIT as u32, collapse_patterns: true, ..SearchRequest::default() };
        let answer = search.search(request).await.unwrap().into_inner();
        assert_eq!(answer.info.unwrap().patterns_waiting, 0);
        let found: Vec<PatternHash> =
            answer.rows.iter().map(|row| PatternHash(u128::from_str_radix(&row.ranks.as_ref().unwrap().pattern, 16).unwrap())).collect();
        assert_eq!(found.len(), LIMIT);
        assert_eq!(found.iter().collect::<HashSet<_>>().len(), LIMIT, "one row a pattern");
        values.push(ndcg(&found, grades));
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    println!("{} lines, {} patterns, {} questions: nDCG@10 {mean:.3} (the bar is {BAR})", bodies.len(), distinct.len(), questions.len());
    assert!(mean >= BAR, "nDCG@10 is {mean:.3}");
}
