//! Exact search: codes rule out most rows, full vectors decide. The answer is the one that full vectors alone would give.

use super::bounds::{Bounds, Candidate, Within};
use super::rescore::Rescore;
use super::{STEP_BYTES_MAX, Search, Step};
use crate::codes::{CodedQuery, Codes, TERM_BYTES, Term};
use crate::error::VectorError;
use crate::filter::Selection;
use crate::format::ByteRange;
use crate::kernels;
use crate::plan::Plan;
use crate::request::{Answer, Request, Work};
use crate::view::{View, check_fetched};
use bytes::Bytes;

/// Up to this many rows codes are no help: their full vectors are compared at once.
const DIRECT_ROWS_MAX: u64 = 64;

/// An exact search.
pub(crate) struct ExactSearch<'a> {
    view: View<'a>,
    query: CodedQuery,
    selection: Selection,
    limit: usize,
    /// A count that needs no look at vectors.
    counts_all: bool,
    count: bool,
    within: Option<Within>,
    plan: Plan,
    work: Work,
    phase: Phase,
}

enum Phase {
    Start,
    /// Blocks of codes are being fetched; blocks before the second number are named.
    Scan(Box<Bounds>, Vec<u32>, Vec<ByteRange>, u32),
    Rescore(Box<Rescore>, u64),
    Over,
}

impl<'a> ExactSearch<'a> {
    pub(crate) fn new(view: View<'a>, query: CodedQuery, selection: Selection, request: &Request<'_>, plan: Plan) -> Self {
        let within = request.within.map(|distance| Within::new(query.metric, distance));
        let counts_all = request.count && within.is_none();
        let count = request.count && within.is_some();
        Self { view, query, selection, limit: request.limit, counts_all, count, within, plan, work: Work::default(), phase: Phase::Start }
    }

    fn start(&mut self) -> Result<Phase, VectorError> {
        if self.limit == 0 && !self.count {
            return Ok(Phase::Rescore(Box::new(Rescore::new(Vec::new(), self.within, 0)), 0));
        }
        let is_direct = self.selection.count() <= DIRECT_ROWS_MAX.max(self.limit as u64) || (self.view.codes.is_none() && self.is_full_less());
        if is_direct {
            let candidates = self.selection.iter().map(|row| Candidate { row, low: f32::NEG_INFINITY, is_open: self.count }).collect();
            return Ok(Phase::Rescore(Box::new(Rescore::new(candidates, self.within, self.limit)), 0));
        }
        let mut bounds = Bounds::new(self.within, self.count, self.limit);
        let Some(codes) = self.view.codes else { return Ok(Phase::Scan(Box::new(bounds), Vec::new(), Vec::new(), 0)) };
        let kernels = kernels::active();
        let mut offer = |row: u32| bounds.offer(&self.query, row, kernels.dot_codes(&self.query.codes, codes.row(row)), codes.term(row));
        match &self.selection {
            // Apart from the general case, so that the loop has nothing but the comparison.
            Selection::All { rows } => (0..*rows).for_each(&mut offer),
            selection => selection.iter().for_each(&mut offer),
        }
        self.work.rows_scanned = self.selection.count();
        Ok(self.rescore(bounds))
    }

    fn rescore(&self, bounds: Bounds) -> Phase {
        let (candidates, certain) = bounds.finish();
        Phase::Rescore(Box::new(Rescore::new(candidates, self.within, self.limit)), certain)
    }

    /// Whether the blocks of full vectors that the rows lie in have fewer bytes than their blocks of codes.
    fn is_full_less(&self) -> bool {
        let Some(layout) = self.view.layout else { return false };
        let (mut full, mut codes) = (0, 0);
        let (mut last_full, mut last_code) = (None, None);
        let length = |range: Option<ByteRange>| range.map_or(0, |range| range.end - range.start);
        for row in self.selection.iter() {
            let (full_block, code_block) = (layout.full_block_of(row), layout.code_block_of(row));
            if last_full != Some(full_block) {
                full += length(layout.full_range(full_block));
            }
            if last_code != Some(code_block) {
                codes += length(layout.code_range(code_block));
            }
            (last_full, last_code) = (Some(full_block), Some(code_block));
        }
        full <= codes
    }

