//! What a reader saw of one namespace, and where it contradicts itself (CT-1).

use crate::question::Question;
use rustc_hash::FxHashSet;
use siltstone_core::{CommitToken, Entry};
use std::fmt;

/// A broken invariant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Its id.
    pub invariant: &'static str,
    /// What was seen.
    pub what: String,
}

impl Violation {
    /// A violation.
    #[must_use]
    pub const fn new(invariant: &'static str, what: String) -> Self {
        Self { invariant, what }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.what)
    }
}

/// A row of an answer.
#[derive(Clone, PartialEq, Debug)]
pub struct SeenRow {
    /// Where it lives.
    pub address: u64,
    /// What it is.
    pub entry: Entry,
}

/// An answered question.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// What was asked.
    pub question: Question,
    /// COUNT.
    pub count: u64,
    /// The addresses that a search without a limit found, where that was asked too.
    pub addresses: Option<Vec<u64>>,
}

/// What a reader saw of one namespace at one view, or while nobody wrote.
#[derive(Clone, PartialEq, Debug)]
pub struct Look {
    /// The namespace's name.
    pub namespace: String,
    /// What a search for everything found.
    pub rows: Vec<SeenRow>,
    /// What COUNT of everything said.
    pub count: u64,
    /// Other questions of the same view.
    pub answers: Vec<Answer>,
}

impl Look {
    /// Where counts, searches and rows do not agree.
    #[must_use]
    pub fn contradictions(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut found = |what: String| violations.push(Violation::new("CT-1", format!("namespace {}: {what}", self.namespace)));
        if self.count != self.rows.len() as u64 {
            found(format!("COUNT says {}, a search finds {} rows", self.count, self.rows.len()));
        }
        let mut addresses = FxHashSet::default();
        for row in &self.rows {
            if !addresses.insert(row.address) {
                found(format!("the row at {:016x} is found twice", row.address));
            }
            if row.entry.namespace != self.namespace {
                found(format!("the row at {:016x} is of namespace {}", row.address, row.entry.namespace));
            }
        }
        for Answer { question, count, addresses } in &self.answers {
            let matching: FxHashSet<u64> = self.rows.iter().filter(|row| question.matches(&row.entry)).map(|row| row.address).collect();
            if *count != matching.len() as u64 {
                found(format!("COUNT of {:?} says {count}, {} rows match", question.text(), matching.len()));
            }
            if let Some(addresses) = addresses
                && (addresses.len() != matching.len() || !addresses.iter().all(|address| matching.contains(address)))
            {
                found(format!("a search for {:?} finds {} rows, {} match", question.text(), addresses.len(), matching.len()));
            }
        }
        violations
    }
}

/// What to look at.
#[derive(Clone, Debug)]
pub struct LookRequest {
    /// Where.
    pub namespace: String,
    /// What else to ask.
    pub questions: Vec<Question>,
    /// What the view must cover.
    pub min_commit: Option<CommitToken>,
}
