//! The same expressions answered by looking at rows: the live tier, and the referee of the index.
//!
//! What a pattern's words decide is decided once a pattern; variables are looked at only where that is not enough, and only of rows that are
//! still in question.

mod field;
mod text;

pub(crate) use text::{RowText, count_tokens};

use crate::error::SegmentError;
use siltstone_core::bitmap::{Block, Run};
use siltstone_core::{CHUNK_ROWS_MAX, ChunkId};
use siltstone_format::Rows;
use siltstone_query::Expr;

/// The rows that match, by their numbers.
///
/// # Errors
/// [`SegmentError::Unfolded`] for a namespace predicate; [`SegmentError::Input`] for more rows than a chunk has.
pub fn scan_matches(rows: &Rows, expr: &Expr) -> Result<Block, SegmentError> {
    if rows.len() > CHUNK_ROWS_MAX {
        return Err(SegmentError::Input { chunk: ChunkId(0), reason: "there are more rows than a chunk has" });
    }
    let mut all = Block::EMPTY;
    if let Some(last) = rows.len().checked_sub(1) {
        all.insert_run(Run { start: 0, last: last as u16 });
    }
    Scanner { rows, text: RowText::default() }.eval(expr, &all)
}

/// Evaluates expressions on one block of rows.
struct Scanner<'a> {
    rows: &'a Rows,
    text: RowText,
}

impl Scanner<'_> {
    /// Those of `among` that match.
    fn eval(&mut self, expr: &Expr, among: &Block) -> Result<Block, SegmentError> {
        if among.is_empty() {
            // What is refused is refused whatever the rows.
            check(expr)?;
            return Ok(Block::EMPTY);
        }
        Ok(match expr {
            Expr::All => *among,
            Expr::Nothing => Block::EMPTY,
            Expr::And(parts) => {
                let mut left = *among;
                for part in parts.iter().filter(|part| !is_costly(part)).chain(parts.iter().filter(|part| is_costly(part))) {
                    left = self.eval(part, &left)?;
                }
                left
            }
            Expr::Or(parts) => {
                let mut found = Block::EMPTY;
                for part in parts {
                    let more = self.eval(part, &minus(among, &found))?;
                    found.0.iter_mut().zip(more.0).for_each(|(word, more)| *word |= more);
                }
                found
            }
            Expr::Not(part) => minus(among, &self.eval(part, among)?),
            Expr::Text(text) => self.text.matching(self.rows, text, among),
            Expr::Field(name, predicate) => field::matching(self.rows, name, predicate, among),
            Expr::Severity(first, last) => {
                among.iter().filter(|row| (first.number()..=last.number()).contains(&self.rows.severities[usize::from(*row)])).collect()
            }
            Expr::Time(range) => among.iter().filter(|row| range.contains(self.rows.timestamps_ns[usize::from(*row)])).collect(),
            Expr::Patterns(hashes) => among.iter().filter(|row| hashes.binary_search(&self.rows.pattern(usize::from(*row)).hash).is_ok()).collect(),
            Expr::Namespace(_) => return Err(SegmentError::Unfolded { part: "a namespace predicate" }),
        })
    }
}

/// Whether a part looks at variables.
fn is_costly(expr: &Expr) -> bool {
    match expr {
        Expr::Text(_) => true,
        Expr::And(parts) | Expr::Or(parts) => parts.iter().any(is_costly),
        Expr::Not(part) => is_costly(part),
        _ => false,
    }
}

fn check(expr: &Expr) -> Result<(), SegmentError> {
    match expr {
        Expr::And(parts) | Expr::Or(parts) => parts.iter().try_for_each(check),
        Expr::Not(part) => check(part),
        Expr::Namespace(_) => Err(SegmentError::Unfolded { part: "a namespace predicate" }),
        _ => Ok(()),
    }
}

fn minus(left: &Block, right: &Block) -> Block {
    let mut out = *left;
    out.0.iter_mut().zip(right.0).for_each(|(word, other)| *word &= !other);
    out
}
