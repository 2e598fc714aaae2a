//! The machine against a naive model, over random histories.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod embedder;
mod history;
mod indexes;
mod naive;
mod vector_indexer;
mod vectors;

use history::History;
use std::collections::BTreeMap;

/// Histories, and commands in each. `SILTSTONE_MODEL_HISTORIES` asks for more.
const HISTORIES: u64 = 120;
const STEPS: usize = 300;

#[test]
fn random_histories_end_as_the_naive_model_says() {
    let histories = std::env::var("SILTSTONE_MODEL_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(HISTORIES);
    let mut counts = BTreeMap::<(&'static str, bool), u32>::new();
    for seed in 0..histories {
        let mut history = History::new(seed);
        for step in 0..STEPS {
            history.step();
            if step % 25 == 0 {
                history.check();
            }
        }
        history.check();
        history.check_replay();
        history.counts.iter().for_each(|(kind, count)| *counts.entry(*kind).or_default() += count);
    }
    println!("commands by kind and whether refused: {counts:#?}");
    // A history in which nothing is ever sealed, or nothing refused, would show nothing.
    let kinds = ["commit_batch", "commit_seal", "commit_merge", "allocate_ids", "close_chunks", "forget_retired"];
    let of_vectors = ["commit_vectors", "join_vectors", "add_model", "use_model", "remove_model"];
    let of_entries = ["declare_vector_field", "commit_indexes", "join_indexes"];
    for kind in kinds.into_iter().chain(of_vectors).chain(of_entries) {
        for is_refused in [false, true] {
            let count = counts.get(&(kind, is_refused)).copied().unwrap_or(0);
            assert!(u64::from(count) * 20 >= histories, "{kind} (refused: {is_refused}) came {count} times in {histories} histories");
        }
    }
}
