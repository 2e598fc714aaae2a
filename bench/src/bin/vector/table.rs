//! What was measured, as a table.

/// One engine's figures.
pub(crate) struct Engine {
    pub(crate) name: String,
    pub(crate) build_s: f64,
    pub(crate) bytes: f64,
    /// Effort, recall, queries a second.
    pub(crate) points: Vec<(usize, f64, f64)>,
}

const RECALLS: [f64; 3] = [0.95, 0.98, 0.99];

impl Engine {
    /// The queries a second of the least effort that reaches a recall.
    fn at(&self, recall: f64) -> Option<(usize, f64, f64)> {
        self.points.iter().copied().find(|point| point.1 >= recall)
    }
}

/// Prints all engines, each beside the first.
pub(crate) fn print(engines: &[Engine]) {
    println!(
        "\n{:38} {:>9} {:>8} | queries a second at recall@10 of 0.95, 0.98, 0.99 (effort, recall; the first engine's over its own)",
        "engine", "build s", "bytes"
    );
    for engine in engines {
        print!("{:38} {:>9.1} {:>8.0} |", engine.name, engine.build_s, engine.bytes);
        for recall in RECALLS {
            match (engine.at(recall), engines.first().and_then(|first| first.at(recall))) {
                (Some((effort, reached, qps)), Some((.., first))) => print!(" {qps:>7.0} ({effort:>4}, {reached:.4}; {:>4.1}x)", first / qps),
                (Some((effort, reached, qps)), None) => print!(" {qps:>7.0} ({effort:>4}, {reached:.4};     )"),
                (None, _) => print!("       - {:21}", ""),
            }
        }
        println!();
    }
    for engine in engines {
        let points: Vec<String> = engine.points.iter().map(|(effort, recall, qps)| format!("{effort}: {recall:.4} {qps:.0}/s")).collect();
        println!("{}: {}", engine.name, points.join(", "));
    }
}
