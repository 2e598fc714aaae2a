//! The patterns that are ranked, and what was judged.

use anyhow::{Context, ensure};
use flate2::read::GzDecoder;
use serde_json::Value;
use siltstone_core::pattern::{Split, split};
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, read_to_string};
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Every distinct pattern of the lines, in the order of its first line.
pub(crate) struct Corpus {
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) lines: usize,
}

pub(crate) struct Pattern {
    pub(crate) bytes: Vec<u8>,
    /// The first line of this pattern: it stands for all.
    pub(crate) body: String,
}

/// A question and the grades of the patterns that were judged for it.
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) grades: HashMap<usize, u32>,
}

/// The corpus, and the questions that have a grade above 0.
pub(crate) fn read(data: &Path) -> anyhow::Result<(Corpus, Vec<Question>)> {
    let path = data.join("vectors_entries.jsonl.gz");
    let file = File::open(&path).with_context(|| format!("open {}: put the shared test data there", path.display()))?;
    let (mut patterns, mut of_line) = (Vec::new(), Vec::new());
    let mut numbers: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut parts = Split::default();
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let entry: Value = serde_json::from_str(&line?)?;
        let body = entry["body"].as_str().context("an entry has a body")?;
        split(body.as_bytes(), &mut parts);
        let number = *numbers.entry(parts.pattern().to_vec()).or_insert_with(|| {
            patterns.push(Pattern { bytes: parts.pattern().to_vec(), body: body.to_owned() });
            patterns.len() - 1
        });
        of_line.push(number);
    }
    let questions = questions(&data.join("relevance.tsv"), &of_line)?;
    Ok((Corpus { patterns, lines: of_line.len() }, questions))
}

fn questions(path: &Path, of_line: &[usize]) -> anyhow::Result<Vec<Question>> {
    let text = read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let mut grades: BTreeMap<&str, HashMap<usize, u32>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let parts: Vec<&str> = line.split('\t').collect();
        ensure!(parts.len() == 3, "{} has a line that is not question, row, grade: {line}", path.display());
        let pattern = *of_line.get(parts[1].parse::<usize>()?).context("a judged row is among the lines")?;
        let grade: u32 = parts[2].parse()?;
        let best = grades.entry(parts[0]).or_default().entry(pattern).or_default();
        *best = grade.max(*best);
    }
    let judged = grades.into_iter().filter(|(_, grades)| grades.values().any(|grade| *grade > 0));
    Ok(judged.map(|(text, grades)| Question { text: text.to_owned(), grades }).collect())
}
