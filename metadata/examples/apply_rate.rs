//! Prints how many commits of 50 slices the machine applies in a second, with every version published to a reader:
//! `cargo run --release -p siltstone-metadata --example apply_rate`. The design's load is 40 a second.

use siltstone_core::{BatchId, ChunkId, CommitIndex, Epoch, Incarnation, NamespaceId, WriterId};
use siltstone_format::command::{ClientKey, Command, CommandBody, CommitBatch, Reply, SliceCommit};
use siltstone_format::manifest::{BatchRecord, CheckedRange, Manifest};
use siltstone_metadata::Machine;
use std::time::Instant;

const NAMESPACES: u32 = 1_000;
const SLICES: u32 = 50;
const COMMITS: u64 = 4_000;

fn main() {
    let mut machine = Machine::new();
    let mut index = 0;
    let mut apply = |machine: &mut Machine, body| {
        index += 1;
        match machine.apply(CommitIndex(index), &Command { proposed_at_ms: index as i64 * 25, body }) {
            Reply::Rejected(rejection) => panic!("{rejection}"),
            reply => reply,
        }
    };
    apply(&mut machine, CommandBody::FoundGroup { incarnation: Incarnation(1) });
    (0..NAMESPACES).for_each(|name| _ = apply(&mut machine, CommandBody::CreateNamespace { name: format!("ns-{name}") }));
    apply(&mut machine, CommandBody::RegisterWriter { writer: WriterId(1) });
    let epoch = Epoch(1);
    apply(&mut machine, CommandBody::AllocateIds { epoch, count: COMMITS as u32 });
    apply(&mut machine, CommandBody::AllocateChunkIds { epoch, count: NAMESPACES });

    let footer = CheckedRange { offset: 0, len: 10, crc32c: 1 };
    let commits: Vec<CommandBody> = (0..COMMITS)
        .map(|commit| {
            let slices = (0..SLICES).map(|slice| {
                // Each namespace has its turn every 20 commits, and one chunk.
                let namespace = (commit as u32 * SLICES + slice) % NAMESPACES;
                let turn = commit * u64::from(SLICES) / u64::from(NAMESPACES);
                SliceCommit {
                    namespace: NamespaceId(1 + namespace),
                    chunk: ChunkId(1 + u64::from(namespace)),
                    first_offset: turn as u16 * 2,
                    rows: 2,
                    range: footer,
                    timestamp_min_ns: 0,
                    timestamp_max_ns: 1,
                    body_bytes: 300,
                    key: Some(ClientKey { principal: "agent".into(), producer: format!("node-{}", slice % 20), sequence: commit + 1 }),
                }
            });
            let batch = BatchRecord { id: BatchId(1 + commit), epoch, len_bytes: 10_000, footer };
            CommandBody::CommitBatch(CommitBatch { epoch, batch, slices: slices.collect(), close: vec![] })
        })
        .collect();

    let started = Instant::now();
    let mut held: Manifest = machine.manifest().clone();
    for commit in commits {
        apply(&mut machine, commit);
        held = machine.manifest().clone();
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{COMMITS} commits of {SLICES} slices in {seconds:.2} s: {:.0} commits/s, {:.1} µs a slice",
        COMMITS as f64 / seconds,
        seconds * 1e6 / COMMITS as f64 / f64::from(SLICES)
    );
    println!("{} rows, {} slices", held.totals.rows, held.totals.slices);
}
