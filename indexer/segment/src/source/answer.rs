//! What sources answer with.

use siltstone_core::{RowAddress, pattern::PatternHash};
use siltstone_query::{Expr, Text};
use std::cmp::Ordering;
use std::fmt;

/// A row's place in the order newest first: by timestamp, then by address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Position {
    /// Nanoseconds since the Unix epoch.
    pub timestamp_ns: i64,
    /// The row.
    pub address: RowAddress,
}

/// A row and its BM25 score.
#[derive(Clone, Copy, Debug)]
pub struct ScoredRow {
    /// The score, 0 or more.
    pub score: f32,
    /// The row and its time.
    pub position: Position,
}

impl ScoredRow {
    /// The order of results: better scores first, then newest first, then by higher address.
    #[must_use]
    pub fn best_first(&self, other: &Self) -> Ordering {
        other.cmp(self)
    }
}

impl PartialEq for ScoredRow {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ScoredRow {}

impl PartialOrd for ScoredRow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ScoredRow {
    /// The better row is the greater.
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| self.position.cmp(&other.position))
    }
}

/// A pattern of matching rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PatternCount {
    /// The pattern's identity: counts of one pattern join by it.
    pub hash: PatternHash,
    /// The pattern, as `siltstone_core::pattern` writes it.
    pub bytes: Box<[u8]>,
    /// How many matching rows have it, 1 or more.
    pub count: u64,
    /// The earliest timestamp of a matching row.
    pub first_ns: i64,
    /// The latest.
    pub last_ns: i64,
    /// A matching row that has it: the one with the highest address.
    pub example: RowAddress,
}

impl PatternCount {
    /// Counts one more row.
    pub(crate) fn add(&mut self, timestamp_ns: i64, address: RowAddress) {
        self.count += 1;
        self.first_ns = self.first_ns.min(timestamp_ns);
        self.last_ns = self.last_ns.max(timestamp_ns);
        self.example = self.example.max(address);
    }

    /// Adds what another source knows of the same pattern.
    pub fn join(&mut self, other: &Self) {
        debug_assert_eq!(self.hash, other.hash, "counts of one pattern join");
        self.count += other.count;
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
        self.example = self.example.max(other.example);
    }
}

/// The buckets of a histogram by time: bucket `i` holds times from `start_ns + i · step_ns` on, below the start of the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistogramSpec {
    /// The start of the first bucket, in nanoseconds since the Unix epoch.
    pub start_ns: i64,
    /// The width of a bucket in nanoseconds, 1 or more.
    pub step_ns: u64,
    /// How many buckets.
    pub buckets: usize,
}

impl HistogramSpec {
    /// The bucket that a time lies in, if any.
    #[must_use]
    pub fn bucket(&self, time_ns: i64) -> Option<usize> {
        let distance = time_ns.checked_sub(self.start_ns).map_or_else(
            // Times more than 2^63 ns apart: the difference of the wider type is right.
            || i128::from(time_ns) - i128::from(self.start_ns),
            i128::from,
        );
        let bucket = usize::try_from(u128::try_from(distance).ok()? / u128::from(self.step_ns.max(1))).ok()?;
        (bucket < self.buckets).then_some(bucket)
    }
}

/// The distinct words that score: those that a matching row may have because the query asks for them. Words of a phrase count singly;
/// prefixes and negated parts do not score.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScoringTerms(Vec<String>);

impl ScoringTerms {
    /// The words of an expression that score, in alphabetical order: the order in which scores are summed everywhere (RK-1).
    #[must_use]
    pub fn of(expr: &Expr) -> Self {
        let mut terms = Vec::new();
        collect(expr, false, &mut terms);
        terms.sort_unstable();
        terms.dedup();
        Self(terms)
    }

    /// The words.
    #[must_use]
    pub fn terms(&self) -> &[String] {
        &self.0
    }

    /// Whether nothing scores: every matching row then scores 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn collect(expr: &Expr, is_negated: bool, terms: &mut Vec<String>) {
    match expr {
        Expr::And(parts) | Expr::Or(parts) => parts.iter().for_each(|part| collect(part, is_negated, terms)),
        Expr::Not(part) => collect(part, !is_negated, terms),
        Expr::Text(Text::Term(term)) if !is_negated => terms.push(term.clone()),
        Expr::Text(Text::Phrase(phrase)) if !is_negated => terms.extend(phrase.iter().cloned()),
        _ => {}
    }
}

/// What BM25 needs to know of all rows of (namespace, index, view).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TextStatistics {
    /// How many rows there are.
    pub rows: u64,
    /// How many tokens their bodies have together.
    pub tokens: u64,
    /// Per scoring term: how many rows have it.
    pub row_frequencies: Vec<u64>,
}

impl TextStatistics {
    /// Adds the figures of another source, of the same terms.
    pub fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.tokens += other.tokens;
        if self.row_frequencies.is_empty() {
            self.row_frequencies.resize(other.row_frequencies.len(), 0);
        }
        for (sum, part) in self.row_frequencies.iter_mut().zip(&other.row_frequencies) {
            *sum += part;
        }
    }
}

/// How an expression is answered: a tree that prints itself, one line a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// What the node does.
    pub action: String,
    /// How many rows it gives: exact or an upper bound.
    pub rows: u64,
    /// Whether `rows` is exact.
    pub is_exact: bool,
    /// The parts, in the order in which they are worked.
    pub parts: Vec<Plan>,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, 0)
    }
}

impl Plan {
    fn print(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let about = if self.is_exact { "" } else { "at most " };
        writeln!(f, "{:indent$}{} ({about}{} rows)", "", self.action, self.rows, indent = depth * 2)?;
        self.parts.iter().try_for_each(|part| part.print(f, depth + 1))
    }
}
