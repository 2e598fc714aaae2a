//! The exact scan, and how fast this machine reads memory at all.

use crate::data::Data;
use siltstone_vector::Request;
use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
pub(crate) const LIMIT: usize = 10;

/// Bytes of a row that a scan reads: its codes, its scale and lengths.
const ROW_BYTES: usize = 384 + 12;

/// What a plain loop reads: far more than any cache holds.
const READ_BYTES: usize = 512 << 20;

pub(crate) struct Scanned {
    /// Each query's tenth-best cosine.
    pub(crate) bars: Vec<f32>,
}

/// Measures, and finds the exact answers on the way.
pub(crate) fn measure(data: &Data) -> anyhow::Result<Scanned> {
    let words = vec![1_u64; READ_BYTES / 8];
    let read = best(|| {
        // Eight sums, so that no addition waits for the one before.
        let mut sums = [0_u64; 8];
        for words in black_box(&words).as_chunks::<8>().0 {
            for (sum, word) in sums.iter_mut().zip(words) {
                *sum = sum.wrapping_add(*word);
            }
        }
        black_box(sums);
    });
    drop(words);
    let read_gbps = READ_BYTES as f64 / read.as_secs_f64() / 1e9;
    let started = Instant::now();
    let mut bars = Vec::new();
    let mut scored = 0;
    for query in &data.queries {
        let answer = data.set.search(&Request::nearest(query, LIMIT))?;
        scored += answer.work.rows_scored;
        bars.push(answer.hits.last().map_or(-1.0, |hit| 1.0 - hit.distance));
    }
    let mean = started.elapsed() / data.queries.len() as u32;
    let one = best(|| {
        black_box(data.set.search(&Request::nearest(&data.queries[0], LIMIT)).is_ok());
    });
    let gbps = |time: Duration| (data.vectors.len() * ROW_BYTES) as f64 / time.as_secs_f64() / 1e9;
    println!(
        "exact scan: {:.0} µs a query (best of one query {:.0} µs), {:.1} GB/s (best {:.1}), {:.0} full vectors a query; a plain loop reads {read_gbps:.1} GB/s",
        mean.as_secs_f64() * 1e6,
        one.as_secs_f64() * 1e6,
        gbps(mean),
        gbps(one),
        scored as f64 / data.queries.len() as f64
    );
    Ok(Scanned { bars })
}

fn best<F>(mut run: F) -> Duration
where
    F: FnMut(),
{
    (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            run();
            started.elapsed()
        })
        .min()
        .unwrap_or_default()
}
