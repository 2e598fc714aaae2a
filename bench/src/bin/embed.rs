//! Embedding the real logs by patterns: how many times fewer embeddings than lines, and lines a second end to end (split, pattern text, embedding),
//! for the built-in model and, where `SILTSTONE_TEST_MODEL` names a folder, a transformer. One embedding for each pattern of each namespace.
//!
//! A number as the first argument bounds how many patterns the transformer embeds, spread evenly over all; the rest is reckoned at the same rate.

use anyhow::Context;
use siltstone_bench::real_lines;
use siltstone_core::pattern::{Split, split};
use siltstone_embedder::{Embedder, StaticModel, Transformer, pattern_text};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Texts that are given to a model at once.
const AT_ONCE: usize = 1_024;

fn main() -> anyhow::Result<()> {
    let most = std::env::args().nth(1).map(|most| most.parse::<usize>()).transpose().context("the argument is a number of patterns")?;
    let lines = real_lines()?;

    let started = Instant::now();
    let mut parts = Split::default();
    let mut known: HashSet<(&str, Vec<u8>)> = HashSet::new();
    let mut texts = Vec::new();
    for line in &lines {
        split(line.body.as_bytes(), &mut parts);
        let key = (line.namespace.as_str(), parts.pattern().to_vec());
        if !known.contains(&key) {
            texts.push(pattern_text(parts.pattern()));
            known.insert(key);
        }
    }
    let splitting = started.elapsed();
    let distinct: HashSet<&str> = texts.iter().map(String::as_str).collect();
    println!(
        "{} lines, {} patterns of a namespace ({} distinct texts): {:.1} times fewer embeddings than lines; split in {:.2} s",
        lines.len(),
        texts.len(),
        distinct.len(),
        lines.len() as f64 / texts.len() as f64,
        splitting.as_secs_f64()
    );

    let started = Instant::now();
    let built_in = StaticModel::built_in();
    println!("built-in model loaded in {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    measure(built_in, &texts, None, lines.len(), splitting)?;

    let bodies: Vec<&str> = lines.iter().map(|line| line.body.as_str()).collect();
    let started = Instant::now();
    for bodies in bodies.chunks(AT_ONCE) {
        built_in.embed(bodies)?;
    }
    println!("    whole lines instead of patterns: {:.0} lines a second", lines.len() as f64 / started.elapsed().as_secs_f64());

    match std::env::var_os("SILTSTONE_TEST_MODEL") {
        None => println!("the transformer was not measured: name its folder in SILTSTONE_TEST_MODEL"),
        Some(folder) => measure(&Transformer::open("transformer", folder.as_ref())?, &texts, most, lines.len(), splitting)?,
    }
    Ok(())
}

fn measure<M>(model: &M, texts: &[String], most: Option<usize>, lines: usize, splitting: Duration) -> anyhow::Result<()>
where
    M: Embedder,
{
    let step = most.map_or(1, |most| texts.len().div_ceil(most.max(1)));
    let chosen: Vec<&str> = texts.iter().step_by(step).map(String::as_str).collect();
    let started = Instant::now();
    for texts in chosen.chunks(AT_ONCE) {
        model.embed(texts)?;
    }
    let rate = chosen.len() as f64 / started.elapsed().as_secs_f64();
    let seconds = splitting.as_secs_f64() + texts.len() as f64 / rate;
    println!(
        "{}: {rate:.0} patterns a second ({} embedded); end to end {seconds:.1} s, {:.0} lines a second",
        model.id(),
        chosen.len(),
        lines as f64 / seconds
    );
    Ok(())
}
