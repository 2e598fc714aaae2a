//! Evaluates a plan.

use super::found::{LOOKUP_ROWS_MAX, Share};
use super::plan::{Node, NodeKind};
use super::{Evaluator, Found, PatternSet, Within};
use crate::dictionary::{KeyEntry, RowsRef, WordsRef};
use crate::error::SegmentError;
use crate::layout::BURNED;
use crate::postings::PostingView;
use siltstone_core::bitmap::{Block, RowSet, RowSetBuilder, kernels};
use siltstone_query::Expr;

/// A union of more keys than this goes through one block of bits a chunk.
const UNITED_KEYS_MAX: usize = 8;

impl Evaluator<'_> {
    /// The rows that match.
    pub(crate) fn rows(&self, expr: &Expr) -> Result<RowSet, SegmentError> {
        self.found(expr)?.to_rows(self.reader)
    }

    /// What matches.
    pub(crate) fn found(&self, expr: &Expr) -> Result<Found, SegmentError> {
        self.eval(&self.plan(expr)?, Within::All)
    }

    /// How many rows match.
    pub(crate) fn count(&self, expr: &Expr) -> Result<u64, SegmentError> {
        let node = self.plan(expr)?;
        self.count_node(&node)
    }

    fn count_node(&self, node: &Node<'_>) -> Result<u64, SegmentError> {
        if node.is_exact {
            return Ok(node.rows);
        }
        match &node.kind {
            NodeKind::Not(part) => Ok(self.reader.row_count() - self.count_node(part)?),
            NodeKind::And(parts) => {
                let Some((last, first)) = parts.split_last() else { return Ok(0) };
                let found = self.eval_and(first)?;
                if found.is_empty() {
                    return Ok(0);
                }
                match &last.kind {
                    NodeKind::Not(part) => {
                        let other = self.eval(part, within(&found))?;
                        Ok(found.count(self.reader)? - self.count_and(&found, &other)?)
                    }
                    _ => match self.long_posting(last)? {
                        Some(posting) if found.rows.is_empty() => self.count_posting(&posting, &found.patterns),
                        _ => self.count_and(&found, &self.eval(last, within(&found))?),
                    },
                }
            }
            NodeKind::Or(parts) => {
                // A long posting and whole patterns: what both have is counted without a set of rows.
                if let [one, other] = parts.as_slice() {
                    for (one, other) in [(one, other), (other, one)] {
                        if let (Some(posting), None) = (self.long_posting(one)?, self.long_posting(other)?) {
                            let found = self.eval(other, Within::All)?;
                            if found.rows.is_empty() {
                                return Ok(found.count(self.reader)? + posting.len() - self.count_posting(&posting, &found.patterns)?);
                            }
                        }
                    }
                }
                self.eval(node, Within::All)?.count(self.reader)
            }
            _ => self.eval(node, Within::All)?.count(self.reader),
        }
    }

    /// How many rows both have.
    fn count_and(&self, left: &Found, right: &Found) -> Result<u64, SegmentError> {
        match (left.patterns.is_empty(), right.patterns.is_empty()) {
            (true, true) => Ok(left.rows.and_count(&right.rows)),
            (false, true) if left.rows.is_empty() => super::found::count_common(&right.rows, &left.patterns, self.reader),
            (true, false) if right.rows.is_empty() => super::found::count_common(&left.rows, &right.patterns, self.reader),
            _ => left.and(right, self.reader)?.count(self.reader),
        }
    }

    /// What a part finds. What lies outside `limits` may be missing or there: the caller intersects.
    pub(super) fn eval(&self, node: &Node<'_>, limits: Within<'_>) -> Result<Found, SegmentError> {
        match &node.kind {
            NodeKind::Nothing => Ok(Found::nothing(self.reader)),
            NodeKind::All => Ok(self.all()),
            NodeKind::Keys(entries) => self.eval_keys(entries, limits),
            NodeKind::Phrase(words, entries) => self.eval_phrase(words, entries, limits),
            NodeKind::Time(range) => Ok(Found::of_rows(self.eval_time(range, limits)?, self.reader)),
            NodeKind::Patterns(patterns) => Ok(Found::of_patterns(patterns.clone())),
            NodeKind::And(parts) => self.eval_and(parts),
            NodeKind::Or(parts) => {
                let mut found = Found::nothing(self.reader);
                let mut rows = Vec::new();
                for part in parts {
                    let part = self.eval(part, limits)?;
                    found.patterns = found.patterns.or(&part.patterns);
                    rows.push(part.rows);
                }
                found.rows = RowSet::or_all(&rows.iter().collect::<Vec<_>>());
                Ok(found)
            }
            NodeKind::Not(part) => self.all().and_not(&self.eval(part, limits)?, self.reader),
        }
    }

    fn all(&self) -> Found {
        Found::of_patterns(PatternSet::full(self.reader.patterns.len()))
    }

    /// Parts are in the order of cardinality, exclusions last.
    fn eval_and(&self, parts: &[Node<'_>]) -> Result<Found, SegmentError> {
        let mut found: Option<Found> = None;
        for part in parts {
            let Some(so_far) = &found else {
                found = Some(self.eval(part, Within::All)?);
                continue;
            };
            if so_far.is_empty() {
                break;
            }
            found = Some(match &part.kind {
                NodeKind::Not(part) => so_far.and_not(&self.eval(part, within(so_far))?, self.reader)?,
                _ => so_far.and(&self.eval(part, within(so_far))?, self.reader)?,
            });
        }
        Ok(found.unwrap_or_else(|| self.all()))
    }

    fn eval_keys(&self, entries: &[KeyEntry], limits: Within<'_>) -> Result<Found, SegmentError> {
        let mut patterns = Vec::new();
        for entry in entries {
            patterns.extend(self.reader.word_patterns(&entry.words)?.into_iter().map(|(pattern, _)| pattern));
        }
        if entries.len() > 1 {
            patterns.sort_unstable();
            patterns.dedup();
        }
        let rows = if entries.len() > UNITED_KEYS_MAX { self.unite_many(entries)? } else { self.unite_few(entries, limits)? };
        Ok(Found { patterns: PatternSet::from_sorted(patterns, self.reader.patterns.len()), rows })
    }

    fn unite_few(&self, entries: &[KeyEntry], limits: Within<'_>) -> Result<RowSet, SegmentError> {
        let mut sets = entries
            .iter()
            .filter(|entry| entry.rows != RowsRef::None)
            .map(|entry| self.row_set(&entry.rows, limits))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(match sets.len() {
            0 => RowSet::new(),
            1 => sets.swap_remove(0),
            _ => RowSet::or_all(&sets.iter().collect::<Vec<_>>()),
        })
    }

    fn unite_many(&self, entries: &[KeyEntry]) -> Result<RowSet, SegmentError> {
        let layout = &self.reader.layout;
        let mut blocks: Vec<Option<Box<Block>>> = vec![None; layout.chunks.len()];
        let mut insert = |row: u32| {
            let block = blocks.get_mut((row >> 11) as usize).ok_or(SegmentError::corrupt("postings", "a row does not exist"))?;
            block.get_or_insert_with(|| Box::new(Block::EMPTY)).insert((row & 0x7ff) as u16);
            Ok::<_, SegmentError>(())
        };
        let mut grouped = Vec::new();
        for entry in entries {
            match entry.rows {
                RowsRef::None => {}
                RowsRef::One { row, .. } => insert(row)?,
                RowsRef::Many { at, bytes, .. } => {
                    let posting = self.reader.posting(at, bytes)?;
                    posting.flat().try_for_each(|row| insert(row?))?;
                    grouped.extend(posting.groups()?);
                }
            }
        }
        for group in grouped {
            let block = blocks.get_mut(group.chunk as usize).ok_or(SegmentError::corrupt("postings", "a chunk does not exist"))?;
            let block = block.get_or_insert_with(|| Box::new(Block::EMPTY));
            group.block(layout)?.0.iter().zip(&mut block.0).for_each(|(more, word)| *word |= more);
        }
        let mut out = RowSetBuilder::new();
        for (chunk, block) in (0_u32..).zip(blocks) {
            if let Some(block) = block {
                out.push_block(chunk, &block).map_err(|_| SegmentError::corrupt("postings", "chunks do not ascend"))?;
            }
        }
        Ok(out.finish())
    }

    /// The rows of a key, but for those by its words. Chunks of which no row is in `limits` may be left out.
    pub(super) fn row_set(&self, rows: &RowsRef, limits: Within<'_>) -> Result<RowSet, SegmentError> {
        match rows {
            RowsRef::None => Ok(RowSet::new()),
            RowsRef::One { row, .. } => self.reader.row_set_of_one(*row),
            RowsRef::Many { at, bytes, .. } => self.reader.posting(*at, *bytes)?.row_set(&self.reader.layout, |chunk| self.is_wanted(chunk, limits)),
        }
    }

    /// The posting of a part that has that alone, if it goes chunk by chunk.
    fn long_posting(&self, node: &Node<'_>) -> Result<Option<PostingView<'_>>, SegmentError> {
        let NodeKind::Keys(entries) = &node.kind else { return Ok(None) };
        let [KeyEntry { words: WordsRef::None, rows: RowsRef::Many { at, bytes, .. } }] = entries.as_slice() else { return Ok(None) };
        Ok(Some(self.reader.posting(*at, *bytes)?).filter(|posting| !posting.is_flat()))
    }

    /// How many rows of a posting are of the patterns, which are all that was found so far.
    fn count_posting(&self, posting: &PostingView<'_>, patterns: &PatternSet) -> Result<u64, SegmentError> {
        let mut count = 0;
        let mut is_chosen = Vec::new();
        for group in posting.groups()? {
            count += match super::found::choose(group.chunk, patterns, self.reader, &mut is_chosen) {
                Share::None => 0,
                Share::All => u64::from(group.rows),
                Share::Some if group.rows <= LOOKUP_ROWS_MAX => {
                    let column = self.reader.layout.cell_of_offset(group.chunk)?;
                    let mut chosen = 0;
                    group.for_each(&self.reader.layout, |offset| {
                        let cell = column.get(usize::from(offset)).copied().unwrap_or(BURNED);
                        chosen += u64::from(is_chosen.get(usize::from(cell)).copied().unwrap_or(false));
                    })?;
                    chosen
                }
                Share::Some => {
                    let chosen = self.reader.layout.rows_of_cells(group.chunk, &is_chosen)?;
                    let rows = group.block(&self.reader.layout)?;
                    u64::from(kernels::active().and_count(&chosen, &rows))
                }
            };
        }
        Ok(count)
    }
}

/// What of other parts matters once this was found.
fn within(found: &Found) -> Within<'_> {
    match (found.patterns.is_empty(), found.rows.is_empty()) {
        (true, _) => Within::Rows(&found.rows),
        (false, true) => Within::Patterns(&found.patterns),
        (false, false) => Within::All,
    }
}