    /// Names the next blocks of codes that hold selected rows.
    fn name_codes(&self, mut next: u32) -> Result<(Vec<u32>, Vec<ByteRange>, u32), VectorError> {
        let layout = self.view.layout()?;
        let (mut blocks, mut ranges, mut bytes) = (Vec::new(), Vec::new(), 0);
        while next < layout.code_blocks().end {
            if self.selection.range(layout.code_rows(next)).next().is_some() {
                let range = layout.code_range(next).ok_or_else(|| VectorError::corrupt("codes", "a block is missing"))?;
                let length = range.end - range.start;
                if bytes + length > STEP_BYTES_MAX && bytes > 0 {
                    break;
                }
                bytes += length;
                blocks.push(next);
                ranges.push(range);
            }
            next += 1;
        }
        Ok((blocks, ranges, next))
    }

    fn scan_block(&mut self, bounds: &mut Bounds, block: u32, bytes: &[u8], scratch: &mut Codes) -> Result<(), VectorError> {
        let layout = self.view.layout()?;
        layout.check_codes(block, bytes)?;
        read_codes(&self.view, block, bytes, scratch)?;
        let rows = layout.code_rows(block);
        let kernels = kernels::active();
        for row in self.selection.range(rows.clone()) {
            let at = row - rows.start;
            bounds.offer(&self.query, row, kernels.dot_codes(&self.query.codes, scratch.row(at)), scratch.term(at));
            self.work.rows_scanned += 1;
        }
        Ok(())
    }
}

/// Reads a block of codes whose checksum is right.
pub(crate) fn read_codes(view: &View<'_>, block: u32, bytes: &[u8], codes: &mut Codes) -> Result<(), VectorError> {
    let rows = view.layout()?.code_rows(block);
    let rows = (rows.end - rows.start) as usize;
    codes.clear();
    append_codes(view.space.metric(), rows, block, bytes, codes)
}

/// Appends the rows of a block of codes whose length and checksum are right.
pub(crate) fn append_codes(metric: crate::Metric, rows: usize, block: u32, bytes: &[u8], codes: &mut Codes) -> Result<(), VectorError> {
    let corrupt = |reason| VectorError::corrupt(format!("codes {block}"), reason);
    let terms = bytes.len().checked_sub(rows * TERM_BYTES).ok_or_else(|| corrupt("its bytes end early"))?;
    let (rows_of_codes, terms) = bytes.split_at(terms);
    if rows == 0 {
        return Ok(());
    }
    for (row, term) in rows_of_codes.chunks_exact(rows_of_codes.len() / rows).zip(terms.as_chunks::<TERM_BYTES>().0) {
        let term = Term::from_bytes(term, metric).ok_or_else(|| corrupt("a row's scale or length cannot be"))?;
        codes.push_stored(row, term);
    }
    Ok(())
}

impl Search for ExactSearch<'_> {
    fn advance(&mut self, fetched: &[Bytes]) -> Result<Step, VectorError> {
        let mut fetched = fetched;
        let mut phase = std::mem::replace(&mut self.phase, Phase::Over);
        loop {
            match phase {
                Phase::Start => {
                    check_fetched(&[], fetched)?;
                    phase = self.start()?;
                }
                Phase::Scan(mut bounds, blocks, ranges, next) => {
                    self.work.bytes_fetched += check_fetched(&ranges, fetched)?;
                    let mut scratch = Codes::new(self.view.space.dimension());
                    for (block, bytes) in blocks.iter().zip(fetched) {
                        self.scan_block(&mut bounds, *block, bytes, &mut scratch)?;
                    }
                    fetched = &[];
                    let (blocks, ranges, next) = self.name_codes(next)?;
                    if blocks.is_empty() {
                        phase = self.rescore(*bounds);
                        continue;
                    }
                    self.phase = Phase::Scan(bounds, blocks, ranges.clone(), next);
                    return Ok(Step::Fetch(ranges));
                }
                Phase::Rescore(mut rescore, certain) => {
                    let ranges = rescore.advance(&self.view, &self.query, fetched)?;
                    if !ranges.is_empty() {
                        self.phase = Phase::Rescore(rescore, certain);
                        return Ok(Step::Fetch(ranges));
                    }
                    self.work.rows_scored = rescore.rows_scored;
                    self.work.bytes_fetched += rescore.bytes_fetched;
                    let counted = self.count.then_some(certain + rescore.counted);
                    let count = counted.or(self.counts_all.then(|| self.selection.count()));
                    return Ok(Step::Done(Answer { hits: rescore.finish(&self.query), count, plan: self.plan.clone(), work: self.work }));
                }
                Phase::Over => return Err(VectorError::Fetched { reason: "the search is over" }),
            }
        }
    }
}
