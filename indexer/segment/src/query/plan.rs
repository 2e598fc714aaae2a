//! An expression with what the dictionary says of its parts: first the keys are looked up, so that the work can be ordered by cardinality.

use super::field;
use super::{Evaluator, PatternSet};
use crate::dictionary::{KeyEntry, RowsRef, WordsRef};
use crate::error::SegmentError;
use crate::key;
use crate::source::Plan;
use siltstone_query::{Expr, Text, TimeRange};

/// A part of a plan, with a bound of its rows.
#[derive(Debug)]
pub(crate) struct Node<'e> {
    pub(crate) expr: &'e Expr,
    pub(crate) kind: NodeKind<'e>,
    /// How many rows it has at most; how many it has, if `is_exact`.
    pub(crate) rows: u64,
    pub(crate) is_exact: bool,
}

/// What a part does.
#[derive(Debug)]
pub(crate) enum NodeKind<'e> {
    Nothing,
    All,
    /// The union of keys' postings.
    Keys(Vec<KeyEntry>),
    /// Words in a row, with what the dictionary has of each.
    Phrase(&'e [String], Vec<KeyEntry>),
    Time(TimeRange),
    /// Whole patterns.
    Patterns(PatternSet),
    And(Vec<Node<'e>>),
    Or(Vec<Node<'e>>),
    Not(Box<Node<'e>>),
}

impl<'e> Evaluator<'_> {
    /// Looks an expression's keys up.
    pub(crate) fn plan(&self, expr: &'e Expr) -> Result<Node<'e>, SegmentError> {
        let total = self.reader.row_count();
        let node = |kind, rows, is_exact| Node { expr, kind, rows, is_exact };
        let nothing = || node(NodeKind::Nothing, 0, true);
        Ok(match expr {
            Expr::All => node(NodeKind::All, total, true),
            Expr::Nothing => nothing(),
            Expr::Namespace(_) => return Err(SegmentError::Unfolded { part: "a namespace predicate" }),
            Expr::Text(Text::Term(term)) => self.keys(expr, vec![self.reader.token(term)?])?,
            Expr::Text(Text::Prefix(prefix)) => {
                let prefix = key::text(prefix);
                self.keys(expr, field::prefixed(&self.reader.dictionary, &prefix)?)?
            }
            Expr::Text(Text::Phrase(words)) => {
                let entries = words.iter().map(|word| self.reader.token(word)).collect::<Result<Vec<_>, _>>()?;
                let mut rows = total;
                for entry in &entries {
                    rows = rows.min(self.count_entry(entry)?.0);
                }
                if rows == 0 { nothing() } else { node(NodeKind::Phrase(words, entries), rows, false) }
            }
            Expr::Field(name, predicate) => {
                let entries = field::entries(&self.reader.dictionary, name, predicate)?;
                self.keys(expr, entries)?
            }
            Expr::Severity(first, last) => self.keys(expr, field::severities(&self.reader.dictionary, *first, *last)?)?,
            Expr::Time(range) => {
                let (rows, is_exact) = self.count_time(range);
                if rows == 0 { nothing() } else { node(NodeKind::Time(*range), rows, is_exact) }
            }
            Expr::Patterns(hashes) => {
                let mut patterns = Vec::new();
                for hash in hashes.iter() {
                    patterns.extend(self.reader.patterns_of(*hash)?);
                }
                patterns.sort_unstable();
                patterns.dedup();
                let patterns = PatternSet::from_sorted(patterns, self.reader.patterns.len());
                let rows = patterns.count_rows(&self.reader.pattern_rows);
                if rows == 0 { nothing() } else { node(NodeKind::Patterns(patterns), rows, true) }
            }
            Expr::And(parts) => {
                let mut nodes = parts.iter().map(|part| self.plan(part)).collect::<Result<Vec<_>, _>>()?;
                // Few rows first; what is excluded comes last, when few rows are left to exclude from.
                nodes.sort_by_key(|node| (matches!(node.kind, NodeKind::Not(_)), node.rows));
                let rows = nodes.iter().map(|node| node.rows).min().unwrap_or(total);
                if rows == 0 { nothing() } else { node(NodeKind::And(nodes), rows, false) }
            }
            Expr::Or(parts) => {
                let mut nodes = parts.iter().map(|part| self.plan(part)).collect::<Result<Vec<_>, _>>()?;
                nodes.retain(|node| node.rows > 0);
                let rows = nodes.iter().map(|node| node.rows).sum::<u64>().min(total);
                let is_exact = nodes.len() == 1 && nodes[0].is_exact;
                if rows == 0 { nothing() } else { node(NodeKind::Or(nodes), rows, is_exact) }
            }
            Expr::Not(part) => {
                let inner = self.plan(part)?;
                let (rows, is_exact) = if inner.is_exact { (total - inner.rows.min(total), true) } else { (total, false) };
                if rows == 0 { nothing() } else { node(NodeKind::Not(Box::new(inner)), rows, is_exact) }
            }
        })
    }

    fn keys(&self, expr: &'e Expr, mut entries: Vec<KeyEntry>) -> Result<Node<'e>, SegmentError> {
        let mut rows = 0;
        let mut is_exact = entries.len() <= 1;
        for entry in &entries {
            let (count, is_entry_exact) = self.count_entry(entry)?;
            rows += count;
            is_exact &= is_entry_exact;
        }
        entries.retain(|entry| *entry != KeyEntry::default());
        let kind = if entries.is_empty() { NodeKind::Nothing } else { NodeKind::Keys(entries) };
        Ok(Node { expr, kind, rows: rows.min(self.reader.row_count()), is_exact })
    }

    /// How many rows a key has at most, and whether it has just so many.
    fn count_entry(&self, entry: &KeyEntry) -> Result<(u64, bool), SegmentError> {
        let by_rows = self.reader.rows_len(&entry.rows)?;
        let by_words = self.reader.word_rows(&entry.words)?;
        Ok((by_rows + by_words, entry.rows == RowsRef::None || entry.words == WordsRef::None))
    }
}

impl Node<'_> {
    /// As people read it.
    pub(crate) fn explain(&self) -> Plan {
        let parts = match &self.kind {
            NodeKind::And(parts) | NodeKind::Or(parts) => parts.iter().map(Node::explain).collect(),
            NodeKind::Not(part) => vec![part.explain()],
            _ => Vec::new(),
        };
        let action = match &self.kind {
            NodeKind::Nothing => format!("nothing: {}", self.expr),
            NodeKind::All => "all rows".to_owned(),
            NodeKind::Keys(entries) => {
                let words = entries.iter().filter(|entry| entry.words != WordsRef::None).count();
                let tokens = entries.iter().filter(|entry| entry.rows != RowsRef::None).count();
                format!("look up {}: keys by pattern {words}, by row {tokens}", self.expr)
            }
            NodeKind::Phrase(..) => format!("match {}: pattern by pattern, then slots", self.expr),
            NodeKind::Time(_) => format!("select {}: by chunk, then timestamps of chunks on the edge", self.expr),
            NodeKind::Patterns(patterns) => format!("select {} patterns", patterns.len()),
            NodeKind::And(_) => "intersect, fewest rows first".to_owned(),
            NodeKind::Or(_) => "unite".to_owned(),
            NodeKind::Not(_) => "all but".to_owned(),
        };
        Plan { action, rows: self.rows, is_exact: self.is_exact, parts }
    }
}
