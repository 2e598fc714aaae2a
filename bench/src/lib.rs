//! What benches have in common: the real logs, parsed.
//!
//! What is deliberately not here: any measuring; each bench shows what it measures and how.

use anyhow::Context;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

/// One real line and its tags.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// Nanoseconds since the Unix epoch; 9 % of the lines have none.
    pub timestamp_ns: Option<i64>,
    /// A logger's word.
    pub severity: String,
    /// The namespace.
    pub namespace: String,
    /// The workload.
    pub deployment: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// The line.
    pub body: String,
}

/// The folder of the test material: `../shared/data`, or `data` in the folder that SILTSTONE_SHARED names.
#[must_use]
pub fn shared_data() -> PathBuf {
    std::env::var_os("SILTSTONE_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from).join("data")
}

/// All real lines, in file order.
///
/// # Errors
/// When the test material is not there or not whole.
pub fn real_lines() -> anyhow::Result<Vec<Line>> {
    let path = shared_data().join("logs.jsonl.gz");
    let file = File::open(&path)
        .with_context(|| format!("open {}: put the shared test data there, or name its folder in SILTSTONE_SHARED", path.display()))?;
    let mut lines = Vec::new();
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let entry: Value = serde_json::from_str(&line?)?;
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        lines.push(Line {
            timestamp_ns: entry["timestamp_ms"].as_i64().map(|ms| ms * 1_000_000),
            severity: text("severity"),
            namespace: text("namespace"),
            deployment: text("deployment"),
            pod: text("pod"),
            container: text("container"),
            body: text("body"),
        });
    }
    Ok(lines)
}
