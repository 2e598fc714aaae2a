//! Relevance on the judged questions: words alone (BM25), vectors alone, and both, for the built-in model and, where a folder is given, a
//! transformer. Patterns are the documents; a pattern's words are those of the first line that has it.
//!
//! Printed: nDCG@10 (unjudged results count as 0, so figures are lower bounds) with the share of unjudged results; hybrid with the shipped
//! weight and with the weight chosen by two-fold cross-validation; differences with the interval of a paired bootstrap over questions. Fails
//! where a bar is missed. `SILTSTONE_SHARED` names the folder of the test material, `SILTSTONE_TEST_MODEL` that of a transformer.

mod corpus;
mod measure;
mod words;

use anyhow::{Context, ensure};
use corpus::Question;
use measure::{Random, bootstrap, mean, ndcg, top, two_fold, unjudged};
use siltstone_embedder::{Embedder, StaticModel, pattern_text, query_text};
use siltstone_vector::fusion::{Fusion, Outcome, WORDS_WEIGHT};
use std::time::Instant;
use words::{Scores, Words};

/// Weights of words that cross-validation chooses from; 0 is vectors alone.
const WEIGHTS: [f32; 10] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0];
const HALVINGS: usize = 500;
const RESAMPLES: usize = 10_000;
const SEED: u64 = 1;

/// Hybrid may be no worse than this: above words alone, below vectors alone (both for the transformer), and in itself with the built-in model.
const BAR_OVER_WORDS: f64 = 0.05;
const BAR_UNDER_VECTORS: f64 = 0.01;
const BAR_BUILT_IN: f64 = 0.48;

fn main() -> anyhow::Result<()> {
    let (corpus, questions) = corpus::read(&siltstone_bench::shared_data())?;
    println!("{} lines, {} patterns, {} judged questions", corpus.lines, corpus.patterns.len(), questions.len());

    let words = Words::new(corpus.patterns.iter().map(|pattern| pattern.body.as_bytes()));
    let scores: Vec<Scores> = questions.iter().map(|question| words.score(&question.text)).collect();
    let words = row("words alone", &questions, |index| top(&scores[index].documents));

    let texts: Vec<String> = corpus.patterns.iter().map(|pattern| pattern_text(&pattern.bytes)).collect();
    let of_texts = Words::new(texts.iter().map(|text| text.as_bytes()));
    row("words alone, of pattern texts", &questions, |index| top(&of_texts.score(&query_text(&questions[index].text)).documents));

    let hybrid = model(StaticModel::built_in(), &texts, &questions, &scores, &words)?.hybrid;
    ensure!(hybrid >= BAR_BUILT_IN, "hybrid with the built-in model has {hybrid:.3} and should have {BAR_BUILT_IN}");

    let Some(folder) = std::env::var_os("SILTSTONE_TEST_MODEL") else {
        println!("\nthe transformer was not measured: name its folder in SILTSTONE_TEST_MODEL");
        return Ok(());
    };
    let transformer = siltstone_embedder::Transformer::open("transformer", folder.as_ref()).context("open the transformer")?;
    let found = model(&transformer, &texts, &questions, &scores, &words)?;
    let (over, under) = (found.hybrid - mean(&words), found.vectors - found.hybrid);
    ensure!(over >= BAR_OVER_WORDS, "hybrid is {over:.3} over words alone and should be {BAR_OVER_WORDS}");
    ensure!(under <= BAR_UNDER_VECTORS, "hybrid is {under:.3} under vectors alone and may be {BAR_UNDER_VECTORS}");
    Ok(())
}

/// Prints one system's figures; nDCG by question.
fn row(name: &str, questions: &[Question], ranked: impl Fn(usize) -> Vec<usize>) -> Vec<f64> {
    let ranked: Vec<Vec<usize>> = (0..questions.len()).map(ranked).collect();
    let values: Vec<f64> = questions.iter().zip(&ranked).map(|(question, ranked)| ndcg(question, ranked)).collect();
    let unjudged: Vec<f64> = questions.iter().zip(&ranked).map(|(question, ranked)| unjudged(question, ranked)).collect();
    println!("{name:<32} nDCG@10 {:.3}   {:>3.0} % unjudged", mean(&values), 100.0 * mean(&unjudged));
    values
}

struct Found {
    vectors: f64,
    hybrid: f64,
}

fn model<M>(model: &M, texts: &[String], questions: &[Question], scores: &[Scores], words: &[f64]) -> anyhow::Result<Found>
where
    M: Embedder,
{
    let started = Instant::now();
    let documents = model.embed(&texts.iter().map(String::as_str).collect::<Vec<_>>())?;
    let rate = texts.len() as f64 / started.elapsed().as_secs_f64();
    println!("\n{}: {rate:.0} patterns a second", model.id());

    let asked: Vec<String> = questions.iter().map(|question| query_text(&question.text)).collect();
    let asked = model.embed(&asked.iter().map(String::as_str).collect::<Vec<_>>())?;
    let dimension = model.dimension();
    let similarities: Vec<Vec<f32>> = asked
        .chunks_exact(dimension)
        .map(|question| documents.chunks_exact(dimension).map(|document| document.iter().zip(question).map(|(a, b)| a * b).sum()).collect())
        .collect();
    let outcomes: Vec<Outcome> = texts.iter().map(|text| Outcome::of(text)).collect();
    let fused = |weight: f32, index: usize| -> Vec<usize> {
        let fusion = Fusion::with_weight(scores[index].bound, weight).asking_for(Outcome::of(&questions[index].text));
        let parts = similarities[index].iter().zip(&scores[index].documents).zip(&outcomes);
        top(&parts.map(|((similarity, words), outcome)| fusion.score_with(*similarity, *words, *outcome)).collect::<Vec<_>>())
    };

    let vectors = row("  vectors alone", questions, |index| top(&similarities[index]));
    let hybrid = row(&format!("  hybrid, weight {WORDS_WEIGHT}"), questions, |index| fused(WORDS_WEIGHT, index));
    let choices: Vec<Vec<f64>> =
        WEIGHTS.iter().map(|weight| questions.iter().enumerate().map(|(index, question)| ndcg(question, &fused(*weight, index))).collect()).collect();
    let mut random = Random(SEED);
    let validated = two_fold(&choices, HALVINGS, &mut random);
    println!("  hybrid, cross-validated weight   nDCG@10 {:.3}", mean(&validated));
    let weights: Vec<String> = WEIGHTS.iter().zip(&choices).map(|(weight, values)| format!("{weight} {:.3}", mean(values))).collect();
    println!("    by weight: {}", weights.join("  "));
    for (name, ours) in [("hybrid", &hybrid), ("cross-validated", &validated)] {
        for (other, theirs) in [("words", words), ("vectors", &vectors)] {
            let (difference, low, high) = bootstrap(ours, theirs, RESAMPLES, &mut random);
            println!("    {name} − {other}: {difference:+.3} (95 % of resamples: {low:+.3} to {high:+.3})");
        }
    }
    Ok(Found { vectors: mean(&vectors), hybrid: mean(&validated) })
}
