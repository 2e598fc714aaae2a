//! Reads lines, writes each line's pattern text: what `embedder/training/train.py` trains on, so that there is one rule only.

use siltstone_core::pattern::{Split, split};
use siltstone_embedder::pattern_text;
use std::io::{self, BufRead, Write};

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut parts = Split::default();
    for line in io::stdin().lock().split(b'\n') {
        split(&line?, &mut parts);
        writeln!(out, "{}", pattern_text(parts.pattern()))?;
    }
    out.flush()
}
