//! What clients sent, what they were told, and what readers have seen: the books that a database must agree with.
//!
//! The ledger keeps the contract of a client with a key: sequences ascend from 1, none is sent that lies 64 or more above the oldest that is not
//! acknowledged, and a request whose outcome is unknown is sent again, the same, until it is acknowledged. Pure: it never waits and calls nobody.

use crate::look::{Look, Violation};
use crate::question::Question;
use crate::rng::Rng;
use crate::workload::{NAMESPACES, entries_of};
use rustc_hash::FxHashMap;
use siltstone_core::{CommitToken, Entry};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Sequences of one producer that may be on their way: the server's window.
pub const WINDOW: u64 = 64;

/// How much is written.
#[derive(Clone, Copy, Debug)]
pub struct LedgerConfig {
    /// Clients, each with sequences of its own.
    pub producers: usize,
    /// No new batches are begun once so many entries were sent.
    pub entries_max: usize,
}

impl Default for LedgerConfig {
    fn default() -> Self {
        Self { producers: 3, entries_max: 8_000 }
    }
}

/// One request to be sent.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its place in the ledger.
    pub batch: usize,
    /// Who sends it.
    pub producer: String,
    /// Its number among the producer's.
    pub sequence: u64,
    /// What it carries.
    pub entries: Arc<[Entry]>,
    /// A client that waits no longer than this hangs up; the server may go on with the request all the same.
    pub patience: Option<Duration>,
}

/// What an acknowledgement says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acknowledged {
    /// Entries that exist now.
    pub accepted: u64,
    /// Entries that an earlier copy had brought.
    pub duplicates: u64,
    /// Entries that were not taken.
    pub refused: u64,
    /// Covers them.
    pub token: Option<CommitToken>,
}

struct Batch {
    producer: usize,
    sequence: u64,
    /// Numbers of its entries.
    numbers: Range<usize>,
    entries: Arc<[Entry]>,
    copies_sent: u32,
    copies_under_way: u32,
    /// The event at which a client heard of it.
    acknowledged_at: Option<u64>,
    /// What the acknowledgement carried.
    token: Option<CommitToken>,
}

#[derive(Default)]
struct Producer {
    /// Batches in the order of their sequences, from 1.
    batches: Vec<usize>,
    /// Sequences up to this one are acknowledged without a gap.
    settled: u64,
}

/// The books.
pub struct Ledger {
    rng: Rng,
    config: LedgerConfig,
    producers: Vec<Producer>,
    batches: Vec<Batch>,
    /// By number: the batch, and where readers saw the entry.
    entries: Vec<(usize, Option<u64>)>,
    by_body: FxHashMap<Vec<u8>, usize>,
    by_address: FxHashMap<u64, usize>,
    events: u64,
    newest: Option<CommitToken>,
    violations: Vec<Violation>,
}

/// The moment at which a reader began to look.
#[derive(Clone, Copy, Debug)]
pub struct LookBegin {
    event: u64,
    /// What was acknowledged last: the look asks for a view that covers it.
    pub min_commit: Option<CommitToken>,
}

/// How far the books are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Client batches that were sent.
    pub batches: u64,
    /// Of those, the acknowledged.
    pub acknowledged: u64,
    /// Copies that were sent of them.
    pub copies: u64,
    /// Entries in them.
    pub entries: u64,
}

impl Ledger {
    /// An empty ledger; what will be written follows from the seed.
    #[must_use]
    pub fn new(seed: u64, config: LedgerConfig) -> Self {
        Self {
            rng: Rng::new(seed),
            config,
            producers: (0..config.producers).map(|_| Producer::default()).collect(),
            batches: Vec::new(),
            entries: Vec::new(),
            by_body: FxHashMap::default(),
            by_address: FxHashMap::default(),
            events: 0,
            newest: None,
            violations: Vec::new(),
        }
    }

    /// What to send next: a new batch, one again whose outcome is unknown, or sometimes a second copy of one that is under way. `None` when the
    /// contract or the plan allows nothing.
    pub fn next_request(&mut self) -> Option<Request> {
        let unknown: Vec<usize> = self.unacknowledged().filter(|at| self.batches[*at].copies_under_way == 0).collect();
        let single: Vec<usize> = self.unacknowledged().filter(|at| self.batches[*at].copies_under_way == 1).collect();
        let batch = if !single.is_empty() && self.rng.once_in(8) {
            *self.rng.choose(&single)
        } else if !unknown.is_empty() && self.rng.once_in(2) {
            *self.rng.choose(&unknown)
        } else {
            self.begin_batch().or_else(|| (!unknown.is_empty()).then(|| *self.rng.choose(&unknown)))?
        };
        Some(self.send(batch))
    }

