//! The two-level bitmap beside `roaring`: AND, OR, AND NOT and counts over a million rows, for sparse, middling, dense and clustered sets.
//!
//! First a table of medians and their ratio, both sides measured by turns in this process; then the same operations under criterion.
//! `TABLE_ONLY=1` stops after the table.

use criterion::{Criterion, criterion_group};
use roaring::RoaringBitmap;
use siltstone_core::bitmap::kernels::{Level, active};
use siltstone_core::bitmap::{RowSet, RowSetRef};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// 512 chunks: the upper level is one page.
const ROWS: u32 = 1 << 20;

/// Measurements of each side; the median stands in the table.
const ROUNDS: usize = 31;

/// A round repeats an operation for as long as this at least, so that the clock's grain does not count.
const ROUND_MIN: Duration = Duration::from_micros(300);

/// A linear congruential generator: the same sets in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

fn scattered(density: f64, seed: u64) -> Vec<u32> {
    let mut numbers = Numbers(seed);
    let bound = (density * (1_u64 << 31) as f64) as u64;
    (0..ROWS).filter(|_| numbers.next() < bound).collect()
}

/// Bursts of 20 to 519 rows, with gaps of up to 3,999.
fn clustered(seed: u64) -> Vec<u32> {
    let mut numbers = Numbers(seed);
    let mut rows = Vec::new();
    let mut at = 0;
    loop {
        at += numbers.next() as u32 % 4_000;
        let end = at + 20 + numbers.next() as u32 % 500;
        if end >= ROWS {
            return rows;
        }
        rows.extend(at..end);
        at = end + 1;
    }
}

/// One set on both sides.
struct Both {
    ours: RowSet,
    stored: Vec<u8>,
    peer: RoaringBitmap,
    peer_stored: Vec<u8>,
}

impl Both {
    fn new(rows: &[u32]) -> Self {
        let ours = RowSet::from_sorted(rows.iter().map(|row| u64::from(*row))).expect("rows ascend");
        let mut peer = RoaringBitmap::from_sorted_iter(rows.iter().copied()).expect("rows ascend");
        peer.optimize();
        let (mut stored, mut peer_stored) = (Vec::new(), Vec::new());
        ours.encode(&mut stored);
        peer.serialize_into(&mut peer_stored).expect("a vector takes all bytes");
        Self { ours, stored, peer, peer_stored }
    }
}

struct Case {
    name: &'static str,
    a: Both,
    b: Both,
}

fn cases() -> Vec<Case> {
    let case = |name, a: Vec<u32>, b: Vec<u32>| Case { name, a: Both::new(&a), b: Both::new(&b) };
    vec![
        case("0.0001", scattered(0.0001, 1), scattered(0.0001, 2)),
        case("0.01", scattered(0.01, 3), scattered(0.01, 4)),
        case("0.3", scattered(0.3, 5), scattered(0.3, 6)),
        case("clustered", clustered(7), clustered(8)),
        case("0.01 x 0.3", scattered(0.01, 9), scattered(0.3, 10)),
        case("0.01 x clustered", scattered(0.01, 11), clustered(12)),
        case("0.3 x clustered", scattered(0.3, 13), clustered(14)),
    ]
}

/// An operation on both sides; both give the number of rows of the result.
struct Op {
    name: &'static str,
    ours: fn(&Case) -> u64,
    peer: fn(&Case) -> u64,
}

const OPS: [Op; 8] = [
    Op { name: "and", ours: |case| case.a.ours.and(&case.b.ours).count(), peer: |case| (&case.a.peer & &case.b.peer).len() },
    Op { name: "or", ours: |case| case.a.ours.or(&case.b.ours).count(), peer: |case| (&case.a.peer | &case.b.peer).len() },
    Op { name: "and_not", ours: |case| case.a.ours.and_not(&case.b.ours).count(), peer: |case| (&case.a.peer - &case.b.peer).len() },
    Op { name: "and_count", ours: |case| case.a.ours.and_count(&case.b.ours), peer: |case| case.a.peer.intersection_len(&case.b.peer) },
    Op { name: "or_count", ours: |case| case.a.ours.or_count(&case.b.ours), peer: |case| case.a.peer.union_len(&case.b.peer) },
    Op {
        name: "iterate",
        ours: |case| case.a.ours.iter().map(|(_, offset)| u64::from(offset) & 1).sum(),
        peer: |case| case.a.peer.iter().map(|row| u64::from(row) & 1).sum(),
    },
    Op {
        name: "decode",
        ours: |case| RowSet::decode(&case.a.stored).map_or(0, |set| set.count()),
        peer: |case| RoaringBitmap::deserialize_from(case.a.peer_stored.as_slice()).map_or(0, |set| set.len()),
    },
    Op {
        name: "decode+and_count",
        ours: |case| RowSetRef::new(&case.a.stored).and_then(|a| a.and_count(&case.b.ours)).unwrap_or(0),
        peer: |case| RoaringBitmap::deserialize_from(case.a.peer_stored.as_slice()).map_or(0, |set| set.intersection_len(&case.b.peer)),
    },
];

/// The time of one call, from enough calls.
fn time(case: &Case, run: fn(&Case) -> u64) -> Duration {
    let begin = Instant::now();
    let mut calls = 0;
    while begin.elapsed() < ROUND_MIN {
        black_box(run(black_box(case)));
        calls += 1;
    }
    begin.elapsed() / calls
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_nanos() as f64 / 1_000.0
}

fn table() {
    println!(
        "{ROWS} rows, kernels {}, median µs of {ROUNDS} rounds; ratio = roaring / siltstone (above 1: siltstone is faster)",
        active().level().as_str()
    );
    println!("available: {:?}", Level::available().map(Level::as_str).collect::<Vec<_>>());
    println!("{:<18} {:<18} {:>12} {:>12} {:>7}", "sets", "operation", "siltstone", "roaring", "ratio");
    for case in cases() {
        for op in &OPS {
            assert_eq!((op.ours)(&case), (op.peer)(&case), "{} of {} differ", op.name, case.name);
            let (mut ours, mut peer) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                ours.push(time(&case, op.ours));
                peer.push(time(&case, op.peer));
            }
            let (ours, peer) = (median(ours), median(peer));
            println!("{:<18} {:<18} {ours:>12.2} {peer:>12.2} {:>7.2}", case.name, op.name, peer / ours);
        }
        let (ours, peer) = (case.a.stored.len(), case.a.peer_stored.len());
        println!("{:<18} {:<18} {ours:>12} {peer:>12} {:>7.2}", case.name, "stored bytes", peer as f64 / ours as f64);
    }
}

fn bitmap(criterion: &mut Criterion) {
    for case in cases() {
        let mut group = criterion.benchmark_group(case.name);
        group.sample_size(20).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(600));
        for op in &OPS {
            group.bench_function(format!("{}/siltstone", op.name), |bencher| bencher.iter(|| (op.ours)(black_box(&case))));
            group.bench_function(format!("{}/roaring", op.name), |bencher| bencher.iter(|| (op.peer)(black_box(&case))));
        }
        group.finish();
    }
}

criterion_group!(benches, bitmap);

fn main() {
    table();
    if std::env::var_os("TABLE_ONLY").is_none() {
        benches();
        Criterion::default().configure_from_args().final_summary();
    }
}
