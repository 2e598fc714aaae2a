//! What clients write: entries that can be told apart by a word of their own, in client batches of one or two namespaces.
//!
//! Pure. Bodies are of several kinds, so that patterns, variables, other scripts and bytes that are no UTF-8 are all among them.

use crate::rng::Rng;
use siltstone_core::{Entry, Severity, Value};

/// The namespaces that are written to.
pub(crate) const NAMESPACES: [&str; 3] = ["shop", "bank", "blue/shop"];

/// A word that every body has.
pub(crate) const SHARED_WORD: &str = "everywhere";

/// Two words that one kind of body has next to each other.
pub(crate) const PHRASE: &str = "connection refused";

/// A word that no body has.
pub(crate) const ABSENT_WORD: &str = "nowhere";

/// The first entry's time: in the past of every clock that the tests use. Each later entry lies a millisecond later.
const FIRST_NS: i64 = 1_600_000_000_000_000_000;

/// A time in the future of every clock that the tests use: entries from there on live in chunks of their own.
const FUTURE_NS: i64 = 4_102_444_800_000_000_000;

/// The word that only this entry has. Its digits make it a variable.
#[must_use]
pub(crate) fn own_word(entry: usize) -> String {
    format!("e{entry}")
}

/// The word that all entries of a client batch share. Without digits it belongs to the pattern.
#[must_use]
pub(crate) fn batch_word(batch: usize) -> String {
    let mut word = "zq".to_owned();
    let mut rest = batch;
    loop {
        word.push(char::from(b'a' + u8::try_from(rest % 20).expect("below 20")));
        rest /= 20;
        if rest == 0 {
            return word;
        }
    }
}

/// The entries of a client batch. Entries are numbered from `first` on.
#[must_use]
pub(crate) fn entries_of(rng: &mut Rng, batch: usize, first: usize) -> Vec<Entry> {
    let count = match rng.below(1_000) {
        // More than a chunk holds, rarely.
        0 => 2_000 + rng.below(200),
        1..=5 => 100 + rng.below(200),
        _ => 1 + rng.below(8),
    };
    let home = *rng.choose(&NAMESPACES);
    let other = if rng.once_in(3) { *rng.choose(&NAMESPACES) } else { home };
    (0..count)
        .map(|at| {
            let namespace = if rng.once_in(2) { home } else { other };
            entry(rng, namespace, batch, first + usize::try_from(at).expect("a few thousand"))
        })
        .collect()
}

fn entry(rng: &mut Rng, namespace: &str, batch: usize, number: usize) -> Entry {
    let milliseconds = i64::try_from(number).expect("entries are counted in thousands");
    let begin = if rng.once_in(16) { FUTURE_NS } else { FIRST_NS };
    let mut attributes = vec![("n".to_owned(), Value::Int(milliseconds % 100))];
    if rng.once_in(3) {
        attributes.push(("route".to_owned(), Value::Str(format!("/api/v{}", rng.below(3)))));
    }
    if rng.once_in(8) {
        attributes.push(("cached".to_owned(), Value::Bool(rng.once_in(2))));
    }
    Entry {
        namespace: namespace.to_owned(),
        deployment: (*rng.choose(&["", "checkout", "web"])).to_owned(),
        pod: if rng.once_in(4) { String::new() } else { format!("pod-{}", rng.below(5)) },
        container: "app".to_owned(),
        timestamp_ns: Some(begin + milliseconds * 1_000_000),
        severity: Severity::from_number(u8::try_from(rng.below(25)).expect("below 25")),
        body: body(rng, batch, number),
        attributes,
        vectors: Vec::new(),
    }
}

fn body(rng: &mut Rng, batch: usize, number: usize) -> Vec<u8> {
    let (own, shared) = (own_word(number), batch_word(batch));
    let chance = rng.below(1_000);
    match rng.below(6) {
        0 => format!("{PHRASE} by 10.0.{chance}.7 for user-{chance}: {own} {shared} {SHARED_WORD}"),
        1 => format!("GET /api/v1/orders/{chance} took {chance}ms {SHARED_WORD} {own} {shared}"),
        2 => format!("{shared}: \"quoted\\ text\" Ünïcode ж {SHARED_WORD}\t{own}"),
        3 => format!("{SHARED_WORD} {own}\n  at line {chance}\n  at {shared} <*> {{}}"),
        4 => format!("{own} {SHARED_WORD} {shared} {}", "the same again and again, ".repeat(usize::try_from(chance / 20).expect("below 50"))),
        _ => {
            let mut body = vec![0xff, 0xfe, 0];
            body.extend(format!(" {own} {shared} {SHARED_WORD} ").bytes());
            body.push(0xc3);
            return body;
        }
    }
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn batches_have_words_of_their_own() {
        let words: BTreeSet<String> = (0..2_000).map(batch_word).collect();
        assert_eq!(words.len(), 2_000);
    }

    #[test]
    fn a_seed_gives_the_same_entries_and_no_body_twice() {
        let entries = |seed| -> Vec<Entry> {
            let mut rng = Rng::new(seed);
            let mut entries = Vec::new();
            (0..50).for_each(|batch| entries.extend(entries_of(&mut rng, batch, entries.len())));
            entries
        };
        assert_eq!(entries(7), entries(7));
        let bodies: BTreeSet<Vec<u8>> = entries(7).into_iter().map(|entry| entry.body).collect();
        assert_eq!(bodies.len(), entries(7).len());
    }
}
