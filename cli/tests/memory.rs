//! Peak memory of an import is that of its requests on their way, whatever the file's size.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{SILTSTONE, Server};

/// A file that is read whole, or requests that gather, would show as far more than this: the files differ by 135 MB, and both have more than the
/// requests that may be on their way.
const GROWTH_BYTES_MAX: u64 = 12 << 20;

fn write_lines(path: &Path, lines: u64) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut line = String::new();
    for number in 0..lines {
        line.clear();
        write!(line, "{{\"timestamp_ms\": {}, \"namespace\": \"shop\", \"deployment\": \"checkout\", \"body\": ", 1_700_000_000_000 + number)
            .unwrap();
        writeln!(line, "\"order {number} of customer {:x} placed in {} ms\"}}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15), number % 997).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
    file.flush().unwrap();
}

/// The most memory that a process ever had resident, in bytes (`VmHWM` of proc(5)); nothing once it is gone.
fn peak_bytes(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10)
}

fn peak_of_import(server: &Server, file: &Path, lines: u64) -> u64 {
    let mut child = Command::new(SILTSTONE)
        .args(["import", "--json", "--server", &server.grpc.to_string()])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = peak_bytes(child.id()).unwrap_or(0).max(peak);
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["accepted"].as_u64(), Some(lines), "{summary}");
    peak
}

#[cfg(target_os = "linux")]
#[test]
fn the_peak_memory_of_an_import_does_not_grow_with_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(&dir.path().join("data"), &[]);
    let peaks = [300_000_u64, 1_200_000].map(|lines| {
        let file = dir.path().join(format!("{lines}.ndjson"));
        write_lines(&file, lines);
        let peak = peak_of_import(&server, &file, lines);
        println!(
            "{lines} lines, {} bytes: the importer's peak is {peak} bytes, the server's so far {:?}",
            file.metadata().unwrap().len(),
            peak_bytes(server.id())
        );
        peak
    });
    assert!(peaks[0] > 0, "the peak was seen");
    assert!(peaks[1] < peaks[0] + GROWTH_BYTES_MAX, "a file of four times the size took {} bytes instead of {}", peaks[1], peaks[0]);
}
