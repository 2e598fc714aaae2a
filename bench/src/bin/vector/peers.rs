//! The libraries that we measure against.

use crate::data::{Data, unit};
use crate::table::Engine;
use anyhow::{Context, bail};
use serde_json::Value;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Neighbours and candidates that all peers build with, as `bench/peers/vector.py` has them.
pub(crate) const DEGREE: usize = 16;
pub(crate) const EFFORT_BUILD: usize = 200;

/// Runs the Python peers on the same vectors.
pub(crate) fn python(data: &Data, bars: &[f32]) -> anyhow::Result<Vec<Engine>> {
    let installed = Command::new("scripts/bench-peers.sh").stderr(Stdio::inherit()).output().context("run scripts/bench-peers.sh")?;
    if !installed.status.success() {
        bail!("install the peers: scripts/bench-peers.sh failed");
    }
    let python = String::from_utf8(installed.stdout)?;
    let folder = tempfile::tempdir().context("make a folder for the peers' vectors")?;
    // At unit length: what some engines call cosine is the inner product.
    write(&folder.path().join("vectors.f32"), data.vectors.iter().flat_map(|vector| unit(vector)))?;
    write(&folder.path().join("queries.f32"), data.queries.iter().flat_map(|query| unit(query)))?;
    write(&folder.path().join("bars.f32"), bars.iter().copied())?;
    let mut running = Command::new(python.trim())
        .arg("bench/peers/vector.py")
        .arg(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("start {}", python.trim()))?;
    let output = running.stdout.take().context("the peers' output")?;
    let mut engines = Vec::new();
    for line in BufReader::new(output).lines() {
        let line: Value = serde_json::from_str(&line?)?;
        if let Some(error) = line["error"].as_str() {
            println!("a peer did not run: {error}");
            continue;
        }
        let points = line["points"].as_array().context("points")?.iter();
        engines.push(Engine {
            name: line["name"].as_str().unwrap_or_default().to_owned(),
            build_s: line["build_s"].as_f64().unwrap_or_default(),
            bytes: line["bytes"].as_f64().unwrap_or_default(),
            points: points
                .map(|point| {
                    (point[0].as_u64().unwrap_or_default() as usize, point[1].as_f64().unwrap_or_default(), point[2].as_f64().unwrap_or_default())
                })
                .collect(),
        });
    }
    if !running.wait()?.success() {
        bail!("the Python peers failed");
    }
    Ok(engines)
}

fn write<I>(path: &Path, elements: I) -> anyhow::Result<()>
where
    I: Iterator<Item = f32>,
{
    let mut file = BufWriter::new(std::fs::File::create(path).with_context(|| format!("create {}", path.display()))?);
    for element in elements {
        file.write_all(&element.to_le_bytes())?;
    }
    Ok(file.flush()?)
}

/// usearch by its own Rust interface, without a second look at full vectors.
#[cfg(feature = "usearch")]
pub(crate) fn plain_usearch(data: &Data, bars: &[f32], quantization: usearch::ScalarKind) -> anyhow::Result<Engine> {
    use crate::data::DIMENSION;
    use crate::ours::{EFFORTS, ENOUGH};
    use crate::scan::LIMIT;
    use std::time::Instant;

    let options = usearch::IndexOptions {
        dimensions: DIMENSION,
        metric: usearch::MetricKind::Cos,
        quantization,
        connectivity: DEGREE,
        expansion_add: EFFORT_BUILD,
        ..usearch::IndexOptions::default()
    };
    let index = usearch::Index::new(&options)?;
    index.reserve_capacity_and_threads(data.vectors.len(), 1)?;
    let started = Instant::now();
    for (key, vector) in (0..).zip(&data.vectors) {
        index.add(key, vector)?;
    }
    let build_s = started.elapsed().as_secs_f64();
    let mut points = Vec::new();
    for effort in EFFORTS {
        index.change_expansion_search(effort);
        let (mut best, mut found) = (f64::INFINITY, Vec::new());
        for _ in 0..3 {
            let started = Instant::now();
            found = data.queries.iter().map(|query| index.search(query, LIMIT)).collect::<Result<Vec<_>, _>>()?;
            best = best.min(started.elapsed().as_secs_f64());
        }
        let mut hits = 0;
        for ((query, bar), found) in data.queries.iter().zip(bars).zip(&found) {
            let query = unit(query);
            let cosine = |key: &u64| query.iter().zip(unit(&data.vectors[*key as usize])).map(|(a, b)| a * b).sum::<f32>();
            // As the other peers: sums in another order.
            hits += found.keys.iter().filter(|key| cosine(key) >= bar - 2e-6).count();
        }
        let recall = hits as f64 / (data.queries.len() * LIMIT) as f64;
        points.push((effort, recall, data.queries.len() as f64 / best));
        if recall >= ENOUGH {
            break;
        }
    }
    let name = format!("usearch HNSW {} (Rust)", if quantization == usearch::ScalarKind::I8 { "i8" } else { "f32" });
    Ok(Engine { name, build_s, bytes: index.memory_usage() as f64 / data.vectors.len() as f64, points })
}
