//! `siltstone-loggen`: sample logs as NDJSON on standard output.

use clap::Parser;
use siltstone_loggen::{Config, Generator, LogEntry};
use std::io::{self, Write};
use std::process::ExitCode;

/// Writes Kubernetes-shaped sample logs as NDJSON to standard output. The same arguments give the same bytes.
#[derive(Parser)]
#[command(name = "siltstone-loggen", version)]
struct Arguments {
    /// How many lines.
    #[arg(long, default_value_t = 1_000_000)]
    lines: u64,
    /// Which of the possible clusters and days.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The time after the last line, in RFC 3339.
    #[arg(long, default_value = "2026-03-01T00:00:00Z", value_name = "TIME")]
    end: jiff::Timestamp,
    /// How many hours the lines cover.
    #[arg(long, default_value_t = 24)]
    hours: u32,
    /// Print the incidents to standard error.
    #[arg(long)]
    incidents: bool,
}

/// How much is written at once.
const BUFFER_BYTES: usize = 256 * 1024;

fn main() -> ExitCode {
    match write(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough, as `head` has.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("write the lines: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(arguments: &Arguments) -> io::Result<()> {
    let span_ms = i64::from(arguments.hours.max(1)) * 60 * 60 * 1_000;
    let config = Config { seed: arguments.seed, lines: arguments.lines, end_ms: arguments.end.as_millisecond(), span_ms };
    let mut generator = Generator::new(&config);
    if arguments.incidents {
        for incident in generator.incidents() {
            let time = |time_ms| jiff::Timestamp::from_millisecond(time_ms).unwrap_or_default();
            eprintln!("{} to {}: {}: {}", time(incident.start_ms), time(incident.end_ms), incident.name, incident.title);
        }
    }
    let mut out = io::stdout().lock();
    let mut buffer = Vec::with_capacity(BUFFER_BYTES + 4_096);
    let mut entry = LogEntry::default();
    while generator.next_into(&mut entry) {
        entry.write_ndjson(&mut buffer);
        if buffer.len() >= BUFFER_BYTES {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)?;
    out.flush()
}
