//! Reads a file into batches on one thread and prints how fast that went: `cargo run --release -p siltstone-import --example throughput FILE`.

use siltstone_import::{ImportOptions, ImportSource, Input};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("give a file")?;
    let options = ImportOptions { namespace: "bench".to_owned(), ..ImportOptions::default() };
    let hashing = Instant::now();
    let mut source = ImportSource::open(Input::File(path.into()), &options, &mut |_| {})?;
    let hashed_s = hashing.elapsed().as_secs_f64();
    let reading = Instant::now();
    while source.next_batch()?.is_some() {}
    let read_s = reading.elapsed().as_secs_f64();
    let summary = source.summary();
    #[allow(clippy::cast_precision_loss, reason = "figures for people")]
    let megabytes = summary.bytes_read as f64 / 1e6;
    println!("{} as {}, {}: {summary:?}", source.name(), source.format(), source.compression());
    println!("hashed in {hashed_s:.3} s; read in {read_s:.3} s: {:.0} MB/s decompressed", megabytes / read_s);
    Ok(())
}
