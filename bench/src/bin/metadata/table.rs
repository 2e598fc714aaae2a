//! The figures as tables.

use crate::measure::Measured;
use crate::target::System;

/// The systems' figures for one load, by turns.
pub(crate) type Figures = Vec<(System, Measured)>;

/// The closed loop's table: what was loaded, and the figures.
pub(crate) fn closed(rows: &[(String, Figures)]) {
    println!("\nClosed loop\n");
    println!("| writers | system | commits/s | p50 ms | p99 ms | p99.9 ms | servers' CPU µs a commit | clients' | other programs' share of CPU |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for (what, figures) in rows {
        for (system, seen) in figures {
            let [p50, p99, p999] = percentiles(seen);
            println!(
                "| {what} | {} | {:.0} | {p50:.2} | {p99:.2} | {p999:.2} | {:.0} | {:.0} | {:.0} % |",
                system.name(),
                seen.commits_a_second(),
                seen.servers_cpu_us(),
                seen.clients_cpu_us(),
                seen.others_share() * 100.0
            );
        }
        if let [(_, peer), (_, ours)] = figures.as_slice() {
            let [p50, p99, p999] = ratios(peer, ours);
            let throughput = ours.commits_a_second() / peer.commits_a_second();
            println!("| {what} | **ratio** | **{throughput:.2}** | **{p50:.2}** | **{p99:.2}** | **{p999:.2}** | | | |");
        }
    }
}

/// The open loop's table: writers, rate, and the figures of the systems that were still measured at it.
pub(crate) fn open(rows: &[(usize, f64, Figures)]) {
    println!("\nOpen loop: latency since the write was due\n");
    println!("| writers | due/s | system | commits/s | p50 ms | p99 ms | p99.9 ms | keeps up | other programs' share of CPU |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for (writers, rate, figures) in rows {
        for (system, seen) in figures {
            let [p50, p99, p999] = percentiles(seen);
            let keeps_up = if seen.keeps_up() { "yes" } else { "no" };
            let (name, commits) = (system.name(), seen.commits_a_second());
            let others = seen.others_share() * 100.0;
            println!("| {writers} | {rate:.0} | {name} | {commits:.0} | {p50:.2} | {p99:.2} | {p999:.2} | {keeps_up} | {others:.0} % |");
        }
    }
    println!("\nHighest rate that was kept up\n");
    println!("| writers | system | commits/s |\n|---|---|---|");
    let mut writers: Vec<usize> = rows.iter().map(|(writers, ..)| *writers).collect();
    writers.dedup();
    for count in writers {
        let mut best = Vec::new();
        for system in [System::Etcd, System::Siltstone] {
            let of_system = rows
                .iter()
                .filter(|(writers, ..)| *writers == count)
                .flat_map(|(_, rate, figures)| figures.iter().filter(move |(other, seen)| *other == system && seen.keeps_up()).map(move |_| *rate));
            if let Some(rate) = of_system.reduce(f64::max) {
                println!("| {count} | {} | {rate:.0} |", system.name());
                best.push(rate);
            }
        }
        if let [peer, ours] = best[..] {
            println!("| {count} | **ratio** | **{:.2}** |", ours / peer);
        }
    }
}

/// The comparison with slow syncs: of each delay the figures with shared syncs, then without.
pub(crate) fn slow_syncs(writers: usize, rows: &[(u64, Figures)]) {
    println!("\nSiltstone with slow syncs, {writers} writers, closed loop\n");
    println!("| sync slower by | log | commits/s | p50 ms | p99 ms | p99.9 ms | other programs' share of CPU |\n|---|---|---|---|---|---|---|");
    for (delay_ms, figures) in rows {
        for ((_, seen), log) in figures.iter().zip(["shared syncs", "a sync each"]) {
            let [p50, p99, p999] = percentiles(seen);
            let (commits, others) = (seen.commits_a_second(), seen.others_share() * 100.0);
            println!("| {delay_ms} ms | {log} | {commits:.0} | {p50:.2} | {p99:.2} | {p999:.2} | {others:.0} % |");
        }
        if let [(_, shared), (_, each)] = figures.as_slice() {
            let [p50, p99, p999] = ratios(each, shared).map(|ratio| (1.0 - ratio) * 100.0);
            println!("| {delay_ms} ms | **below a sync each by** | | **{p50:.0} %** | **{p99:.0} %** | **{p999:.0} %** | |");
        }
    }
}

/// One line while it goes on.
pub(crate) fn progress(what: &str, system: System, seen: &Measured) {
    let [p50, p99, p999] = percentiles(seen);
    let failed = seen.failure.as_ref().map(|failure| format!("; {} writes failed: {failure}", seen.failed)).unwrap_or_default();
    let others = seen.others_share() * 100.0;
    let (name, commits) = (system.name(), seen.commits_a_second());
    eprintln!("{what:<28} {name:<10} {commits:>8.0}/s  p50 {p50:>7.2}  p99 {p99:>7.2}  p99.9 {p999:>7.2} ms  others {others:>3.0} %{failed}");
}

pub(crate) fn percentiles(seen: &Measured) -> [f64; 3] {
    [0.5, 0.99, 0.999].map(|share| seen.latencies.percentile_ms(share))
}

fn ratios(peer: &Measured, ours: &Measured) -> [f64; 3] {
    let (peer, ours) = (percentiles(peer), percentiles(ours));
    std::array::from_fn(|at| ours[at] / peer[at])
}
