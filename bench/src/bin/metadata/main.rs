//! The metadata group beside etcd 3.6, in one run on one machine and one disk.
//!
//! `cargo build --release -p siltstone-metadata-cli && cargo run --release -p siltstone-bench --bin metadata`
//!
//! Both are groups of three server processes with their defaults, fsync on; both are up all the time and take turns, so that what else the machine
//! does hits both. The clients are processes of their own and use one gRPC channel each; a writer has one write of 256 bytes under way at a time,
//! to keys of its own, and nothing is batched on the client's side. A write counts when it was answered, which both do once it is committed and
//! applied. Closed loop: a writer sends when it has its answer. Open loop: sends are due by a schedule that is fixed beforehand, and latency counts
//! from there; the rate goes up by 19 % until it is no longer kept up. Writers talk to the leader unless a row says otherwise.
//!
//! Then Siltstone beside itself: 64 writers in a closed loop while every sync takes some milliseconds longer, with a log whose writers share syncs,
//! as it is, and with one that syncs for each operation by itself.

mod args;
mod client;
mod cluster;
mod histogram;
mod machine;
mod measure;
mod schedule;
mod table;
mod target;

use anyhow::Context;
use args::Args;
use clap::Parser;
use cluster::{Cluster, MEMBERS};
use measure::{Load, Measured, measure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use table::Figures;
use target::System;

/// From one rate of the open loop to the next: four steps double it.
const RATE_STEP: f64 = 1.19;

/// The open loop begins at this share of what the slower system did in the closed loop.
const RATE_FIRST: f64 = 0.5;

/// Writers of the comparison with slow syncs.
const WRITERS_OF_SLOW_SYNCS: usize = 64;

/// Between two measurements: what a server still has to write in the background is not the next one's load.
const PAUSE: Duration = Duration::from_millis(700);

fn main() -> anyhow::Result<()> {
    if std::env::args().nth(1).as_deref() == Some("client") {
        return client::serve();
    }
    let args = Args::parse();
    std::fs::create_dir_all(&args.dir).with_context(|| format!("create {}", args.dir.display()))?;
    let dir = tempfile::Builder::new().prefix("bench-metadata-").tempdir_in(&args.dir)?;
    println!("{} × {}; {} server processes each, {} client processes at most", machine::cores(), machine::processor(), MEMBERS, args.processes);
    if args.skip.as_deref() != Some("etcd") {
        side_by_side(&args, dir.path())?;
    }
    let with_delays = args.skip.as_deref() != Some("delays") && args.systems().contains(&System::Siltstone);
    if with_delays { with_slow_syncs(&args, dir.path()) } else { Ok(()) }
}

fn side_by_side(args: &Args, dir: &Path) -> anyhow::Result<()> {
    let mut clusters = Vec::new();
    for system in args.systems() {
        let program = program(system, args)?;
        println!("{}: {}", system.name(), version(&program)?);
        clusters.push(Cluster::start(system, &program, &dir.join(system.name()), &[])?);
    }
    let (mut closed, mut open) = (Vec::new(), Vec::new());
    for &writers in &args.writers {
        disk(dir, &format!("before {writers} writers"))?;
        let figures = take_turns(&mut clusters, args.rounds, &format!("{writers} writers"), &args.closed(writers, false))?;
        if !args.no_open {
            open.extend(climb(&mut clusters, args, writers, &figures)?);
        }
        closed.push((writers.to_string(), figures));
        if args.spread {
            let load = args.closed(writers, true);
            let clusters = clusters.iter_mut().filter(|cluster| cluster.system.takes_writes_anywhere());
            closed.push((format!("{writers}, spread"), take_turns(clusters, args.rounds, &format!("{writers} writers, spread"), &load)?));
        }
    }
    table::closed(&closed);
    if !args.no_open {
        table::open(&open);
    }
    Ok(())
}

/// What shared syncs are worth: latencies with them and without, at one load.
fn with_slow_syncs(args: &Args, dir: &Path) -> anyhow::Result<()> {
    let program = program(System::Siltstone, args)?;
    let mut rows = Vec::new();
    for &delay_ms in &args.sync_delays {
        let mut clusters = Vec::new();
        for (name, flag) in [("shared", None), ("each", Some("--sync-each"))] {
            let dir = dir.join(format!("delay-{delay_ms}-{name}"));
            std::fs::create_dir_all(&dir)?;
            let delay = dir.join("delay");
            std::fs::write(&delay, delay_ms.to_string())?;
            let flags = ["--sync-delay-file".to_owned(), delay.display().to_string()].into_iter().chain(flag.map(str::to_owned));
            clusters.push(Cluster::start(System::Siltstone, &program, &dir, &flags.collect::<Vec<_>>())?);
        }
        let what = format!("syncs {delay_ms} ms longer");
        let figures = take_turns(&mut clusters, args.rounds, &what, &args.closed(WRITERS_OF_SLOW_SYNCS, false))?;
        rows.push((delay_ms, figures));
    }
    table::slow_syncs(WRITERS_OF_SLOW_SYNCS, &rows);
    Ok(())
}

/// The closed loop: every system, one after the other, again and again.
fn take_turns<'a, C>(clusters: C, rounds: usize, what: &str, load: &Load) -> anyhow::Result<Figures>
where
    C: IntoIterator<Item = &'a mut Cluster>,
{
    let mut clusters: Vec<&mut Cluster> = clusters.into_iter().collect();
    let mut figures: Figures = clusters.iter().map(|cluster| (cluster.system, Measured::default())).collect();
    for _ in 0..rounds {
        for (cluster, (system, sum)) in clusters.iter_mut().zip(&mut figures) {
            let seen = measure(cluster, load)?;
            table::progress(what, *system, &seen);
            sum.add(&seen);
            std::thread::sleep(PAUSE);
        }
    }
    Ok(figures)
}

/// The open loop: one rate after the other, until no system keeps up.
fn climb(clusters: &mut [Cluster], args: &Args, writers: usize, closed: &Figures) -> anyhow::Result<Vec<(usize, f64, Figures)>> {
    let slowest = closed.iter().map(|(_, seen)| seen.commits_a_second()).fold(f64::INFINITY, f64::min);
    let (mut rate, mut rows) = ((slowest * RATE_FIRST).max(10.0), Vec::new());
    let mut is_out = vec![false; clusters.len()];
    while is_out.contains(&false) {
        let mut figures = Figures::new();
        for (cluster, is_out) in clusters.iter_mut().zip(&mut is_out).filter(|(_, is_out)| !**is_out) {
            let seen = measure(cluster, &args.open(writers, rate))?;
            table::progress(&format!("{writers} writers, {rate:.0}/s due"), cluster.system, &seen);
            *is_out = !seen.keeps_up();
            figures.push((cluster.system, seen));
            std::thread::sleep(PAUSE);
        }
        rows.push((writers, rate, figures));
        rate *= RATE_STEP;
    }
    Ok(rows)
}

fn disk(dir: &Path, when: &str) -> anyhow::Result<()> {
    for (where_to, syncs) in ["a file that grows", "a file of this size"].into_iter().zip(machine::sync_latency(dir)?) {
        let [p50, p99] = [0.5, 0.99].map(|share| syncs.percentile_ms(share));
        println!("disk {when}: one entry and its fdatasync into {where_to}: {p50:.2} ms (p50), {p99:.2} ms (p99)");
    }
    Ok(())
}

fn program(system: System, args: &Args) -> anyhow::Result<PathBuf> {
    match system {
        System::Etcd => match &args.etcd {
            Some(program) => Ok(program.clone()),
            None => {
                let built = Command::new("scripts/bench-etcd.sh").stderr(std::process::Stdio::inherit()).output();
                let built = built.context("run scripts/bench-etcd.sh: start the bench at the root of the repository, or give --etcd")?;
                anyhow::ensure!(built.status.success(), "scripts/bench-etcd.sh built no etcd");
                Ok(PathBuf::from(String::from_utf8(built.stdout)?.trim()))
            }
        },
        System::Siltstone => match &args.siltstone {
            Some(program) => Ok(program.clone()),
            None => Ok(std::env::current_exe()?.with_file_name("siltstone-metadata")),
        },
    }
}

/// The first line of what a program says of its version.
fn version(program: &Path) -> anyhow::Result<String> {
    let said = Command::new(program).arg("--version").output();
    let said = said.with_context(|| format!("run {}: is it built (cargo build --release -p siltstone-metadata-cli)?", program.display()))?;
    Ok(String::from_utf8_lossy(&said.stdout).lines().next().unwrap_or("of unknown version").to_owned())
}