    /// A batch whose outcome is unknown, to be sent again. `None` when all is acknowledged.
    pub fn next_retry(&mut self) -> Option<Request> {
        let batch = self.unacknowledged().find(|at| self.batches[*at].copies_under_way == 0)?;
        Some(self.send(batch))
    }

    fn unacknowledged(&self) -> impl Iterator<Item = usize> {
        (0..self.batches.len()).filter(|at| self.batches[*at].acknowledged_at.is_none())
    }

    fn begin_batch(&mut self) -> Option<usize> {
        if self.entries.len() >= self.config.entries_max {
            return None;
        }
        let may_send: Vec<usize> =
            (0..self.producers.len()).filter(|at| (self.producers[*at].batches.len() as u64) < self.producers[*at].settled + WINDOW).collect();
        if may_send.is_empty() {
            return None;
        }
        let producer = *self.rng.choose(&may_send);
        let (batch, first) = (self.batches.len(), self.entries.len());
        let entries = entries_of(&mut self.rng, batch, first);
        for entry in &entries {
            let earlier = self.by_body.insert(entry.body.clone(), self.entries.len());
            assert_eq!(earlier, None, "every body has a word of its own");
            self.entries.push((batch, None));
        }
        self.producers[producer].batches.push(batch);
        let sequence = self.producers[producer].batches.len() as u64;
        self.batches.push(Batch {
            producer,
            sequence,
            numbers: first..self.entries.len(),
            entries: entries.into(),
            copies_sent: 0,
            copies_under_way: 0,
            acknowledged_at: None,
            token: None,
        });
        Some(batch)
    }

    fn send(&mut self, at: usize) -> Request {
        let batch = &mut self.batches[at];
        batch.copies_sent += 1;
        batch.copies_under_way += 1;
        let patience = self.rng.once_in(16).then(|| Duration::from_micros(self.rng.below(5_000)));
        let (producer, sequence) = (format!("client-{}", batch.producer), batch.sequence);
        Request { batch: at, producer, sequence, entries: batch.entries.clone(), patience }
    }

    /// A copy was acknowledged.
    pub fn acknowledged(&mut self, at: usize, answer: &Acknowledged) {
        self.events += 1;
        let batch = &mut self.batches[at];
        batch.copies_under_way = batch.copies_under_way.saturating_sub(1);
        batch.acknowledged_at.get_or_insert(self.events);
        batch.token = batch.token.or(answer.token);
        let sent = batch.entries.len() as u64;
        let (copies, what) = (batch.copies_sent, format!("batch {at} of {sent} entries: {answer:?}"));
        if answer.refused != 0 || answer.accepted + answer.duplicates != sent {
            self.violations.push(Violation::new("AK-1", format!("{what}: not all entries were taken")));
        }
        if copies == 1 && answer.duplicates != 0 {
            self.violations.push(Violation::new("AK-2", format!("{what}: the only copy is called a duplicate")));
        }
        if answer.token.is_none_or(|token| self.newest.is_some_and(|newest| newest.incarnation != token.incarnation)) {
            self.violations.push(Violation::new("AK-1", format!("{what}: no commit token, or one of another life of the group")));
        }
        if answer.token.map(|token| token.index) > self.newest.map(|token| token.index) {
            self.newest = answer.token;
        }
        let producer = &mut self.producers[self.batches[at].producer];
        while let Some(next) = producer.batches.get(usize::try_from(producer.settled).expect("counted in thousands"))
            && self.batches[*next].acknowledged_at.is_some()
        {
            producer.settled += 1;
        }
    }

    /// A copy failed, or its answer was lost: the outcome is unknown.
    pub fn unanswered(&mut self, at: usize) {
        let batch = &mut self.batches[at];
        batch.copies_under_way = batch.copies_under_way.saturating_sub(1);
    }

    /// The server is gone, and with it every copy that was under way.
    pub fn server_gone(&mut self) {
        self.batches.iter_mut().for_each(|batch| batch.copies_under_way = 0);
    }

    /// A reader begins to look: what is acknowledged by now it must see.
    #[must_use]
    pub fn begin_look(&self) -> LookBegin {
        LookBegin { event: self.events, min_commit: self.newest }
    }

    /// Questions about what was sent so far.
    pub fn questions(&mut self) -> Vec<Question> {
        Question::some(&mut self.rng, self.entries.len(), self.batches.len())
    }

