//! Vector search beside usearch, faiss and Intel SVS, on one thread: queries a second at a recall, the time to build, bytes a vector; the exact scan
//! beside the machine's memory; and the number of rows from which on a graph pays.
//!
//! The vectors are the 44,268 real ones and others made from them (`data.rs`), 221,340 in all; the queries are the real ones. All engines search
//! the same vectors, and a figure is the best of three runs over all queries. The graph is forced. The Python peers come from
//! `scripts/bench-peers.sh`; plain usearch is also called from Rust with `--features usearch`, which builds its C and C++ for minutes.
//! With the argument `threshold` the last part alone is run. `SILTSTONE_VECTOR_TIMES` is how many times as many vectors as the real ones there are
//! (5), and `SILTSTONE_SHARED` names the folder of the test material.

mod data;
mod ours;
mod peers;
mod scan;
mod table;

use anyhow::Context;
use data::Data;
use siltstone_vector::BuildOptions;
use table::Engine;

fn main() -> anyhow::Result<()> {
    let times = std::env::var("SILTSTONE_VECTOR_TIMES").map_or(Ok(5), |times| times.parse().context("read SILTSTONE_VECTOR_TIMES"))?;
    let data = Data::new(times)?;
    if std::env::args().nth(1).is_some_and(|part| part == "threshold") {
        return ours::threshold(&data);
    }
    println!("{} vectors of {} elements, {} queries, one thread", data.vectors.len(), data::DIMENSION, data.queries.len());
    let scanned = scan::measure(&data)?;
    let bars = scanned.bars;

    let mut engines: Vec<Engine> = Vec::new();
    let same = BuildOptions { degree: peers::DEGREE, effort: peers::EFFORT_BUILD, ..BuildOptions::default() };
    for options in [BuildOptions::default(), same] {
        engines.push(ours::measure(&data, &bars, &options)?);
    }
    #[cfg(feature = "usearch")]
    for quantization in [usearch::ScalarKind::F32, usearch::ScalarKind::I8] {
        engines.push(peers::plain_usearch(&data, &bars, quantization)?);
    }
    engines.extend(peers::python(&data, &bars)?);
    table::print(&engines);
    ours::threshold(&data)
}
