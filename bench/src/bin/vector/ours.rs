//! Our own index.

use crate::data::{self, Data};
use crate::scan::LIMIT;
use crate::table::Engine;
use anyhow::bail;
use bytes::Bytes;
use siltstone_vector::{
    BuildOptions, GRAPH_ROWS_MIN, Request, Residence, Strategy, VectorError, VectorIndex, Vectors, kernels, open_bytes, plan, run, write_hnsw,
};
use std::time::Instant;

const ROUNDS: usize = 3;
/// Efforts that are tried, as the peers' are.
pub(crate) const EFFORTS: [usize; 15] = [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048];
/// A recall above which no more effort is tried.
pub(crate) const ENOUGH: f64 = 0.992;
/// What rounding may change in a distance.
const TOLERANCE: f32 = 2e-6;

/// Builds and searches.
pub(crate) fn measure(data: &Data, bars: &[f32], options: &BuildOptions) -> anyhow::Result<Engine> {
    let started = Instant::now();
    let bytes = Bytes::from(write_hnsw(&data.set, options));
    let build_s = started.elapsed().as_secs_f64();
    let index = open_bytes(&bytes, Residence::ALL)?;
    let mut points = Vec::new();
    for effort in EFFORTS {
        let (recall, qps, visited) = search(index.as_ref(), data, bars, effort)?;
        points.push((effort, recall, qps));
        if effort == 256 {
            println!("siltstone, degree {}: effort {effort} visits {visited:.0} rows, {:.0} ns each", options.degree, 1e9 / qps / visited);
        }
        if recall >= ENOUGH {
            break;
        }
    }
    let name = format!("siltstone HNSW i8, {}/{} ({})", options.degree, options.effort, kernels::active().level().as_str());
    println!("{name}: {} bytes a vector stored, {} in memory", bytes.len() / data.vectors.len(), index.memory_bytes() / data.vectors.len());
    Ok(Engine { name, build_s, bytes: index.memory_bytes() as f64 / data.vectors.len() as f64, points })
}

/// Recall, queries a second, rows visited a query.
fn search(index: &dyn VectorIndex, data: &Data, bars: &[f32], effort: usize) -> anyhow::Result<(f64, f64, f64)> {
    let (mut best, mut hits, mut visited) = (f64::INFINITY, 0, 0);
    for _ in 0..ROUNDS {
        (hits, visited) = (0, 0);
        let started = Instant::now();
        for (query, bar) in data.queries.iter().zip(bars) {
            let request = Request { effort: Some(effort), strategy: Some(Strategy::GraphUnderBitmap), ..Request::nearest(query, LIMIT) };
            let answer = run::<VectorError, _>(index.search(&request)?.as_mut(), |_| Err(VectorError::Fetched { reason: "all is in memory" }))?;
            hits += answer.hits.iter().filter(|hit| 1.0 - hit.distance >= bar - TOLERANCE).count();
            visited += answer.work.rows_visited;
        }
        best = best.min(started.elapsed().as_secs_f64());
    }
    let queries = data.queries.len() as f64;
    Ok((hits as f64 / (queries * LIMIT as f64), queries / best, visited as f64 / queries))
}

/// Finds the number of rows from which on a graph answers sooner than a scan, at a recall of 0.98.
pub(crate) fn threshold(data: &Data) -> anyhow::Result<()> {
    println!(
        "\nrows at which a graph pays (at the least effort for a recall@10 of 0.98, and at the effort of a search; the program takes {GRAPH_ROWS_MIN}):"
    );
    let mut rows = 1_000;
    while rows <= data.vectors.len().min(64_000) {
        // Every n-th, so that a part is as mixed as the whole.
        let step = data.vectors.len() / rows;
        let part: Vec<Vec<f32>> = data.vectors.iter().step_by(step).take(rows).cloned().collect();
        let set = data::set(&part)?;
        let (exact_us, bars) = exact(&set, data)?;
        let started = Instant::now();
        let bytes = Bytes::from(write_hnsw(&set, &BuildOptions::default()));
        let build_s = started.elapsed().as_secs_f64();
        let index = open_bytes(&bytes, Residence::ALL)?;
        let mut reached = None;
        for effort in EFFORTS {
            let (recall, qps, _) = search(index.as_ref(), data, &bars, effort)?;
            if recall >= 0.98 {
                reached = Some((effort, recall, 1e6 / qps));
                break;
            }
        }
        let Some((effort, recall, graph_us)) = reached else { bail!("no effort reaches a recall of 0.98 at {rows} rows") };
        let usual = plan::effort(LIMIT, rows as u64);
        let (usual_recall, qps, _) = search(index.as_ref(), data, &bars, usual)?;
        println!(
            "{rows:>8} rows: exact {exact_us:>6.0} µs, graph {graph_us:>6.0} µs (effort {effort}, recall {recall:.4}), {:>6.0} µs (effort {usual}, recall {usual_recall:.4}); \
             built in {build_s:.1} s",
            1e6 / qps
        );
        rows *= 2;
    }
    Ok(())
}

/// Microseconds of an exact query, and each query's tenth-best cosine.
fn exact(set: &Vectors, data: &Data) -> anyhow::Result<(f64, Vec<f32>)> {
    let mut best = f64::INFINITY;
    let mut bars = Vec::new();
    for _ in 0..ROUNDS {
        bars.clear();
        let started = Instant::now();
        for query in &data.queries {
            bars.push(set.search(&Request::nearest(query, LIMIT))?.hits.last().map_or(-1.0, |hit| 1.0 - hit.distance));
        }
        best = best.min(started.elapsed().as_secs_f64());
    }
    Ok((best * 1e6 / data.queries.len() as f64, bars))
}