    /// Checks what a reader saw of one namespace, and remembers where.
    pub fn check(&mut self, begin: LookBegin, look: &Look) {
        let name = &look.namespace;
        let mut seen: FxHashMap<usize, u64> = FxHashMap::default();
        for row in &look.rows {
            let at = format!("namespace {name}: the row at {:016x}", row.address);
            let Some(number) = self.by_body.get(&row.entry.body).copied() else {
                self.violation("AK-2", format!("{at} was never sent: {:?}", String::from_utf8_lossy(&row.entry.body)));
                continue;
            };
            if let Some(other) = seen.insert(number, row.address) {
                self.violation("AK-2", format!("{at} is entry {number}, which is at {other:016x} as well"));
            }
            self.check_row(number, &at, row);
        }
        self.check_batches(begin, name, &seen);
        self.violations.extend(look.contradictions());
    }

    fn check_row(&mut self, number: usize, at: &str, row: &crate::look::SeenRow) {
        let (batch, known_address) = self.entries[number];
        let batch = &self.batches[batch];
        let sent = &batch.entries[number - batch.numbers.start];
        if !same_entry(sent, &row.entry) {
            let what = format!("{at} is not what was sent as entry {number}: {:?} became {:?}", sent, row.entry);
            self.violation("AK-1", what);
        }
        if known_address.is_some_and(|known| known != row.address) {
            self.violation("RA-1", format!("{at} is entry {number}, which was at {:016x} before", known_address.unwrap_or_default()));
        }
        if let Some(other) = self.by_address.insert(row.address, number).filter(|other| *other != number) {
            self.violation("RA-1", format!("{at} is entry {number}, and was entry {other} before"));
        }
        self.entries[number].1 = Some(row.address);
    }

    /// Batches are there whole or not at all; those that were acknowledged, or seen before, are there.
    fn check_batches(&mut self, begin: LookBegin, name: &str, seen: &FxHashMap<usize, u64>) {
        let mut violations = Vec::new();
        for (at, batch) in self.batches.iter().enumerate() {
            let here = || batch.numbers.clone().zip(batch.entries.iter()).filter(|(_, entry)| entry.namespace == name).map(|(number, _)| number);
            let sent = here().count();
            let found = here().filter(|number| seen.contains_key(number)).count();
            let what =
                || format!("namespace {name}: {found} of {sent} entries of batch {at} (producer {}, sequence {})", batch.producer, batch.sequence);
            let is_acknowledged = batch.acknowledged_at.is_some_and(|event| event <= begin.event);
            if is_acknowledged && found < sent {
                let token = batch.token.map_or_else(|| "nothing".to_owned(), |token| token.to_string());
                violations.push(Violation::new("AK-1", format!("{} are there, and it was acknowledged with {token}", what())));
            } else if found != 0 && found != sent {
                violations.push(Violation::new("AK-2", format!("{} are there: part of a batch", what())));
            } else if let Some(number) = here().find(|number| self.entries[*number].1.is_some() && !seen.contains_key(number)) {
                violations.push(Violation::new("AK-1", format!("{} are there, and entry {number} was seen before", what())));
            }
        }
        self.violations.extend(violations);
    }

    fn violation(&mut self, invariant: &'static str, what: String) {
        self.violations.push(Violation::new(invariant, what));
    }

    /// Adds what somebody else found.
    pub fn report(&mut self, violation: Violation) {
        self.violations.push(violation);
    }

    /// What is wrong so far, and forgets it.
    pub fn take_violations(&mut self) -> Vec<Violation> {
        std::mem::take(&mut self.violations)
    }

    /// Entries of a namespace in batches that were acknowledged, and in all batches.
    #[must_use]
    pub fn bounds(&self, name: &str) -> (usize, usize) {
        let entries = |batch: &Batch| batch.entries.iter().filter(|entry| entry.namespace == name).count();
        let acknowledged = self.batches.iter().filter(|batch| batch.acknowledged_at.is_some()).map(entries).sum();
        (acknowledged, self.batches.iter().map(entries).sum())
    }

    /// Whether every batch is acknowledged.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.unacknowledged().next().is_none()
    }

    /// How far the books are.
    #[must_use]
    pub fn totals(&self) -> Totals {
        Totals {
            batches: self.batches.len() as u64,
            acknowledged: self.batches.iter().filter(|batch| batch.acknowledged_at.is_some()).count() as u64,
            copies: self.batches.iter().map(|batch| u64::from(batch.copies_sent)).sum(),
            entries: self.entries.len() as u64,
        }
    }

    /// The namespaces that are written to.
    #[must_use]
    pub const fn namespaces(&self) -> &'static [&'static str] {
        &NAMESPACES
    }
}

/// Attributes are a set of names.
fn same_entry(sent: &Entry, seen: &Entry) -> bool {
    let sorted = |entry: &Entry| {
        let mut entry = entry.clone();
        entry.attributes.sort_by(|(left, _), (right, _)| left.cmp(right));
        entry
    };
    sorted(sent) == sorted(seen)
}

#[cfg(test)]
#[path = "ledger_test.rs"]
mod tests;
